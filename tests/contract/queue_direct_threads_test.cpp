// Intent queue port, direct engine, under many threads: publishers, a landing that comes and goes, confirmations that
// fall due meanwhile, and a stop as soon as the last publisher is done. Meant for the thread sanitizer as much as for
// the counts (P5, P6, P9).
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "queue/direct/direct_queue.hpp"

namespace seckill::test {
namespace {

using queue::Confirmation;
using queue::direct::DirectQueue;

// Says "not now" to every third offer. Only the queue's consumer calls it.
class FitfulLanding final : public queue::IntentConsumer {
 public:
  base::Result<std::vector<store::Landed>> consume(std::span<const model::LaneRecord> records) override {
    if (++offers_ % 3 == 0) return base::fail(base::Errc::disk_full, "landing");
    landed_ += records.size();
    return std::vector<store::Landed>(records.size(),
                                      {.as = store::LandedAs::ordered, .state = model::OrderState::awaiting_payment});
  }
  [[nodiscard]] std::size_t landed() const { return landed_; }

 private:
  std::size_t offers_ = 0;
  std::size_t landed_ = 0;
};

TEST(DirectQueueThreads, P5_P6_each_record_is_confirmed_once_and_what_was_told_unknown_is_told_late) {
  constexpr int threads = 4;
  constexpr int each = 1'500;
  base::ManualClock clock;
  FitfulLanding landing;
  std::atomic<int> durable{0};
  std::atomic<int> unknown{0};
  std::atomic<int> late{0};
  DirectQueue queue{landing,
                    clock,
                    {.capacity = 200,
                     .batch_max = 16,
                     .confirm_deadline = std::chrono::milliseconds{1},
                     .backoff_min = std::chrono::milliseconds{1},
                     .backoff_max = std::chrono::milliseconds{2}}};
  queue.on_landed_late([&](const model::OrderIntent&, const store::Landed&) { ++late; });
  queue.start();
  {
    std::atomic<bool> over{false};
    // Deadlines pass while the consumer settles, and the depth is read as a metric is.
    std::jthread time{[&] {
      while (!over) {
        clock.advance(std::chrono::milliseconds{1});
        EXPECT_LE(queue.depth(), 200U) << "P9";
        std::this_thread::yield();
      }
    }};
    std::vector<std::jthread> publishers;
    for (int t = 0; t < threads; ++t) {
      publishers.emplace_back([&] {
        for (int i = 0; i < each; ++i) {
          while (!queue.try_reserve(2)) std::this_thread::yield();
          queue.cancel_reservation(1);
          queue.publish(model::OrderIntent{}, [&](const Confirmation& told) { ++(told.durable ? durable : unknown); });
        }
      });
    }
    publishers.clear();
    queue.stop();
    over = true;
  }
  EXPECT_EQ(durable + unknown, threads * each);
  EXPECT_EQ(landing.landed(), static_cast<std::size_t>(threads * each)) << "unknown is not failed";
  EXPECT_EQ(late, unknown);
  EXPECT_EQ(queue.depth(), 0U);
}

TEST(DirectQueueThreads, P9_reserving_and_giving_back_while_it_stops_leaves_no_place_taken_and_no_door_open) {
  for (int round = 0; round < 20; ++round) {
    base::ManualClock clock;
    FitfulLanding landing;
    std::atomic<int> told{0};
    DirectQueue queue{landing, clock, {.capacity = 8, .batch_max = 4, .backoff_min = std::chrono::milliseconds{1}}};
    queue.start();
    for (int i = 0; i < 4; ++i) {
      while (!queue.try_reserve(1)) std::this_thread::yield();
      queue.publish(model::OrderIntent{}, [&](const Confirmation&) { ++told; });
    }
    std::atomic<bool> over{false};
    {
      std::vector<std::jthread> askers;
      for (int t = 0; t < 2; ++t) {
        askers.emplace_back([&] {
          while (!over) {
            if (queue.try_reserve(3)) queue.cancel_reservation(3);
          }
        });
      }
      queue.stop();
      over = true;
    }
    EXPECT_EQ(told, 4);
    EXPECT_EQ(queue.depth(), 0U);
    EXPECT_FALSE(queue.try_reserve(1));
  }
}

}  // namespace
}  // namespace seckill::test
