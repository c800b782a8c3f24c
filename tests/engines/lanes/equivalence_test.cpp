// Scripts against the steps they translate: random calls in random order, each on both, everything compared after each.
#include <fmt/format.h>

#include <cstdlib>

#include "lanes/random_lane.hpp"

namespace seckill::admission::redis::test {
namespace {

constexpr int steps_a_seed = 150;
constexpr std::uint64_t seeds = 20;

void run(const RedisEngine& engine, std::uint64_t first_seed, std::uint64_t count) {
  LanesOnRedis redis{engine};
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}: repeat with SECKILL_LANES_SEED={}", seed, seed));
    RandomLane lane{redis, seed};
    for (int i = 0; i < steps_a_seed; ++i) {
      if (!lane.step()) return;
    }
  }
}

void run_seeds(const RedisEngine& engine) {
  if (const char* seed = std::getenv("SECKILL_LANES_SEED")) return run(engine, std::strtoull(seed, nullptr, 10), 1);
  const char* more = std::getenv("SECKILL_LANES_SEEDS");
  run(engine, 1, more == nullptr ? seeds : std::strtoull(more, nullptr, 10));
}

TEST(LaneScriptsEquivalence, every_script_does_what_its_step_does) {
  const auto engine = standalone_engine();
  SECKILL_NEEDS_REDIS(engine, "SECKILL_TEST_REDIS");
  run_seeds(*engine);
}

TEST(LaneScriptsEquivalence, every_script_does_what_its_step_does_in_a_cluster) {
  const auto engine = cluster_engine();
  SECKILL_NEEDS_REDIS(engine, "SECKILL_TEST_REDIS_CLUSTER");
  run_seeds(*engine);
}

}  // namespace
}  // namespace seckill::admission::redis::test
