// One item as this node knows it: its copy of the authority, a line of asks for each lane, and what the last readings
// said. An item lives as long as it is watched or anybody uses it; its number of lanes, hash and ticket key are fixed
// for the sale.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "admission/lane_scripts.hpp"
#include "admission/remote/admit_call.hpp"
#include "admission/remote/mark_holders.hpp"
#include "store/lane_authority.hpp"

namespace seckill::admission::remote {

// One reading of the authority. Immutable: replaced whole, each second.
struct ItemCopy {
  store::ItemAuthority authority;
  model::ItemTerms terms;
  std::chrono::nanoseconds read_at{};  // Clock::steady_now before the store was asked

  [[nodiscard]] const store::LaneAuthorityRow& lane(model::LaneIndex index) const { return authority.lanes[index]; }
  [[nodiscard]] LaneServer server(model::LaneIndex index) const {
    return {.run_id = lane(index).run_id, .replication_id = lane(index).replication_id};
  }
};
using CopyPtr = std::shared_ptr<const ItemCopy>;

// What this node does with, and knows of, one lane. Everything under its mutex, which is held for moments only.
struct LaneState {
  std::mutex mutex;
  // Buying: one call at a time, what comes meanwhile waits and goes in the next.
  std::deque<CallPtr> waiting;
  bool in_turn = false;  // stands in its server's line, or has its turn; so it is whenever anything waits
  // The last exact reading, and when it was taken (Clock::steady_now).
  std::optional<LaneReading> reading;
  std::chrono::nanoseconds reading_at{};
  // Terms this node knows the lane to have, for this generation.
  model::Generation configured_generation = 0;
  std::int64_t configured_version = 0;
  bool configuring = false;
  // Rounds in a row that found it missing, closed or foreign though the copy says open, at this generation.
  model::Generation suspected_generation = 0;
  std::uint32_t suspicions = 0;
  // Early answers: who has a mark, and how many there were when a flag was last raised on a reading of this lane.
  MarkHolders holders;
  struct FlagReading {
    model::Generation generation = 0;
    std::int64_t marks = 0;
    std::int64_t version = 0;  // of the terms that the lane had when it was read
  };
  FlagReading sold_out_reading;
  FlagReading refusing_reading;  // the lane's own terms and clock refused everybody by then: paused or over
  // close_lanes: nothing is asked of this generation and older ones.
  model::Generation closed_here = 0;
};

// "No such quantity in the item's lanes": two equal readings of all of them, leased. Monotone: what is sold out for n
// units is sold out for more. Nothing has to lower it. Any thread.
class SoldOutLease {
 public:
  // `until` by Clock::steady_now.
  void raise(std::int64_t free_units, std::chrono::nanoseconds until) {
    const std::scoped_lock lock{mutex_};
    from_ = free_units + 1;
    until_ = until;
  }
  [[nodiscard]] bool up(std::chrono::nanoseconds now) const {
    const std::scoped_lock lock{mutex_};
    return now < until_;
  }
  [[nodiscard]] bool covers(std::int64_t units, std::chrono::nanoseconds now) const {
    const std::scoped_lock lock{mutex_};
    return units >= from_ && now < until_;
  }

 private:
  mutable std::mutex mutex_;
  std::int64_t from_ = std::numeric_limits<std::int64_t>::max();
  std::chrono::nanoseconds until_{};
};

class RemoteItem {
 public:
  // Requires: the copy has lanes.
  RemoteItem(model::ItemKey item, CopyPtr first)
      : key{std::move(item)},
        ticket_key{first->authority.sale.ticket_key},
        lane_count{static_cast<std::uint32_t>(first->authority.lanes.size())},
        lanes{std::make_unique<LaneState[]>(lane_count)},
        copy_{std::move(first)} {}

  // Constant after construction.
  const model::ItemKey key;
  const model::TicketKey ticket_key{};
  const std::uint32_t lane_count = 0;
  const std::unique_ptr<LaneState[]> lanes;

  SoldOutLease sold_out;

  // Any thread.
  [[nodiscard]] CopyPtr copy() const {
    const std::scoped_lock lock{mutex_};
    return copy_;
  }
  // Keeps the newer of the two: readings that overtook each other never go back.
  void set_copy(CopyPtr copy) {
    const std::scoped_lock lock{mutex_};
    if (copy->read_at >= copy_->read_at) copy_ = std::move(copy);
  }
  [[nodiscard]] LaneKey lane_key(model::LaneIndex lane) const { return {.item = key, .lane = lane}; }

 private:
  mutable std::mutex mutex_;
  CopyPtr copy_;
};
using ItemPtr = std::shared_ptr<RemoteItem>;

// Items by key; bounded by the owner. Who holds an item that is removed goes on with it. Any thread.
class RemoteItems {
 public:
  [[nodiscard]] ItemPtr find(const model::ItemKey& key) const {
    const std::scoped_lock lock{mutex_};
    const auto found = items_.find(key);
    return found == items_.end() ? nullptr : found->second;
  }
  // The item of this key that is kept: the one given, or the one that was there.
  ItemPtr add(ItemPtr item) {
    const std::scoped_lock lock{mutex_};
    return items_.try_emplace(item->key, item).first->second;
  }
  // False: it was not here.
  bool remove(const model::ItemKey& key) {
    const std::scoped_lock lock{mutex_};
    return items_.erase(key) > 0;
  }
  [[nodiscard]] std::vector<ItemPtr> all() const {
    const std::scoped_lock lock{mutex_};
    std::vector<ItemPtr> items;
    items.reserve(items_.size());
    for (const auto& [key, item] : items_) items.push_back(item);
    return items;
  }

 private:
  mutable std::mutex mutex_;
  std::map<model::ItemKey, ItemPtr> items_;
};

}  // namespace seckill::admission::remote
