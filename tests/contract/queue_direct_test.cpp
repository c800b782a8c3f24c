// Intent queue port, direct engine: order, bounds, group commit, "not now", overdue confirmations and an orderly stop.
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <latch>

#include "base/clock.hpp"
#include "queue/direct/direct_queue.hpp"

namespace seckill::test {
namespace {

using queue::Confirmation;
using queue::direct::DirectQueue;
using queue::direct::DirectQueueConfig;

// Remembers what it was offered; a test can hold it, or have it say "not now".
class RecordingLanding final : public queue::IntentConsumer {
 public:
  base::Result<std::vector<store::Landed>> consume(std::span<const model::LaneRecord> records) override {
    std::unique_lock lock{mutex_};
    ++offers_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    if (refuse_) return base::fail(base::Errc::disk_full, "landing");
    batches_.push_back(records.size());
    std::vector<store::Landed> landed;
    for (const model::LaneRecord& record : records) {
      if (const auto* intent = std::get_if<model::OrderIntent>(&record)) {
        units_.push_back(intent->units);
        landed.push_back({.as = store::LandedAs::ordered,
                          .state = model::OrderState::awaiting_payment,
                          .pay_before = intent->units});
      } else {
        units_.push_back(-std::get<model::StockTransfer>(record).units);
      }
    }
    changed_.notify_all();
    return landed;
  }
  void hold(bool on) { set(held_, on); }
  void refuse(bool on) { set(refuse_, on); }
  void wait_for_offers(std::size_t count) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return offers_ >= count; });
  }
  // Intents' units and transfers' negated units, in the order they landed.
  std::vector<std::int64_t> units() {
    const std::scoped_lock lock{mutex_};
    return units_;
  }
  std::vector<std::size_t> batches() {
    const std::scoped_lock lock{mutex_};
    return batches_;
  }

 private:
  void set(bool& flag, bool on) {
    const std::scoped_lock lock{mutex_};
    flag = on;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool refuse_ = false;
  std::size_t offers_ = 0;
  std::vector<std::int64_t> units_;
  std::vector<std::size_t> batches_;
};

model::LaneRecord intent(std::int64_t units) {
  model::OrderIntent record;
  record.units = units;
  return record;
}
model::LaneRecord transfer(std::int64_t units) {
  model::StockTransfer record;
  record.units = units;
  return record;
}

// Confirmations in the order they were called.
class Confirmations {
 public:
  queue::Confirm next() {
    return [this, number = made_++](const Confirmation& confirmation) {
      const std::scoped_lock lock{mutex_};
      called_.emplace_back(number, confirmation);
      changed_.notify_all();
    };
  }
  std::vector<std::pair<int, Confirmation>> wait_for(std::size_t count) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return called_.size() >= count; });
    return called_;
  }
  std::size_t count() {
    const std::scoped_lock lock{mutex_};
    return called_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int made_ = 0;
  std::vector<std::pair<int, Confirmation>> called_;
};

struct DirectQueueTest : testing::Test {
  void publish(DirectQueue& queue, model::LaneRecord record) {
    ASSERT_TRUE(queue.try_reserve(1));
    queue.publish(std::move(record), confirmations.next());
  }
  static std::vector<std::int64_t> up_to(std::int64_t count) {
    std::vector<std::int64_t> units;
    for (std::int64_t i = 1; i <= count; ++i) units.push_back(i);
    return units;
  }

  base::ManualClock clock;
  RecordingLanding landing;
  Confirmations confirmations;
};

TEST_F(DirectQueueTest, records_land_and_are_confirmed_in_the_order_they_were_published) {
  DirectQueue queue{landing, clock, {}};
  queue.start();
  for (std::int64_t i = 1; i <= 2'000; ++i) publish(queue, intent(i));
  const auto called = confirmations.wait_for(2'000);
  for (int i = 0; i < 2'000; ++i) {
    EXPECT_EQ(called[static_cast<std::size_t>(i)].first, i);
    EXPECT_TRUE(called[static_cast<std::size_t>(i)].second.durable);
    EXPECT_EQ(called[static_cast<std::size_t>(i)].second.landed->pay_before, i + 1) << "each its own Landed";
  }
  EXPECT_EQ(landing.units(), up_to(2'000));
  EXPECT_EQ(queue.depth(), 0U);
}

TEST_F(DirectQueueTest, a_transfer_between_intents_is_confirmed_with_landed_empty) {
  DirectQueue queue{landing, clock, {}};
  publish(queue, intent(1));
  publish(queue, transfer(5));
  publish(queue, intent(2));
  queue.start();
  const auto called = confirmations.wait_for(3);
  EXPECT_EQ(called[0].second.landed->pay_before, 1);
  EXPECT_FALSE(called[1].second.landed.has_value());
  EXPECT_TRUE(called[1].second.durable);
  EXPECT_EQ(called[2].second.landed->pay_before, 2);
  EXPECT_EQ(landing.units(), (std::vector<std::int64_t>{1, -5, 2}));
}

TEST_F(DirectQueueTest, what_waits_together_lands_together_at_most_a_batch) {
  DirectQueue queue{landing, clock, {.capacity = 100, .batch_max = 8}};
  for (std::int64_t i = 1; i <= 20; ++i) publish(queue, intent(i));
  queue.start();
  (void)confirmations.wait_for(20);
  EXPECT_EQ(landing.batches(), (std::vector<std::size_t>{8, 8, 4}));
  EXPECT_EQ(landing.units(), up_to(20));
}

TEST_F(DirectQueueTest, P5_a_record_that_comes_while_a_batch_lands_waits_for_the_next) {
  DirectQueue queue{landing, clock, {.capacity = 100, .batch_max = 8}};
  landing.hold(true);
  queue.start();
  publish(queue, intent(1));
  landing.wait_for_offers(1);
  publish(queue, intent(2));  // the landing has been given its batch and does not know this one
  landing.hold(false);
  for (const auto& [number, confirmation] : confirmations.wait_for(2)) EXPECT_TRUE(confirmation.durable) << number;
  EXPECT_EQ(landing.batches(), (std::vector<std::size_t>{1, 1}));
  EXPECT_EQ(landing.units(), up_to(2));
}

TEST_F(DirectQueueTest, reserved_and_accepted_records_never_exceed_the_capacity) {
  DirectQueue queue{landing, clock, {.capacity = 10, .batch_max = 4}};
  landing.hold(true);
  queue.start();
  EXPECT_FALSE(queue.try_reserve(11));
  for (std::int64_t i = 1; i <= 6; ++i) publish(queue, intent(i));
  EXPECT_TRUE(queue.try_reserve(4));
  EXPECT_FALSE(queue.try_reserve(1)) << "full: 6 accepted, 4 reserved";
  queue.cancel_reservation(3);
  EXPECT_TRUE(queue.try_reserve(3));
  queue.cancel_reservation(4);
  EXPECT_EQ(queue.depth(), 6U);
  landing.hold(false);
  (void)confirmations.wait_for(6);
  EXPECT_TRUE(queue.try_reserve(10)) << "what landed leaves its place";
  queue.cancel_reservation(10);
}

TEST_F(DirectQueueTest, not_now_offers_the_same_records_again_and_refuses_reservations_meanwhile) {
  DirectQueue queue{landing, clock, {.backoff_min = std::chrono::milliseconds{1}}};
  landing.refuse(true);
  for (std::int64_t i = 1; i <= 5; ++i) publish(queue, intent(i));
  queue.start();
  landing.wait_for_offers(2);
  EXPECT_FALSE(queue.try_reserve(1));
  EXPECT_EQ(confirmations.count(), 0U);
  landing.refuse(false);
  const auto called = confirmations.wait_for(5);
  for (const auto& [number, confirmation] : called) EXPECT_TRUE(confirmation.durable) << number;
  EXPECT_EQ(landing.units(), up_to(5)) << "once each, in order";
  EXPECT_TRUE(queue.try_reserve(1));
  queue.cancel_reservation(1);
}

TEST_F(DirectQueueTest, an_overdue_confirmation_is_told_unknown_once_and_its_record_still_lands) {
  DirectQueue queue{landing, clock, {.batch_max = 2, .confirm_deadline = std::chrono::milliseconds{1'000}}};
  std::vector<std::int64_t> late;  // the consumer thread's until stop()
  queue.on_landed_late([&](const model::OrderIntent& intent, const store::Landed&) { late.push_back(intent.units); });
  landing.hold(true);
  queue.start();
  for (std::int64_t i = 1; i <= 3; ++i) publish(queue, intent(i));
  landing.wait_for_offers(1);
  clock.advance(std::chrono::milliseconds{900});
  publish(queue, intent(4));  // younger than the deadline
  clock.advance(std::chrono::milliseconds{200});
  const auto overdue = confirmations.wait_for(3);
  EXPECT_EQ(overdue.size(), 3U);
  for (const auto& [number, confirmation] : overdue) {
    EXPECT_LT(number, 3);
    EXPECT_FALSE(confirmation.durable);
    EXPECT_FALSE(confirmation.landed.has_value());
  }
  EXPECT_EQ(queue.depth(), 4U) << "unknown is not failed";
  landing.hold(false);
  const auto all = confirmations.wait_for(4);
  EXPECT_EQ(all[3].first, 3);
  EXPECT_TRUE(all[3].second.durable);
  queue.stop();
  EXPECT_EQ(landing.units(), up_to(4));
  EXPECT_EQ(confirmations.count(), 4U) << "each exactly once";
  EXPECT_EQ(late, up_to(3)) << "told unknown is told again once it is known";
}

TEST_F(DirectQueueTest, stop_refuses_reservations_and_lands_what_was_accepted) {
  DirectQueue queue{landing, clock, {.batch_max = 4}};
  landing.hold(true);
  queue.start();
  for (std::int64_t i = 1; i <= 10; ++i) publish(queue, intent(i));
  std::jthread stopper{[&] { queue.stop(); }};
  while (queue.try_reserve(1)) queue.cancel_reservation(1);
  landing.hold(false);
  stopper.join();
  EXPECT_EQ(landing.units(), up_to(10));
  EXPECT_EQ(confirmations.count(), 10U);
  queue.stop();  // again: nothing
  EXPECT_FALSE(queue.try_reserve(1));
}

TEST_F(DirectQueueTest, stop_gives_up_on_a_landing_that_goes_on_refusing) {
  DirectQueueConfig config{.backoff_min = std::chrono::milliseconds{1}};
  config.stop_deadline = std::chrono::milliseconds{20};
  DirectQueue queue{landing, clock, config};
  landing.refuse(true);
  for (std::int64_t i = 1; i <= 3; ++i) publish(queue, intent(i));  // before the first refusal closes the door
  queue.start();
  queue.stop();
  const auto called = confirmations.wait_for(3);
  for (const auto& [number, confirmation] : called) EXPECT_FALSE(confirmation.durable) << number;
  EXPECT_EQ(queue.depth(), 0U);
}

TEST_F(DirectQueueTest, a_queue_that_never_started_tells_unknown_when_it_goes) {
  {
    DirectQueue queue{landing, clock, {}};
    publish(queue, intent(1));
  }
  EXPECT_EQ(confirmations.count(), 1U);
  EXPECT_TRUE(landing.units().empty());
}

TEST_F(DirectQueueTest, many_publishers_lose_nothing_and_keep_their_own_order) {
  constexpr std::int64_t threads = 4;
  constexpr std::int64_t each = 3'000;
  std::atomic<std::int64_t> confirmed{0};
  DirectQueue queue{landing, clock, {.capacity = 1'000, .batch_max = 64}};
  queue.start();
  {
    std::vector<std::jthread> publishers;
    for (std::int64_t t = 0; t < threads; ++t) {
      publishers.emplace_back([&, t] {
        for (std::int64_t i = 0; i < each; ++i) {
          while (!queue.try_reserve(2)) std::this_thread::yield();
          queue.publish(intent(t * each + i + 1), [&](const Confirmation&) { ++confirmed; });
          queue.cancel_reservation(1);
        }
      });
    }
  }
  queue.stop();
  EXPECT_EQ(confirmed, threads * each);
  std::vector<std::int64_t> next(threads, 0);
  for (const std::int64_t units : landing.units()) {
    const auto t = static_cast<std::size_t>((units - 1) / each);
    EXPECT_EQ((units - 1) % each, next[t]++);
  }
  EXPECT_EQ(queue.depth(), 0U);
}

}  // namespace
}  // namespace seckill::test
