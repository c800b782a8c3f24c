// Lanes in this process that execute lane_steps, with faults put on single calls: what a lane's server and the way to
// it do to one node, said by the test. Single-threaded.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "admission/lane_steps.hpp"
#include "base/clock.hpp"

namespace seckill::admission::remote::test {

enum class Fault : std::uint8_t {
  none,
  not_executed,  // unavailable
  lost_request,  // timeout, not executed
  lost_reply,    // timeout, executed
  held,          // executed when the test lets it go on
  held_reply,    // executed; answered when the test lets it go on
};

class LanesDevice final : public LaneScripts {
 public:
  explicit LanesDevice(const base::Clock& clock) : clock_{clock} {}

  // --- the test's side ---
  LaneServer server;  // whom connections lead to
  std::map<LaneKey, steps::LaneState> lanes;
  std::map<std::string, int> calls;                                       // by method
  std::vector<std::size_t> admit_sizes;                                   // asks of each admit call
  std::function<void(const std::string& method, const LaneKey&)> before;  // each execution
  bool replicas = true;                                                   // what wait_replicas says

  // The next calls of the method meet these, in order; then none.
  void plan(const std::string& method, std::vector<Fault> faults) {
    for (const Fault fault : faults) plans_[method].push_back(fault);
  }
  // All later calls of the method.
  void always(const std::string& method, Fault fault) { standing_[method] = fault; }
  // Lets everything held go on, in order.
  void let_go() {
    auto held = std::exchange(held_, {});
    for (auto& one : held) one();
  }
  [[nodiscard]] std::size_t held() const { return held_.size(); }

  [[nodiscard]] steps::LaneState& lane(const LaneKey& key) { return lanes.try_emplace(key, key).first->second; }

  // --- LaneScripts ---
  void admit(const LaneKey& key, const LaneServer& at, model::Generation generation, std::vector<LaneAsk> asks,
             LaneAnswer<LaneDecisions> answer) override {
    admit_sizes.push_back(asks.size());
    call<LaneDecisions>("admit", key, at, std::move(answer), {.code = LaneCode::foreign, .decisions = {}},
                        [this, key, generation, asks = std::move(asks)] {
                          return steps::admit(lane(key), generation, asks, clock_.now_utc());
                        });
  }
  void confirm_published(const LaneKey& key, const LaneServer& at, std::vector<model::Ticket> tickets,
                         LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("confirm_published", key, at, std::move(answer), LaneCode::foreign,
                   [this, key, tickets = std::move(tickets)] { return steps::confirm_published(lane(key), tickets); });
  }
  void claim_intents(const LaneKey& key, const LaneServer& at, std::int64_t age_ms, std::size_t count,
                     LaneAnswer<std::vector<model::OrderIntent>> answer) override {
    call<std::vector<model::OrderIntent>>("claim_intents", key, at, std::move(answer), {}, [this, key, age_ms, count] {
      return steps::claim_intents(lane(key), age_ms, count, clock_.now_utc());
    });
  }
  void live_marks(const LaneKey& key, const LaneServer& at, base::UtcMs before_ms, std::uint64_t cursor,
                  LaneAnswer<MarkPage> answer) override {
    call<MarkPage>("live_marks", key, at, std::move(answer), {},
                   [this, key, before_ms, cursor] { return steps::live_marks(lane(key), before_ms, cursor); });
  }
  void mark_holders(const LaneKey& key, const LaneServer& at, std::uint64_t cursor,
                    LaneAnswer<HolderPage> answer) override {
    call<HolderPage>("mark_holders", key, at, std::move(answer), {.code = LaneCode::foreign, .fingerprints = {}},
                     [this, key, cursor] { return steps::mark_holders(lane(key), cursor); });
  }
  void wait_replicas(const LaneKey& key, const LaneServer& at, std::chrono::milliseconds /*longest*/,
                     LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("wait_replicas", key, at, std::move(answer), LaneCode::foreign,
                   [this] { return replicas ? LaneCode::done : LaneCode::refused; });
  }
  void read(const LaneKey& key, const LaneServer& at, LaneAnswer<LaneReading> answer) override {
    call<LaneReading>("read", key, at, std::move(answer), {}, [this, key] { return steps::read(lane(key)); });
  }
  void buyer_tickets(const LaneKey& key, const LaneServer& at, const model::BuyerId& buyer,
                     LaneAnswer<FoundTickets> answer) override {
    call<FoundTickets>("buyer_tickets", key, at, std::move(answer),
                       {.code = LaneCode::foreign, .tickets = {}, .unpublished = {}},
                       [this, key, buyer] { return steps::buyer_tickets(lane(key), buyer); });
  }
  void release(const LaneKey& key, const LaneServer& at, const model::Ticket& ticket,
               LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("release", key, at, std::move(answer), LaneCode::foreign,
                   [this, key, ticket] { return steps::release(lane(key), ticket); });
  }
  void post(const LaneKey& key, const LaneServer& at, const model::Ticket& ticket,
            LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("post", key, at, std::move(answer), LaneCode::foreign,
                   [this, key, ticket] { return steps::post(lane(key), ticket); });
  }
  void debit(const LaneKey& key, const LaneServer& at, model::Generation generation, const LaneTransferRecord& transfer,
             LaneAnswer<LaneDebit> answer) override {
    call<LaneDebit>(
        "debit", key, at, std::move(answer), {.code = LaneCode::foreign, .units = 0},
        [this, key, generation, transfer] { return steps::debit(lane(key), generation, transfer, clock_.now_utc()); });
  }
  void undo_debit(const LaneKey& key, const LaneServer& at, const std::string& id,
                  LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("undo_debit", key, at, std::move(answer), LaneCode::foreign,
                   [this, key, id] { return steps::undo_debit(lane(key), id, clock_.now_utc()); });
  }
  void credit(const LaneKey& key, const LaneServer& at, model::Generation generation,
              const LaneTransferRecord& transfer, LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("credit", key, at, std::move(answer), LaneCode::foreign, [this, key, generation, transfer] {
      return steps::credit(lane(key), generation, transfer, clock_.now_utc());
    });
  }
  void close_transfer(const LaneKey& key, const LaneServer& at, const std::string& id,
                      LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("close_transfer", key, at, std::move(answer), LaneCode::foreign,
                   [this, key, id] { return steps::close_transfer(lane(key), id, clock_.now_utc()); });
  }
  void configure(const LaneKey& key, const LaneServer& at, const model::ItemTerms& terms,
                 LaneAnswer<LaneCode> answer) override {
    call<LaneCode>("configure", key, at, std::move(answer), LaneCode::foreign,
                   [this, key, terms] { return steps::configure(lane(key), terms); });
  }
  // What only a leader or a worker asks: not of this node.
  void adopt(const LaneKey&, const LaneServer&, const model::OrderIntent&, LaneAnswer<AdoptReply> answer) override {
    answer(base::fail(base::Errc::unavailable, "adopting"));
  }
  void close(const LaneKey&, const LaneServer&, model::Generation, LeaderToken, LaneAnswer<LaneCode> answer) override {
    answer(base::fail(base::Errc::unavailable, "closing"));
  }
  void install_begin(const LaneKey&, const LaneServer&, const InstallPlan&, LaneAnswer<LaneCode> answer) override {
    answer(base::fail(base::Errc::unavailable, "installing"));
  }
  void install_batch(const LaneKey&, const LaneServer&, const InstallPlan&, std::vector<InstallTicket>,
                     LaneAnswer<LaneCode> answer) override {
    answer(base::fail(base::Errc::unavailable, "installing"));
  }
  void install_open(const LaneKey&, const LaneServer&, const InstallPlan&, LaneAnswer<LaneCode> answer) override {
    answer(base::fail(base::Errc::unavailable, "installing"));
  }
  void server_of(const LaneKey&, LaneAnswer<LaneServer> answer) override { answer(server); }

 private:
  [[nodiscard]] Fault next_fault(const std::string& method) {
    auto& planned = plans_[method];
    if (!planned.empty()) {
      const Fault fault = planned.front();
      planned.pop_front();
      return fault;
    }
    const auto standing = standing_.find(method);
    return standing == standing_.end() ? Fault::none : standing->second;
  }

  template <typename T, typename Step>
  void call(const std::string& method, const LaneKey& key, const LaneServer& at, LaneAnswer<T> answer, T foreign,
            Step step) {
    ++calls[method];
    const auto execute = [this, method, key, at, foreign = std::move(foreign),
                          step = std::move(step)]() -> base::Result<T> {
      if (before) before(method, key);
      if (at == server) return step();
      if constexpr (requires(T t) { t.code; } || std::is_same_v<T, LaneCode>) return foreign;
      return base::fail(base::Errc::stale, method, "foreign");
    };
    switch (next_fault(method)) {
      case Fault::none: return answer(execute());
      case Fault::not_executed: return answer(base::fail(base::Errc::unavailable, method, "not sent"));
      case Fault::lost_request: return answer(base::fail(base::Errc::timeout, method, "lost"));
      case Fault::lost_reply: {
        (void)execute();
        return answer(base::fail(base::Errc::timeout, method, "lost"));
      }
      case Fault::held: held_.push_back([execute, answer = std::move(answer)]() mutable { answer(execute()); }); return;
      case Fault::held_reply: {
        held_.push_back([result = execute(), answer = std::move(answer)]() mutable { answer(std::move(result)); });
        return;
      }
    }
  }

  const base::Clock& clock_;
  std::map<std::string, std::deque<Fault>> plans_;
  std::map<std::string, Fault> standing_;
  std::vector<std::move_only_function<void()>> held_;
};

}  // namespace seckill::admission::remote::test
