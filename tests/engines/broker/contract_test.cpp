// The contract of queue/intent_broker.hpp, for every engine of it: the protocols are proven over the simulator's broker
// and run over RabbitMQ, and both must mean the same by confirmed, delivered, acknowledged, put off and passed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "engines/broker/broker_fixture.hpp"
#include "engines/broker/contract_places.hpp"

namespace seckill::queue::contract {
namespace {

using namespace std::chrono_literals;
using rabbit::intent_of;
using rabbit::numbers_in;

using Numbers = std::vector<std::uint32_t>;

class BrokerContract : public ::testing::TestWithParam<BrokerEngine> {
 protected:
  void SetUp() override {
    place = GetParam().make_place();
    if (!place) GTEST_SKIP() << "SECKILL_TEST_RABBIT is not set: no RabbitMQ to test against";
  }
  void TearDown() override { EXPECT_FALSE(told_twice) << "PublishDone came twice"; }

  bool eventually(const std::function<bool()>& condition, std::chrono::nanoseconds longest = 60s) {
    const auto until = place->now() + longest;
    while (!condition()) {
      if (place->now() >= until) return false;
      place->pass(10ms);
    }
    return true;
  }
  // One message of these numbers; what becomes of it is kept under the first.
  void publish(const Numbers& numbers, Partition partition = 0) {
    std::vector<model::OrderIntent> intents;
    for (const auto number : numbers) intents.push_back(intent_of(number, partition));
    place->publisher().publish(partition, std::move(intents), [this, first = numbers.front()](Published how) {
      const std::scoped_lock lock{mutex};
      if (!told.emplace(first, how).second) told_twice = true;
    });
  }
  std::optional<Published> about(std::uint32_t number) {
    const std::scoped_lock lock{mutex};
    const auto found = told.find(number);
    return found == told.end() ? std::nullopt : std::optional{found->second};
  }
  void publish_confirmed(const Numbers& numbers, Partition partition = 0) {
    publish(numbers, partition);
    ASSERT_TRUE(eventually([&] { return about(numbers.front()).has_value(); }));
    ASSERT_EQ(about(numbers.front()), Published::confirmed);
  }
  // Asks until something comes.
  std::vector<Delivery> receive(IntentSource& source, std::size_t intents_max = 500) {
    std::vector<Delivery> all;
    EXPECT_TRUE(eventually([&] {
      if (auto some = source.receive(intents_max, 100ms)) all = *std::move(some);
      return !all.empty();
    }));
    return all;
  }
  // Everything there is, acknowledged, until nothing came for a while.
  std::vector<Delivery> drain(IntentSource& source, std::chrono::milliseconds quiet = 1'500ms) {
    std::vector<Delivery> all;
    auto last = place->now();
    while (place->now() - last < quiet) {
      auto some = source.receive(500, 50ms);
      if (!some || some->empty()) continue;
      last = place->now();
      for (Delivery& one : *some) {
        EXPECT_TRUE(source.acknowledge(one.tag));
        all.push_back(std::move(one));
      }
    }
    return all;
  }

  std::unique_ptr<BrokerPlace> place;
  std::mutex mutex;
  std::map<std::uint32_t, Published> told;
  std::atomic<bool> told_twice{false};
};

TEST_P(BrokerContract, what_is_confirmed_is_delivered_once_in_its_partitions_order_and_gone_when_acknowledged) {
  Numbers even;
  Numbers odd;
  for (std::uint32_t i = 1; i <= 40; ++i) {
    publish_confirmed({i}, i % 2);  // in the order they were confirmed; before that nothing is promised
    (i % 2 == 0 ? even : odd).push_back(i);
  }
  const auto worker = place->worker();
  std::map<bool, Numbers> seen;
  for (const Delivery& one : drain(*worker)) {
    EXPECT_FALSE(one.redelivered);
    for (const auto number : numbers_in({one})) seen[number % 2 == 0].push_back(number);
  }
  EXPECT_EQ(seen[true], even);
  EXPECT_EQ(seen[false], odd);
  EXPECT_TRUE(drain(*worker).empty());
}

TEST_P(BrokerContract, it_is_told_once_and_never_inside_publish) {
  std::atomic<bool> inside{true};
  std::atomic<int> early{0};
  std::atomic<int> told_times{0};
  for (std::uint32_t i = 1; i <= 20; ++i) {
    inside = true;
    place->publisher().publish(0, {intent_of(i)}, [&, here = std::this_thread::get_id()](Published) {
      if (inside && std::this_thread::get_id() == here) ++early;
      ++told_times;
    });
    inside = false;
  }
  ASSERT_TRUE(eventually([&] { return told_times == 20; }));
  place->pass(200ms);
  EXPECT_EQ(told_times, 20);
  EXPECT_EQ(early, 0);
}

TEST_P(BrokerContract, a_message_stays_whole_and_no_more_intents_come_than_were_asked_for) {
  for (std::uint32_t i = 0; i < 4; ++i) publish_confirmed({10 * i + 1, 10 * i + 2, 10 * i + 3});
  const auto worker = place->worker();
  Numbers all;
  while (all.size() < 12) {
    const auto some = receive(*worker, 7);
    ASSERT_FALSE(some.empty());
    EXPECT_LE(numbers_in(some).size(), 7U);
    for (const Delivery& one : some) {
      EXPECT_EQ(one.intents.size(), 3U);
      for (const auto number : numbers_in({one})) all.push_back(number);
      EXPECT_TRUE(worker->acknowledge(one.tag));
    }
  }
  EXPECT_EQ(all, (Numbers{1, 2, 3, 11, 12, 13, 21, 22, 23, 31, 32, 33}));
}

TEST_P(BrokerContract, a_message_larger_than_what_was_asked_for_comes_alone) {
  publish_confirmed({1, 2, 3});
  const auto worker = place->worker();
  EXPECT_EQ(numbers_in(receive(*worker, 1)), (Numbers{1, 2, 3}));
}

TEST_P(BrokerContract, an_acknowledged_tag_is_used_up) {
  publish_confirmed({1});
  const auto worker = place->worker();
  const auto taken = receive(*worker);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_TRUE(worker->acknowledge(taken.front().tag));
  EXPECT_FALSE(worker->acknowledge(taken.front().tag));
  EXPECT_FALSE(worker->acknowledge(taken.front().tag + 1'000'000));
}

TEST_P(BrokerContract, FS_28_what_a_dead_worker_had_comes_to_the_next_one_marked_and_what_it_acknowledged_does_not) {
  auto first = place->worker();
  for (std::uint32_t i = 1; i <= 10; ++i) publish_confirmed({i}, i % 2);
  std::set<std::uint32_t> had;
  std::vector<std::uint64_t> tags;
  ASSERT_TRUE(eventually([&] {
    if (auto some = first->receive(500, 100ms)) {
      for (const Delivery& one : *some) {
        had.insert(numbers_in({one}).front());
        tags.push_back(one.tag);
      }
    }
    return had.size() == 10;
  }));
  EXPECT_TRUE(first->acknowledge(tags.front()));
  place->pass(200ms);
  place->kill(std::move(first));
  const auto second = place->worker();
  std::set<std::uint32_t> again;
  ASSERT_TRUE(eventually([&] {
    if (auto some = second->receive(500, 100ms)) {
      for (const Delivery& one : *some) {
        EXPECT_TRUE(one.redelivered);
        EXPECT_TRUE(again.insert(numbers_in({one}).front()).second);
        EXPECT_TRUE(second->acknowledge(one.tag));
      }
    }
    return again.size() >= 9;
  }));
  EXPECT_TRUE(drain(*second).empty());
  EXPECT_EQ(again.size(), 9U);
}

TEST_P(BrokerContract, one_worker_at_a_time_has_a_partition) {
  const auto first = place->worker();
  publish_confirmed({1});
  const auto taken = receive(*first);
  ASSERT_EQ(numbers_in(taken), Numbers{1});
  const auto second = place->worker();
  publish_confirmed({2});
  // Whoever has the partition then: the next message comes to one of them.
  std::size_t seen = 0;
  ASSERT_TRUE(eventually([&] {
    for (IntentSource* worker : {first.get(), second.get()}) {
      auto some = worker->receive(500, 50ms);
      if (!some) continue;
      for (const Delivery& one : *some) {
        if (numbers_in({one}) == Numbers{2}) ++seen;
      }
    }
    return seen > 0;
  }));
  EXPECT_EQ(seen, 1U);
}

TEST_P(BrokerContract, what_is_put_off_comes_back_after_its_delay_in_its_own_partition_and_its_tag_is_used_up) {
  const auto worker = place->worker();
  publish_confirmed({1, 2}, 1);
  const auto taken = receive(*worker);
  ASSERT_EQ(taken.size(), 1U);
  const auto at = place->now();
  EXPECT_TRUE(worker->retry_later(taken.front().tag, {intent_of(2, 1)}, 300ms));
  EXPECT_FALSE(worker->acknowledge(taken.front().tag));
  const auto again = receive(*worker);
  EXPECT_EQ(numbers_in(again), Numbers{2}) << "what was not put off was done with";
  EXPECT_EQ(again.front().intents.front().lane, 1U);
  EXPECT_GE(place->now() - at, 300ms);
  EXPECT_TRUE(worker->acknowledge(again.front().tag));
  EXPECT_TRUE(drain(*worker).empty());
}

TEST_P(BrokerContract, nothing_to_put_off_is_an_acknowledgement) {
  const auto worker = place->worker();
  publish_confirmed({1});
  const auto taken = receive(*worker);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_TRUE(worker->retry_later(taken.front().tag, {}, 300ms));
  EXPECT_FALSE(worker->acknowledge(taken.front().tag));
  EXPECT_TRUE(drain(*worker).empty());
}

TEST_P(BrokerContract, a_barrier_waits_for_what_is_in_hand_and_not_for_what_came_later) {
  const auto worker = place->worker();
  publish_confirmed({1});
  const auto taken = receive(*worker);
  ASSERT_EQ(numbers_in(taken), Numbers{1});
  std::atomic<bool> passed{false};
  std::atomic<bool> ended{false};
  place->start_beside([&] {
    passed = place->publisher().barrier(0, 60s).has_value();
    ended = true;
  });
  place->pass(500ms);
  publish_confirmed({2});
  // What comes later is taken and kept: it is not waited for.
  const auto later = receive(*worker);
  EXPECT_EQ(numbers_in(later), Numbers{2});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(worker->receive(1, 50ms)->empty());
  EXPECT_FALSE(ended);
  EXPECT_TRUE(worker->acknowledge(taken.front().tag));
  EXPECT_TRUE(eventually([&] {
    (void)worker->receive(1, 50ms);
    return ended.load();
  }));
  place->join();
  EXPECT_TRUE(passed);
}

TEST_P(BrokerContract, a_barrier_counts_what_was_put_off) {
  const auto worker = place->worker();
  publish_confirmed({1});
  const auto taken = receive(*worker);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_TRUE(worker->retry_later(taken.front().tag, {intent_of(1)}, 1'500ms));
  std::atomic<bool> ended{false};
  place->start_beside([&] {
    EXPECT_TRUE(place->publisher().barrier(0, 60s));
    ended = true;
  });
  const auto again = receive(*worker);
  EXPECT_EQ(numbers_in(again), Numbers{1});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(worker->receive(1, 50ms)->empty());
  EXPECT_FALSE(ended);
  EXPECT_TRUE(worker->acknowledge(again.front().tag));
  EXPECT_TRUE(eventually([&] {
    (void)worker->receive(1, 50ms);
    return ended.load();
  }));
  place->join();
}

TEST_P(BrokerContract, a_barrier_over_what_nobody_acknowledges_times_out) {
  const auto worker = place->worker();
  publish_confirmed({1});
  ASSERT_EQ(receive(*worker).size(), 1U);
  std::atomic<bool> ended{false};
  base::Status how;
  place->start_beside([&] {
    how = place->publisher().barrier(0, 700ms);
    ended = true;
  });
  EXPECT_TRUE(eventually([&] {
    (void)worker->receive(1, 50ms);
    return ended.load();
  }));
  place->join();
  ASSERT_FALSE(how.has_value());
  EXPECT_EQ(how.error().code, base::Errc::timeout);
}

INSTANTIATE_TEST_SUITE_P(broker, BrokerContract, ::testing::ValuesIn(broker_engines()),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace seckill::queue::contract
