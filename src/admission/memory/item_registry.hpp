// Items by key: found without a lock, taken out and freed when their sale is over.
//
// A reader is counted while it reads, in one of a few stripes, so that readers do not fight over a cache line. An item
// taken out is freed once every stripe has been seen empty since. Why that is safe: counting in, following a chain,
// taking out and looking at a stripe are sequentially consistent. A reader whom the look did not see counted itself in
// after the look, so after the item was taken out, and no chain leads him there; a reader who met it was seen until he
// had left. What else points into an item (queue confirmations) is the lanes' to count before it is taken out.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <memory>
#include <vector>

#include "admission/memory/item_lanes.hpp"

namespace seckill::admission::memory {

// Bounded by its owner (limits::sales_open_max × items_per_sale_max).
class ItemRegistry {
 public:
  // What it finds stays valid for as long as it lives. Must not live across a call that can block: nothing is freed
  // meanwhile. Any thread, no lock.
  class Reading {
   public:
    explicit Reading(const ItemRegistry& registry) noexcept;
    ~Reading() { readers_.fetch_sub(1, std::memory_order_release); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    // nullptr: not here.
    [[nodiscard]] Item* find(const model::ItemKey& key) const noexcept;

   private:
    const ItemRegistry& registry_;
    std::atomic<std::uint32_t>& readers_;
  };

  ItemRegistry();
  ~ItemRegistry();  // Requires: no reader
  ItemRegistry(const ItemRegistry&) = delete;
  ItemRegistry& operator=(const ItemRegistry&) = delete;

  // The rest is for one thread at a time.
  // Requires: the key is not there yet.
  void add(std::unique_ptr<Item> item) noexcept;
  // Nobody finds it from now on; reclaim() frees it. Requires: it is here.
  void take_out(Item& item);
  // Frees what was taken out and no reader can have any more; how many items still wait for a reader to leave. A reader
  // never waits for this, and this never for a reader.
  std::size_t reclaim() noexcept;
  // Items that are found.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::size_t bucket_count = 1 << 14;
  static constexpr std::size_t stripe_count = 16;
  struct alignas(64) Stripe {
    std::atomic<std::uint32_t> readers{0};
  };
  struct Leaving {
    std::unique_ptr<Item> item;
    std::bitset<stripe_count> seen_empty;  // since it was taken out
  };

  [[nodiscard]] std::atomic<Item*>& bucket(std::size_t hash) const noexcept { return buckets_[hash % bucket_count]; }
  [[nodiscard]] static std::size_t stripe_of_thread() noexcept;

  const std::unique_ptr<std::atomic<Item*>[]> buckets_;
  mutable std::array<Stripe, stripe_count> stripes_;
  // One thread at a time.
  std::vector<Leaving> leaving_;
  std::size_t size_ = 0;
};

}  // namespace seckill::admission::memory
