// A whole deployment under virtual time: several api and worker nodes of real protocol code over the simulated store,
// lanes and broker, a crowd, an operator, and what breaks, all from one plan. The oracle watches every event; then the
// faults stop, everything has to come to rest, and what is at rest has to agree.
//
// Not here yet, with their parts: payments' own promises (P7), waitlist, parked tickets.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/sale_desk.hpp"
#include "simulation/cluster/cluster_node.hpp"
#include "simulation/cluster/cluster_plan.hpp"
#include "simulation/cluster/crowd_record.hpp"

namespace seckill::sim {

struct ClusterOutcome {
  std::string violation;  // empty: every promise held
  std::vector<std::string> story;
  std::uint64_t fingerprint = 0;  // equal for equal runs
  Time virtual_time{};
  std::uint64_t acknowledged = 0;
  std::uint64_t requests = 0;
  std::uint64_t events = 0;
  std::vector<std::pair<std::string, std::uint64_t>> passages;
  std::vector<std::pair<std::string, std::uint64_t>> crashed_at;
};

class ClusterWorld {
 public:
  explicit ClusterWorld(const ClusterPlan& plan, ClusterBreakage breakage = ClusterBreakage::none);
  ~ClusterWorld();
  ClusterWorld(const ClusterWorld&) = delete;
  ClusterWorld& operator=(const ClusterWorld&) = delete;

  [[nodiscard]] ClusterOutcome run();

 private:
  // A machine that always comes back; what runs on it is the life.
  struct Host {
    Node* node = nullptr;
    NodeRole role = NodeRole::api;
    std::vector<queue::Partition> own;
    std::unique_ptr<NodeLife> life;
    std::unique_ptr<ops::SaleDesk> desk;                        // api
    bool at_desk = false;                                       // somebody is
    std::vector<std::unique_ptr<base::Thread>> operator_tasks;  // of this life
  };

  // --- building (cluster_world.cpp) ---
  void put_sale_on();
  void add_hosts();
  void start(Host& host);
  void crashed(Node& node, Time down_for);
  void restart(Host& host);

  // --- steps (cluster_steps.cpp) ---
  void plan_steps();
  void take(const ClusterStep& step);
  void buyer_step(const ClusterStep& step);
  void operator_step(const ClusterStep& step);
  void edit(const ClusterStep& step);
  void fault_step(const ClusterStep& step);
  void lanes_fault(const ClusterStep& step);
  void excuse_replicas_only(ShardIndex shard);
  void buy(const BuyersRequest& request);
  void end(const BuyersRequest& request, model::OrderEvent event);
  void ask_outcome(const BuyersRequest& request);
  [[nodiscard]] BuyersRequest request_of(const ClusterStep& step);
  [[nodiscard]] Host* some_api();
  [[nodiscard]] Time net();
  // Runs an operator's work on a node, again until it says true or its node dies.
  void operate(std::string what, std::function<bool(Host&)> work);

  // --- watching (cluster_checks.cpp) ---
  void watch();
  void watch_lanes();
  void tell_lane(const store::LaneAuthorityRow& row, const admission::steps::LaneState& lane);
  void come_to_rest();
  [[nodiscard]] std::string unrest();
  void check_identities(std::string_view when, std::int64_t grace_ms);
  void check_at_rest();
  void sell_the_rest();
  [[nodiscard]] const ItemRow& item_row() const;
  [[nodiscard]] bool is_current(const store::LaneAuthorityRow& row) const;

  const ClusterPlan plan_;
  Kernel kernel_;
  Random random_;  // of the world itself: networks, choices
  Tables tables_;
  const base::Clock& store_clock_;
  SimDatabase database_;
  StoreFaults store_faults_;
  SimLanes lanes_;
  SimBroker broker_;
  ClusterDevices devices_;
  CrowdRecord record_;
  model::Sale sale_;
  model::ItemKey item_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::uint64_t requests_ = 0;
  std::uint64_t next_change_ = 1;            // names of stock changes
  std::map<ShardIndex, Time> destroyed_at_;  // when a shard last lost what master and replica held
  std::int64_t limit_max_ = 0;               // the highest that was ever in force (P3)
  bool broker_lost_content_ = false;
  bool resting_ = false;
  std::uint64_t watched_ = 0;
  std::map<model::LaneIndex, std::string> lanes_told_;
};

}  // namespace seckill::sim
