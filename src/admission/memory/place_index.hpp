// From a 32-bit hash to places in an arena: open addressing with linear probing over 8-byte entries, so that a look-up
// or an insertion costs one cache line. General flat maps keep tags and entries apart, two lines for each, and at a
// million marks those misses were half the cost of an admission (bench/ledger). Nothing is ever removed: marks stay.
//
// Not thread-safe. The caller compares what lies at a place; the index only narrows to equal hashes.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

namespace seckill::admission::memory {

// A record's place in the arena, in steps of 8 bytes; 0 is no place.
using Place = std::uint32_t;

class PlaceIndex {
 public:
  // The first place with this hash for which `is(place)` holds; 0: none.
  template <typename Is>
  [[nodiscard]] Place find(std::uint32_t hash, Is is) const noexcept {
    if (size_ == 0) return 0;
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Entry entry = entries_[i];
      if (entry.place == 0) return 0;
      if (entry.hash == hash && is(entry.place)) return entry.place;
    }
  }

  // Requires: place is not 0 and not in the index yet. Allocates only when more than reserved.
  void insert(std::uint32_t hash, Place place) {
    if ((size_ + 1) * 4 > capacity() * 3) grow(capacity() * 2);
    put({hash, place});
    ++size_;
  }

  // Makes room for this many entries without growing in between.
  void reserve(std::size_t entries) { grow(std::bit_ceil(entries * 4 / 3 + 1)); }

  // Begins to fetch the line that find() and insert() of this hash will touch.
  void prefetch(std::uint32_t hash) const noexcept {
    if (entries_) __builtin_prefetch(&entries_[hash & mask_], 1);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Entry {
    std::uint32_t hash = 0;
    Place place = 0;
  };

  [[nodiscard]] std::size_t capacity() const noexcept { return entries_ ? mask_ + 1 : 0; }
  void put(Entry entry) noexcept {
    std::size_t i = entry.hash & mask_;
    while (entries_[i].place != 0) i = (i + 1) & mask_;
    entries_[i] = entry;
  }
  void grow(std::size_t wanted) {
    const std::size_t before = capacity();
    const std::size_t after = wanted < capacity_min ? capacity_min : wanted;
    if (after <= before) return;
    const std::unique_ptr<Entry[]> old = std::exchange(entries_, std::make_unique<Entry[]>(after));
    mask_ = after - 1;
    for (std::size_t i = 0; i < before; ++i) {
      if (old[i].place != 0) put(old[i]);
    }
  }

  static constexpr std::size_t capacity_min = 16;
  std::unique_ptr<Entry[]> entries_;
  std::size_t mask_ = 0;
  std::size_t size_ = 0;
};

}  // namespace seckill::admission::memory
