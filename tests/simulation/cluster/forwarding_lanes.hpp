// A LaneScripts that passes everything on: what a deliberate breakage changes one method of.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "admission/lane_scripts.hpp"

namespace seckill::sim {

class ForwardingLanes : public admission::LaneScripts {
 public:
  explicit ForwardingLanes(std::unique_ptr<admission::LaneScripts> inner) : inner_{std::move(inner)} {}

  void admit(const admission::LaneKey& lane, const admission::LaneServer& server, model::Generation generation,
             std::vector<admission::LaneAsk> asks, admission::LaneAnswer<admission::LaneDecisions> answer) override {
    inner_->admit(lane, server_for(lane, server), generation, std::move(asks), std::move(answer));
  }
  void confirm_published(const admission::LaneKey& lane, const admission::LaneServer& server,
                         std::vector<model::Ticket> tickets,
                         admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->confirm_published(lane, server_for(lane, server), std::move(tickets), std::move(answer));
  }
  void claim_intents(const admission::LaneKey& lane, const admission::LaneServer& server, std::int64_t age_ms,
                     std::size_t count, admission::LaneAnswer<std::vector<model::OrderIntent>> answer) override {
    inner_->claim_intents(lane, server_for(lane, server), age_ms, count, std::move(answer));
  }
  void live_marks(const admission::LaneKey& lane, const admission::LaneServer& server, base::UtcMs before,
                  std::uint64_t cursor, admission::LaneAnswer<MarkPage> answer) override {
    inner_->live_marks(lane, server_for(lane, server), before, cursor, std::move(answer));
  }
  void mark_holders(const admission::LaneKey& lane, const admission::LaneServer& server, std::uint64_t cursor,
                    admission::LaneAnswer<HolderPage> answer) override {
    inner_->mark_holders(lane, server_for(lane, server), cursor, std::move(answer));
  }
  void wait_replicas(const admission::LaneKey& lane, const admission::LaneServer& server,
                     std::chrono::milliseconds longest, admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->wait_replicas(lane, server_for(lane, server), longest, std::move(answer));
  }
  void read(const admission::LaneKey& lane, const admission::LaneServer& server,
            admission::LaneAnswer<admission::LaneReading> answer) override {
    inner_->read(lane, server_for(lane, server), std::move(answer));
  }
  void buyer_tickets(const admission::LaneKey& lane, const admission::LaneServer& server, const model::BuyerId& buyer,
                     admission::LaneAnswer<FoundTickets> answer) override {
    inner_->buyer_tickets(lane, server_for(lane, server), buyer, std::move(answer));
  }
  void release(const admission::LaneKey& lane, const admission::LaneServer& server, const model::Ticket& ticket,
               admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->release(lane, server_for(lane, server), ticket, std::move(answer));
  }
  void post(const admission::LaneKey& lane, const admission::LaneServer& server, const model::Ticket& ticket,
            admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->post(lane, server_for(lane, server), ticket, std::move(answer));
  }
  void debit(const admission::LaneKey& lane, const admission::LaneServer& server, model::Generation generation,
             const admission::LaneTransferRecord& transfer,
             admission::LaneAnswer<admission::LaneDebit> answer) override {
    inner_->debit(lane, server_for(lane, server), generation, transfer, std::move(answer));
  }
  void undo_debit(const admission::LaneKey& lane, const admission::LaneServer& server, const std::string& id,
                  admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->undo_debit(lane, server_for(lane, server), id, std::move(answer));
  }
  void credit(const admission::LaneKey& lane, const admission::LaneServer& server, model::Generation generation,
              const admission::LaneTransferRecord& transfer,
              admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->credit(lane, server_for(lane, server), generation, transfer, std::move(answer));
  }
  void close_transfer(const admission::LaneKey& lane, const admission::LaneServer& server, const std::string& id,
                      admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->close_transfer(lane, server_for(lane, server), id, std::move(answer));
  }
  void configure(const admission::LaneKey& lane, const admission::LaneServer& server, const model::ItemTerms& terms,
                 admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->configure(lane, server_for(lane, server), terms, std::move(answer));
  }
  void adopt(const admission::LaneKey& lane, const admission::LaneServer& server, const model::OrderIntent& intent,
             admission::LaneAnswer<admission::AdoptReply> answer) override {
    inner_->adopt(lane, server_for(lane, server), intent, std::move(answer));
  }
  void close(const admission::LaneKey& lane, const admission::LaneServer& server, model::Generation generation,
             admission::LeaderToken leader, admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->close(lane, server_for(lane, server), generation, leader, std::move(answer));
  }
  void install_begin(const admission::LaneKey& lane, const admission::LaneServer& server,
                     const admission::InstallPlan& plan, admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->install_begin(lane, server_for(lane, server), plan, std::move(answer));
  }
  void install_batch(const admission::LaneKey& lane, const admission::LaneServer& server,
                     const admission::InstallPlan& plan, std::vector<admission::InstallTicket> tickets,
                     admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->install_batch(lane, server_for(lane, server), plan, std::move(tickets), std::move(answer));
  }
  void install_open(const admission::LaneKey& lane, const admission::LaneServer& server,
                    const admission::InstallPlan& plan, admission::LaneAnswer<admission::LaneCode> answer) override {
    inner_->install_open(lane, server_for(lane, server), plan, std::move(answer));
  }
  void server_of(const admission::LaneKey& lane, admission::LaneAnswer<admission::LaneServer> answer) override {
    inner_->server_of(lane, std::move(answer));
  }

 protected:
  // The server that the call is fenced by.
  [[nodiscard]] virtual admission::LaneServer server_for(const admission::LaneKey& /*lane*/,
                                                         const admission::LaneServer& asked) const {
    return asked;
  }
  std::unique_ptr<admission::LaneScripts> inner_;
};

}  // namespace seckill::sim
