// Rebuild against the simulated store, lanes and broker: what each loss leaves, and that nothing a buyer was answered
// for is forgotten on the way (P5).
#include <gtest/gtest.h>

#include <algorithm>

#include "simulation/leading/leading_world.hpp"

namespace seckill::sim {
namespace {

using admission::Decision;

TEST(Rebuild, APreloadReachesTheLanesByTheFirstRebuildWithoutWaiting) {
  LeadingWorld world;
  ASSERT_TRUE(world.database.preload(world.item.sale, 0, {}));
  world.start_leader();
  EXPECT_TRUE(world.run_until_open(4s)) << "nobody holds a node lease on what was never open";
  EXPECT_EQ(world.row(0).row.generation, 2U);
  EXPECT_EQ(world.buy("ann").decision, Decision::admit);
  EXPECT_EQ(world.broken(false), "");
}

TEST(Rebuild, LanesThatAreAsTheyShouldBeAreLeftAlone) {
  LeadingWorld world;
  world.open();
  const auto before = world.row(0).row.generation;
  world.run(30s);
  EXPECT_EQ(world.row(0).row.generation, before);
  EXPECT_GT(world.leading[0]->leader.counters().looks.load(), 10U);
}

TEST(Rebuild, AFlushedLaneComesBackWithEveryTicketLiveAndEnded) {
  LeadingWorld world;
  world.start_worker();
  world.open();
  std::vector<model::OrderIntent> intents;
  for (int i = 0; i < 10; ++i) intents.push_back(world.bought("buyer-" + std::to_string(i)));
  ASSERT_TRUE(world.run_until_drained());
  store::EndCommand cancel;
  cancel.ticket = intents[0].ticket;
  cancel.now = world.kernel.utc();
  ASSERT_EQ(world.database.end_tickets({&cancel, 1})->at(0).result, store::EndResult::done);
  world.lanes.flush(0);
  ASSERT_TRUE(world.run_until_open());
  EXPECT_EQ(world.broken(true), "");
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(world.buy("buyer-" + std::to_string(i)).decision, Decision::replay) << "P4, also after it ended";
  }
}

TEST(Rebuild, AFailoverARestartAndAnEvictionAreFound) {
  LeadingWorld world;
  world.start_worker();
  world.open();
  (void)world.bought("ann");
  ASSERT_TRUE(world.run_until_drained());
  const std::vector<std::function<bool()>> losses{
      [&] { return world.lanes.fail_over(0); }, [&] { return world.lanes.restart(0, 2s); },
      [&] { return world.lanes.evict({world.item, 0}); }, [&] { return world.lanes.restart_rolled_back(0, 100ms); }};
  for (const auto& loss : losses) {
    world.run(5s);
    ASSERT_TRUE(loss());
    world.run(3s);  // a restart takes its time
    ASSERT_TRUE(world.run_until_open());
    EXPECT_EQ(world.buy("ann").decision, Decision::replay);
    EXPECT_EQ(world.broken(true), "");
  }
}

TEST(Rebuild, AConfirmedIntentWhoseMarkWasLostIsAdoptedAndLands) {
  LeadingWorld world;
  world.open();
  const auto lost = world.bought("ann");
  ASSERT_TRUE(world.broker.holds(lost.ticket));
  world.lanes.flush(0);  // before anybody landed it: the barrier goes by without it
  ASSERT_TRUE(world.run_until_open());
  ASSERT_FALSE(world.order(lost));
  world.start_worker();
  ASSERT_TRUE(world.run_until_drained());
  ASSERT_TRUE(world.order(lost));
  EXPECT_EQ(world.order(lost)->state, model::OrderState::awaiting_payment);
  EXPECT_EQ(world.working->landing.counters().adopted.load(), 1U);
  EXPECT_EQ(world.buy("ann").decision, Decision::replay);
  EXPECT_EQ(world.broken(false), "");
}

// The buyer was answered because all replicas had his intent, while the broker was slow. P5.
TEST(Rebuild, P5_AMarkThatOnlyTheReplicaHasIsTakenOverWhileTheBrokerTakesNothing) {
  LeadingWorld world;
  world.start_worker();
  world.open();
  world.broker.set_alarm(true);
  const auto only_here = world.admitted("ann", "r1", 2);
  world.run(1s);
  ASSERT_TRUE(world.lanes.fail_over(0));
  world.run(1ms);
  ASSERT_TRUE(world.run_until_open());
  const auto* lane = world.lanes.lane(world.lane_of(only_here));
  EXPECT_EQ(lane->stock.held, 2) << "held within the row's units";
  EXPECT_EQ(lane->stock.available, world.row(only_here.lane).row.stock.available - 2);
  EXPECT_EQ(world.buy("ann", "r1", 2).decision, Decision::replay) << "P4";
  world.broker.set_alarm(false);
  ASSERT_TRUE(world.run_until_drained());
  ASSERT_TRUE(world.order(only_here)) << "P5";
  EXPECT_EQ(world.broken(true), "");
}

TEST(Rebuild, P5_AMarkWhoseConfirmedMessageTheBrokerLostIsTakenOverAndPublishedAgain) {
  LeadingWorld world;
  world.open();
  const auto lost = world.bought("ann");
  world.broker.lose_everything();
  ASSERT_TRUE(world.database.report_lane(world.item, lost.lane, world.row(lost.lane).row.generation, "test"));
  world.run(1ms);
  ASSERT_TRUE(world.run_until_open());
  world.start_worker();
  ASSERT_TRUE(world.run_until_drained());
  EXPECT_TRUE(world.order(lost)) << "P5";
}

TEST(Rebuild, AnOlderCopyOfAnIntentThatWasTakenOverFindsItsMark) {
  LeadingWorld world;
  world.open();
  const auto mine = world.bought("ann");
  ASSERT_TRUE(world.lanes.fail_over(0));
  world.run(1ms);
  ASSERT_TRUE(world.run_until_open());
  world.start_worker();
  ASSERT_TRUE(world.run_until_drained());
  ASSERT_TRUE(world.order(mine));
  EXPECT_EQ(world.order(mine)->state, model::OrderState::awaiting_payment);
  EXPECT_EQ(world.lanes.lane(world.lane_of(mine))->stock.held, 1) << "and holds no second unit";
  EXPECT_EQ(world.broken(true), "");
}

TEST(Rebuild, EveryPageOfALargeLaneIsTakenOver) {
  LeadingWorld world{2, {.total = 400, .limit = 1, .lanes = 1}};
  world.start_worker();
  world.open();
  std::vector<model::OrderIntent> intents;
  for (int i = 0; i < 250; ++i) intents.push_back(world.admitted("buyer-" + std::to_string(i)));
  world.run(1s);  // all of it reaches the replica
  ASSERT_TRUE(world.lanes.fail_over(0));
  world.run(1ms);
  ASSERT_TRUE(world.run_until_open());
  EXPECT_EQ(world.lanes.lane({world.item, 0})->intents.size(), 250U);
  ASSERT_TRUE(world.run_until_drained());
  for (const auto& intent : intents) EXPECT_TRUE(world.order(intent)) << "P5 " << intent.buyer.str();
  EXPECT_EQ(world.broken(true), "");
}

// As 1, with a leader that dies at any step of the install: what was read is still there for the next one.
TEST(Rebuild, P5_ALeaderThatDiesInTheMiddleOfAnInstallHasDestroyedNothing) {
  for (const char* point : {"lane.live_marks.replied", "rebuild.committed", "lane.install_begin.replied",
                            "lane.install_batch.replied", "lane.install_open.replied", "open.committed"}) {
    LeadingWorld world;
    world.start_worker();
    world.open();
    world.broker.set_alarm(true);
    const auto only_here = world.admitted("ann");
    world.run(1s);
    world.kernel.crash_at(point, 1, 0s);
    ASSERT_TRUE(world.lanes.fail_over(0));
    ASSERT_TRUE(world.kernel.run_until([&] { return !world.leader_nodes[0]->alive(); }, 60s)) << point;
    world.start_leader(1);
    ASSERT_TRUE(world.run_until_open()) << point;
    world.broker.set_alarm(false);
    ASSERT_TRUE(world.run_until_drained()) << point;
    EXPECT_TRUE(world.order(only_here)) << "P5 " << point;
    EXPECT_EQ(world.broken(true), "") << point;
  }
}

TEST(Rebuild, WhatIsInTheStoreIsNotPublishedAgain) {
  LeadingWorld world;
  world.start_worker();
  world.open();
  for (int i = 0; i < 10; ++i) (void)world.bought("buyer-" + std::to_string(i));
  ASSERT_TRUE(world.run_until_drained());
  const auto before = world.broker.counters().published;
  ASSERT_TRUE(world.lanes.fail_over(0));
  world.run(1ms);
  ASSERT_TRUE(world.run_until_open());
  EXPECT_EQ(world.broker.counters().published, before);
}

TEST(Rebuild, TheNodeLeaseRunsOutBeforeTheRowsAreRead) {
  LeadingWorld world;
  world.open();
  const auto before = world.row(0).row.generation;
  world.lanes.flush(0);
  ASSERT_TRUE(world.kernel.run_until([&] { return world.row(0).state == LaneState::closed; }, 10s));
  const Time closed_at = world.kernel.now();
  ASSERT_TRUE(world.kernel.run_until([&] { return world.row(0).row.generation > before; }, 60s));
  EXPECT_GE(world.kernel.now() - closed_at, 5s) << "until then a node may act on its copy";
}

TEST(Rebuild, WhatAWorkerLandsBeforeTheBarrierKeepsItsGeneration) {
  LeadingWorld world;
  world.start_worker();
  world.open();
  world.broker.set_faults({.late = 1000, .late_longest = 18s});
  std::vector<model::OrderIntent> intents;
  for (int i = 0; i < 4; ++i) intents.push_back(world.bought("buyer-" + std::to_string(i)));
  world.lanes.flush(0);
  ASSERT_TRUE(world.run_until_open());
  ASSERT_TRUE(world.run_until_drained());
  for (const auto& intent : intents) EXPECT_TRUE(world.order(intent));
  EXPECT_EQ(world.working->landing.counters().adopted.load(), 0U);
  EXPECT_EQ(world.broken(true), "");
}

TEST(Rebuild, ABarrierThatNobodyPassesIsGivenUp) {
  LeadingWorld world;
  world.open();
  const auto confirmed = world.bought("ann");
  world.lanes.flush(0);
  world.run(1ms);
  EXPECT_FALSE(world.run_until_open(15s));
  EXPECT_TRUE(world.run_until_open(15s)) << "safety does not depend on it";
  EXPECT_TRUE(world.broker.holds(confirmed.ticket));
}

TEST(Rebuild, ALaneIsNotInstalledOnAnotherServerThanTheOneThatWasRead) {
  LeadingWorld world;
  world.open();
  world.lanes.flush(0);
  // A failover between the reading and the install: what only the new master has must be read first.
  ASSERT_TRUE(world.kernel.run_until(
      [&] {
        const auto& passages = world.kernel.passages();
        return std::ranges::any_of(passages, [](const auto& one) { return one.first == "rebuild.asked"; }) &&
               world.row(0).state == LaneState::closed && world.row(0).row.generation > 2;
      },
      60s));
  const auto was_read = world.lanes.server(0);
  ASSERT_TRUE(world.lanes.fail_over(0));
  ASSERT_TRUE(world.run_until_open());
  EXPECT_NE(world.row(0).run_id, was_read.run_id);
  EXPECT_EQ(world.broken(true), "");
}

TEST(Rebuild, ARowWhoseTicketsDoNotAddUpIsNotOpened) {
  LeadingWorld world;
  world.start_worker();
  world.open();
  const auto mine = world.bought("ann");
  ASSERT_TRUE(world.run_until_drained());
  // What no transaction of ours writes.
  ASSERT_NE(world.tables.find(mine.ticket), nullptr);
  world.tables.find(mine.ticket)->order.units = 3;
  world.lanes.flush(0);
  world.run(60s);
  EXPECT_EQ(world.row(mine.lane).state, LaneState::closed) << "P2: a person decides";
  EXPECT_EQ(world.row(1 - mine.lane).state, LaneState::lane);
}

// Its debit's record goes with the old lane: nobody else would know that units are on their way.
TEST(Rebuild, P8_WhatLeftALaneHasArrivedBeforeItOpensAgain) {
  LeadingWorld world;
  world.open();
  const auto generation = [&](model::LaneIndex lane) { return world.row(lane).row.generation; };
  const admission::LaneTransferRecord record{
      .id = "t1", .debit = true, .units = 3, .other = 0, .other_generation = generation(0), .at = 0};
  const LaneKey from{world.item, 1};
  const auto taken =
      world.call<admission::LaneDebit>(&SimLanesClient::debit, from, world.server_in_row(1), generation(1), record);
  ASSERT_EQ(taken->units, 3);
  ASSERT_EQ(*world.database.commit_transfer({.id = "t1",
                                             .item = world.item,
                                             .from = 1,
                                             .to = 0,
                                             .units = 3,
                                             .from_generation = generation(1),
                                             .to_generation = generation(0)}),
            store::TransferResult::done);
  ASSERT_TRUE(world.lanes.evict(from));
  world.run(1ms);
  ASSERT_TRUE(world.run_until_open());
  EXPECT_EQ(world.lanes.lane({world.item, 0})->stock, world.row(0).row.stock);
  EXPECT_EQ(world.broken(true), "");
}

TEST(Rebuild, TermsEditedWhileTheLaneWasClosedAreInstalled) {
  LeadingWorld world;
  world.open();
  const auto before = world.row(0).row.generation;
  world.lanes.flush(0);
  // Its terms are read already, and no configure() reaches it yet.
  ASSERT_TRUE(world.kernel.run_until([&] { return world.row(0).row.generation > before; }, 60s));
  auto sale = world.database.find_sale(world.item.sale).value();
  ++sale.version;
  sale.items[0].limit = 1;
  ASSERT_TRUE(world.database.update_sale(sale, {}));
  ASSERT_TRUE(world.run_until_open());
  world.run(1s);
  EXPECT_EQ(world.lanes.lane({world.item, 0})->terms.limit, 1);
}

TEST(Rebuild, AnswersThatAreLostOrLateEndInOpenLanesAllTheSame) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LeadingWorld world{seed};
    world.start_worker();
    world.open();
    std::vector<model::OrderIntent> intents;
    for (int i = 0; i < 12; ++i) intents.push_back(world.bought("buyer-" + std::to_string(i)));
    world.lanes.set_faults({.not_sent = 20, .request_lost = 30, .reply_lost = 100, .late = 100});
    world.store_faults.lost_reply = 100;
    world.store_faults.late = 50;
    world.store_faults.unavailable = 100;
    ASSERT_TRUE(world.lanes.fail_over(0));
    world.start_leader(1);
    world.run(60s);
    EXPECT_EQ(world.broken(false), "") << "seed " << seed;
    world.lanes.set_faults({});
    world.store_faults = {};
    ASSERT_TRUE(world.run_until_open(90s)) << "seed " << seed;
    ASSERT_TRUE(world.run_until_drained(90s)) << "seed " << seed;
    world.run(30s);
    for (const auto& intent : intents) EXPECT_TRUE(world.order(intent)) << "P5, seed " << seed;
    EXPECT_EQ(world.broken(true), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace seckill::sim
