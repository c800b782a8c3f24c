// What befalls a shard: which writes are lost, what a node can tell by the server's identity, and who serves whom.
#include <optional>

#include "simulation/devices/lanes/lanes_world.hpp"

namespace seckill::sim {
namespace {

using Client = SimLanesClient;

// Writes reach the replica within minutes only.
SimLanesOptions lagging() {
  SimLanesOptions options;
  options.faults.lagging = 1'000;
  options.faults.lag_max = 600s;
  return options;
}

TEST(SimLanes, ALaneIsInstalledAndSells) {
  LanesWorld world;
  world.install();
  world.expect_admitted(1);
  const LaneReading reading = *world.call<LaneReading>(&Client::read, world.server);
  EXPECT_TRUE(reading.known && reading.open);
  EXPECT_EQ(reading.stock.held, 1);
  EXPECT_EQ(reading.open_intents, 1);
}

TEST(SimLanes, ALaneThatWasNeverInstalledIsClosed) {
  LanesWorld world;
  world.find_server();
  EXPECT_EQ(world.admit(1)->code, LaneCode::closed);
  EXPECT_FALSE(world.call<LaneReading>(&Client::read, world.server)->known);
}

TEST(SimLanes, AFailoverLosesTheTailAndIsForeign) {
  LanesWorld world{1};
  world.install();
  world.expect_admitted(1);
  world.kernel.sleep(1s);
  world.cluster.set_faults(lagging().faults);
  world.expect_admitted(2);
  ASSERT_TRUE(world.cluster.fail_over(world.shard()));
  EXPECT_TRUE(world.knows(1));
  EXPECT_FALSE(world.knows(2));
  world.kernel.sleep(5s);
  EXPECT_EQ(world.admit(3)->code, LaneCode::foreign);
  EXPECT_FALSE(world.knows(3));
}

TEST(SimLanes, WhatWasWaitedForSurvivesAFailover) {
  LanesWorld world;
  world.install();
  for (int n = 0; n < 20; ++n) {
    world.expect_admitted(n);
    ASSERT_EQ(*world.call<LaneCode>(&Client::wait_replicas, world.server, 1s), LaneCode::done);
    ASSERT_TRUE(world.cluster.fail_over(world.shard()));
    EXPECT_TRUE(world.knows(n));
    world.kernel.sleep(5s);
    ++world.plan.generation;
    world.install();
  }
}

TEST(SimLanes, WaitingIsDoneOnlyForWhatSurvivesAPromotionAtAnyMoment) {
  int done = 0;
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    LanesWorld world{seed};
    world.install();
    world.kernel.sleep(1s);
    world.cluster.set_faults({.lagging = 1'000, .lag_max = 500ms});
    world.expect_admitted(1);
    std::optional<base::Result<LaneCode>> waited;
    world.client->wait_replicas(world.lane, world.server, 900ms,
                                [&](base::Result<LaneCode> got) { waited = std::move(got); });
    world.kernel.sleep(Time{world.kernel.random().between(0, 500'000'000)});
    const bool promoted = seed % 2 == 0 ? world.cluster.fail_over(world.shard())
                                        : world.cluster.partition_old_master(world.shard(), 5s, true);
    ASSERT_TRUE(promoted);
    world.kernel.sleep(10s);
    ASSERT_TRUE(waited.has_value());
    const bool is_done = waited->has_value() && **waited == LaneCode::done;
    if (is_done) EXPECT_TRUE(world.knows(1)) << "seed " << seed;
    done += is_done ? 1 : 0;
    lost += world.knows(1) ? 0 : 1;
  }
  EXPECT_GT(done, 0);
  EXPECT_GT(lost, 0);
}

TEST(SimLanes, WaitingIsRefusedWhenNoReplicaAcknowledgesInTime) {
  LanesWorld world;
  world.install();
  world.cluster.set_faults(lagging().faults);
  world.expect_admitted(1);
  EXPECT_EQ(*world.call<LaneCode>(&Client::wait_replicas, world.server, 100ms), LaneCode::refused);
}

TEST(SimLanes, ARestartKeepsEverythingUnderAnotherRunId) {
  LanesWorld world;
  world.install();
  world.expect_admitted(1);
  ASSERT_TRUE(world.cluster.restart(world.shard(), 100ms));
  EXPECT_EQ(world.admit(2).error().code, base::Errc::unavailable) << "nobody listens";
  world.kernel.sleep(5s);
  EXPECT_TRUE(world.knows(1));
  EXPECT_EQ(world.admit(3)->code, LaneCode::foreign);
  const LaneServer before = world.server;
  EXPECT_NE(world.find_server().run_id, before.run_id);
}

TEST(SimLanes, ARolledBackRestartLosesASecondAtMost) {
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LanesWorld world{seed};
    world.install();
    world.expect_admitted(1);
    world.kernel.sleep(1'100ms);
    world.expect_admitted(2);
    world.kernel.sleep(300ms);
    ASSERT_TRUE(world.cluster.restart_rolled_back(world.shard(), 10ms));
    world.kernel.sleep(100ms);
    EXPECT_TRUE(world.knows(1)) << "older than a second";
    if (!world.knows(2)) ++lost;
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, 20);
}

TEST(SimLanes, AFlushKeepsTheRunIdAndClosesTheLane) {
  LanesWorld world;
  world.install();
  world.expect_admitted(1);
  ASSERT_TRUE(world.cluster.flush(world.shard()));
  EXPECT_EQ(world.admit(2)->code, LaneCode::closed) << "only the missing lane tells";
  EXPECT_EQ(world.cluster.server(world.shard()), world.server);
  ASSERT_EQ(*world.call<LaneCode>(&Client::wait_replicas, world.server, 1s), LaneCode::done);
  ASSERT_TRUE(world.cluster.fail_over(world.shard()));
  EXPECT_EQ(world.cluster.lane(world.lane), nullptr) << "the replica was flushed too";
}

TEST(SimLanes, AnEvictedLaneIsClosed) {
  LanesWorld world;
  world.install();
  ASSERT_TRUE(world.cluster.evict(world.lane));
  EXPECT_EQ(world.admit(1)->code, LaneCode::closed);
}

TEST(SimLanes, APausedServerExecutesWhatTimedOut) {
  LanesWorld world;
  world.install();
  ASSERT_TRUE(world.cluster.pause(world.shard(), 3s));
  EXPECT_EQ(world.admit(1).error().code, base::Errc::timeout);
  EXPECT_FALSE(world.knows(1));
  world.kernel.sleep(3s);
  EXPECT_TRUE(world.knows(1));
}

TEST(SimLanes, AnOldMasterServesOnUntilItIsDemoted) {
  LanesWorld world;
  world.install();
  ASSERT_TRUE(world.cluster.partition_old_master(world.shard(), 5s, true));
  world.expect_admitted(1);
  EXPECT_FALSE(world.knows(1)) << "the new master never hears of it";
  EXPECT_TRUE(world.cluster.is_split(world.shard()));
  EXPECT_EQ(*world.call<LaneCode>(&Client::wait_replicas, world.server, 100ms), LaneCode::refused);
  Node& other = world.kernel.add_node("api-2");
  SimLanesClient elsewhere{world.kernel, world.cluster, other};
  std::optional<base::Result<LaneServer>> seen;
  elsewhere.server_of(world.lane, [&](base::Result<LaneServer> got) { seen = std::move(got); });
  world.kernel.sleep(100ms);
  ASSERT_TRUE(seen.has_value() && seen->has_value());
  EXPECT_NE(**seen, world.server) << "who connects anew meets the new master";
  world.kernel.sleep(6s);
  EXPECT_FALSE(world.cluster.is_split(world.shard()));
  EXPECT_FALSE(world.knows(1)) << "lost with the old master";
  EXPECT_EQ(world.admit(2)->code, LaneCode::foreign);
}

TEST(SimLanes, ACutOffMasterSoonRefusesWrites) {
  SimLanesOptions options;
  options.replica_max_lag = 2s;
  LanesWorld world{1, options};
  world.install();
  ASSERT_TRUE(world.cluster.partition_old_master(world.shard(), 60s, true));
  world.expect_admitted(1);
  world.kernel.sleep(3s);
  EXPECT_EQ(world.admit(2).error().code, base::Errc::unavailable);
}

TEST(SimLanes, AnOldMasterIsNobodysReplicaWhileItIsCutOff) {
  LanesWorld world;
  world.install();
  ASSERT_TRUE(world.cluster.partition_old_master(world.shard(), 20s));
  world.kernel.sleep(15s);
  EXPECT_FALSE(world.cluster.is_replicated(world.shard()));
  world.kernel.sleep(10s);
  EXPECT_TRUE(world.cluster.is_replicated(world.shard()));
}

TEST(SimLanes, APromotedMasterRefusesWritesUntilItHasAReplica) {
  LanesWorld world;
  world.install();
  world.kernel.sleep(100ms);
  ASSERT_TRUE(world.cluster.fail_over(world.shard()));
  world.find_server();
  EXPECT_EQ(world.admit(1).error().code, base::Errc::unavailable);
  EXPECT_FALSE(world.cluster.fail_over(world.shard())) << "there is nobody to promote";
  world.kernel.sleep(3s);
  world.expect_admitted(1);
}

TEST(SimLanes, AProcessPromotedTwiceHasAnotherHistory) {
  LanesWorld world;
  const LaneServer first = world.find_server();
  ASSERT_TRUE(world.cluster.partition_old_master(world.shard(), 1s));
  world.kernel.sleep(10s);
  ASSERT_TRUE(world.cluster.fail_over(world.shard()));
  EXPECT_EQ(world.cluster.server(world.shard()).run_id, first.run_id);
  EXPECT_NE(world.cluster.server(world.shard()).replication_id, first.replication_id);
}

TEST(SimLanes, AMovedSlotIsForeignAndKeepsItsData) {
  LanesWorld world;
  world.install();
  world.expect_admitted(1);
  ASSERT_TRUE(world.cluster.move_slot(world.lane, 1 - world.shard()));
  EXPECT_TRUE(world.knows(1));
  EXPECT_EQ(world.admit(2)->code, LaneCode::foreign);
  EXPECT_EQ(world.admit(2)->code, LaneCode::foreign) << "asked where it is now, by the old name";
  world.find_server();
  EXPECT_EQ(world.server, world.cluster.server(world.shard()));
  world.expect_admitted(2);
}

TEST(SimLanes, EachShardHasItsOwnClock) {
  LanesWorld world;
  world.install();
  world.cluster.set_skew(world.shard(), -2s);
  EXPECT_EQ(world.admit(1)->decisions.at(0).decision, admission::Decision::not_started);
}

}  // namespace
}  // namespace seckill::sim
