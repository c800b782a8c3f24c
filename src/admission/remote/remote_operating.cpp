// RemoteAdmission: what operators change, and what others may look at.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "admission/lane_rules.hpp"
#include "admission/remote/remote_admission.hpp"
#include "base/log.hpp"

namespace seckill::admission::remote {
namespace {

// How often one lane is debited under one reduction's id: repeats after a crash, and abandoned tries.
constexpr std::uint32_t debits_a_lane_max = 8;

std::string reduction_id(const model::ItemKey& item, const std::string& id, model::LaneIndex lane, std::uint32_t nth) {
  return fmt::format("reduce:{}:{}:{}:{}", item.text(), id, lane, nth);
}

bool all_open(const ItemCopy& copy) {
  return std::ranges::all_of(copy.authority.lanes, [](const auto& row) { return row.state == store::LaneState::lane; });
}

}  // namespace

base::Status RemoteAdmission::install(const model::Sale& sale, const model::SaleItem& item, store::Store& /*store*/) {
  return copies_.watch({.sale = sale.id, .sku = item.sku});
}

base::Status RemoteAdmission::configure(const model::ItemKey& item, const model::ItemTerms& /*terms*/) {
  if (items_.find(item) == nullptr) {
    return base::fail(base::Errc::not_found, "installing new terms of " + item.text(), "it is not watched here");
  }
  copies_.refresh_soon();
  return {};
}

base::Status RemoteAdmission::credit(const model::StockTransfer& transfer) {
  const std::string doing = fmt::format("crediting transfer {} of {}", transfer.id, transfer.item.text());
  if (items_.find(transfer.item) == nullptr) return base::fail(base::Errc::not_found, doing, "it is not watched here");
  const auto item = known(transfer.item);
  if (!item) return base::fail(base::Errc::unavailable, doing, "the store has not been read lately");
  const bool fits = transfer.from == model::StockTransfer::pool && transfer.to >= 0 &&
                    transfer.to < static_cast<std::int64_t>(item->item->lane_count) && transfer.units >= 1 &&
                    transfer.units <= base::limits::units_per_item_max;
  if (!fits) return base::fail(base::Errc::invalid, doing, "only units from the pool to one of the item's lanes");
  switch (item->copy->lane(static_cast<model::LaneIndex>(transfer.to)).state) {
    case store::LaneState::store: return {};  // the row has them, and it is what admits
    case store::LaneState::closed: return base::fail(base::Errc::unavailable, doing, "the lane is closed");
    case store::LaneState::lane: break;
  }
  if (ports_.clock.now_utc() - transfer.at > transfer_memory_ms / 2) {
    return base::fail(base::Errc::refused, doing,
                      "the lane may have forgotten whether it has them; a rebuild of the lane brings them");
  }
  return transfers_.finish(*item->item, *item->copy,
                           {.id = transfer.id,
                            .item = transfer.item,
                            .from = transfer.from,
                            .to = transfer.to,
                            .units = transfer.units,
                            .from_generation = 0,
                            .to_generation = transfer.generation});
}

base::Result<std::int64_t> RemoteAdmission::taken_under(const model::ItemKey& key, const std::string& id,
                                                        std::vector<std::uint32_t>& next) {
  std::int64_t taken = 0;
  for (model::LaneIndex lane = 0; lane < next.size(); ++lane) {
    for (; next[lane] < debits_a_lane_max; ++next[lane]) {
      const std::string debit_id = reduction_id(key, id, lane, next[lane]);
      const auto found = ports_.store.find_transfer(debit_id);
      if (!found) return std::unexpected(found.error());
      if (*found) {
        taken += (*found)->units;
        continue;
      }
      const auto state = ports_.authority.transfer_state(debit_id);
      if (!state) return std::unexpected(state.error());
      if (!state->has_value()) break;  // free, or debited and not decided: that one goes on
    }
  }
  return taken;
}

base::Result<std::int64_t> RemoteAdmission::debit_to_pool(const model::ItemKey& key, std::int64_t units,
                                                          const std::string& id) {
  const std::string doing = fmt::format("reducing {} by {} units", key.text(), units);
  if (items_.find(key) == nullptr) return base::fail(base::Errc::not_found, doing, "it is not watched here");
  if (units < 1) return base::fail(base::Errc::invalid, doing, "a reduction takes at least one unit");
  const auto closed = [&] { return base::fail(base::Errc::unavailable, doing, "not all of its lanes are open"); };
  auto item = known(key);
  if (!item || !all_open(*item->copy)) return closed();
  const std::uint32_t lanes = item->item->lane_count;

  std::vector<std::uint32_t> next(lanes, 0);
  const auto before = taken_under(key, id, next);
  if (!before) return std::unexpected(before.error());
  std::int64_t taken = *before;
  const auto take = [&](model::LaneIndex lane, std::int64_t wanted) -> base::Status {
    if (next[lane] >= debits_a_lane_max) return {};
    const std::string debit_id = reduction_id(key, id, lane, next[lane]++);
    const auto moved = transfers_.move(*item->item, *item->copy, lane, model::StockTransfer::pool, wanted, debit_id);
    if (!moved) return std::unexpected(moved.error());
    taken += *moved;
    return {};
  };
  // Twice, because what the first reading saw may have been bought meanwhile.
  for (int pass = 0; pass < 2 && taken < units; ++pass) {
    item = known(key);
    if (!item || !all_open(*item->copy)) return closed();
    std::vector<std::int64_t> available;
    for (const auto& reading : calls_.read_all(*item->item, *item->copy)) {
      if (!reading || !reading->open) return closed();
      const auto lane = static_cast<model::LaneIndex>(available.size());
      available.push_back(reading->stock.available);
      // Debited by an earlier try that stopped there: its units go on to the pool before others are taken.
      const auto stopped = std::ranges::find_if(reading->transfers, [&](const LaneTransferRecord& record) {
        return record.units > 0 && record.id == reduction_id(key, id, lane, next[lane]);
      });
      if (stopped == reading->transfers.end()) continue;
      if (auto gone_on = take(lane, stopped->units); !gone_on) return std::unexpected(gone_on.error());
    }
    if (taken >= units) break;
    const StealPlan plan = plan_debit(available, units - taken);
    for (const StealStep& step : plan.moves()) {
      if (auto moved = take(step.from, step.units); !moved) return std::unexpected(moved.error());
    }
  }
  return taken;
}

base::Status RemoteAdmission::retire(const model::ItemKey& key) {
  const std::string doing = "giving up the watch over " + key.text();
  if (items_.find(key) == nullptr) return {};
  const auto refused = [&](std::string why) { return base::fail(base::Errc::refused, doing, std::move(why)); };
  const auto item = known(key);
  if (!item) return base::fail(base::Errc::unavailable, doing, "the store has not been read lately");
  const model::ItemTerms& terms = item->copy->terms;
  if (model::phase_at(terms.state, terms.starts_at, terms.ends_at, ports_.clock.now_utc()) != model::Phase::ended) {
    return refused("its sale has not ended");
  }
  const auto readings = calls_.read_all(*item->item, *item->copy);
  for (model::LaneIndex lane = 0; lane < item->item->lane_count; ++lane) {
    const store::LaneAuthorityRow& row = item->copy->lane(lane);
    if (row.state == store::LaneState::closed) return refused(fmt::format("lane {} waits for its rebuild", lane));
    if (row.undrained())
      return refused(fmt::format("intents of older generations of lane {} may be on their way", lane));
    if (row.row.stock.held > 0) return refused(fmt::format("the row of lane {} still holds units", lane));
    if (row.state == store::LaneState::store) continue;
    const auto& reading = readings[lane];
    if (!reading) return base::fail(base::Errc::unavailable, doing, reading.error().text());
    if (!reading->open) return refused(fmt::format("lane {} is not open", lane));
    if (reading->stock.held > 0 || reading->open_intents > 0) return refused(fmt::format("lane {} holds units", lane));
    if (!reading->transfers.empty()) return refused(fmt::format("lane {} remembers a transfer", lane));
  }
  copies_.unwatch(key);
  return {};
}

StockView RemoteAdmission::stock(const model::ItemKey& key) const {
  StockView view;
  const auto item = known(key);
  if (!item) return view;
  const std::chrono::nanoseconds now = ports_.clock.steady_now();
  for (model::LaneIndex index = 0; index < item->item->lane_count; ++index) {
    const store::LaneAuthorityRow& row = item->copy->lane(index);
    ledger::LaneStock stock = row.row.stock;
    if (row.state == store::LaneState::closed) return {};
    if (row.state == store::LaneState::lane) {
      LaneState& lane = item->item->lanes[index];
      const std::scoped_lock lock{lane.mutex};
      if (!lane.reading || !lane.reading->open || now - lane.reading_at > config_.copy_lease) return {};
      stock = lane.reading->stock;
    }
    view.available += stock.available;
    view.held += stock.held;
    view.sold += stock.sold;
  }
  view.known = true;
  return view;
}

std::vector<LaneView> RemoteAdmission::lanes(const model::ItemKey& key) const {
  std::vector<LaneView> views;
  const ItemPtr item = items_.find(key);
  if (item == nullptr) return views;
  const CopyPtr copy = item->copy();
  views.reserve(item->lane_count);
  for (model::LaneIndex index = 0; index < item->lane_count; ++index) {
    const store::LaneAuthorityRow& row = copy->lane(index);
    LaneView view{.lane = index, .generation = row.row.generation, .open = false, .stock = row.row.stock, .marks = 0};
    if (row.state == store::LaneState::store) view.open = true;
    if (row.state == store::LaneState::lane) {
      LaneState& lane = item->lanes[index];
      const std::scoped_lock lock{lane.mutex};
      if (lane.reading) {
        view.generation = lane.reading->generation;
        view.open = lane.reading->open;
        view.stock = lane.reading->stock;
        view.marks = lane.reading->marks;
      }
    }
    views.push_back(view);
  }
  return views;
}

void RemoteAdmission::close_lanes(const model::ItemKey& key, std::string_view why) {
  const ItemPtr item = items_.find(key);
  if (item == nullptr) return;
  base::log::error("lanes of {} closed: {}", key.text(), why);
  rounds_.close_soon(item, std::string{why});
}

}  // namespace seckill::admission::remote
