// A round's lanes side by side: what they share is waited for once, and none waits for another.
#include <gtest/gtest.h>

#include <algorithm>

#include "admission/leading/together.hpp"
#include "simulation/leading/leading_world.hpp"

namespace seckill::sim {
namespace {

using admission::leading::LaneOutcome;
using admission::leading::Rebuild;
using admission::leading::RebuildTask;
using admission::leading::together;

// --- together() ---

class Together : public ::testing::Test {
 protected:
  // `count` pieces of one second each; how many were under way at most.
  std::size_t run(std::size_t count, std::size_t at_once) {
    std::size_t under_way = 0;
    std::size_t most = 0;
    const auto thread = node_.threads().start("test", [&] {
      together(node_.threads(), count, at_once, [&](std::size_t index) {
        most = std::max(most, ++under_way);
        node_.threads().sleep_for(1s);
        --under_way;
        done_.push_back(index);
      });
      took_ = std::chrono::duration_cast<std::chrono::seconds>(kernel_.now());  // threads start at odd nanoseconds
    });
    kernel_.run_until(1h);
    return most;
  }
  Kernel kernel_{1};
  Node& node_ = kernel_.add_node("node");
  std::vector<std::size_t> done_;
  std::chrono::seconds took_{0};
};

TEST_F(Together, DoesEachOnceAndReturnsAfterTheLast) {
  EXPECT_EQ(run(10, 4), 4U) << "a bound";
  EXPECT_EQ(took_, 3s) << "4 + 4 + 2";
  std::ranges::sort(done_);
  ASSERT_EQ(done_.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(done_[i], i);
}

TEST_F(Together, TakesNoMoreThanThereIs) {
  EXPECT_EQ(run(2, 4), 2U);
  EXPECT_EQ(took_, 1s);
}

TEST_F(Together, OneAtATimeAndNoneAtAll) {
  EXPECT_EQ(run(3, 1), 1U);
  EXPECT_EQ(took_, 3s);
  done_.clear();
  EXPECT_EQ(run(0, 4), 0U);
  EXPECT_TRUE(done_.empty());
}

// --- rounds of many lanes ---

std::uint64_t passed(LeadingWorld& world, std::string_view point) {
  const auto& passages = world.kernel.passages();
  const auto found = std::ranges::find(passages, point, [](const auto& one) { return std::string_view{one.first}; });
  return found == passages.end() ? 0 : found->second;
}

TEST(LanesAtOnce, TheNodeLeaseIsWaitedOnceForAllThatWereClosedTogether) {
  LeadingWorld world{1, {.total = 64, .lanes = 8}};
  world.start_worker();
  world.open();
  for (int i = 0; i < 24; ++i) (void)world.bought("buyer-" + std::to_string(i));
  ASSERT_TRUE(world.run_until_drained());
  world.lanes.flush(0);
  ASSERT_TRUE(world.kernel.run_until([&] { return world.row(7).state == LaneState::closed; }, 10s));
  const Time closed_at = world.kernel.now();
  ASSERT_TRUE(world.run_until_open());
  EXPECT_LT(world.kernel.now() - closed_at, 7s) << "one lease of 5 s, not one a lane";
  EXPECT_EQ(world.broken(true), "");
}

TEST(LanesAtOnce, SeveralLanesAreBuiltSideBySideAndNoMoreThanTheBound) {
  LeadingWorld world{1, {.total = 64, .lanes = 8}};
  world.open();
  world.run(1s);  // the last answer is there
  const auto asked_before = passed(world, "rebuild.asked");
  const auto opened_before = passed(world, "open.committed");
  world.lanes.flush(0);
  std::uint64_t most = 0;
  ASSERT_TRUE(world.kernel.run_until(
      [&] {
        const auto asked = passed(world, "rebuild.asked") - asked_before;
        most = std::max(most, asked - (passed(world, "open.committed") - opened_before));
        return asked > 0 && world.is_open();
      },
      60s));
  EXPECT_EQ(most, 4U);
}

TEST(LanesAtOnce, LanesWhoseServerStandsStillHoldUpNoOther) {
  LeadingWorld world{1, {.total = 128, .lanes = 16, .shards = 2}};
  world.open();
  std::vector<model::LaneIndex> healthy;
  for (model::LaneIndex lane = 0; lane < 16; ++lane) {
    if (world.lanes.shard_of({world.item, lane}) == 0) healthy.push_back(lane);
  }
  ASSERT_GE(healthy.size(), 6U);
  ASSERT_LE(healthy.size(), 10U);
  const auto asked_before = passed(world, "rebuild.asked");
  world.lanes.flush(0);
  world.lanes.flush(1);
  ASSERT_TRUE(world.kernel.run_until([&] { return passed(world, "rebuild.asked") > asked_before; }, 60s));
  world.lanes.pause(1, 300s);  // all are read; the install finds nobody
  ASSERT_TRUE(world.kernel.run_until(
      [&] { return std::ranges::all_of(healthy, [&](auto lane) { return world.row(lane).state == LaneState::lane; }); },
      10s))
      << "one after another they would wait three attempts for each of the others";
  EXPECT_FALSE(world.is_open());
  ASSERT_TRUE(world.run_until_open(400s));
  EXPECT_EQ(world.broken(false), "");
}

// --- leadership that cannot be proven for a moment ---

// A round by itself, whose `nth` question whether the node still leads is answered no; nullopt: it was not asked so
// often.
std::optional<std::vector<LaneOutcome>> round_with_a_doubt(LeadingWorld& world, int nth) {
  const auto lease = world.database.acquire_lease(store::leader_lease, "test", 10min);
  EXPECT_TRUE(lease.has_value() && lease->has_value());
  Node& node = *world.leader_nodes[1];
  LeadingWorld::Leading parts{world, node};
  Rebuild rebuild{{.authority = parts.store,
                   .store = parts.store,
                   .scripts = parts.scripts,
                   .publisher = *parts.publisher,
                   .threads = node.threads(),
                   .clock = node.clock()},
                  {.partitions = 1, .batch_max = 3}};
  std::vector<RebuildTask> tasks;
  for (const auto& row : world.authority().lanes) {
    tasks.push_back({.lane = {world.item, row.row.lane},
                     .to = LaneState::lane,
                     .generation = row.row.generation,
                     .server = {.run_id = row.run_id, .replication_id = row.replication_id}});
  }
  int asked = 0;
  std::vector<LaneOutcome> outcomes;
  const auto thread = node.threads().start(
      "round", [&] { outcomes = rebuild.run(tasks, {(*lease)->token}, [&] { return ++asked != nth; }); });
  EXPECT_TRUE(world.kernel.run_until([&] { return !outcomes.empty(); }, 10min));
  if (asked < nth) return std::nullopt;
  return outcomes;
}

// The same token is proven again when a renewal was late. What was left out meanwhile must not be built upon.
TEST(LanesAtOnce, P5_ALeaderWhoDoubtsForAMomentOpensNoLaneWhoseMarksItHasNotRead) {
  bool all_asked = false;
  for (int nth = 1; !all_asked; ++nth) {
    ASSERT_LT(nth, 200);
    LeadingWorld world{static_cast<std::uint64_t>(nth), {.total = 64, .lanes = 6}};
    world.start_worker();
    world.open();
    world.leader_nodes[0]->crash();
    world.run(10s);  // its lease runs out
    world.broker.set_alarm(true);
    std::vector<model::OrderIntent> intents;
    for (int i = 0; i < 12; ++i) intents.push_back(world.admitted("buyer-" + std::to_string(i)));
    const auto outcomes = round_with_a_doubt(world, nth);
    all_asked = !outcomes;
    world.broker.set_alarm(false);
    for (const auto& intent : intents) {
      const auto* lane = world.lanes.lane(world.lane_of(intent));
      ASSERT_NE(lane, nullptr);
      EXPECT_TRUE(lane->buyers.contains(intent.ticket)) << "P5, doubt " << nth;
    }
    EXPECT_EQ(world.broken(false), "") << "doubt " << nth;
  }
}

// Until the node lease has run out a release may still be acknowledged by the old lane.
TEST(LanesAtOnce, P6_ADoubtWhileTheNodeLeaseRunsEndsTheRoundBeforeAnyRowIsRead) {
  LeadingWorld world;
  world.open();
  world.leader_nodes[0]->crash();
  world.run(10s);
  const auto before = world.authority();
  const auto outcomes = round_with_a_doubt(world, 3);
  ASSERT_TRUE(outcomes);
  for (const LaneOutcome outcome : *outcomes) EXPECT_EQ(outcome, LaneOutcome::fenced);
  for (const auto& row : before.lanes) EXPECT_EQ(world.row(row.row.lane).row.generation, row.row.generation);
}

}  // namespace
}  // namespace seckill::sim
