#include "admission/memory/item_registry.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace seckill::admission::memory {

// Threads take turns; two on one stripe only share a cache line.
std::size_t ItemRegistry::stripe_of_thread() noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed) % stripe_count;
  return mine;
}

ItemRegistry::Reading::Reading(const ItemRegistry& registry) noexcept
    : registry_{registry}, readers_{registry.stripes_[stripe_of_thread()].readers} {
  readers_.fetch_add(1, std::memory_order_seq_cst);
}

Item* ItemRegistry::Reading::find(const model::ItemKey& key) const noexcept {
  const std::size_t hash = model::ItemKeyHash{}(key);
  Item* item = registry_.bucket(hash).load(std::memory_order_seq_cst);
  while (item != nullptr && !(item->hash == hash && item->key == key)) {
    item = item->next_in_bucket.load(std::memory_order_seq_cst);
  }
  return item;
}

ItemRegistry::ItemRegistry() : buckets_{std::make_unique<std::atomic<Item*>[]>(bucket_count)} {}

ItemRegistry::~ItemRegistry() {
  for (std::size_t i = 0; i < bucket_count; ++i) {
    for (Item* item = buckets_[i].load(); item != nullptr;) delete std::exchange(item, item->next_in_bucket.load());
  }
}

// A bucket's chain is whole before its head says so.
void ItemRegistry::add(std::unique_ptr<Item> item) noexcept {
  std::atomic<Item*>& head = bucket(item->hash);
  item->next_in_bucket.store(head.load(std::memory_order_relaxed), std::memory_order_relaxed);
  head.store(item.release(), std::memory_order_seq_cst);
  ++size_;
}

void ItemRegistry::take_out(Item& item) {
  leaving_.reserve(leaving_.size() + 1);
  std::atomic<Item*>* link = &bucket(item.hash);
  while (link->load(std::memory_order_relaxed) != &item) {
    Item* before = link->load(std::memory_order_relaxed);
    SECKILL_ASSERT(before != nullptr, "only an item that is here is taken out");
    link = &before->next_in_bucket;
  }
  // The item keeps its own link: a reader who stands on it goes on from there.
  link->store(item.next_in_bucket.load(std::memory_order_relaxed), std::memory_order_seq_cst);
  leaving_.push_back({.item = std::unique_ptr<Item>{&item}, .seen_empty = {}});
  --size_;
}

std::size_t ItemRegistry::reclaim() noexcept {
  for (std::size_t i = 0; i < stripe_count && !leaving_.empty(); ++i) {
    if (stripes_[i].readers.load(std::memory_order_seq_cst) != 0) continue;
    for (Leaving& one : leaving_) one.seen_empty.set(i);
  }
  std::erase_if(leaving_, [](const Leaving& one) { return one.seen_empty.all(); });
  return leaving_.size();
}

}  // namespace seckill::admission::memory
