// Lanes in this process under their steps, behind the port: what the contract suite is read against. Any thread.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "admission/lane_steps.hpp"

namespace seckill::admission::redis::test {

class StepLanes final : public LaneScripts {
 public:
  void admit(const LaneKey& lane, const LaneServer& server, model::Generation generation, std::vector<LaneAsk> asks,
             LaneAnswer<LaneDecisions> answer) override {
    run<LaneDecisions>(lane, server, std::move(answer),
                       [&](auto& state, auto now) { return steps::admit(state, generation, asks, now); });
  }
  void confirm_published(const LaneKey& lane, const LaneServer& server, std::vector<model::Ticket> tickets,
                         LaneAnswer<LaneCode> answer) override {
    run<LaneCode>(lane, server, std::move(answer),
                  [&](auto& state, auto) { return steps::confirm_published(state, tickets); });
  }
  void claim_intents(const LaneKey& lane, const LaneServer& server, std::int64_t age_ms, std::size_t count,
                     LaneAnswer<std::vector<model::OrderIntent>> answer) override {
    run<std::vector<model::OrderIntent>>(lane, server, std::move(answer), [&](auto& state, auto now) {
      return steps::claim_intents(state, age_ms, count, now);
    });
  }
  void live_marks(const LaneKey& lane, const LaneServer& server, base::UtcMs before, std::uint64_t cursor,
                  LaneAnswer<MarkPage> answer) override {
    run<MarkPage>(lane, server, std::move(answer),
                  [&](auto& state, auto) { return steps::live_marks(state, before, cursor); });
  }
  void mark_holders(const LaneKey& lane, const LaneServer& server, std::uint64_t cursor,
                    LaneAnswer<HolderPage> answer) override {
    run<HolderPage>(lane, server, std::move(answer),
                    [&](auto& state, auto) { return steps::mark_holders(state, cursor); });
  }
  void wait_replicas(const LaneKey&, const LaneServer&, std::chrono::milliseconds,
                     LaneAnswer<LaneCode> answer) override {
    answer(LaneCode::refused);
  }
  void read(const LaneKey& lane, const LaneServer& server, LaneAnswer<LaneReading> answer) override {
    run<LaneReading>(lane, server, std::move(answer), [](auto& state, auto) { return steps::read(state); });
  }
  void buyer_tickets(const LaneKey& lane, const LaneServer& server, const model::BuyerId& buyer,
                     LaneAnswer<FoundTickets> answer) override {
    run<FoundTickets>(lane, server, std::move(answer),
                      [&](auto& state, auto) { return steps::buyer_tickets(state, buyer); });
  }
  void release(const LaneKey& lane, const LaneServer& server, const model::Ticket& ticket,
               LaneAnswer<LaneCode> answer) override {
    run<LaneCode>(lane, server, std::move(answer), [&](auto& state, auto) { return steps::release(state, ticket); });
  }
  void post(const LaneKey& lane, const LaneServer& server, const model::Ticket& ticket,
            LaneAnswer<LaneCode> answer) override {
    run<LaneCode>(lane, server, std::move(answer), [&](auto& state, auto) { return steps::post(state, ticket); });
  }
  void debit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
             const LaneTransferRecord& transfer, LaneAnswer<LaneDebit> answer) override {
    run<LaneDebit>(lane, server, std::move(answer),
                   [&](auto& state, auto now) { return steps::debit(state, generation, transfer, now); });
  }
  void undo_debit(const LaneKey& lane, const LaneServer& server, const std::string& id,
                  LaneAnswer<LaneCode> answer) override {
    run<LaneCode>(lane, server, std::move(answer),
                  [&](auto& state, auto now) { return steps::undo_debit(state, id, now); });
  }
  void credit(const LaneKey& lane, const LaneServer& server, model::Generation generation,
              const LaneTransferRecord& transfer, LaneAnswer<LaneCode> answer) override {
    run<LaneCode>(lane, server, std::move(answer),
                  [&](auto& state, auto now) { return steps::credit(state, generation, transfer, now); });
  }
  void close_transfer(const LaneKey& lane, const LaneServer& server, const std::string& id,
                      LaneAnswer<LaneCode> answer) override {
    run<LaneCode>(lane, server, std::move(answer),
                  [&](auto& state, auto now) { return steps::close_transfer(state, id, now); });
  }
  void configure(const LaneKey& lane, const LaneServer& server, const model::ItemTerms& terms,
                 LaneAnswer<LaneCode> answer) override {
    run<LaneCode>(lane, server, std::move(answer), [&](auto& state, auto) { return steps::configure(state, terms); });
  }
  void adopt(const LaneKey& lane, const LaneServer& server, const model::OrderIntent& intent,
             LaneAnswer<AdoptReply> answer) override {
    run<AdoptReply>(lane, server, std::move(answer),
                    [&](auto& state, auto now) { return steps::adopt(state, intent, now); });
  }
  void close(const LaneKey& lane, const LaneServer& server, model::Generation generation, LeaderToken leader,
             LaneAnswer<LaneCode> answer) override {
    run<LaneCode>(lane, server, std::move(answer),
                  [&](auto& state, auto) { return steps::close(state, generation, leader); });
  }
  void install_begin(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                     LaneAnswer<LaneCode> answer) override {
    run<LaneCode>(lane, server, std::move(answer),
                  [&](auto& state, auto) { return steps::install_begin(state, plan); });
  }
  void install_batch(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                     std::vector<InstallTicket> tickets, LaneAnswer<LaneCode> answer) override {
    run<LaneCode>(lane, server, std::move(answer),
                  [&](auto& state, auto) { return steps::install_batch(state, plan, tickets); });
  }
  void install_open(const LaneKey& lane, const LaneServer& server, const InstallPlan& plan,
                    LaneAnswer<LaneCode> answer) override {
    run<LaneCode>(lane, server, std::move(answer), [&](auto& state, auto) { return steps::install_open(state, plan); });
  }
  void server_of(const LaneKey&, LaneAnswer<LaneServer> answer) override { answer(server_); }

 private:
  template <typename T, typename Step>
  void run(const LaneKey& key, const LaneServer& server, LaneAnswer<T> answer, const Step& step) {
    if (server != server_) {
      T foreign{};
      if constexpr (std::is_same_v<T, LaneCode>) {
        foreign = LaneCode::foreign;
      } else if constexpr (requires { foreign.code; }) {
        foreign.code = LaneCode::foreign;
      } else {
        return answer(base::fail(base::Errc::stale, "lane step", "another server"));
      }
      return answer(std::move(foreign));
    }
    const std::scoped_lock lock{mutex_};
    steps::LaneState& state = lanes_.try_emplace(key, key).first->second;
    answer(step(state, base::SystemClock{}.now_utc()));
  }

  const LaneServer server_{.run_id = "in-process", .replication_id = "none"};
  std::mutex mutex_;
  std::map<LaneKey, steps::LaneState> lanes_;
};

}  // namespace seckill::admission::redis::test
