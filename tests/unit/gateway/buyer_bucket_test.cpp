// The buyer's bucket at its edges, and filter modes.
#include "gateway/filters/buyer_bucket.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gateway/filters/filter_modes.hpp"

namespace seckill::gateway {
namespace {

using namespace std::chrono_literals;

int taken(BuyerBucket& bucket, std::string_view buyer, std::chrono::nanoseconds now, int tries) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += bucket.take(buyer, now) ? 1 : 0;
  return count;
}

TEST(BuyerBucket, GivesABurstThenOneASecond) {
  BuyerBucket bucket{{5, 1'000}};
  EXPECT_EQ(taken(bucket, "u1", 0s, 20), 5);
  EXPECT_FALSE(bucket.take("u1", 999ms));
  EXPECT_TRUE(bucket.take("u1", 1s));
  EXPECT_FALSE(bucket.take("u1", 1s));
  EXPECT_EQ(taken(bucket, "u1", 3s, 20), 2);
  EXPECT_EQ(taken(bucket, "u2", 3s, 20), 5) << "another buyer has a bucket of his own";
}

TEST(BuyerBucket, FS_50_IdleForTwelveHoursIsOneBurstAndNeverABlock) {
  BuyerBucket bucket{{5, 1'000}};
  EXPECT_EQ(taken(bucket, "u1", 1s, 20), 5);
  EXPECT_EQ(taken(bucket, "u1", 1s + 12h, 20), 5);
  EXPECT_EQ(taken(bucket, "u1", 1s + 24h * 365 * 100, 20), 5);
}

TEST(BuyerBucket, FS_50_ATimeBeforeAnEarlierOneIsHarmless) {
  BuyerBucket bucket{{5, 1'000}};
  EXPECT_EQ(taken(bucket, "u1", 1h, 20), 5);
  EXPECT_EQ(taken(bucket, "u1", 0s, 20), 0);
  EXPECT_EQ(taken(bucket, "u1", 1h + 5s, 20), 5);
}

TEST(BuyerBucket, FS_50_CapacityZeroMeansNobodyAndHighRatesHold) {
  BuyerBucket none{{0, 1'000'000'000}};
  EXPECT_EQ(taken(none, "u1", 1h, 100), 0);
  BuyerBucket one{{1, 100}};  // one request in ten seconds
  EXPECT_TRUE(one.take("u1", 0s));
  EXPECT_FALSE(one.take("u1", 2s));
  EXPECT_TRUE(one.take("u1", 10s));
  BuyerBucket fast{{1, 6'000'000}};  // 6000 a second
  int count = 0;
  for (std::int64_t us = 0; us < 1'000'000; us += 20) count += fast.take("u1", std::chrono::microseconds{us}) ? 1 : 0;
  EXPECT_GE(count, 5'000);
  EXPECT_LE(count, 6'001);
  BuyerBucket largest{{1'000'000, 1}};
  EXPECT_EQ(taken(largest, "u1", 24h * 365 * 10, 1'000), 1'000);
}

TEST(BuyerBucket, FS_50_RatesOutOfRangeAreNamed) {
  EXPECT_TRUE(problems_of(BucketRate{5, 1'000}).empty());
  EXPECT_TRUE(problems_of(BucketRate{0, 1}).empty());
  for (const std::int64_t capacity : {std::int64_t{-1}, std::int64_t{1} << 31, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(problems_of(BucketRate{capacity, 1'000}).size(), 1U);
  }
  for (const std::int64_t refill : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31, INT64_MAX}) {
    EXPECT_EQ(problems_of(BucketRate{5, refill}).size(), 1U);
  }
}

TEST(BuyerBucket, FS_49_AFloodOfOtherBuyersNeverFreesTheLimitedOne) {
  BuyerBucket bucket{{5, 1'000}, 1'024};  // a small table, flooded far beyond its size
  ASSERT_EQ(taken(bucket, "limited", 0s, 20), 5);
  for (int i = 0; i < 200'000; ++i) {
    (void)bucket.take("flood" + std::to_string(i), std::chrono::milliseconds{i / 1'000});
    if (i % 1'000 == 0) {
      ASSERT_FALSE(bucket.take("limited", std::chrono::milliseconds{i / 1'000})) << i;
    }
  }
}

TEST(BuyerBucket, FS_49_HonestNewcomersAreServedWhileManyAreAtTheirLimit) {
  BuyerBucket bucket{{5, 1'000}};
  for (int i = 0; i < 50'000; ++i) (void)taken(bucket, "bot" + std::to_string(i), 0s, 8);
  int served = 0;
  for (int i = 0; i < 10'000; ++i) served += bucket.take("honest" + std::to_string(i), 0s) ? 1 : 0;
  EXPECT_GE(served, 9'950);
}

TEST(BuyerBucket, OneBuyerOnManyThreadsGetsOneBurst) {
  BuyerBucket bucket{{5, 1'000}};
  std::atomic<int> count{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { count += taken(bucket, "u1", 1s, 1'000); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, 5);
}

TEST(FilterModes, ShadowCountsAndRefusesNobody) {
  FilterModes modes;
  EXPECT_TRUE(modes.refuses(Filter::buyer_bucket, true));
  EXPECT_FALSE(modes.refuses(Filter::buyer_bucket, false));
  ASSERT_TRUE(modes.set_mode(Filter::buyer_bucket, FilterMode::shadow));
  EXPECT_FALSE(modes.refuses(Filter::buyer_bucket, true));
  EXPECT_EQ(modes.seen(Filter::buyer_bucket), 3U);
  EXPECT_EQ(modes.would_reject(Filter::buyer_bucket), 2U);
  EXPECT_EQ(modes.rejected(Filter::buyer_bucket), 1U);
  EXPECT_EQ(modes.seen(Filter::phase), 0U);
}

TEST(FilterModes, LoginCannotBeSwitchedOff) {
  FilterModes modes;
  EXPECT_FALSE(modes.set_mode(Filter::login, FilterMode::off));
  EXPECT_FALSE(modes.set_mode(Filter::login, FilterMode::shadow));
  EXPECT_EQ(modes.mode(Filter::login), FilterMode::enforce);
  EXPECT_EQ(filter_mode_from("shadow"), FilterMode::shadow);
  EXPECT_EQ(filter_mode_from("on"), std::nullopt);
}

}  // namespace
}  // namespace seckill::gateway
