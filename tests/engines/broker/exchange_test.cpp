// Publisher and source against a RabbitMQ that works: what is confirmed is delivered, once, in order, until
// acknowledged.
#include <gtest/gtest.h>

#include "engines/broker/broker_fixture.hpp"
#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {
namespace {

class RabbitExchange : public BrokerTest {};

TEST_F(RabbitExchange, AMessageIsConfirmedOnceAndDeliveredInOrderAndGoneWhenAcknowledged) {
  const auto publisher = make_publisher();
  std::vector<std::uint32_t> in_order;
  for (std::uint32_t i = 1; i <= 50; ++i) {
    publish(*publisher, i);
    in_order.push_back(i);
  }
  ASSERT_TRUE(eventually([&] { return told.size() == 50; }));
  EXPECT_EQ(told.all(Published::confirmed).size(), 50U);
  const auto source = make_source();
  EXPECT_EQ(drain(*source), in_order);
  EXPECT_TRUE(eventually([&] { return rabbit->messages_in(intents_queue(config, 0)) == 0; }));
  const auto counters = publisher->counters();
  EXPECT_EQ(counters.messages, 50U);
  EXPECT_EQ(counters.confirmed, 50U);
  EXPECT_EQ(counters.connects, 1U);
}

TEST_F(RabbitExchange, AnIntentArrivesAsItWasSent) {
  const auto publisher = make_publisher();
  auto intent = intent_of(7, 1);
  intent.buyer = model::BuyerId::parse("王 \"小\\明\"").value();
  intent.request_id = model::RequestId::trusted("late:pay-1");
  intent.generation = 4'000'000'000;
  intent.price_minor = 99'999'999'999;
  intent.fields = std::make_shared<const std::string>(R"({"receiver":"a\"b\\c","remark":"快"})");
  publisher->publish(1, {intent, intent_of(8, 1)}, told.of(7));
  const auto source = make_source();
  const auto taken = receive(*source);
  ASSERT_EQ(numbers_in(taken), (std::vector<std::uint32_t>{7, 8}));
  const auto& same = taken.front().intents.front();
  EXPECT_EQ(same.ticket, intent.ticket);
  EXPECT_EQ(same.buyer, intent.buyer);
  EXPECT_EQ(same.request_id, intent.request_id);
  EXPECT_EQ(same.digest, intent.digest);
  EXPECT_EQ(same.generation, intent.generation);
  EXPECT_EQ(same.price_minor, intent.price_minor);
  EXPECT_EQ(*same.fields, *intent.fields);
  EXPECT_FALSE(taken.front().redelivered);
  EXPECT_TRUE(source->acknowledge(taken.front().tag));
}

TEST_F(RabbitExchange, ReceiveTakesWholeMessagesUpToTheIntentsAskedFor) {
  const auto publisher = make_publisher();
  for (std::uint32_t i = 0; i < 4; ++i) {
    publisher->publish(0, {intent_of(10 * i + 1), intent_of(10 * i + 2), intent_of(10 * i + 3)}, told.of(i));
  }
  ASSERT_TRUE(eventually([&] { return told.size() == 4; }));
  const auto source = make_source();
  std::size_t messages = 0;
  while (messages < 4) {
    const auto some = receive(*source, 7);
    EXPECT_LE(numbers_in(some).size(), 7U);
    messages += some.size();
    for (const auto& one : some) EXPECT_TRUE(source->acknowledge(one.tag));
  }
  EXPECT_TRUE(source->receive(1, 300ms)->empty());
}

TEST_F(RabbitExchange, WhatIsPutOffComesBackAfterItsTierInItsOwnPartition) {
  const auto publisher = make_publisher();
  ASSERT_TRUE(publish_and_wait(*publisher, 1, 1));
  const auto source = make_source();
  const auto taken = receive(*source);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_TRUE(source->retry_later(taken.front().tag, {intent_of(1, 1)}, 1'200ms));
  EXPECT_EQ(source->acknowledge(taken.front().tag).error().code, base::Errc::stale) << "its tag is used up";
  EXPECT_TRUE(eventually([&] { return rabbit->messages_in(retry_queue(config, 1, 1'500ms)) == 1; }, 5s));
  EXPECT_EQ(numbers_in(receive(*source)), std::vector<std::uint32_t>{1});
  EXPECT_EQ(source->counters().retried, 1U);
}

TEST_F(RabbitExchange, FS_28_WhatADeadWorkerHadComesToTheNextOneMarked) {
  const auto publisher = make_publisher();
  for (std::uint32_t i = 1; i <= 300; ++i) publish(*publisher, i, i % 2);
  ASSERT_TRUE(eventually([&] { return told.all(Published::confirmed).size() == 300; }));
  std::set<std::uint32_t> taken;
  {
    const auto first = make_source();
    const auto some = receive(*first);
    ASSERT_FALSE(some.empty());
    EXPECT_TRUE(first->acknowledge(some.front().tag));
    taken.insert(number_of(some.front().intents.front()));
  }
  const auto second = make_source();
  for (const auto number : drain(*second)) {
    EXPECT_TRUE(taken.insert(number).second) << number << " came again though it was acknowledged";
  }
  EXPECT_EQ(taken.size(), 300U);
  EXPECT_GT(second->counters().redelivered, 0U);
}

TEST_F(RabbitExchange, ABellRingsWhenItsPayWindowHasPassedAndIsDeclaredOnDemand) {
  bells = {1'000ms, 1'700ms};
  const auto publisher = make_publisher();
  EXPECT_FALSE(rabbit->exists(bell_after_queue(config, 1'000ms)));
  const auto source = make_source();
  int rung = 0;
  source->on_bell([&] { ++rung; });
  publisher->ring_after(1'000ms);
  EXPECT_TRUE(eventually([&] { return rabbit->exists(bell_after_queue(config, 1'000ms)); }));
  EXPECT_TRUE(eventually([&] { return (void)source->receive(1, 50ms), rung == 1; }));
  publisher->ring_after(1'700ms);
  EXPECT_TRUE(eventually([&] { return (void)source->receive(1, 50ms), rung == 2; }));
}

TEST_F(RabbitExchange, FS_52_AnotherPayWindowDeclaresAnotherBellAndTheLongestOneIsPossible) {
  bells = {30'000ms, 900'000ms, 2'592'000'000ms};
  const auto publisher = make_publisher();
  for (const auto bell : bells) {
    publisher->ring_after(bell);
    EXPECT_TRUE(eventually([&] { return rabbit->messages_in(bell_after_queue(config, bell)) == 1; })) << bell;
  }
  const auto again = make_publisher();
  for (const auto bell : bells) {
    again->ring_after(bell);
    EXPECT_TRUE(eventually([&] { return rabbit->messages_in(bell_after_queue(config, bell)) == 2; })) << bell;
  }
  EXPECT_TRUE(publish_and_wait(*again, 1));
}

}  // namespace
}  // namespace seckill::queue::rabbit
