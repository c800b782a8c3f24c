// A leader that dies at any step of a rebuild, who leads, and the mode switch that rebuilds carry out.
#include <gtest/gtest.h>

#include <tuple>

#include "simulation/leading/leading_world.hpp"

namespace seckill::sim {
namespace {

using admission::leading::judge_row;
using admission::leading::RowWants;

// --- a leader that dies at any step ---

class EveryCut : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(EveryCut, IsFinishedByTheNextLeader) {
  const auto& [point, nth] = GetParam();
  LeadingWorld world;
  world.start_worker();
  world.open();
  std::vector<model::OrderIntent> intents;
  for (int i = 0; i < 12; ++i) intents.push_back(world.bought("buyer-" + std::to_string(i)));
  ASSERT_TRUE(world.run_until_drained());
  world.stop_worker();
  intents.push_back(world.bought("confirmed"));
  intents.push_back(world.admitted("only-in-the-lane"));
  world.run(1s);
  world.kernel.crash_at(point, static_cast<std::uint64_t>(nth), 0s);
  ASSERT_TRUE(world.lanes.fail_over(0));
  ASSERT_TRUE(world.kernel.run_until([&] { return !world.leader_nodes[0]->alive(); }, 90s)) << "the cut was reached";
  EXPECT_EQ(world.broken(false), "");
  world.start_leader(1);
  world.run(6s);
  world.start_worker();
  ASSERT_TRUE(world.run_until_open());
  ASSERT_TRUE(world.run_until_drained());
  for (const auto& intent : intents) EXPECT_TRUE(world.order(intent)) << "P5 " << intent.buyer.str();
  EXPECT_EQ(world.broken(true), "");
}

std::string name_of_cut(const ::testing::TestParamInfo<EveryCut::ParamType>& info) {
  std::string name = std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Rebuild, EveryCut,
    ::testing::Values(std::tuple{"lease.asked", 3}, std::tuple{"lease.committed", 8}, std::tuple{"close.asked", 1},
                      std::tuple{"close.committed", 1}, std::tuple{"close.asked", 2}, std::tuple{"close.committed", 2},
                      std::tuple{"lane.close.executed", 1}, std::tuple{"lane.server_of.replied", 1},
                      std::tuple{"lane.live_marks.replied", 1}, std::tuple{"lane.live_marks.replied", 2},
                      std::tuple{"lane.close.replied", 2}, std::tuple{"rebuild.asked", 1},
                      std::tuple{"rebuild.committed", 1}, std::tuple{"lane.install_begin.executed", 1},
                      std::tuple{"lane.install_begin.replied", 1}, std::tuple{"lane.install_batch.executed", 1},
                      std::tuple{"lane.install_batch.executed", 2}, std::tuple{"lane.install_batch.replied", 3},
                      std::tuple{"lane.install_open.executed", 1}, std::tuple{"lane.install_open.replied", 1},
                      std::tuple{"open.asked", 1}, std::tuple{"open.committed", 1}, std::tuple{"rebuild.asked", 2},
                      std::tuple{"lane.install_begin.executed", 2}, std::tuple{"open.committed", 2}),
    name_of_cut);

// --- who leads ---

TEST(Leader, OnlyOneOfTwoLeadsAndTheOtherTakesOver) {
  LeadingWorld world;
  world.open();
  world.start_leader(1);
  world.run(20s);
  EXPECT_TRUE(world.leading[0]->leader.lease().held());
  EXPECT_FALSE(world.leading[1]->leader.lease().held());
  const auto first = world.leading[0]->leader.lease().held()->token;
  world.leader_nodes[0]->crash();
  ASSERT_TRUE(world.kernel.run_until([&] { return world.leading[1]->leader.lease().held().has_value(); }, 10s));
  EXPECT_GT(world.leading[1]->leader.lease().held()->token, first);
}

TEST(Leader, ALeaderThatCannotProveItsLeaseLeadsNoLonger) {
  LeadingWorld world;
  world.open();
  world.store_faults.down = true;
  world.run(3s);
  EXPECT_TRUE(world.leading[0]->leader.lease().held());
  world.run(3s);
  EXPECT_FALSE(world.leading[0]->leader.lease().held());
  world.store_faults.down = false;
  world.run(10s);
  EXPECT_TRUE(world.leading[0]->leader.lease().held());
}

TEST(Leader, ARestartedNodeIsAnotherHolder) {
  LeadingWorld world;
  world.open();
  const auto before = world.leading[0]->leader.lease().held()->token;
  world.leader_nodes[0]->crash();
  world.start_leader(0);
  world.run(1s);
  EXPECT_FALSE(world.leading[0]->leader.lease().held()) << "its former life's lease stands";
  world.run(10s);
  EXPECT_GT(world.leading[0]->leader.lease().held()->token, before);
}

TEST(Leader, WhatAnOldLeaderDoesLateChangesNothing) {
  LeadingWorld world;
  world.open();
  const auto old = *world.leading[0]->leader.lease().held();
  world.leader_nodes[0]->crash();
  world.start_leader(1);
  world.run(20s);
  ASSERT_TRUE(world.is_open());
  const auto row = world.row(0);
  SimStore store{&world.kernel, world.database, &world.buyers_node, world.store_faults};
  admission::leading::Rebuild rebuild{{.authority = store,
                                       .store = store,
                                       .scripts = *world.buyers,
                                       .publisher = *world.publisher,
                                       .threads = world.buyers_node.threads(),
                                       .clock = world.buyers_node.clock()},
                                      {}};
  const admission::leading::RebuildTask task{
      .lane = {world.item, 0}, .generation = row.row.generation, .server = world.server_in_row(0)};
  // It believes that it leads.
  const auto outcomes = rebuild.run({&task, 1}, old, [] { return true; });
  EXPECT_EQ(outcomes.at(0), admission::leading::LaneOutcome::fenced);
  EXPECT_EQ(world.row(0).row.generation, row.row.generation);
  EXPECT_EQ(world.row(0).state, LaneState::lane);
  // And what it had sent to the lane before is refused there.
  const admission::InstallPlan plan{.generation = row.row.generation, .leader = old, .terms = {}, .stock = {}};
  const auto begun =
      world.call<LaneCode>(&SimLanesClient::install_begin, {world.item, 0}, world.server_in_row(0), plan);
  EXPECT_NE(begun.value(), LaneCode::closed);
  EXPECT_TRUE(world.is_open());
  EXPECT_EQ(world.broken(true), "");
}

TEST(Leader, RowsAreJudgedByStateAndWish) {
  store::LaneAuthorityRow row;
  EXPECT_EQ(judge_row(row, LaneState::lane), RowWants::rebuild) << "never installed";
  row.row.generation = 2;
  row.run_id = "run";
  EXPECT_EQ(judge_row(row, LaneState::lane), RowWants::look);
  EXPECT_EQ(judge_row(row, LaneState::store), RowWants::rebuild);
  EXPECT_EQ(judge_row(row, LaneState::closed), RowWants::close);
  row.state = LaneState::closed;
  EXPECT_EQ(judge_row(row, LaneState::lane), RowWants::rebuild);
  EXPECT_EQ(judge_row(row, LaneState::closed), RowWants::nothing) << "P1: a person decides";
  row.state = LaneState::store;
  EXPECT_EQ(judge_row(row, LaneState::store), RowWants::nothing);
  EXPECT_EQ(judge_row(row, LaneState::lane), RowWants::rebuild);
}

// --- admission by database (DESIGN §4.6) ---

TEST(Modes, TheLandingDecidesWhileTheDatabaseAdmitsAndTheLaneDecidesWhatIsLeftAfterwards) {
  LeadingWorld world{3, {.total = 16, .limit = 1}};
  world.start_worker();
  world.open();
  auto wanted = world.bought("ann");
  ASSERT_TRUE(world.run_until_drained());
  ASSERT_TRUE(world.database.want_state(world.item, LaneState::store, {}));
  ASSERT_TRUE(world.run_until_open());

  const auto undecided = [&](const std::string& buyer, model::Generation generation) {
    model::OrderIntent intent = wanted;
    intent.buyer = *model::BuyerId::parse(buyer);
    intent.lane = wanted.lane;
    intent.ticket =
        model::derive_ticket(world.authority().sale.ticket_key, world.item, intent.buyer, "r1", wanted.lane);
    intent.generation = generation;
    return intent;
  };
  std::vector<model::OrderIntent> asked;
  const auto generation = world.row(wanted.lane).row.generation;
  for (int i = 0; i < 10; ++i) {
    asked.push_back(undecided("buyer-" + std::to_string(i), generation));
    EXPECT_EQ(world.publish(asked.back()), queue::Published::confirmed);
  }
  ASSERT_TRUE(world.run_until_drained());
  int ordered = 0;
  for (const auto& one : asked) {
    ASSERT_TRUE(world.order(one));
    ordered += world.order(one)->state == model::OrderState::awaiting_payment ? 1 : 0;
  }
  EXPECT_EQ(ordered, 7) << "the lane has 8 units, ann has one";

  // Leaving, with requests still undecided in the queue: more than there are units.
  world.broker.set_faults({.late = 1000, .late_longest = 12s});  // some come before, some while, some after it
  std::vector<model::OrderIntent> late;
  for (int i = 0; i < 5; ++i) {
    late.push_back(undecided("late-" + std::to_string(i), generation));
    EXPECT_EQ(world.publish(late.back()), queue::Published::confirmed);
  }
  ASSERT_TRUE(world.database.want_state(world.item, LaneState::lane, {}));
  ASSERT_TRUE(world.run_until_open());
  ASSERT_TRUE(world.run_until_drained());
  for (const auto& one : late) {
    ASSERT_TRUE(world.order(one)) << "P6";
    EXPECT_EQ(world.order(one)->state, model::OrderState::failed);
    EXPECT_NE(world.order(one)->reason, model::FailReason::oversell_guard) << "nobody held anything for it";
  }
  EXPECT_EQ(world.broken(true), "") << "and no oversell guard was tripped by what was never admitted";
}

}  // namespace
}  // namespace seckill::sim
