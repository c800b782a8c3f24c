// What the simulated broker promises and what it may break, one behaviour a test: the protocols are only as well proven
// as this device is honest.
#include "simulation/devices/broker/sim_broker.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace seckill::sim {
namespace {

using queue::Published;

model::OrderIntent intent_of(int number) {
  base::Bytes16 bytes{};
  bytes[15] = static_cast<std::uint8_t>(number);
  bytes[14] = static_cast<std::uint8_t>(number >> 8);
  model::OrderIntent intent;
  intent.ticket = model::Ticket{bytes};
  intent.units = number;
  return intent;
}

// A broker, an api node that publishes and two workers that take.
class SimBrokerTest : public ::testing::Test {
 protected:
  explicit SimBrokerTest(std::uint64_t seed = 7, BrokerConfig config = {}) : kernel{seed}, broker{kernel, config} {}

  // Numbers are intents; what became of each message is kept in `told`.
  void publish(int number, queue::Partition partition = 0) {
    publisher->publish(partition, {intent_of(number)}, [this, number](Published one) {
      EXPECT_TRUE(told.emplace(number, one).second) << "told twice";
    });
  }
  void settle(Time time = 5s) { kernel.run_until(kernel.now() + time); }
  std::vector<int> numbers(const std::vector<queue::Delivery>& deliveries) {
    std::vector<int> all;
    for (const auto& one : deliveries) {
      for (const auto& intent : one.intents) all.push_back(static_cast<int>(intent.units));
    }
    return all;
  }
  // Everything there is for this worker now, acknowledged.
  std::vector<int> drain(queue::IntentSource& source, std::chrono::milliseconds patience = 3s) {
    std::vector<int> all;
    for (;;) {
      auto deliveries = source.receive(500, patience);
      if (!deliveries) continue;
      if (deliveries->empty()) return all;
      for (const auto& one : *deliveries) (void)source.acknowledge(one.tag);
      for (const int number : numbers(*deliveries)) all.push_back(number);
    }
  }

  Kernel kernel;
  SimBroker broker;
  Node& api = kernel.add_node("api");
  Node& node_1 = kernel.add_node("one");
  Node& node_2 = kernel.add_node("two");
  std::unique_ptr<queue::IntentPublisher> publisher = broker.publisher(api);
  std::map<int, Published> told;
};

TEST_F(SimBrokerTest, AMessageIsConfirmedOnceAndDeliveredInOrderAndGoneWhenAcknowledged) {
  const auto worker = broker.source(node_1, {0});
  for (int i = 1; i <= 50; ++i) {
    publish(i);
    EXPECT_TRUE(told.empty()) << "never inside publish()";
    settle(50ms);
    told.clear();
  }
  std::vector<int> in_order;
  for (int i = 1; i <= 50; ++i) in_order.push_back(i);
  EXPECT_EQ(broker.contents(0).size(), 50U);
  EXPECT_EQ(drain(*worker), in_order);
  settle();
  EXPECT_TRUE(broker.empty());
  EXPECT_EQ(broker.counters().confirmed, 50U);
  EXPECT_EQ(broker.counters().acknowledged, 50U);
}

TEST_F(SimBrokerTest, ALostMessageIsToldUnknownAndIsNotThere) {
  broker.set_faults({.lose_publish = 1000});
  publish(1);
  settle();
  EXPECT_EQ(told.at(1), Published::unknown);
  EXPECT_TRUE(broker.empty());
}

TEST_F(SimBrokerTest, AMessageWhoseConfirmIsLostIsToldUnknownAndIsThere) {
  broker.set_faults({.lose_confirm = 1000});
  publish(1);
  settle();
  EXPECT_EQ(told.at(1), Published::unknown);
  EXPECT_TRUE(broker.holds(intent_of(1).ticket));
}

TEST_F(SimBrokerTest, ARefusedMessageIsCertainlyNotThere) {
  broker.set_faults({.refuse = 1000});
  publish(1);
  settle();
  EXPECT_EQ(told.at(1), Published::refused);
  EXPECT_TRUE(broker.empty());
}

TEST_F(SimBrokerTest, AnAlarmRefusesAndSaysSoBeforehand) {
  broker.set_alarm(true);
  EXPECT_FALSE(publisher->accepting());
  publish(1);
  settle();
  EXPECT_EQ(told.at(1), Published::refused);
  broker.set_alarm(false);
  EXPECT_TRUE(publisher->accepting());
  publish(2);
  settle();
  EXPECT_EQ(told.at(2), Published::confirmed);
}

class FullBrokerTest : public SimBrokerTest {
 protected:
  FullBrokerTest() : SimBrokerTest{7, {.messages_max = 2}} {}
};

TEST_F(FullBrokerTest, AFullPartitionRefuses) {
  for (int i = 1; i <= 3; ++i) {
    publish(i);
    settle();
  }
  EXPECT_EQ(told.at(2), Published::confirmed);
  EXPECT_EQ(told.at(3), Published::refused);
}

TEST_F(SimBrokerTest, ADuplicateIsDeliveredTwice) {
  broker.set_faults({.duplicate = 1000});
  const auto worker = broker.source(node_1, {0});
  publish(1);
  settle();
  EXPECT_EQ(told.at(1), Published::confirmed);
  EXPECT_EQ(drain(*worker), (std::vector<int>{1, 1}));
}

TEST_F(SimBrokerTest, ALateMessageIsConfirmedFirstAndOvertaken) {
  const auto worker = broker.source(node_1, {0});
  broker.set_faults({.late = 1000, .late_longest = 60s});
  publish(1);
  settle(50ms);
  broker.set_faults({});
  publish(2);
  settle(50ms);
  EXPECT_EQ(told.at(1), Published::confirmed);
  const auto first = worker->receive(1, 1ms);
  EXPECT_EQ(numbers(first.value()), std::vector<int>{2});
  EXPECT_TRUE(worker->acknowledge(first->front().tag));
  EXPECT_EQ(drain(*worker, 60s), std::vector<int>{1});
}

TEST_F(SimBrokerTest, ACrashLosesWhatWasNotDurableAndKeepsWhatWasConfirmed) {
  publish(1);
  settle();
  const Time until = kernel.now() + 3s;
  for (int i = 2; i < 60; ++i) publish(i);
  // Some are stored and not synced at this moment.
  kernel.run_until(kernel.now() + 3ms);
  broker.crash(1s);
  EXPECT_FALSE(publisher->accepting());
  kernel.run_until(until);
  EXPECT_TRUE(publisher->accepting());
  EXPECT_GT(broker.counters().tail_lost, 0U);
  std::set<int> kept;
  for (const auto& intent : broker.contents(0)) kept.insert(static_cast<int>(intent.units));
  ASSERT_EQ(told.size(), 59U);
  for (const auto& [number, what] : told) {
    if (what == Published::confirmed) EXPECT_TRUE(kept.contains(number)) << number;
  }
  EXPECT_TRUE(kept.contains(1));
}

TEST_F(SimBrokerTest, WhatTheUnsyncedTailDeliveredMayBeGoneAfterACrash) {
  const auto worker = broker.source(node_1, {0});
  for (int i = 1; i <= 100; ++i) publish(i);
  auto before = worker->receive(500, 10ms);
  ASSERT_FALSE(before->empty());
  broker.crash(10ms);
  EXPECT_FALSE(worker->acknowledge(before->front().tag)) << "the connection is lost";
  settle();
  std::multiset<int> after;
  for (const int number : drain(*worker)) after.insert(number);
  bool gone = false;
  for (const int number : numbers(*before)) gone = gone || !after.contains(number);
  EXPECT_TRUE(gone);
}

TEST_F(SimBrokerTest, APurgeDestroysConfirmedMessages) {
  publish(1);
  settle();
  EXPECT_EQ(told.at(1), Published::confirmed);
  broker.lose_everything();
  EXPECT_TRUE(broker.empty());
  EXPECT_EQ(broker.counters().purged, 1U);
}

TEST_F(SimBrokerTest, OneConsumerAtATimeHasAPartitionAndTheNextTakesOverWhatADeadOneLeft) {
  const auto first = broker.source(node_1, {0});
  const auto second = broker.source(node_2, {0});
  publish(1);
  publish(2);
  settle();
  const auto taken = first->receive(500, 10ms);
  ASSERT_EQ(taken->size(), 2U);
  EXPECT_FALSE(taken->front().redelivered);
  EXPECT_TRUE(second->receive(500, 1s)->empty()) << "single active consumer";
  node_1.crash();
  std::vector<queue::Delivery> again;
  while (again.empty()) again = second->receive(500, 1s).value();
  EXPECT_EQ(numbers(again), (std::vector<int>{1, 2}));
  EXPECT_TRUE(again.front().redelivered);
}

TEST_F(SimBrokerTest, ALostConnectionIsToldOnceAndDeliversAgain) {
  const auto worker = broker.source(node_1, {0});
  publish(1);
  settle();
  const auto taken = worker->receive(500, 10ms);
  ASSERT_EQ(taken->size(), 1U);
  broker.disconnect(node_1);
  EXPECT_FALSE(worker->acknowledge(taken->front().tag));
  EXPECT_FALSE(worker->receive(500, 10ms));
  const auto again = worker->receive(500, 1s);
  ASSERT_EQ(again->size(), 1U);
  EXPECT_TRUE(again->front().redelivered);
  EXPECT_NE(again->front().tag, taken->front().tag);
}

TEST_F(SimBrokerTest, APublisherWhoseConnectionBreaksIsToldUnknown) {
  publish(1);
  broker.disconnect(api);
  settle();
  EXPECT_EQ(told.at(1), Published::unknown);
  publish(2);
  settle();
  EXPECT_EQ(told.at(2), Published::confirmed) << "it connects again by itself";
}

TEST_F(SimBrokerTest, ARequeueMayGoBehindWhatCameLater) {
  broker.set_faults({.requeue_last = 1000});
  const auto worker = broker.source(node_1, {0});
  publish(1);
  settle();
  ASSERT_EQ(worker->receive(500, 10ms)->size(), 1U);
  publish(2);
  settle();
  broker.disconnect(node_1);
  EXPECT_FALSE(worker->receive(500, 10ms));
  EXPECT_EQ(drain(*worker), (std::vector<int>{2, 1}));
}

TEST_F(SimBrokerTest, WhatIsPutOffComesBackAfterItsDelayAndNotBefore) {
  const auto worker = broker.source(node_1, {0});
  publish(1);
  settle();
  const auto taken = worker->receive(500, 10ms);
  EXPECT_TRUE(worker->retry_later(taken->front().tag, {intent_of(1)}, 10s));
  const Time put_off_at = kernel.now();
  EXPECT_TRUE(worker->receive(500, 5s)->empty());
  EXPECT_EQ(drain(*worker, 10s), std::vector<int>{1});
  EXPECT_GE(kernel.now(), put_off_at + 10s);
}

TEST_F(SimBrokerTest, WhatCannotBePutOffForCertainComesAgainAsItWas) {
  const auto worker = broker.source(node_1, {0});
  publish(1);
  settle();
  const auto taken = worker->receive(500, 10ms);
  broker.set_faults({.lose_confirm = 1000});
  EXPECT_FALSE(worker->retry_later(taken->front().tag, {intent_of(1)}, 1s));
  broker.set_faults({});
  EXPECT_EQ(drain(*worker), (std::vector<int>{1, 1})) << "once as it was, once as the retry that was not confirmed";
}

TEST_F(SimBrokerTest, ABarrierWaitsForWhatWasThereAndNotForWhatCameLater) {
  const auto worker = broker.source(node_1, {0});
  publish(1);
  settle();
  EXPECT_EQ(publisher->barrier(0, 1s).error().code, base::Errc::timeout);
  bool passed = false;
  auto waits = api.threads().start("barrier", [&] { passed = publisher->barrier(0, 60s).has_value(); });
  settle(1s);
  publish(2);
  settle(1s);
  EXPECT_FALSE(passed);
  const auto taken = worker->receive(1, 10ms);
  ASSERT_EQ(numbers(*taken), std::vector<int>{1});
  EXPECT_TRUE(worker->acknowledge(taken->front().tag));
  waits->join();
  EXPECT_TRUE(passed);
  EXPECT_EQ(broker.contents(0).size(), 1U);
  broker.crash(1s);
  EXPECT_EQ(publisher->barrier(0, 1s).error().code, base::Errc::unavailable);
}

TEST_F(SimBrokerTest, AnAnswerOnItsWayToADeadNodeIsDroppedAndTheMessageStays) {
  publish(1);
  kernel.run_until([&] { return !broker.empty(); }, 1s);
  api.crash();
  settle();
  EXPECT_TRUE(told.empty());
  EXPECT_TRUE(broker.holds(intent_of(1).ticket));
  publish(2);
  settle();
  EXPECT_FALSE(broker.holds(intent_of(2).ticket)) << "a dead node sends nothing";
  api.restart();
  EXPECT_TRUE(told.empty()) << "nor does its next life hear it";
}

TEST_F(SimBrokerTest, PlannedCrashesHitTheNodeThatPasses) {
  kernel.crash_at("broker.published", 2, 1s);
  kernel.after(api, 0ms, [&] { publish(1); });
  settle();
  EXPECT_EQ(told.size(), 1U);
  kernel.after(api, 0ms, [&] { publish(2); });
  settle();
  EXPECT_FALSE(api.alive());
  EXPECT_FALSE(broker.holds(intent_of(2).ticket));
}

TEST(SimBrokerRandom, WhateverTheFaultsAConfirmedMessageIsDeliveredUntilAcknowledged) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Kernel kernel{seed};
    SimBroker broker{kernel, {.partitions = 3}};
    Node& api = kernel.add_node("api");
    std::vector<Node*> workers{&kernel.add_node("w0"), &kernel.add_node("w1")};
    auto publisher = broker.publisher(api);
    broker.set_faults({.lose_publish = 100,
                       .lose_confirm = 100,
                       .refuse = 50,
                       .duplicate = 100,
                       .late = 200,
                       .requeue_last = 500,
                       .lose_connection = 20});
    std::set<int> confirmed;
    std::set<int> refused;
    for (int i = 1; i <= 200; ++i) {
      kernel.after(Time{i * 10ms}, [&, i] {
        publisher->publish(static_cast<queue::Partition>(i % 3), {intent_of(i)}, [&, i](Published one) {
          if (one == Published::confirmed) confirmed.insert(i);
          if (one == Published::refused) refused.insert(i);
        });
      });
    }
    kernel.after(500ms, [&] { broker.crash(300ms); });
    kernel.after(1s, [&] { workers[0]->crash(); });
    kernel.after(1700ms, [&] { broker.disconnect(*workers[1]); });
    kernel.after(4s, [&] { broker.set_faults({}); });
    std::set<int> seen;
    std::vector<std::unique_ptr<queue::IntentSource>> sources;
    std::vector<std::unique_ptr<base::Thread>> threads;
    for (std::size_t w = 0; w < 2; ++w) {
      sources.push_back(broker.source(*workers[w], {static_cast<queue::Partition>(w)}));
      threads.push_back(workers[w]->threads().start("worker", [&, w] {
        for (;;) {
          const auto deliveries = sources[w]->receive(10, 250ms);
          if (!deliveries) continue;
          for (const auto& one : *deliveries) {
            workers[w]->threads().sleep_for(20ms);
            for (const auto& intent : one.intents) seen.insert(static_cast<int>(intent.units));
            (void)sources[w]->acknowledge(one.tag);
          }
        }
      }));
    }
    kernel.run_until(60s);
    EXPECT_TRUE(broker.empty()) << "seed " << seed;
    EXPECT_GT(confirmed.size(), 100U);
    for (const int number : confirmed) EXPECT_TRUE(seen.contains(number)) << "seed " << seed << " message " << number;
    for (const int number : refused) EXPECT_FALSE(seen.contains(number)) << "seed " << seed << " message " << number;
    for (Node* worker : workers) worker->crash();
  }
}

}  // namespace
}  // namespace seckill::sim
