// One process of the simulated deployment: the product's own objects of one life of a node, wired as `seckill serve`
// wires them in cluster mode, over the simulated store, lanes and broker.
//
//   api      admission over remote lanes, ticket ends (a buyer's cancel and payment)
//   worker   landing from its partitions, ticket ends, deadlines, and a candidate for leader
//
// A crash destroys the life; the next one is built from nothing but what the devices kept.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admission/leading/leader.hpp"
#include "admission/remote/remote_admission.hpp"
#include "base/random.hpp"
#include "orders/deadlines.hpp"
#include "orders/order_worker.hpp"
#include "orders/ticket_ends.hpp"
#include "simulation/cluster/breakage.hpp"
#include "simulation/devices/broker/sim_broker.hpp"
#include "simulation/devices/lanes/sim_lanes_client.hpp"
#include "simulation/devices/store/sim_store.hpp"

namespace seckill::sim {

// The devices that every node reaches, and how the deployment is cut.
struct ClusterDevices {
  Kernel& kernel;
  SimDatabase& database;
  const StoreFaults& store_faults;
  SimLanes& lanes;
  SimBroker& broker;
  std::uint32_t partitions = 4;
  bool synchronous = false;  // the switch: synchronous ordering
  ClusterBreakage breakage = ClusterBreakage::none;
};

enum class NodeRole : std::uint8_t { api, worker };

// The kernel's dice as the product's.
class NodeRandom final : public base::Random {
 public:
  explicit NodeRandom(sim::Random random) : random_{random} {}
  [[nodiscard]] std::uint64_t next() noexcept override { return random_.next(); }

 private:
  sim::Random random_;
};

// One life. Built when the node starts, destroyed when it has crashed.
class NodeLife {
 public:
  NodeLife(ClusterDevices& devices, Node& node, NodeRole role, std::vector<queue::Partition> own,
           std::vector<model::ItemKey> items);
  NodeLife(const NodeLife&) = delete;
  NodeLife& operator=(const NodeLife&) = delete;

  // Starts the threads; the items become known as soon as the store tells of them.
  void start();

  [[nodiscard]] admission::remote::RemoteAdmission& admission() noexcept { return admission_; }
  [[nodiscard]] orders::TicketEnds& ends() noexcept { return ends_; }
  [[nodiscard]] SimStore& store() noexcept { return store_; }
  [[nodiscard]] const admission::leading::Leader* leader() const noexcept { return leader_.get(); }

 private:
  [[nodiscard]] admission::remote::Ports ports();
  [[nodiscard]] admission::remote::Config config() const;
  void know_items();

  ClusterDevices& devices_;
  Node& node_;
  const std::vector<model::ItemKey> items_;
  SimStore store_;
  const std::unique_ptr<admission::LaneScripts> lanes_;
  NodeRandom random_;
  const std::unique_ptr<queue::IntentPublisher> publisher_;
  orders::ClusterLanding landing_;
  admission::remote::RemoteAdmission admission_;
  orders::TicketEnds ends_;
  // Workers only.
  std::unique_ptr<queue::IntentSource> source_;
  std::unique_ptr<orders::OrderWorker> worker_;
  std::unique_ptr<orders::Deadlines> deadlines_;
  std::unique_ptr<admission::leading::Leader> leader_;
  std::unique_ptr<base::Thread> knowing_;
};

}  // namespace seckill::sim
