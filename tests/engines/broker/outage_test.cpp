// What happens to the broker itself: killed, restarted, emptied, in an alarm, with its queues removed under it. Each
// test has a RabbitMQ of its own, started once for all of them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "engines/broker/broker_fixture.hpp"
#include "engines/broker/own_broker.hpp"
#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {
namespace {

class RabbitOutage : public BrokerTest {
 protected:
  static void SetUpTestSuite() {
    // Tests against engines are asked for by naming one; the same goes for those that start their own.
    if (std::getenv("SECKILL_TEST_RABBIT") != nullptr) own = OwnBroker::start();
  }
  static void TearDownTestSuite() { own.reset(); }
  std::optional<RabbitConfig> broker() override {
    if (!own) return std::nullopt;
    auto found = own->config();
    found.heartbeat = 2s;
    return found;
  }
  // Restarts it; everything that was connected has to find back by itself.
  void restart() {
    own->kill();
    ASSERT_TRUE(own->start_again());
  }
  static std::unique_ptr<OwnBroker> own;
};
std::unique_ptr<OwnBroker> RabbitOutage::own;

TEST_F(RabbitOutage, FS_26_WhatWasConfirmedSurvivesAKilledBrokerInEveryQueue) {
  bells = {600'000ms};
  const auto publisher = make_publisher();
  for (std::uint32_t i = 1; i <= 30; ++i) publish(*publisher, i, i % 2);
  ASSERT_TRUE(eventually([&] { return told.all(Published::confirmed).size() == 30; }));
  publisher->ring_after(bells.front());
  config.retry_tiers = {300ms, 40'000ms};
  std::string put_off_in;
  {
    const auto source = make_source();
    const auto taken = receive(*source);
    put_off_in = retry_queue(config, taken.front().intents.front().lane, 40'000ms);
    EXPECT_TRUE(source->retry_later(taken.front().tag, taken.front().intents, 60s));
    rabbit->put(intents_queue(config, 1), "not for us");
    EXPECT_TRUE(eventually([&] {
      (void)source->receive(1, 100ms);
      return source->counters().parked == 1;
    }));
  }
  EXPECT_TRUE(eventually([&] { return rabbit->messages_in(bell_after_queue(config, bells.front())) == 1; }));
  restart();
  // Counted again once their leaders are elected.
  const auto holds_one = [&](const std::string& queue) {
    return eventually([&] { return rabbit->messages_in(queue) == 1; });
  };
  EXPECT_TRUE(holds_one(bell_after_queue(config, bells.front())));
  EXPECT_TRUE(holds_one(parked_queue(config)));
  EXPECT_TRUE(holds_one(put_off_in));
  const auto source = make_source();
  std::set<std::uint32_t> seen;
  EXPECT_TRUE(eventually([&] {
    for (const auto number : drain(*source, 500ms)) EXPECT_TRUE(seen.insert(number).second) << number << " twice";
    return seen.size() == 30;
  }));
  rabbit->remove(retry_queue(config, 0, 300ms));
}

TEST_F(RabbitOutage, FS_11_AfterEachRestartPublishingConsumingAndConfirmsWorkAgainByThemselves) {
  const auto publisher = make_publisher();
  Worker worker{config, "worker"};
  std::uint32_t number = 1;
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(publish_and_wait(*publisher, number));
    ASSERT_TRUE(eventually([&] { return worker.seen().contains(number); }));
    ++number;
    own->kill();
    EXPECT_TRUE(eventually([&] { return !publisher->accepting(); }));
    publish(*publisher, number);
    EXPECT_TRUE(eventually([&] { return told.about(number) == Published::refused; })) << "refused while it is down";
    ++number;
    ASSERT_TRUE(own->start_again());
    ASSERT_TRUE(eventually([&] { return publisher->accepting(); }));
    ASSERT_TRUE(publish_and_wait(*publisher, number));
    ASSERT_TRUE(eventually([&] { return worker.seen().contains(number); })) << "round " << round;
    ++number;
  }
  EXPECT_EQ(publisher->counters().connects, 3U);
}

TEST_F(RabbitOutage, FS_11_AConnectionClosedByTheBrokerIsOpenedAgain) {
  const auto publisher = make_publisher();
  Worker worker{config, "worker"};
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  ASSERT_TRUE(eventually([&] { return worker.seen().contains(1); }));
  ASSERT_TRUE(own->control({"close_all_connections", "by the operator"}));
  ASSERT_TRUE(eventually([&] { return publisher->counters().connects == 2 && publisher->accepting(); }));
  ASSERT_TRUE(publish_and_wait(*publisher, 2));
  ASSERT_TRUE(eventually([&] { return worker.seen().contains(2); }));
  EXPECT_GE(worker.counters().connects, 2U);
}

TEST_F(RabbitOutage, ABrokerThatLostEverythingIsFurnishedAgain) {
  const auto publisher = make_publisher();
  Worker worker{config, "worker"};
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  own->kill();
  own->lose_data();
  ASSERT_TRUE(own->start_again());
  ASSERT_TRUE(eventually([&] { return publisher->accepting(); }));
  ASSERT_TRUE(publish_and_wait(*publisher, 2));
  EXPECT_TRUE(eventually([&] { return worker.seen().contains(2); }));
}

TEST_F(RabbitOutage, FS_27_AnAlarmIsSeenPublishesAreRefusedAtOnceAndItPassesByItself) {
  const auto publisher = make_publisher();
  Worker worker{config, "worker"};
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  ASSERT_TRUE(own->control({"set_vm_memory_high_watermark", "0"}));
  // The broker says so to a connection that publishes.
  std::uint32_t number = 2;
  EXPECT_TRUE(eventually([&] {
    if (publisher->accepting()) publish(*publisher, number++);
    std::this_thread::sleep_for(50ms);
    return publisher->counters().blocked > 0 && !publisher->accepting();
  }));
  const std::uint32_t refused = number++;
  publish(*publisher, refused);
  EXPECT_TRUE(eventually([&] { return told.about(refused) == Published::refused; }));
  // What was on its way when the alarm came has an answer within its deadline, and nothing hangs.
  EXPECT_TRUE(eventually([&] { return told.size() == refused; }));
  ASSERT_TRUE(own->control({"set_vm_memory_high_watermark", "0.4"}));
  ASSERT_TRUE(eventually([&] { return publisher->accepting(); }));
  ASSERT_TRUE(publish_and_wait(*publisher, number));
  EXPECT_TRUE(eventually([&] { return worker.seen().contains(number); }));
  for (const auto one : told.all(Published::confirmed)) {
    EXPECT_TRUE(eventually([&] { return worker.seen().contains(one); })) << one;
  }
}

TEST_F(RabbitOutage, FS_27_AWorkerThatMustParkInAnAlarmGoesOnTakingAndParksAfterwards) {
  const auto publisher = make_publisher();
  rabbit->put(intents_queue(config, 0), "poison");
  for (std::uint32_t i = 1; i <= 20; ++i) ASSERT_TRUE(publish_and_wait(*publisher, i, i % 2));
  ASSERT_TRUE(own->control({"set_vm_memory_high_watermark", "0"}));
  Worker worker{config, "worker"};
  EXPECT_TRUE(eventually([&] { return worker.seen().size() == 20; }));
  EXPECT_TRUE(eventually([&] { return rabbit->messages_in(intents_queue(config, 1)) == 0; }));
  EXPECT_EQ(worker.counters().parked, 0U);
  ASSERT_TRUE(own->control({"set_vm_memory_high_watermark", "0.4"}));
  EXPECT_TRUE(eventually([&] { return worker.counters().parked == 1; }));
}

TEST_F(RabbitOutage, FS_27_AWriteIntoABrokerThatDoesNotReadEndsAtItsDeadline) {
  config.confirm_longest = 1'500ms;
  config.unconfirmed_max = 4'000;
  const auto publisher = make_publisher();
  ASSERT_TRUE(own->control({"set_vm_memory_high_watermark", "0"}));
  // More at once than every buffer on the way holds.
  std::vector<model::OrderIntent> many;
  const auto fields = std::make_shared<const std::string>("{\"remark\":\"" + std::string(4'000, 'x') + "\"}");
  for (std::uint32_t i = 1; i <= 100; ++i) many.push_back(intent_of(i));
  for (auto& one : many) one.fields = fields;
  for (std::uint32_t i = 1; i <= 200; ++i) publisher->publish(0, many, told.of(i));
  EXPECT_TRUE(eventually([&] { return told.size() == 200; }));
  EXPECT_LT(told.all(Published::confirmed).size(), 200U);
  EXPECT_TRUE(eventually([&] { return publisher->counters().connects >= 2; }))
      << "nobody could tell it to stop writing";
  ASSERT_TRUE(own->control({"set_vm_memory_high_watermark", "0.4"}));
  ASSERT_TRUE(eventually([&] { return publisher->accepting(); }));
  EXPECT_TRUE(publish_and_wait(*publisher, 1'000));
}

}  // namespace
}  // namespace seckill::queue::rabbit
