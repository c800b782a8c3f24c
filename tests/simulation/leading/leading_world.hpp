// A small cluster for the tests of this folder: one item of two lanes in the simulated store, lanes and broker, two
// nodes that may lead, one that lands orders, and buyers who go straight to a lane's script.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admission/leading/leader.hpp"
#include "orders/order_worker.hpp"
#include "simulation/devices/broker/sim_broker.hpp"
#include "simulation/devices/lanes/sim_lanes_client.hpp"
#include "simulation/devices/store/sim_store.hpp"

namespace seckill::sim {

using admission::LaneCode;
using admission::LaneKey;
using store::LaneState;

struct LeadingTerms {
  std::int64_t total = 32;
  std::int64_t limit = 4;
  std::uint32_t lanes = 2;
  std::int64_t price_minor = 1'000;
  ShardIndex shards = 1;
};

class LeadingWorld {
 public:
  explicit LeadingWorld(std::uint64_t seed = 1, LeadingTerms terms = {});
  ~LeadingWorld();
  LeadingWorld(const LeadingWorld&) = delete;
  LeadingWorld& operator=(const LeadingWorld&) = delete;

  // What a leading node runs in its present life.
  struct Leading {
    Leading(LeadingWorld& world, Node& its_node);
    Node& node;
    SimStore store;
    SimLanesClient scripts;
    std::unique_ptr<queue::IntentPublisher> publisher;
    admission::leading::Leader leader;
  };
  // What a landing node runs in its present life.
  struct Working {
    Working(LeadingWorld& world, Node& its_node);
    Node& node;
    SimStore store;
    SimLanesClient scripts;
    std::unique_ptr<queue::IntentSource> source;
    orders::ClusterLanding landing;
    orders::OrderWorker worker;
  };

  void start_leader(std::size_t which = 0);
  void start_worker();
  void stop_worker();  // kill -9

  void run(Time time) { kernel.run_until(kernel.now() + time); }
  // Until every lane's row and lane agree and are open as wanted.
  [[nodiscard]] bool run_until_open(Time longest = 60s);
  [[nodiscard]] bool is_open();
  // Until nothing is in the broker and no lane has an open intent; sweeps each second.
  [[nodiscard]] bool run_until_drained(Time longest = 60s);
  // What the relay's sweep does: publishes intents that nobody has claimed for two seconds.
  void sweep();
  // Preloads, leads, and waits for the lanes.
  void open();

  // --- buyers, by the test's own thread ---
  struct Bought {
    admission::Decision decision = admission::Decision::busy;
    std::optional<model::OrderIntent> intent;
  };
  Bought buy(const std::string& buyer, const std::string& request = "r1", std::int64_t units = 1);
  // buy() that is admitted.
  model::OrderIntent admitted(const std::string& buyer, const std::string& request = "r1", std::int64_t units = 1);
  queue::Published publish(const model::OrderIntent& intent);
  // Admitted, confirmed by the broker, and so marked.
  model::OrderIntent bought(const std::string& buyer, const std::string& request = "r1", std::int64_t units = 1);

  [[nodiscard]] LaneKey lane_of(const model::OrderIntent& intent) const { return {intent.item, intent.lane}; }
  [[nodiscard]] store::ItemAuthority authority() { return database.item_authority(item).value(); }
  [[nodiscard]] store::LaneAuthorityRow row(model::LaneIndex lane) { return authority().lanes.at(lane); }
  [[nodiscard]] std::optional<store::Order> order(const model::OrderIntent& intent) {
    return database.find_order(intent.ticket).value();
  }
  // P1, P2, P3 and P6 as the store's audit sees them, and the open lanes against their rows when `drained`. Empty: all
  // hold.
  [[nodiscard]] std::string broken(bool drained);

  // A call of the lanes' port by nobody's node.
  template <typename T, typename Method, typename... Args>
  base::Result<T> call(Method method, const LaneKey& lane, Args&&... args) {
    return kernel.await<base::Result<T>>([&](std::move_only_function<void(base::Result<T>)> done) {
      (buyers.get()->*method)(lane, std::forward<Args>(args)..., std::move(done));
    });
  }
  [[nodiscard]] admission::LaneServer server_in_row(model::LaneIndex lane) {
    const auto found = row(lane);
    return {.run_id = found.run_id, .replication_id = found.replication_id};
  }

  Kernel kernel;
  Node& database_node = kernel.add_node("db");
  Node& buyers_node = kernel.add_node("buyers");
  std::vector<Node*> leader_nodes{&kernel.add_node("leader-0"), &kernel.add_node("leader-1")};
  Node& worker_node = kernel.add_node("worker");
  Tables tables;
  SimDatabase database{tables, database_node.clock()};
  StoreFaults store_faults;
  SimLanes lanes;
  SimBroker broker{kernel, {.partitions = 1}};
  const model::ItemKey item{model::SaleId::trusted("s1"), model::Sku::trusted("phone")};
  std::vector<std::unique_ptr<Leading>> leading{2};
  std::unique_ptr<Working> working;
  std::unique_ptr<SimLanesClient> buyers;
  std::unique_ptr<queue::IntentPublisher> publisher;
  std::set<std::string> oversold;               // what the guard was told
  orders::ClusterLandingConfig landing_config;  // of the next worker that is started
};

}  // namespace seckill::sim
