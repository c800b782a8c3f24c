// How fast one buyer may ask: a token bucket (capacity 5, one back a second) for each buyer, in a table whose size
// never changes and that evicts nobody (FS-49). Keeps P9.
//
// Buckets are kept as GCRA does it ("virtual scheduling", ITU-T I.371): a single instant, the time at which the bucket
// is full again. A buyer's instant is kept in one cell of each of `rows` rows, chosen by a secret hash, and read as the
// least of them; a request raises only what is below its new instant (a count-min sketch with conservative update:
// Cormode and Muthukrishnan 2005; Estan and Varghese 2002). So every cell of a buyer is at least his true instant:
//   - no flood of other buyers can free one who is limited: cells are only ever raised;
//   - a newcomer is delayed wrongly only if all his cells belong to buyers at their limit at this moment: with 100,000
//     such buyers and the default size 0.1 %; the delay is a second, never a denial;
//   - refused requests raise nothing, so a flood by one buyer fills his own cells and nobody else's.
// An instant in the past means "full" whatever its age, so hours of idling overflow nothing (FS-50).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace seckill::gateway {

struct BucketRate {
  std::int64_t capacity = 5;                // 0: nobody may ask; at most 1,000,000
  std::int64_t refill_milli_per_s = 1'000;  // thousandths of a request a second; 1 … 1,000,000,000
};

// Sentences about values out of range; empty when sound.
[[nodiscard]] std::vector<std::string> problems_of(const BucketRate& rate);

// Any thread.
class BuyerBucket {
 public:
  // Requires: problems_of(rate) is empty; cells_per_row a power of two ≥ shards. 4 rows of 2^19 cells are 16 MiB.
  explicit BuyerBucket(BucketRate rate, std::size_t cells_per_row = std::size_t{1} << 19);

  // Takes one request from the buyer's bucket; false: there is none, nothing was taken. `now` is the monotonic clock's
  // and not negative. A `now` before an earlier one is harmless.
  [[nodiscard]] bool take(std::string_view buyer, std::chrono::nanoseconds now) noexcept;

  // After which time a request is surely in the bucket again, in whole seconds, at least 1. For Retry-After.
  [[nodiscard]] std::chrono::seconds retry_after() const noexcept;

 private:
  static constexpr std::size_t rows = 4;
  static constexpr std::size_t shards = 64;
  // All of a buyer's cells are in one shard, so his requests are decided one after the other.
  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<std::int64_t> cells;  // rows × cells_per_shard_ instants in nanoseconds
  };

  std::int64_t interval_ns_;   // one request's worth of refill
  std::int64_t tolerance_ns_;  // how far ahead of now an instant may be for one more request to fit; negative: never
  std::size_t cells_per_shard_;
  std::uint64_t seed_;  // random, so that nobody can choose buyers that meet in a cell
  std::unique_ptr<Shard[]> shards_;
};

}  // namespace seckill::gateway
