// A node's handle on the simulated lanes: the port LaneScripts over its connections. One for each life of a node; what
// a dead life still sends is dropped, and so are the answers on their way to it.
#pragma once

#include <memory>

#include "simulation/devices/lanes/lane_connections.hpp"

namespace seckill::sim {

class SimLanesClient final : public admission::LaneScripts {
 public:
  // Requires: the cluster and the node outlive every event of the kernel.
  SimLanesClient(Kernel& kernel, SimLanes& cluster, Node& node);

  void admit(const admission::LaneKey& lane, const admission::LaneServer& server, model::Generation generation,
             std::vector<admission::LaneAsk> asks, admission::LaneAnswer<admission::LaneDecisions> answer) override;
  void confirm_published(const admission::LaneKey& lane, const admission::LaneServer& server,
                         std::vector<model::Ticket> tickets,
                         admission::LaneAnswer<admission::LaneCode> answer) override;
  void claim_intents(const admission::LaneKey& lane, const admission::LaneServer& server, std::int64_t age_ms,
                     std::size_t count, admission::LaneAnswer<std::vector<model::OrderIntent>> answer) override;
  void live_marks(const admission::LaneKey& lane, const admission::LaneServer& server, base::UtcMs before,
                  std::uint64_t cursor, admission::LaneAnswer<MarkPage> answer) override;
  void mark_holders(const admission::LaneKey& lane, const admission::LaneServer& server, std::uint64_t cursor,
                    admission::LaneAnswer<HolderPage> answer) override;
  void wait_replicas(const admission::LaneKey& lane, const admission::LaneServer& server,
                     std::chrono::milliseconds longest, admission::LaneAnswer<admission::LaneCode> answer) override;
  void read(const admission::LaneKey& lane, const admission::LaneServer& server,
            admission::LaneAnswer<admission::LaneReading> answer) override;
  void buyer_tickets(const admission::LaneKey& lane, const admission::LaneServer& server, const model::BuyerId& buyer,
                     admission::LaneAnswer<FoundTickets> answer) override;
  void release(const admission::LaneKey& lane, const admission::LaneServer& server, const model::Ticket& ticket,
               admission::LaneAnswer<admission::LaneCode> answer) override;
  void post(const admission::LaneKey& lane, const admission::LaneServer& server, const model::Ticket& ticket,
            admission::LaneAnswer<admission::LaneCode> answer) override;
  void debit(const admission::LaneKey& lane, const admission::LaneServer& server, model::Generation generation,
             const admission::LaneTransferRecord& transfer,
             admission::LaneAnswer<admission::LaneDebit> answer) override;
  void undo_debit(const admission::LaneKey& lane, const admission::LaneServer& server, const std::string& id,
                  admission::LaneAnswer<admission::LaneCode> answer) override;
  void credit(const admission::LaneKey& lane, const admission::LaneServer& server, model::Generation generation,
              const admission::LaneTransferRecord& transfer,
              admission::LaneAnswer<admission::LaneCode> answer) override;
  void close_transfer(const admission::LaneKey& lane, const admission::LaneServer& server, const std::string& id,
                      admission::LaneAnswer<admission::LaneCode> answer) override;
  void configure(const admission::LaneKey& lane, const admission::LaneServer& server, const model::ItemTerms& terms,
                 admission::LaneAnswer<admission::LaneCode> answer) override;
  void adopt(const admission::LaneKey& lane, const admission::LaneServer& server, const model::OrderIntent& intent,
             admission::LaneAnswer<admission::AdoptReply> answer) override;
  void close(const admission::LaneKey& lane, const admission::LaneServer& server, model::Generation generation,
             admission::LeaderToken leader, admission::LaneAnswer<admission::LaneCode> answer) override;
  void install_begin(const admission::LaneKey& lane, const admission::LaneServer& server,
                     const admission::InstallPlan& plan, admission::LaneAnswer<admission::LaneCode> answer) override;
  void install_batch(const admission::LaneKey& lane, const admission::LaneServer& server,
                     const admission::InstallPlan& plan, std::vector<admission::InstallTicket> tickets,
                     admission::LaneAnswer<admission::LaneCode> answer) override;
  void install_open(const admission::LaneKey& lane, const admission::LaneServer& server,
                    const admission::InstallPlan& plan, admission::LaneAnswer<admission::LaneCode> answer) override;
  void server_of(const admission::LaneKey& lane, admission::LaneAnswer<admission::LaneServer> answer) override;

 private:
  template <typename T>
  using Step = std::function<T(admission::steps::LaneState&, base::UtcMs)>;
  template <typename T>
  void looking(std::string_view script, const admission::LaneKey& lane, const admission::LaneServer& server,
               Step<T> step, admission::LaneAnswer<T> answer);
  template <typename T>
  void writing(std::string_view script, const admission::LaneKey& lane, const admission::LaneServer& server,
               Step<T> step, admission::LaneAnswer<T> answer);

  std::shared_ptr<LaneConnections> connections_;  // events hold it too
};

}  // namespace seckill::sim
