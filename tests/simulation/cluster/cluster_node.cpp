#include "simulation/cluster/cluster_node.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace seckill::sim {

NodeLife::NodeLife(ClusterDevices& devices, Node& node, NodeRole role, std::vector<queue::Partition> own,
                   std::vector<model::ItemKey> items)
    : devices_{devices},
      node_{node},
      items_{std::move(items)},
      store_{&devices.kernel, devices.database, &node, devices.store_faults},
      lanes_{break_lanes(devices.breakage, devices.lanes,
                         std::make_unique<SimLanesClient>(devices.kernel, devices.lanes, node))},
      random_{devices.kernel.random().fork(fmt::format("{} {}", node.name(), node.life()))},
      publisher_{break_publisher(devices.breakage, devices.kernel, node, devices.broker.publisher(node))},
      landing_{{store_, store_, *lanes_, node.threads(), node.clock()},
               [this](const model::ItemKey& item, std::string_view what) {
                 base::log::error("oversell guard: {}: {}", item.text(), what);
                 admission_.close_lanes(item, what);
               }},
      admission_{ports(), config()},
      ends_{store_, admission_, node.clock(), {}, node.threads()} {
  if (role == NodeRole::api) return;
  source_ = break_source(devices.breakage, devices.broker.source(node, std::move(own)));
  worker_ = std::make_unique<orders::OrderWorker>(
      *source_, landing_, node.threads(), [this](std::uint64_t n) { return random_.next() % n; },
      orders::OrderWorkerConfig{});
  deadlines_ = std::make_unique<orders::Deadlines>(store_, ends_, node.clock(), std::chrono::milliseconds{5'000},
                                                   node.threads());
  admission::leading::LeaderConfig leading;
  leading.lease.holder = fmt::format("{}#{}", node.name(), node.life());
  leading.rebuild.partitions = devices.partitions;
  leader_ = std::make_unique<admission::leading::Leader>(
      admission::leading::RebuildPorts{store_, store_, *lanes_, *publisher_, node.threads(), node.clock()},
      [this] { return base::Result<std::vector<model::ItemKey>>{items_}; }, std::move(leading));
}

admission::remote::Ports NodeLife::ports() {
  return {.scripts = *lanes_,
          .publisher = *publisher_,
          .authority = store_,
          .store = store_,
          .threads = node_.threads(),
          .clock = node_.clock(),
          .random = random_,
          .landing = &landing_,
          .synchronous = [this] { return devices_.synchronous; }};
}

admission::remote::Config NodeLife::config() const {
  admission::remote::Config config;
  config.partitions = devices_.partitions;
  return config;
}

void NodeLife::start() {
  admission_.start();
  ends_.start();
  knowing_ = node_.threads().start("items", [this] { know_items(); });
  if (worker_) worker_->start();
  if (deadlines_) deadlines_->start();
  if (leader_) leader_->start();
}

// A node that starts while the store is away goes on asking, as its operator's supervisor would start it again.
void NodeLife::know_items() {
  std::vector<model::ItemKey> wanted = items_;
  while (!wanted.empty()) {
    const model::ItemKey item = wanted.back();
    const auto sale = store_.find_sale(item.sale);
    const model::SaleItem* row = sale ? sale->find(item.sku) : nullptr;
    if (row != nullptr && admission_.install(*sale, *row, store_)) {
      wanted.pop_back();
      continue;
    }
    node_.threads().sleep_for(std::chrono::milliseconds{200});
  }
}

}  // namespace seckill::sim
