#include "app/cluster_worker.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/random.hpp"
#include "base/threads.hpp"

namespace seckill::app {
namespace {

constexpr std::chrono::milliseconds sweep_every{5'000};  // behind the bell

admission::leading::LeaderConfig leader_config(const ClusterConfig& config) {
  admission::leading::LeaderConfig made;
  // A life of its own: a restarted node is another holder.
  made.lease.holder = fmt::format("{}#{:016x}", config.node, base::system_random().next());
  made.rebuild.partitions = config.rabbitmq.partitions;
  made.lost.partitions = config.rabbitmq.partitions;
  return made;
}

}  // namespace

ClusterWorker::ClusterWorker(ClusterEngines& engines, ClusterCore& core, const ClusterConfig& config,
                             const base::Clock& clock, admission::leading::Leader::Items items)
    : deadlines_{*engines.store, core.ends(), clock, sweep_every},
      leader_{{*engines.store, *engines.store, *engines.lanes, *engines.publisher, base::system_threads(), clock},
              std::move(items),
              leader_config(config)} {}

base::Result<std::unique_ptr<ClusterWorker>> ClusterWorker::make(ClusterEngines& engines, ClusterCore& core,
                                                                 const ClusterConfig& config, const base::Clock& clock,
                                                                 admission::leading::Leader::Items items) {
  std::unique_ptr<ClusterWorker> made{new ClusterWorker{engines, core, config, clock, std::move(items)}};
  for (std::uint32_t i = 1; i <= config.worker_threads; ++i) {
    if (auto added = made->add_worker(core, config, i); !added) return std::unexpected(std::move(added.error()));
  }
  return made;
}

base::Status ClusterWorker::add_worker(ClusterCore& core, const ClusterConfig& config, std::uint32_t number) {
  auto source =
      queue::rabbit::RabbitSource::make(rabbit_config(config, fmt::format("{} worker {}", config.node, number)));
  if (!source) return std::unexpected(std::move(source.error()));
  (*source)->on_bell([this] { deadlines_.sweep_soon(); });
  auto worker = std::make_unique<orders::OrderWorker>(
      **source, core.landing(), base::system_threads(),
      [](std::uint64_t n) { return n == 0 ? 0 : base::system_random().next() % n; },
      orders::OrderWorkerConfig{.name = fmt::format("orders-{}", number)});
  lines_.push_back({*std::move(source), std::move(worker)});
  return {};
}

void ClusterWorker::start() {
  for (const Line& line : lines_) line.worker->start();
  deadlines_.start();
  leader_.start();
}

void ClusterWorker::stop() {
  deadlines_.stop();
  for (const Line& line : lines_) line.worker->stop();
  leader_.stop();
}

std::vector<const queue::rabbit::RabbitSource*> ClusterWorker::sources() const {
  std::vector<const queue::rabbit::RabbitSource*> all;
  for (const Line& line : lines_) all.push_back(line.source.get());
  return all;
}

std::vector<const orders::OrderWorker*> ClusterWorker::workers() const {
  std::vector<const orders::OrderWorker*> all;
  for (const Line& line : lines_) all.push_back(line.worker.get());
  return all;
}

}  // namespace seckill::app
