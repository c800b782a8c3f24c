// MemoryAdmission::retire: the lanes of a sale that is over are given back.
#include <fmt/format.h>

#include "admission/memory/memory_admission.hpp"

namespace seckill::admission::memory {
namespace {

// Readers stay for microseconds; one that the scheduler put aside is waited for by a later call.
constexpr int reclaim_rounds_max = 20;
constexpr std::chrono::milliseconds reclaim_pause{1};

}  // namespace

base::Status MemoryAdmission::retire(const model::ItemKey& key) {
  for (int round = 0;; ++round) {
    {
      const std::scoped_lock one_at_a_time{installing_};
      if (round == 0) {
        if (auto taken_out = take_out(key); !taken_out) return taken_out;
      }
      if (items_.reclaim() == 0 || round == reclaim_rounds_max) return {};
    }
    threads_.sleep_for(reclaim_pause);
  }
}

// Under installing_. Whoever found the item before finds its lanes closed: busy, or "send again", as for an item that
// is not here; the next question goes to the store. Closed also because a clock that stepped back could let him take a
// unit of it yet.
base::Status MemoryAdmission::take_out(const model::ItemKey& key) {
  const auto refused = [&](std::string why) {
    return base::fail(base::Errc::refused, "giving back the lanes of " + key.text(), std::move(why));
  };
  const ItemRegistry::Reading reading{items_};
  Item* item = reading.find(key);
  if (item == nullptr) return {};
  const std::scoped_lock operating{item->operating};
  const AllLanes locked{*item};
  const model::ItemTerms& terms = item->terms_history.back();
  if (model::phase_at(terms.state, terms.starts_at, terms.ends_at, clock_.now_utc()) != model::Phase::ended) {
    return refused("its sale has not ended");
  }
  for (std::uint32_t i = 0; i < item->lane_count; ++i) {
    const Lane& lane = item->lanes[i];
    if (!lane.open) return refused("its lanes were closed; a person decides");
    // A ticket that is not known durable holds its units, so this speaks for those too.
    if (lane.stock.held > 0) return refused(fmt::format("lane {} still holds {} units", i, lane.stock.held));
    if (lane.confirmations > 0) return refused(fmt::format("lane {} waits for {} landings", i, lane.confirmations));
  }
  // Nothing below may fail.
  item->open.store(false, std::memory_order_release);
  for (std::uint32_t i = 0; i < item->lane_count; ++i) item->lanes[i].open = false;
  items_.take_out(*item);
  return {};
}

}  // namespace seckill::admission::memory
