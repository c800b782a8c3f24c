// What befalls single calls and the nodes that make them.
#include <algorithm>
#include <optional>

#include "simulation/devices/lanes/lanes_world.hpp"

namespace seckill::sim {
namespace {

using Client = SimLanesClient;

TEST(SimLanesCalls, WhatWasNotSentIsNotExecuted) {
  LanesWorld world;
  world.install();
  world.cluster.set_faults({.not_sent = 1'000});
  EXPECT_EQ(world.admit(1).error().code, base::Errc::unavailable);
  world.kernel.sleep(10s);
  EXPECT_FALSE(world.knows(1));
}

TEST(SimLanesCalls, ALostRequestIsUnknownAndNotExecuted) {
  LanesWorld world;
  world.install();
  world.cluster.set_faults({.request_lost = 1'000});
  EXPECT_EQ(world.admit(1).error().code, base::Errc::timeout);
  world.kernel.sleep(10s);
  EXPECT_FALSE(world.knows(1));
}

TEST(SimLanesCalls, ALostReplyIsUnknownAndExecuted) {
  LanesWorld world;
  world.install();
  world.cluster.set_faults({.reply_lost = 1'000});
  EXPECT_EQ(world.admit(1).error().code, base::Errc::timeout);
  EXPECT_TRUE(world.knows(1));
}

TEST(SimLanesCalls, WhatIsOnItsWayIsLostWithAConnectionThatIsCut) {
  LanesWorld world;
  world.install();
  std::optional<base::Errc> first;
  world.client->admit(world.lane, world.server, 1, {LanesWorld::ask(1)}, [&](base::Result<LaneDecisions> got) {
    ASSERT_FALSE(got.has_value());
    first = got.error().code;
  });
  world.cluster.set_faults({.request_lost = 1'000});
  EXPECT_EQ(world.admit(2).error().code, base::Errc::timeout);
  world.kernel.sleep(10s);
  EXPECT_EQ(first, base::Errc::timeout);
  EXPECT_FALSE(world.knows(1));
}

TEST(SimLanesCalls, WhatWaitsForAConnectionUntilItsDeadlineIsNeverSent) {
  LanesWorld world;
  world.install();
  world.connect();
  ASSERT_TRUE(world.cluster.pause(world.shard(), 3s));
  EXPECT_EQ(world.admit(1).error().code, base::Errc::unavailable);
  world.kernel.sleep(10s);
  EXPECT_FALSE(world.knows(1));
}

TEST(SimLanesCalls, ACallThatFailsTwiceIsAnsweredOnce) {
  SimLanesOptions options;
  options.call_deadline = 10us;
  options.faults.not_sent = 1'000;
  LanesWorld world{1, options};
  int answers = 0;
  for (int n = 0; n < 20; ++n) {
    world.client->admit(world.lane, world.server, 1, {LanesWorld::ask(n)},
                        [&](base::Result<LaneDecisions>) { ++answers; });
  }
  world.kernel.sleep(10s);
  EXPECT_EQ(answers, 20);
}

TEST(SimLanesCalls, ALateCallIsExecutedAfterLaterOnesOfAnotherConnection) {
  bool overtaken = false;
  for (std::uint64_t seed = 1; seed <= 10 && !overtaken; ++seed) {
    LanesWorld world{seed};
    world.install();
    world.cluster.set_faults({.late = 1'000, .late_max = 30s});
    const base::Result<LaneDecisions> first = world.admit(1);
    if (first) continue;  // it was quick enough
    world.cluster.set_faults({});
    overtaken = world.admit(2).has_value() && !world.knows(1);
    world.kernel.sleep(30s);
    EXPECT_TRUE(world.knows(1));
  }
  EXPECT_TRUE(overtaken);
}

TEST(SimLanesCalls, CallsOfOneConnectionAreExecutedAndAnsweredInOrder) {
  LanesWorld world;
  world.install();
  world.cluster.set_faults({.late = 300, .late_max = 50ms});
  std::vector<int> answered;
  for (int n = 0; n < 60; ++n) {
    world.client->admit(world.lane, world.server, 1, {LanesWorld::ask(n)}, [&, n](base::Result<LaneDecisions> got) {
      ASSERT_TRUE(got.has_value());
      answered.push_back(n);
    });
  }
  world.kernel.sleep(5s);
  EXPECT_EQ(answered.size(), 60U);
  EXPECT_TRUE(std::ranges::is_sorted(answered));
  int expected = 0;
  for (const auto& mark : world.cluster.lane(world.lane)->marks)
    EXPECT_EQ(mark.buyer, LanesWorld::ask(expected++).buyer);
}

TEST(SimLanesCalls, ACrashedNodeGetsNoAnswerAndItsCallIsExecuted) {
  LanesWorld world;
  world.install();
  world.kernel.crash_at("lane.admit.executed", 1, 1s);
  bool answered = false;
  world.client->admit(world.lane, world.server, 1, {LanesWorld::ask(1)},
                      [&](base::Result<LaneDecisions>) { answered = true; });
  world.kernel.sleep(2s);
  EXPECT_FALSE(world.node.alive());
  world.node.restart();
  world.client->admit(world.lane, world.server, 1, {LanesWorld::ask(2)},
                      [&](base::Result<LaneDecisions>) { answered = true; });
  world.kernel.sleep(2s);
  EXPECT_FALSE(answered) << "neither the old life's answer nor what it sends on";
  EXPECT_TRUE(world.knows(1));
  EXPECT_FALSE(world.knows(2));
  world.connect();
  world.expect_admitted(2);
}

TEST(SimLanesCalls, ACrashAtTheAnswerKeepsItFromBeingUsed) {
  LanesWorld world;
  world.install();
  world.kernel.crash_at("lane.admit.replied", 1, 1s);
  bool answered = false;
  world.client->admit(world.lane, world.server, 1, {LanesWorld::ask(1)},
                      [&](base::Result<LaneDecisions>) { answered = true; });
  world.kernel.sleep(2s);
  EXPECT_FALSE(world.node.alive());
  EXPECT_FALSE(answered);
  EXPECT_TRUE(world.knows(1));
}

// A storm over one lane: faults of calls and of its shard, installs of higher generations.
struct Storm {
  std::uint64_t fingerprint = 0;
  std::vector<int> answers;  // of each call
  int errors = 0;
};

Storm storm(std::uint64_t seed) {
  LanesWorld world{seed};
  world.install();
  Storm storm;
  storm.answers.resize(200);
  world.cluster.set_faults({.not_sent = 20,
                            .request_lost = 30,
                            .reply_lost = 30,
                            .late = 50,
                            .late_max = 3s,
                            .lagging = 200,
                            .lag_max = 1s});
  Random dice = world.kernel.random().fork("storm");
  for (int n = 0; n < 200; ++n) {
    world.client->admit(world.lane, world.server, world.plan.generation, {LanesWorld::ask(n % 50)},
                        [&storm, n](base::Result<LaneDecisions> got) {
                          ++storm.answers[static_cast<std::size_t>(n)];
                          if (!got) ++storm.errors;
                        });
    if (n % 20 == 19) {
      switch (dice.below(6)) {
        case 0: world.cluster.fail_over(world.shard()); break;
        case 1: world.cluster.partition_old_master(world.shard(), 2s); break;
        case 2: world.cluster.restart_rolled_back(world.shard(), 200ms); break;
        case 3: world.cluster.pause(world.shard(), 2s); break;
        case 4: world.cluster.flush(world.shard()); break;
        default: world.cluster.move_slot(world.lane, 1 - world.shard()); break;
      }
    }
    world.kernel.sleep(Time{dice.between(0, 200'000'000)});
    if (const auto* lane = world.cluster.lane(world.lane)) {
      EXPECT_GE(lane->stock.available, 0);
      EXPECT_EQ(lane->stock.total(), 100);
    }
  }
  world.kernel.sleep(60s);
  storm.fingerprint = world.kernel.fingerprint();
  return storm;
}

TEST(SimLanesCalls, EveryCallIsAnsweredOnceWhateverHappens) {
  int errors = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Storm one = storm(seed);
    EXPECT_TRUE(std::ranges::all_of(one.answers, [](int times) { return times == 1; })) << "seed " << seed;
    errors += one.errors;
  }
  EXPECT_GT(errors, 0);
}

TEST(SimLanesCalls, ASeedIsARun) {
  EXPECT_EQ(storm(7).fingerprint, storm(7).fingerprint);
  EXPECT_NE(storm(7).fingerprint, storm(8).fingerprint);
}

}  // namespace
}  // namespace seckill::sim
