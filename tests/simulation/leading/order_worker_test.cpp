// The order worker and its landing against the simulated store, lanes and broker: what becomes of an intent of an older
// generation in each case, and that no message is forgotten or decides over another (P4, P5, P6).
#include <gtest/gtest.h>

#include <tuple>

#include "simulation/leading/leading_world.hpp"

namespace seckill::sim {
namespace {

using admission::Decision;
using model::FailReason;
using model::OrderState;

// A world whose lanes are open and whose worker has not started.
class OrderWorkerTest : public ::testing::Test {
 protected:
  explicit OrderWorkerTest(LeadingTerms terms = {.total = 16, .limit = 1}) : world{5, terms} { world.open(); }

  // All lanes lose everything and are rebuilt from the store's rows.
  void lose_lanes() {
    ASSERT_TRUE(world.lanes.flush(0));
    ASSERT_TRUE(world.run_until_open());
  }
  void land() {
    world.start_worker();
    ASSERT_TRUE(world.run_until_drained());
  }
  // Buyers of one lane, in an order that is always the same.
  std::vector<std::string> buyers_of(model::LaneIndex lane, std::size_t count, const std::string& prefix) {
    std::vector<std::string> names;
    for (int i = 0; names.size() < count; ++i) {
      auto name = prefix + std::to_string(i);
      if (model::lane_of(name, 2) == lane) names.push_back(std::move(name));
    }
    return names;
  }
  // What a lane would have written for this buyer, without asking it.
  model::OrderIntent made_up(const std::string& buyer, const std::string& request, const model::OrderIntent& like) {
    model::OrderIntent intent = like;
    intent.buyer = *model::BuyerId::parse(buyer);
    intent.request_id = *model::RequestId::parse(request);
    intent.lane = model::lane_of(buyer, 2);
    intent.generation = world.row(intent.lane).row.generation;
    intent.ticket =
        model::derive_ticket(world.authority().sale.ticket_key, world.item, intent.buyer, request, intent.lane);
    return intent;
  }
  OrderState state_of(const model::OrderIntent& intent) {
    const auto order = world.order(intent);
    EXPECT_TRUE(order) << "P6: " << intent.buyer.str() << " has no end";
    return order ? order->state : OrderState::failed;
  }

  orders::ClusterLanding::Ports ports(Node& node) {
    store = std::make_unique<SimStore>(&world.kernel, world.database, &node, world.store_faults);
    return {.store = *store,
            .authority = *store,
            .scripts = *world.buyers,
            .threads = node.threads(),
            .clock = node.clock()};
  }

  LeadingWorld world;
  std::unique_ptr<SimStore> store;
};

TEST_F(OrderWorkerTest, LandsWhatTheBrokerDeliversAndAcknowledgesIt) {
  std::vector<model::OrderIntent> intents;
  for (int i = 0; i < 10; ++i) intents.push_back(world.bought("buyer-" + std::to_string(i)));
  land();
  for (const auto& intent : intents) EXPECT_EQ(state_of(intent), OrderState::awaiting_payment);
  EXPECT_EQ(world.working->worker.counters().acknowledged.load(), 10U);
  EXPECT_EQ(world.broken(true), "");
}

TEST_F(OrderWorkerTest, AnAdoptionRefusedByTheLimitFailsTheOldTicketAndLeavesTheNewOne) {
  const auto old = world.bought("ann", "r1");
  lose_lanes();
  const auto fresh = world.bought("ann", "r2");
  land();
  EXPECT_EQ(state_of(old), OrderState::failed);
  EXPECT_EQ(world.order(old)->reason, FailReason::superseded);
  EXPECT_EQ(state_of(fresh), OrderState::awaiting_payment);
  EXPECT_EQ(world.broken(true), "") << "P3";
}

TEST_F(OrderWorkerTest, AdoptionsRefusedForWantOfStockFailAndNothingIsOversold) {
  std::vector<model::OrderIntent> old;
  for (const auto& name : buyers_of(0, 8, "early-")) old.push_back(world.bought(name));
  lose_lanes();
  std::vector<model::OrderIntent> fresh;
  for (const auto& name : buyers_of(0, 6, "late-")) fresh.push_back(world.bought(name));
  land();
  int ordered = 0;
  for (const auto& one : old) ordered += state_of(one) == OrderState::awaiting_payment ? 1 : 0;
  EXPECT_EQ(ordered, 2) << "two of eight units were left";
  for (const auto& one : fresh) EXPECT_EQ(state_of(one), OrderState::awaiting_payment);
  EXPECT_EQ(world.broken(true), "") << "P1";
}

TEST_F(OrderWorkerTest, ARepeatAfterTheLossAndTheOldMessageAreOneTicket) {
  const auto old = world.bought("ann");
  lose_lanes();
  const auto again = world.bought("ann");
  EXPECT_EQ(again.ticket, old.ticket) << "P4";
  land();
  EXPECT_EQ(state_of(old), OrderState::awaiting_payment);
  EXPECT_EQ(world.broken(true), "");
}

class OrderWorkerOtherContent : public OrderWorkerTest {
 protected:
  OrderWorkerOtherContent() : OrderWorkerTest{{.total = 16, .limit = 4}} {}
};

TEST_F(OrderWorkerOtherContent, AnIntentWhoseTicketStandsForOtherContentIsKeptUntilTheOtherIsDurable) {
  const auto old = world.bought("ann", "r1", 1);
  lose_lanes();
  const auto other = world.admitted("ann", "r1", 2);  // not published: it is in the lane alone
  ASSERT_EQ(other.ticket, old.ticket);
  world.start_worker();
  world.run(10s);
  EXPECT_TRUE(world.broker.holds(old.ticket)) << "P5: acknowledged, it would be a copy in one lane";
  EXPECT_FALSE(world.order(old));
  // Durable, but not delivered yet: now the old one may go.
  world.broker.set_faults({.late = 1000, .late_longest = 60s});
  ASSERT_EQ(world.publish(other), queue::Published::confirmed);
  (void)world.call<LaneCode>(&SimLanesClient::confirm_published, world.lane_of(other), world.server_in_row(other.lane),
                             std::vector{other.ticket});
  world.broker.set_faults({});
  ASSERT_TRUE(world.run_until_drained(90s));
  ASSERT_TRUE(world.order(other));
  EXPECT_EQ(world.order(other)->units, 2);
  EXPECT_EQ(world.broken(true), "");
}

// A lane that remembers a refusal, and a worker that died before it wrote the row.
TEST_F(OrderWorkerTest, ATicketThatEndedInTheLaneWithoutARowGetsItsRow) {
  const auto old = world.bought("ann");
  lose_lanes();
  const auto again = world.admitted("ann");
  ASSERT_EQ(again.ticket, old.ticket);
  ASSERT_EQ(*world.call<LaneCode>(&SimLanesClient::release, world.lane_of(again), world.server_in_row(again.lane),
                                  again.ticket),
            LaneCode::done);
  land();
  EXPECT_EQ(state_of(old), OrderState::failed);
  EXPECT_EQ(world.order(old)->reason, FailReason::superseded);
  EXPECT_EQ(world.broken(true), "");
}

TEST_F(OrderWorkerTest, ATicketThatFailedBeforeItWasAdmittedAgainGivesItsUnitsBack) {
  const auto like = world.bought("bob");
  const auto failed = made_up("ann", "r1", like);
  ASSERT_TRUE(world.database.fail_intent(failed, FailReason::superseded, world.kernel.utc()));
  const auto again = world.bought("ann");  // the lane knows nothing of it
  ASSERT_EQ(again.ticket, failed.ticket);
  land();
  EXPECT_EQ(state_of(again), OrderState::failed);
  EXPECT_EQ(world.lanes.lane(world.lane_of(again))->stock.available, world.row(again.lane).row.stock.available);
  EXPECT_EQ(world.broken(true), "") << "P6, P8: the unit is on sale again";
}

TEST_F(OrderWorkerTest, AReleaseThatIsNotKnownToBeDoneKeepsItsMessage) {
  const auto like = world.bought("bob");
  ASSERT_TRUE(world.database.fail_intent(made_up("ann", "r1", like), FailReason::superseded, world.kernel.utc()));
  const auto again = world.bought("ann");
  world.leader_nodes[0]->crash();
  world.lanes.set_faults({.request_lost = 1000});
  world.start_worker();
  world.run(10s);
  EXPECT_TRUE(world.broker.holds(again.ticket));
  world.lanes.set_faults({});
  ASSERT_TRUE(world.run_until_drained());
  EXPECT_EQ(state_of(again), OrderState::failed);
  EXPECT_EQ(world.broken(true), "") << "P6";
}

TEST_F(OrderWorkerTest, WhileTheLaneIsClosedAnOldIntentWaitsAndCountsAgainstNobody) {
  const auto old = world.bought("ann");
  lose_lanes();
  world.leader_nodes[0]->crash();
  ASSERT_TRUE(world.database.report_lane(world.item, old.lane, world.row(old.lane).row.generation, "test"));
  world.start_worker();
  world.run(20s);
  EXPECT_TRUE(world.broker.holds(old.ticket));
  EXPECT_FALSE(world.order(old));
  EXPECT_GT(world.working->worker.counters().put_off.load(), 5U);
  world.start_leader(1);
  ASSERT_TRUE(world.run_until_open());
  ASSERT_TRUE(world.run_until_drained());
  EXPECT_EQ(state_of(old), OrderState::awaiting_payment);
  EXPECT_EQ(world.broken(true), "");
}

TEST_F(OrderWorkerTest, AnIntentOfTheRowsOwnGenerationLandsInAClosedLane) {
  const auto mine = world.bought("ann");
  world.leader_nodes[0]->crash();
  ASSERT_TRUE(world.database.report_lane(world.item, mine.lane, world.row(mine.lane).row.generation, "test"));
  land();
  EXPECT_EQ(state_of(mine), OrderState::awaiting_payment) << "the barrier of a rebuild counts on it";
}

TEST_F(OrderWorkerTest, AStoreThatIsDownDelaysAndForgetsNothing) {
  const auto before = world.bought("ann");
  world.store_faults.down = true;
  world.start_worker();
  world.run(30s);
  EXPECT_TRUE(world.broker.holds(before.ticket));
  EXPECT_EQ(world.working->worker.counters().acknowledged.load(), 0U);
  EXPECT_GT(world.working->worker.counters().not_now.load(), 3U);
  world.store_faults.down = false;
  ASSERT_TRUE(world.run_until_drained());
  EXPECT_EQ(state_of(before), OrderState::awaiting_payment);
}

TEST_F(OrderWorkerTest, OneTicketThatViolatesTheLimitFailsAloneInItsMessage) {
  const auto like = world.bought("bob");
  // The store is the last to say no: a lane would have.
  const std::vector intents{made_up("ann", "r1", like), made_up("ann", "r2", like), made_up("carol", "r1", like)};
  const auto told = world.kernel.await<queue::Published>([&](std::move_only_function<void(queue::Published)> done) {
    world.publisher->publish(0, intents, std::move(done));
  });
  ASSERT_EQ(told, queue::Published::confirmed);
  world.start_worker();
  ASSERT_TRUE(world.run_until_drained());
  EXPECT_EQ(state_of(like), OrderState::awaiting_payment);
  EXPECT_EQ(state_of(intents[0]), OrderState::awaiting_payment);
  EXPECT_EQ(state_of(intents[1]), OrderState::failed);
  EXPECT_EQ(world.order(intents[1])->reason, FailReason::limit_reached);
  EXPECT_EQ(state_of(intents[2]), OrderState::awaiting_payment);
}

TEST_F(OrderWorkerTest, SynchronousOrderingLandsInProcessAndABrokersCopyIsADuplicate) {
  const auto mine = world.bought("ann");
  // The api node's own landing, as the relay uses it.
  orders::ClusterLanding landing{ports(world.buyers_node), {}};
  const std::vector<model::LaneRecord> records{mine};
  const auto landed = landing.consume(records);
  ASSERT_TRUE(landed.has_value());
  EXPECT_EQ(landed->at(0).as, store::LandedAs::ordered);
  land();
  EXPECT_EQ(state_of(mine), OrderState::awaiting_payment);
  EXPECT_EQ(world.working->landing.landing().duplicates.load(), 1U);
  EXPECT_EQ(world.broken(true), "");
}

TEST_F(OrderWorkerTest, FS_25_TheBellIsRungOnceABatchWithTheWindowThatItsOrdersHave) {
  struct Bell final : queue::DeadlineBellRinger {
    void ring_after(std::chrono::milliseconds pay_window) noexcept override { rung.push_back(pay_window); }
    std::vector<std::chrono::milliseconds> rung;
  };
  Bell bell;
  const std::vector intents{world.bought("ann"), world.bought("bob"), world.bought("carol")};
  auto with_bell = ports(world.buyers_node);
  with_bell.bell = &bell;
  orders::ClusterLanding landing{with_bell, {}};
  ASSERT_TRUE(landing.settle(intents).has_value());
  EXPECT_EQ(bell.rung, std::vector{std::chrono::milliseconds{intents[0].pay_window_ms}});
  ASSERT_TRUE(landing.settle(intents).has_value());
  EXPECT_EQ(bell.rung.size(), 1U) << "a duplicate's window began when it landed first";
}

TEST_F(OrderWorkerTest, SynchronousOrderingIsBounded) {
  const auto mine = world.bought("ann");
  orders::ClusterLanding landing{ports(world.buyers_node), {}, {.consuming_max = 1}};
  const std::vector<model::LaneRecord> records{mine};
  int landed = 0;
  int limited = 0;
  std::vector<std::unique_ptr<base::Thread>> threads;
  for (int i = 0; i < 3; ++i) {
    threads.push_back(world.buyers_node.threads().start("relay", [&] {
      const auto got = landing.consume(records);
      (got ? landed : limited) += 1;
      if (!got) EXPECT_EQ(got.error().code, base::Errc::limit);
    }));
  }
  for (const auto& thread : threads) thread->join();
  EXPECT_EQ(landed, 1);
  EXPECT_EQ(limited, 2);
  const std::vector<model::LaneRecord> transfer{model::StockTransfer{}};
  EXPECT_EQ(landing.consume(transfer).error().code, base::Errc::invalid);
}

// --- a worker that dies at any step ---

class WorkerCut : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(WorkerCut, IsFinishedByTheNextWorker) {
  const auto& [point, nth] = GetParam();
  LeadingWorld world{9, {.total = 32, .limit = 1}};
  world.open();
  std::vector<model::OrderIntent> intents;
  for (int i = 0; i < 6; ++i) intents.push_back(world.bought("old-" + std::to_string(i)));
  ASSERT_TRUE(world.lanes.flush(0));
  ASSERT_TRUE(world.run_until_open());
  intents.push_back(world.bought("old-0", "r2"));  // so that the adoption of his first is refused
  for (int i = 0; i < 6; ++i) intents.push_back(world.bought("new-" + std::to_string(i)));
  world.kernel.crash_at(point, static_cast<std::uint64_t>(nth), 0s);
  world.start_worker();
  ASSERT_TRUE(world.kernel.run_until([&] { return !world.worker_node.alive(); }, 30s)) << "the cut was reached";
  EXPECT_EQ(world.broken(false), "");
  world.start_worker();
  ASSERT_TRUE(world.run_until_drained());
  for (const auto& intent : intents) EXPECT_TRUE(world.order(intent)) << "P5, P6 " << intent.buyer.str();
  EXPECT_EQ(world.order(intents[0])->reason, FailReason::superseded);
  EXPECT_EQ(world.broken(true), "");
}

std::string name_of_cut(const ::testing::TestParamInfo<WorkerCut::ParamType>& info) {
  std::string name = std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(OrderWorker, WorkerCut,
                         ::testing::Values(std::tuple{"broker.delivered", 1}, std::tuple{"c3", 1}, std::tuple{"c4", 1},
                                           std::tuple{"lane.adopt.executed", 1}, std::tuple{"lane.adopt.executed", 4},
                                           std::tuple{"lane.adopt.replied", 1}, std::tuple{"lane.adopt.replied", 6},
                                           std::tuple{"fail.asked", 1}, std::tuple{"fail.committed", 1},
                                           std::tuple{"c3", 2}, std::tuple{"c4", 2},
                                           std::tuple{"lane.release.executed", 1},
                                           std::tuple{"lane.release.replied", 1}, std::tuple{"broker.acked", 1},
                                           std::tuple{"broker.acked", 3}),
                         name_of_cut);

TEST(OrderWorkerRandom, WhateverIsLostOrLateEveryConfirmedTicketGetsItsEnd) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LeadingWorld world{seed, {.total = 32, .limit = 1}};
    world.open();
    std::vector<model::OrderIntent> intents;
    for (int i = 0; i < 10; ++i) intents.push_back(world.bought("old-" + std::to_string(i)));
    ASSERT_TRUE(world.lanes.flush(0));
    ASSERT_TRUE(world.run_until_open());
    for (int i = 0; i < 10; ++i) intents.push_back(world.bought("new-" + std::to_string(i)));
    world.lanes.set_faults({.not_sent = 20, .request_lost = 30, .reply_lost = 100, .late = 100});
    world.store_faults.lost_reply = 100;
    world.store_faults.late = 50;
    world.store_faults.unavailable = 100;
    world.broker.set_faults({.lose_publish = 100,
                             .lose_confirm = 100,
                             .refuse = 50,
                             .duplicate = 100,
                             .late = 100,
                             .requeue_last = 300,
                             .lose_connection = 50});
    world.start_worker();
    world.run(10s);
    world.stop_worker();
    world.start_worker();
    (void)world.lanes.fail_over(0);
    world.run(60s);
    EXPECT_EQ(world.broken(false), "") << "seed " << seed;
    world.lanes.set_faults({});
    world.store_faults = {};
    world.broker.set_faults({});
    ASSERT_TRUE(world.run_until_open(90s)) << "seed " << seed;
    ASSERT_TRUE(world.run_until_drained(90s)) << "seed " << seed;
    world.run(30s);
    for (const auto& intent : intents) {
      EXPECT_TRUE(world.order(intent)) << "P5, P6: seed " << seed << " " << intent.buyer.str();
    }
    EXPECT_EQ(world.broken(true), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace seckill::sim
