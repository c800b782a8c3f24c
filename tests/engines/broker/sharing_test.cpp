// Workers come and go, and the partitions are shared out among those that are there.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "engines/broker/broker_fixture.hpp"
#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {
namespace {

class RabbitSharing : public BrokerTest {
 protected:
  void SetUp() override {
    BrokerTest::SetUp();
    config.partitions = 6;
    config.retry_tiers = {300ms};
  }
  // Publishes to every partition until each worker has had exactly these many of them in one round.
  bool shared_as(RabbitPublisher& publisher, const std::vector<Worker*>& workers,
                 const std::vector<std::size_t>& shares) {
    return eventually([&] {
      for (auto* one : workers) one->mark();
      const std::uint32_t first = number_;
      for (Partition p = 0; p < config.partitions; ++p) publish(publisher, number_++, p);
      const bool all = eventually(
          [&] {
            std::set<std::uint32_t> seen;
            for (auto* one : workers) seen.merge(one->seen());
            return seen.contains(first) && seen.contains(number_ - 1) && seen.size() == number_ - 1;
          },
          3s);
      std::vector<std::size_t> got;
      for (auto* one : workers) got.push_back(one->lanes_since_mark().size());
      std::ranges::sort(got);
      return all && got == shares;
    });
  }
  std::uint32_t number_ = 1;
};

TEST_F(RabbitSharing, FS_71_WorkersFromOneToThreeToOneHaveTheirShareOfThePartitions) {
  const auto publisher = make_publisher();
  auto one = std::make_unique<Worker>(config, "one");
  EXPECT_TRUE(shared_as(*publisher, {one.get()}, {6}));
  auto two = std::make_unique<Worker>(config, "two");
  auto three = std::make_unique<Worker>(config, "three");
  EXPECT_TRUE(shared_as(*publisher, {one.get(), two.get(), three.get()}, {2, 2, 2}));
  one->stop();
  EXPECT_TRUE(shared_as(*publisher, {one.get(), two.get(), three.get()}, {0, 3, 3}));
  three->stop();
  EXPECT_TRUE(shared_as(*publisher, {one.get(), two.get(), three.get()}, {0, 0, 6}));
  EXPECT_EQ(told.all(Published::confirmed).size(), number_ - 1);
}

TEST_F(RabbitSharing, FS_71_AWorkerHoldsNoMoreThanItsPrefetchAndTheRestSpreadsToThoseThatCome) {
  config.prefetch_messages = 12;
  const auto publisher = make_publisher();
  for (; number_ <= 600; ++number_) publish(*publisher, number_, number_ % config.partitions);
  ASSERT_TRUE(eventually([&] { return told.all(Published::confirmed).size() == 600; }));
  const auto ready = [&] {
    std::uint32_t all = 0;
    for (Partition p = 0; p < config.partitions; ++p) all += rabbit->messages_in(intents_queue(config, p));
    return all;
  };
  {
    const auto slow = make_source();
    std::vector<Delivery> taken;
    EXPECT_TRUE(eventually([&] {
      if (auto some = slow->receive(100'000, 100ms)) std::ranges::move(*some, std::back_inserter(taken));
      return taken.size() == 12;
    }));
    (void)slow->receive(100'000, 500ms);
    EXPECT_EQ(ready(), 588U);
  }
  Worker one{config, "one", 5ms};
  Worker two{config, "two", 5ms};
  EXPECT_TRUE(eventually([&] { return one.seen().size() + two.seen().size() >= 600; }));
  EXPECT_GT(one.seen().size(), 100U);
  EXPECT_GT(two.seen().size(), 100U);
}

TEST_F(RabbitSharing, AWorkerMoreThanPartitionsWaitsForASeat) {
  config.partitions = 1;
  const auto publisher = make_publisher();
  auto one = std::make_unique<Worker>(config, "one");
  EXPECT_TRUE(shared_as(*publisher, {one.get()}, {1}));
  Worker two{config, "two"};
  EXPECT_TRUE(shared_as(*publisher, {one.get(), &two}, {0, 1}));
  one->stop();
  EXPECT_TRUE(shared_as(*publisher, {one.get(), &two}, {0, 1}));
  EXPECT_FALSE(two.seen().empty());
}

TEST_F(RabbitSharing, ATagOfAPartitionThatWentIsStale) {
  const auto publisher = make_publisher();
  const auto source = make_source();
  ASSERT_TRUE(publish_and_wait(*publisher, 1));
  const auto taken = receive(*source);
  rabbit->remove(intents_queue(config, 0));
  EXPECT_TRUE(eventually([&] {
    (void)source->receive(1, 100ms);
    return rabbit->exists(intents_queue(config, 0));
  }));
  EXPECT_EQ(source->acknowledge(taken.front().tag).error().code, base::Errc::stale);
  EXPECT_EQ(source->retry_later(taken.front().tag, {intent_of(1)}, 1s).error().code, base::Errc::stale);
  EXPECT_EQ(source->acknowledge(99'999).error().code, base::Errc::stale);
}

}  // namespace
}  // namespace seckill::queue::rabbit
