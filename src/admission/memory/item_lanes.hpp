// One item's lanes in memory, and the small lock-free facts about it that refuse a buyer early.
//
// Ownership: an Item is built by install(), published once, and lives until its sale is over and retire() took it out
// of the registry (item_registry.hpp); so records, terms and lanes are reached by plain pointers: by who reads the
// registry, and by queue confirmations, which the lane counts. Each lane's mutex guards that lane; whoever needs
// several takes them ascending (AllLanes). Never hold one across a call that can block.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

#include "admission/memory/mark_table.hpp"
#include "ledger/lane_stock.hpp"
#include "model/ids.hpp"
#include "model/purchase.hpp"
#include "model/sale.hpp"

namespace seckill::admission::memory {

// Lanes are decided on by different threads at once: no two share a cache line.
struct alignas(64) Lane {
  std::mutex mutex;
  // All under the mutex.
  bool open = false;
  std::uint32_t confirmations = 0;  // asked of the queue, not told yet: each points to a record of this lane
  model::Generation generation = 1;
  const model::ItemTerms* terms = nullptr;  // the lane's own: replaced lane by lane
  ledger::LaneStock stock;
  MarkTable marks;
  // Order fields of tickets not known durable; afterwards the store's row has them.
  boost::unordered_flat_map<model::Ticket, model::OrderFields, model::TicketHash> fields;
};

// "Certainly no mark" without a lock: bits set by each mark, one hash. A wrong "maybe" costs the caller a look under
// the lane's lock, so filling up slows it and never makes it wrong. Any thread.
class MarkFilter {
 public:
  explicit MarkFilter(std::int64_t marks_expected) {
    const std::int64_t wanted = std::clamp<std::int64_t>(marks_expected * 16, bits_min, bits_max);
    const std::uint64_t bits = std::bit_ceil(static_cast<std::uint64_t>(wanted));
    words_ = std::make_unique<std::atomic<std::uint64_t>[]>(bits / 64);
    mask_ = bits - 1;
  }
  void add(std::uint64_t hash) noexcept {
    const std::uint64_t bit = (hash >> 32) & mask_;
    words_[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_release);
  }
  [[nodiscard]] bool maybe(std::uint64_t hash) const noexcept {
    const std::uint64_t bit = (hash >> 32) & mask_;
    return (words_[bit / 64].load(std::memory_order_acquire) >> (bit % 64) & 1U) != 0;
  }

 private:
  static constexpr std::int64_t bits_min = 1'024;
  static constexpr std::int64_t bits_max = std::int64_t{1} << 27;  // 16 MiB: 8 million marks at their best
  std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
  std::uint64_t mask_ = 0;
};

// "No such quantity in the item's lanes": an exact reading of all lanes, leased for a second and lowered at once when a
// unit comes back. Monotone: what is sold out for n units is sold out for more. Any thread.
class SoldOutFlag {
 public:
  static constexpr std::int64_t lease_ns = 1'000'000'000;

  // Requires: all lanes' locks are held, so that no unit comes back between the reading and this.
  void raise(std::int64_t free_units, std::int64_t steady_ns) noexcept {
    until_.store(steady_ns + lease_ns, std::memory_order_release);
    from_.store(free_units + 1, std::memory_order_release);
  }
  // Requires: the lock of the lane that got the unit is held.
  void lower() noexcept {
    if (from_.load(std::memory_order_relaxed) != never) from_.store(never, std::memory_order_release);
  }
  // Worth reading a clock for?
  [[nodiscard]] bool may_cover(std::int64_t units) const noexcept {
    return units >= from_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool covers(std::int64_t units, std::int64_t steady_ns) const noexcept {
    return may_cover(units) && steady_ns < until_.load(std::memory_order_acquire);
  }

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> from_{never};
  std::atomic<std::int64_t> until_{0};
};

class Debit;  // one reduction, in memory_operating.cpp

struct Item {
  Item(model::ItemKey item_key, const model::TicketKey& sale_ticket_key, std::uint32_t lanes, std::int64_t total)
      : key{std::move(item_key)},
        hash{model::ItemKeyHash{}(key)},
        ticket_key{sale_ticket_key},
        lane_count{lanes},
        lanes{std::make_unique<Lane[]>(lanes)},
        filter{total} {}

  // Constant after construction.
  const model::ItemKey key;
  const std::size_t hash;
  const model::TicketKey ticket_key;
  const std::uint32_t lane_count;
  const std::unique_ptr<Lane[]> lanes;

  std::atomic<Item*> next_in_bucket{nullptr};  // the registry's

  // Any thread, without a lock.
  std::atomic<const model::ItemTerms*> terms{nullptr};  // newest installed in all lanes
  std::atomic<bool> open{false};
  MarkFilter filter;
  SoldOutFlag sold_out;

  // Operating: rare, behind its own mutex, taken before any lane's.
  std::mutex operating;
  std::deque<model::ItemTerms> terms_history;       // never shrinks: lanes and tickets point into it
  boost::unordered_flat_set<std::string> credited;  // transfer ids
  boost::unordered_flat_map<std::string, std::shared_ptr<Debit>> debits;  // by the reduction's id

  [[nodiscard]] Lane& lane_of(std::string_view buyer) const noexcept {
    return lanes[model::lane_of(buyer, lane_count)];
  }
};

// All lanes of an item, locked ascending: the one order, so that two who need all never wait for each other.
class AllLanes {
 public:
  explicit AllLanes(const Item& item) : item_{item} {
    for (std::uint32_t i = 0; i < item_.lane_count; ++i) item_.lanes[i].mutex.lock();
  }
  ~AllLanes() {
    for (std::uint32_t i = item_.lane_count; i > 0; --i) item_.lanes[i - 1].mutex.unlock();
  }
  AllLanes(const AllLanes&) = delete;
  AllLanes& operator=(const AllLanes&) = delete;

  [[nodiscard]] std::array<std::int64_t, base::limits::lanes_max> available() const noexcept {
    std::array<std::int64_t, base::limits::lanes_max> units{};
    for (std::uint32_t i = 0; i < item_.lane_count; ++i) units[i] = item_.lanes[i].stock.available;
    return units;
  }

 private:
  const Item& item_;
};

}  // namespace seckill::admission::memory
