// Messages that nobody of ours wrote, queues that are full or gone, and settings that do not fit what is there.
#include <gtest/gtest.h>

#include "engines/broker/broker_fixture.hpp"
#include "queue/rabbit/message.hpp"
#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {
namespace {

namespace amqp = drivers::amqp;

class RabbitTrouble : public BrokerTest {};

TEST_F(RabbitTrouble, FS_09_EachPoisonMessageIsParkedWithItsReasonAndHarmsNoOther) {
  const auto publisher = make_publisher();
  const std::string queue = intents_queue(config, 0);
  std::string good;
  write_intents(good, std::vector{intent_of(1), intent_of(2)});
  const std::string one_bad = "[" + good.substr(1, good.size() - 2) + R"(,{"type":"seckill.intent","id":7}])";
  const std::vector<std::string> poison{"",
                                        "not json",
                                        "[]",
                                        R"([{}])",
                                        R"([{"type":"seckill.intent"}])",
                                        "[[[[[",
                                        "\xff\xfe",
                                        std::string(1'000'000, 'x')};
  for (const auto& body : poison) rabbit->put(queue, body);
  rabbit->put(queue, one_bad);
  for (std::uint32_t i = 3; i <= 52; ++i) publish(*publisher, i);
  const auto source = make_source();
  std::set<std::uint32_t> seen;
  EXPECT_TRUE(eventually([&] {
    for (const auto number : drain(*source, 500ms)) EXPECT_TRUE(seen.insert(number).second);
    return seen.size() == 52;
  }));
  EXPECT_EQ(source->counters().parked, poison.size() + 1);
  EXPECT_EQ(source->counters().unreadable, poison.size() + 1);
  EXPECT_EQ(source->counters().connects, 1U);
  const auto parked = rabbit->take_all(parked_queue(config));
  ASSERT_EQ(parked.size(), poison.size() + 1);
  for (std::size_t i = 0; i < parked.size(); ++i) {
    EXPECT_FALSE(parked[i].properties.type.empty());
    EXPECT_EQ(parked[i].properties.correlation_id, queue);
  }
  EXPECT_EQ(parked.front().body, poison.front());
  EXPECT_EQ(parked.back().body, R"({"type":"seckill.intent","id":7})") << "the bad one alone";
  EXPECT_EQ(rabbit->messages_in(queue), 0U);
}

TEST_F(RabbitTrouble, FS_09_WithoutAParkedQueueNothingIsLostAndTheQueueComesBack) {
  const auto publisher = make_publisher();
  const auto source = make_source();
  (void)source->receive(1, 1ms);
  rabbit->remove(parked_queue(config));
  rabbit->put(intents_queue(config, 0), "poison");
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  EXPECT_EQ(drain(*source), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(eventually([&] {
    (void)source->receive(1, 100ms);
    return source->counters().parked == 1;
  }));
  EXPECT_LT(source->counters().messages, 10U) << "no hot loop";
  EXPECT_EQ(rabbit->messages_in(parked_queue(config)), 1U);
}

TEST_F(RabbitTrouble, FS_16_AMessageWithoutAQueueIsRefusedAndTheQueueIsDeclaredAgain) {
  const auto publisher = make_publisher();
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  rabbit->remove(intents_queue(config, 0));
  EXPECT_FALSE(publish_and_wait(*publisher, 2));
  EXPECT_EQ(told.about(2), Published::refused);
  EXPECT_EQ(publisher->counters().returned, 1U);
  std::uint32_t number = 3;
  EXPECT_TRUE(eventually([&] { return publish_and_wait(*publisher, number++); })) << "declared again";
  EXPECT_EQ(publisher->counters().connects, 1U);
}

TEST_F(RabbitTrouble, FS_16_ABellWithoutItsQueueIsDeclaredAgainAndRings) {
  bells = {2'000ms};
  const auto publisher = make_publisher();
  const std::string queue = bell_after_queue(config, bells.front());
  publisher->ring_after(bells.front());
  ASSERT_TRUE(eventually([&] { return rabbit->messages_in(queue) == 1; }));
  rabbit->remove(queue);
  publisher->ring_after(bells.front());
  EXPECT_TRUE(eventually([&] { return rabbit->messages_in(queue) == 1; }));
}

TEST_F(RabbitTrouble, FS_11_ASourceWhoseQueuesWereRemovedSubscribesAgain) {
  const auto publisher = make_publisher();
  Worker worker{config, "worker"};
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  ASSERT_TRUE(eventually([&] { return worker.seen().contains(1); }));
  rabbit->remove(intents_queue(config, 0));
  rabbit->remove(seat_queue(config, 0));
  rabbit->remove(bell_queue(config));
  std::uint32_t number = 2;
  ASSERT_TRUE(eventually([&] { return publish_and_wait(*publisher, number++); }));
  EXPECT_TRUE(eventually([&] { return worker.seen().contains(number - 1); }));
}

class RabbitFull : public RabbitTrouble {
 protected:
  void SetUp() override {
    RabbitTrouble::SetUp();
    config.queue_messages_max = 100;
  }
};

TEST_F(RabbitFull, FS_58_AFullQueueRefusesWhatIsNewAndDropsNothing) {
  const auto publisher = make_publisher();
  for (std::uint32_t i = 1; i <= 300; ++i) ASSERT_NO_FATAL_FAILURE((void)publish_and_wait(*publisher, i));
  const auto confirmed = told.all(Published::confirmed);
  EXPECT_GE(confirmed.size(), 100U);
  EXPECT_EQ(confirmed.size() + told.all(Published::refused).size(), 300U);
  EXPECT_GT(told.all(Published::refused).size(), 100U);
  const auto source = make_source();
  std::set<std::uint32_t> seen;
  EXPECT_TRUE(eventually([&] {
    for (const auto number : drain(*source, 500ms)) seen.insert(number);
    return seen.size() >= confirmed.size();
  }));
  EXPECT_EQ(seen, confirmed);
}

TEST_F(RabbitTrouble, FS_52_AQueueWithOtherSettingsIsToldInOneSentenceAndTriedAgain) {
  ASSERT_TRUE(rabbit->declare({.name = parked_queue(config), .arguments = {}}));
  auto publisher = RabbitPublisher::start(config).value();
  std::this_thread::sleep_for(500ms);
  EXPECT_FALSE(publisher->accepting());
  EXPECT_EQ(publisher->counters().connects, 0U);
  const auto source = make_source();
  const auto refused = source->receive(1, 2s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Errc::refused);
  EXPECT_NE(refused.error().text().find(parked_queue(config)), std::string::npos) << refused.error().text();
  rabbit->remove(parked_queue(config));
  EXPECT_TRUE(eventually([&] { return publisher->accepting(); })) << "no restart is needed";
}

TEST_F(RabbitTrouble, AWrongPasswordAndNoServerAreErrorsAndBadSettingsAreSaidAtOnce) {
  auto wrong = config;
  wrong.password = "wrong";
  EXPECT_EQ(RabbitSource::make(wrong).value()->receive(1, 1s).error().code, base::Errc::refused);
  auto nowhere = config;
  nowhere.servers = {"127.0.0.1:1"};
  EXPECT_EQ(RabbitSource::make(nowhere).value()->receive(1, 1s).error().code, base::Errc::unavailable);
  const auto publisher = RabbitPublisher::start(nowhere).value();
  EXPECT_FALSE(publisher->accepting());
  publisher->publish(0, {intent_of(1)}, told.of(1));
  EXPECT_TRUE(eventually([&] { return told.about(1) == Published::refused; }));
  EXPECT_EQ(publisher->barrier(0, 1s).error().code, base::Errc::unavailable);
  publisher->stop();
  publisher->publish(0, {intent_of(2)}, told.of(2));
  EXPECT_TRUE(eventually([&] { return told.about(2) == Published::refused; })) << "also after stop()";
  for (const auto& server : {"", "host", "host:", ":1", "host:0", "host:65536", "host:1x"}) {
    auto bad = config;
    bad.servers = {server};
    EXPECT_EQ(RabbitPublisher::start(bad).error().code, base::Errc::invalid) << server;
  }
}

TEST_F(RabbitTrouble, WhatCannotBePutOffForCertainComesAgainAsItWas) {
  const auto publisher = make_publisher();
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  const auto source = make_source();
  const auto taken = receive(*source);
  for (const auto tier : config.retry_tiers) rabbit->remove(retry_queue(config, 0, tier));
  EXPECT_FALSE(source->retry_later(taken.front().tag, {intent_of(1)}, 1s));
  const auto again = receive(*source);
  EXPECT_EQ(numbers_in(again), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(again.front().redelivered);
  EXPECT_TRUE(eventually([&] {
    (void)source->receive(1, 100ms);
    return rabbit->exists(retry_queue(config, 0, 300ms));
  }));
  EXPECT_TRUE(source->retry_later(again.front().tag, {intent_of(1)}, 300ms));
  EXPECT_EQ(numbers_in(receive(*source)), std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace seckill::queue::rabbit
