// A lane that was reopened before everything of its older generation was landed, adopted or failed: it may admit, and
// deny nobody (P4). How long the row says so.
#include <gtest/gtest.h>

#include "simulation/leading/leading_world.hpp"

namespace seckill::sim {
namespace {

using admission::Decision;

class Undrained : public ::testing::Test {
 protected:
  // A confirmed intent whose lane is flushed and rebuilt while nobody lands.
  model::OrderIntent give_up_the_barrier() {
    world.open();
    EXPECT_FALSE(world.row(0).undrained()) << "fresh from preload";
    const auto old = world.bought("ann");
    EXPECT_TRUE(world.lanes.flush(0));
    world.run(1ms);
    EXPECT_TRUE(world.run_until_open());
    EXPECT_TRUE(world.row(old.lane).undrained());
    return old;
  }
  [[nodiscard]] bool run_until_clear(Time longest = 60s) {
    return world.kernel.run_until([this] { return !world.row(0).undrained() && !world.row(1).undrained(); }, longest);
  }

  LeadingWorld world{1, {.total = 16, .limit = 1}};
};

TEST_F(Undrained, AfterABarrierThatCameBackALaneIsNot) {
  world.start_worker();
  world.open();
  (void)world.bought("ann");
  world.lanes.flush(0);
  world.run(1ms);
  ASSERT_TRUE(world.run_until_open());
  EXPECT_FALSE(world.row(0).undrained());
  EXPECT_FALSE(world.row(1).undrained());
}

TEST_F(Undrained, P4_UntilWhatIsOlderHasLanded) {
  const auto old = give_up_the_barrier();
  world.run(30s);
  EXPECT_TRUE(world.row(old.lane).undrained()) << "nobody has landed it yet";
  world.start_worker();
  ASSERT_TRUE(run_until_clear());
  EXPECT_TRUE(world.order(old));
}

TEST_F(Undrained, P4_SurvivesItsLeaderAndFurtherRebuilds) {
  const auto old = give_up_the_barrier();
  world.leader_nodes[0]->crash();
  world.broker.set_faults({.late = 1000, .late_longest = 1s});
  world.start_leader(1);
  world.lanes.flush(0);
  world.run(1ms);
  ASSERT_TRUE(world.run_until_open());
  EXPECT_TRUE(world.row(old.lane).undrained());
  world.start_worker();
  ASSERT_TRUE(run_until_clear());
  EXPECT_TRUE(world.order(old));
}

// The barriers come back, because what is put off leaves the queue and comes again as a new message.
TEST_F(Undrained, P4_WhileAWorkerPutsAnOlderIntentOff) {
  const auto old = give_up_the_barrier();
  world.landing_config.row_age_max = std::chrono::milliseconds{0};  // no row is young enough to ask a lane for adoption
  world.start_worker();
  world.run(40s);
  EXPECT_FALSE(world.order(old));
  EXPECT_GT(world.working->worker.counters().put_off.load(), 3U);
  EXPECT_TRUE(world.row(old.lane).undrained());
  world.stop_worker();
  world.landing_config = {};
  world.start_worker();
  ASSERT_TRUE(run_until_clear());
  EXPECT_TRUE(world.order(old));
}

TEST_F(Undrained, P4_AfterAdmissionByDatabaseUntilTheUndecidedAreDecided) {
  world.start_worker();
  world.open();
  ASSERT_TRUE(world.database.want_state(world.item, LaneState::store, {}));
  ASSERT_TRUE(world.run_until_open());
  ASSERT_TRUE(world.database.want_state(world.item, LaneState::lane, {}));
  ASSERT_TRUE(world.kernel.run_until([this] { return world.row(0).state == LaneState::lane; }, 60s));
  EXPECT_TRUE(world.row(0).undrained()) << "what was asked for may be on its way";
  EXPECT_TRUE(run_until_clear());
}

}  // namespace
}  // namespace seckill::sim
