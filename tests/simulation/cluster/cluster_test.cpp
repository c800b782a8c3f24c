// A few seeds of the cluster with every test run; many more by `make simulate`.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include "simulation/cluster/cluster_runs.hpp"

namespace seckill::sim {
namespace {

std::string story_of(const RunResult& result) {
  std::string text;
  const std::size_t first = result.story.size() - std::min<std::size_t>(result.story.size(), 40);
  for (std::size_t i = first; i < result.story.size(); ++i) text += result.story[i] + "\n";
  return text;
}

TEST(ClusterSimulation, P1_to_P6_and_P8_hold_for_some_seeds) {
  const World world = cluster::world();
  std::uint64_t purchases = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const RunResult result = world.run(world.draw(seed));
    ASSERT_FALSE(result.violation) << result.violation->promise << ": " << result.violation->what
                                   << "\nrepeat: simulate --world cluster --seed " << seed << " --story\n"
                                   << story_of(result);
    purchases += result.purchases;
  }
  EXPECT_GT(purchases, 1'000U) << "the crowd really buys";
}

TEST(ClusterSimulation, one_seed_is_one_run) {
  const World world = cluster::world();
  const RunResult first = world.run(world.draw(7));
  const RunResult again = world.run(world.draw(7));
  EXPECT_EQ(first.fingerprint, again.fingerprint);
  EXPECT_NE(first.fingerprint, world.run(world.draw(8)).fingerprint);
}

TEST(ClusterSimulation, a_plan_of_no_steps_sells_everything) {
  const World world = cluster::world();
  Plan plan = world.draw(3);
  plan.steps.clear();
  const RunResult result = world.run(plan);
  EXPECT_FALSE(result.violation) << result.violation->what;
  EXPECT_GE(result.purchases, 16U);
}

// Breaking a promise on purpose is found, and soon: else the oracle proves nothing.
class ClusterBites : public testing::TestWithParam<ClusterBreakage> {};

TEST_P(ClusterBites, within_1000_seeds) {
  // Where the assertions of the product end the process before the oracle speaks, that is a find as well.
  const auto find = [] {
    const World world = cluster::world(GetParam());
    for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
      const RunResult result = world.run(world.draw(seed));
      if (!result.violation) continue;
      std::fprintf(stderr, "seed %lu: %s: %s\n", seed, result.violation->promise.c_str(),
                   result.violation->what.c_str());
      std::_Exit(7);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(find(), [](int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 0; }, "");
}

INSTANTIATE_TEST_SUITE_P(, ClusterBites, testing::ValuesIn(all_cluster_breakages),
                         [](const auto& info) { return std::string{name(info.param)}; });

}  // namespace
}  // namespace seckill::sim
