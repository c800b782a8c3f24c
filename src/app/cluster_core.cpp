#include "app/cluster_core.hpp"

#include "base/log.hpp"
#include "base/random.hpp"
#include "base/threads.hpp"

namespace seckill::app {
namespace {

admission::remote::Config admission_config(const ClusterConfig& config) {
  admission::remote::Config made;
  made.partitions = config.rabbitmq.partitions;
  if (config.redis.replicas == 0) made.replicas_after = std::chrono::milliseconds{0};
  return made;
}

}  // namespace

ClusterCore::ClusterCore(ClusterEngines& engines, const ClusterConfig& config, const base::Clock& clock,
                         const ops::SwitchWatch& switches)
    : landing_{{.store = *engines.store,
                .authority = *engines.store,
                .scripts = *engines.lanes,
                .threads = base::system_threads(),
                .clock = clock,
                .bell = engines.publisher.get()},
               [this](const model::ItemKey& item, std::string_view what) {
                 base::log::error("oversell guard: {}: {}; its lanes are closed until a person decides", item.text(),
                                  what);
                 admission_.close_lanes(item, what);
               }},
      admission_{{.scripts = *engines.lanes,
                  .publisher = *engines.publisher,
                  .authority = *engines.store,
                  .store = *engines.store,
                  .threads = base::system_threads(),
                  .clock = clock,
                  .random = base::system_random(),
                  .landing = &landing_,
                  .synchronous = [&switches] { return switches.synchronous_ordering(); }},
                 admission_config(config)},
      ends_{*engines.store, admission_, clock} {}

void ClusterCore::start() {
  admission_.start();
  ends_.start();
}

}  // namespace seckill::app
