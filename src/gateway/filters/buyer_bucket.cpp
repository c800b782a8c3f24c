#include "gateway/filters/buyer_bucket.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/assert.hpp"
#include "base/crypto.hpp"
#include "base/hash.hpp"

namespace seckill::gateway {
namespace {

constexpr std::int64_t capacity_max = 1'000'000;
constexpr std::int64_t refill_max = 1'000'000'000;
constexpr std::int64_t ns_per_milli_request =
    1'000'000'000'000;  // nanoseconds a thousandth of a request a second is worth

// An instant is at most now + capacity × interval: capacity 10^6 of 10^12 ns is 10^18, and 9.2 × 10^18 fit.
static_assert(capacity_max * ns_per_milli_request <= INT64_MAX / 9);

}  // namespace

std::vector<std::string> problems_of(const BucketRate& rate) {
  std::vector<std::string> problems;
  if (rate.capacity < 0 || rate.capacity > capacity_max) {
    problems.emplace_back("capacity must be a whole number from 0 (nobody may ask) to 1000000");
  }
  if (rate.refill_milli_per_s < 1 || rate.refill_milli_per_s > refill_max) {
    problems.emplace_back("refill must be from 0.001 to 1000000 requests a second");
  }
  return problems;
}

BuyerBucket::BuyerBucket(BucketRate rate, std::size_t cells_per_row)
    : interval_ns_{ns_per_milli_request / rate.refill_milli_per_s},
      tolerance_ns_{(rate.capacity - 1) * interval_ns_},
      cells_per_shard_{cells_per_row / shards},
      seed_{base::random_u64()},
      shards_{std::make_unique<Shard[]>(shards)} {
  SECKILL_ASSERT(problems_of(rate).empty(), "a bucket's rate was checked when the configuration was read");
  SECKILL_ASSERT(std::has_single_bit(cells_per_row) && cells_per_row >= shards, "rows divide into shards");
  for (std::size_t index = 0; index < shards; ++index) shards_[index].cells.resize(rows * cells_per_shard_);
}

bool BuyerBucket::take(std::string_view buyer, std::chrono::nanoseconds now) noexcept {
  const base::Hash128 hash = base::xxh3_128_seeded(buyer, seed_);
  Shard& shard = shards_[hash.high % shards];
  // Double hashing (Kirsch and Mitzenmacher 2006): two words give all rows their cells.
  const std::uint64_t step = (hash.high >> 6) | 1U;
  std::array<std::size_t, rows> at;
  for (std::size_t row = 0; row < rows; ++row) {
    at[row] = row * cells_per_shard_ + static_cast<std::size_t>((hash.low + row * step) & (cells_per_shard_ - 1));
  }
  const std::lock_guard lock{shard.mutex};
  std::int64_t full_at = INT64_MAX;
  for (const std::size_t cell : at) full_at = std::min(full_at, shard.cells[cell]);
  full_at = std::max(full_at, now.count());
  if (full_at - now.count() > tolerance_ns_) return false;
  full_at += interval_ns_;
  for (const std::size_t cell : at) shard.cells[cell] = std::max(shard.cells[cell], full_at);
  return true;
}

std::chrono::seconds BuyerBucket::retry_after() const noexcept {
  return std::chrono::seconds{std::max<std::int64_t>(1, (interval_ns_ + 999'999'999) / 1'000'000'000)};
}

}  // namespace seckill::gateway
