// The rebuild's barrier: it answers when everything before it is acknowledged, and not one message earlier.
#include <gtest/gtest.h>

#include <future>

#include "engines/broker/broker_fixture.hpp"
#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {
namespace {

class RabbitBarrier : public BrokerTest {
 protected:
  std::future<base::Status> pass(RabbitPublisher& publisher, Partition partition = 0,
                                 std::chrono::milliseconds longest = patience) {
    return std::async(std::launch::async,
                      [&publisher, partition, longest] { return publisher.barrier(partition, longest); });
  }
  static bool waits(std::future<base::Status>& barrier, IntentSource& source) {
    for (int i = 0; i < 10; ++i) (void)source.receive(1, 50ms);
    return barrier.wait_for(0ms) != std::future_status::ready;
  }
  static bool passes(std::future<base::Status>& barrier, IntentSource& source) {
    return eventually([&] {
             (void)source.receive(1, 20ms);
             return barrier.wait_for(0ms) == std::future_status::ready;
           }) &&
           barrier.get().has_value();
  }
};

TEST_F(RabbitBarrier, WaitsForWhatIsInHandAndNotForWhatCameLater) {
  const auto publisher = make_publisher();
  const auto source = make_source();
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  const auto taken = receive(*source, 1);
  ASSERT_EQ(numbers_in(taken), std::vector<std::uint32_t>{1});
  auto barrier = pass(*publisher);
  EXPECT_TRUE(waits(barrier, *source));
  EXPECT_TRUE(publish_and_wait(*publisher, 2));
  EXPECT_TRUE(waits(barrier, *source));
  EXPECT_TRUE(source->acknowledge(taken.front().tag));
  EXPECT_TRUE(passes(barrier, *source)) << "2 is not acknowledged and came later";
}

TEST_F(RabbitBarrier, OfAnEmptyPartitionPassesAndWithoutAWorkerItTimesOut) {
  const auto publisher = make_publisher();
  EXPECT_EQ(publisher->barrier(1, 500ms).error().code, base::Errc::timeout);
  const auto source = make_source();
  auto barrier = pass(*publisher, 1);
  EXPECT_TRUE(passes(barrier, *source));
}

TEST_F(RabbitBarrier, CountsWhatWasPutOff) {
  const auto publisher = make_publisher();
  const auto source = make_source();
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  const auto taken = receive(*source);
  EXPECT_TRUE(source->retry_later(taken.front().tag, {intent_of(1)}, 1'500ms));
  ASSERT_TRUE(eventually([&] { return rabbit->messages_in(retry_queue(config, 0, 1'500ms)) == 1; }));
  auto barrier = pass(*publisher);
  EXPECT_EQ(barrier.wait_for(0ms), std::future_status::timeout);
  const auto again = receive(*source);
  ASSERT_EQ(numbers_in(again), std::vector<std::uint32_t>{1}) << "it came back before the barrier passed";
  EXPECT_TRUE(waits(barrier, *source));
  EXPECT_TRUE(source->acknowledge(again.front().tag));
  EXPECT_TRUE(passes(barrier, *source));
}

TEST_F(RabbitBarrier, SurvivesAWorkerThatDiesInBetween) {
  const auto publisher = make_publisher();
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  auto first = make_source();
  ASSERT_EQ(receive(*first).size(), 1U);
  auto barrier = pass(*publisher);
  EXPECT_TRUE(waits(barrier, *first));
  first.reset();
  const auto second = make_source();
  const auto again = receive(*second);
  ASSERT_EQ(numbers_in(again), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(again.front().redelivered);
  EXPECT_TRUE(waits(barrier, *second));
  EXPECT_TRUE(second->acknowledge(again.front().tag));
  EXPECT_TRUE(passes(barrier, *second));
}

TEST_F(RabbitBarrier, OfAPurgedPartitionPasses) {
  const auto publisher = make_publisher();
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  auto barrier = pass(*publisher);
  ASSERT_TRUE(eventually([&] { return rabbit->messages_in(intents_queue(config, 0)) == 2; })) << "the marker as well";
  rabbit->purge(intents_queue(config, 0));
  const auto source = make_source();
  EXPECT_TRUE(passes(barrier, *source));
}

TEST_F(RabbitBarrier, StaysBehindAMessageThatIsGivenBack) {
  const auto publisher = make_publisher();
  const auto source = make_source();
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  const auto taken = receive(*source);
  auto barrier = pass(*publisher);
  EXPECT_TRUE(waits(barrier, *source));
  for (const auto tier : config.retry_tiers) rabbit->remove(retry_queue(config, 0, tier));
  EXPECT_FALSE(source->retry_later(taken.front().tag, {intent_of(1)}, 1s));
  const auto again = receive(*source);
  ASSERT_EQ(numbers_in(again), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(waits(barrier, *source));
  EXPECT_TRUE(source->acknowledge(again.front().tag));
  EXPECT_TRUE(passes(barrier, *source));
}

TEST_F(RabbitBarrier, SeveralAtOnceAreTold) {
  const auto publisher = make_publisher();
  Worker worker{config, "worker"};
  std::vector<std::future<base::Status>> barriers;
  for (int i = 0; i < 8; ++i) barriers.push_back(pass(*publisher, static_cast<Partition>(i % 2)));
  for (auto& one : barriers) EXPECT_TRUE(one.get());
}

}  // namespace
}  // namespace seckill::queue::rabbit
