#include <gtest/gtest.h>

#include <cstdlib>

#include "simulation/cluster/cluster_world.hpp"

namespace seckill::sim {
namespace {

TEST(Cluster, SMOKE) {
  const std::uint64_t first = std::getenv("SEED") != nullptr ? std::strtoull(std::getenv("SEED"), nullptr, 10) : 1;
  const std::uint64_t count = std::getenv("SEEDS") != nullptr ? std::strtoull(std::getenv("SEEDS"), nullptr, 10) : 20;
  const bool story = std::getenv("STORY") != nullptr;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    ClusterWorld world{draw_cluster_plan(seed)};
    const ClusterOutcome outcome = world.run();
    std::printf("seed %lu: %lu events, %.0f s, %lu acknowledged, %lu orders %s\n", seed, outcome.events,
                std::chrono::duration<double>(outcome.virtual_time).count(), outcome.acknowledged, outcome.orders,
                outcome.violation.c_str());
    if (story)
      for (const auto& line : outcome.story) std::printf("  %s\n", line.c_str());
    if (!outcome.violation.empty()) ++failures;
  }
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace seckill::sim
