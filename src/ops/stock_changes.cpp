// Top-ups and reductions. The store knows every change by its id for ever; lanes know it for the life of the process.
// So whether a change was made before is asked of the store, never guessed from the lanes: after a restart the lanes
// are built with the units of every committed transfer, and crediting one again would oversell (P1).
#include <fmt/format.h>

#include <algorithm>

#include "admission/lane_rules.hpp"
#include "ledger/lane_stock.hpp"
#include "ops/sale_desk.hpp"

namespace seckill::ops {
namespace {

constexpr std::size_t uncredited_max = 10'000;
constexpr std::size_t reductions_max = 100'000;  // remembered, of this life

std::string change_detail(const model::ItemKey& item, const StockChange& change, std::string_view from) {
  // Ids are [A-Za-z0-9_-] and need no escaping.
  return fmt::format(R"({{"sale":"{}","sku":"{}","units":{},"id":"{}","from":"{}"}})", item.sale.view(),
                     item.sku.view(), change.units, change.id, from);
}

// Under this name a draft's top-up is noted, which no client can form. Asked again after preload, it is told apart from
// one that stopped between pool and lanes: its units were spread by preload, and moving as many again would take them
// from the reserve.
std::string draft_id(const StockChange& change) { return "draft:" + change.id; }

std::string transfer_id(const model::ItemKey& item, const StockChange& change, model::LaneIndex lane) {
  return fmt::format("topup:{}:{}:{}", item.text(), change.id, lane);
}

std::unexpected<base::Error> used_otherwise(const model::ItemKey& item, const std::string& id) {
  return base::fail(base::Errc::already_exists, "changing the stock of " + item.text(),
                    fmt::format("the id {} was used for another change of this item; take a new one", id));
}

}  // namespace

base::Result<Moved> SaleDesk::top_up(const model::ItemKey& item, const StockChange& change, const std::string& actor) {
  const auto sale = store_.find_sale(item.sale);
  if (!sale) return std::unexpected(sale.error());
  if (sale->find(item.sku) == nullptr) {
    return base::fail(base::Errc::not_found, "topping up " + item.text(), "there is no such item in this sale");
  }
  // What the store has moved, or may have, and a lane has not taken yet is finished all the same: else the lanes would
  // have fewer units than their rows until the next start (P2).
  const bool begun = std::ranges::any_of(uncredited_, [&](const model::StockTransfer& owed) {
    return owed.id.starts_with(fmt::format("topup:{}:{}:", item.text(), change.id));
  });
  const bool ended =
      model::phase_at(sale->state, sale->starts_at, sale->ends_at, clock_.now_utc()) == model::Phase::ended;
  if (ended && !begun) {
    return base::fail(base::Errc::refused, "topping up " + item.text(), "the sale has ended");
  }
  const bool preloaded = sale->state != model::SaleState::draft;
  if (change.from_reserve && !preloaded) {
    return base::fail(base::Errc::refused, "topping up " + item.text(),
                      "a reserve is released into lanes, and the sale is not preloaded");
  }
  const auto before_preload = store_.pool_change(item, draft_id(change));
  if (!before_preload) return std::unexpected(before_preload.error());
  const auto known = *before_preload ? before_preload : store_.pool_change(item, change.id);
  if (!known) return std::unexpected(known.error());
  if (*known && (change.from_reserve || **known != change.units)) return used_otherwise(item, change.id);
  if (*before_preload) return Moved{.units = 0, .repeated = true};
  if (!change.from_reserve && !*known) {
    // Released from the reserve under this id before: new units could enter the pool, but never leave it.
    const auto released = store_.find_transfer(transfer_id(item, change, 0));
    if (!released) return std::unexpected(released.error());
    if (*released) return used_otherwise(item, change.id);
  }

  const auto entry = audit("item.top_up", change_detail(item, change, change.from_reserve ? "reserve" : "new"), actor);
  if (!change.from_reserve && !*known) {
    const std::string id = preloaded ? change.id : draft_id(change);
    if (auto added = store_.add_to_pool(item, change.units, id, entry); !added) {
      return std::unexpected(added.error());
    }
  }
  bool moved_now = !change.from_reserve && !*known;
  if (preloaded) {
    // New units leave two rows, as they move in two transactions: into the pool, and from there into the lanes.
    auto transfer = entry;
    if (!change.from_reserve) transfer.action = "item.to_lanes";
    const auto moved = pool_to_lanes(item, change, transfer);
    if (!moved) return std::unexpected(moved.error());
    moved_now = moved_now || *moved > 0;
  }
  changed_(item.sale);
  return Moved{.units = moved_now ? change.units : 0, .repeated = !moved_now};
}

// Units moved now; 0 when these transfers were committed, and credited, before.
base::Result<std::int64_t> SaleDesk::pool_to_lanes(const model::ItemKey& item, const StockChange& change,
                                                   const store::AuditEntry& audit) {
  const auto stock = store_.item_stock(item);
  if (!stock) return std::unexpected(stock.error());
  const auto lanes = static_cast<std::uint32_t>(stock->lanes.size());
  std::vector<model::StockTransfer> transfers;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    const std::int64_t units = ledger::preload_share(change.units, lanes, i);
    if (units == 0) continue;
    const store::LaneRow& row = stock->lanes[i];
    transfers.push_back({.id = transfer_id(item, change, row.lane),
                         .item = item,
                         .from = model::StockTransfer::pool,
                         .to = static_cast<std::int32_t>(row.lane),
                         .units = units,
                         .generation = row.generation,
                         .at = clock_.now_utc()});
  }
  if (transfers.empty()) return base::fail(base::Errc::refused, "topping up " + item.text(), "it has no lanes");
  // The first transfer's id tells whether this change was committed, and with how many units: all or none of them were.
  const auto first = store_.find_transfer(transfers.front().id);
  if (!first) return std::unexpected(first.error());
  if (*first && (*first)->units != transfers.front().units) return used_otherwise(item, change.id);
  const auto of_this_change = [&](const model::StockTransfer& one) {
    return std::ranges::find(transfers, one.id, &model::StockTransfer::id) != transfers.end();
  };
  if (!*first) {
    std::erase_if(uncredited_, of_this_change);
    if (uncredited_.size() >= uncredited_max) {
      return base::fail(base::Errc::limit, "topping up " + item.text(), "earlier top-ups must be finished first");
    }
    // Noted before the store is asked: a commit whose answer is lost is found by asking again, and credited then.
    uncredited_.insert(uncredited_.end(), transfers.begin(), transfers.end());
    if (auto stored = store_.pool_to_lanes(transfers, audit); !stored) {
      if (stored.error().code != base::Errc::timeout) std::erase_if(uncredited_, of_this_change);
      return std::unexpected(stored.error());
    }
  }
  std::int64_t credited = 0;
  for (const model::StockTransfer& transfer : transfers) {
    const auto owed = std::ranges::find(uncredited_, transfer.id, &model::StockTransfer::id);
    if (owed == uncredited_.end()) continue;
    // As the store committed it: an earlier try may have done so late, and the lane been rebuilt with the units since;
    // credited under the generation read now, they would be there twice (P1).
    const auto stored = store_.find_transfer(transfer.id);
    if (!stored) return std::unexpected(stored.error());
    if (!*stored) return base::fail(base::Errc::corrupt, "topping up " + item.text(), "a committed transfer is gone");
    const auto done = admission_.credit(**stored);
    // Not installed here: the lanes will be built with it.
    if (!done && done.error().code != base::Errc::not_found) return std::unexpected(done.error());
    uncredited_.erase(owed);
    credited += transfer.units;
  }
  return credited;
}

base::Result<Moved> SaleDesk::reduce(const model::ItemKey& item, const StockChange& change, const std::string& actor) {
  const auto sale = store_.find_sale(item.sale);
  if (!sale) return std::unexpected(sale.error());
  if (sale->find(item.sku) == nullptr) {
    return base::fail(base::Errc::not_found, "reducing " + item.text(), "there is no such item in this sale");
  }
  const auto known = store_.pool_change(item, change.id);
  if (!known) return std::unexpected(known.error());
  if (*known && **known >= 0) return used_otherwise(item, change.id);
  if (*known) return Moved{.units = -**known, .repeated = true};
  const auto topped_up = store_.pool_change(item, draft_id(change));
  if (!topped_up) return std::unexpected(topped_up.error());
  if (*topped_up) return used_otherwise(item, change.id);

  auto taken = take_from_lanes(*sale, item, change);
  if (!taken) return std::unexpected(taken.error());
  if (*taken > 0) {
    const auto entry = audit("item.reduce", change_detail(item, change, "lanes"), actor);
    if (auto removed = store_.take_from_pool(item, *taken, change.id, entry); !removed) {
      return std::unexpected(removed.error());
    }
  }
  std::erase_if(in_pool_, [&](const auto& one) { return one.item == item && one.id == change.id; });
  changed_(item.sale);
  return Moved{.units = *taken, .repeated = false};
}

// Units now in the pool on account of this reduction, remembered until they have left it. Asking again, after a failure
// or a crash in between, takes no more from the lanes: within a life the lanes know what they gave, afterwards the
// store.
base::Result<std::int64_t> SaleDesk::take_from_lanes(const model::Sale& sale, const model::ItemKey& item,
                                                     const StockChange& change) {
  const auto stock = store_.item_stock(item);
  if (!stock) return std::unexpected(stock.error());
  if (sale.state == model::SaleState::draft) {
    // A draft keeps at least one unit on sale beside its reserve, else there would be nothing to preload.
    return std::clamp<std::int64_t>(stock->total - sale.find(item.sku)->reserve - 1, 0, change.units);
  }
  const auto before =
      std::ranges::find_if(in_pool_, [&](const auto& one) { return one.item == item && one.id == change.id; });
  if (before != in_pool_.end()) return before->units;
  const std::string asked = fmt::format("{}:{}", item.text(), change.id);
  if (!asked_of_lanes_.contains(asked)) {
    if (asked_of_lanes_.size() >= reductions_max) {
      return base::fail(base::Errc::limit, "reducing " + item.text(), "too many reductions since the start");
    }
    const auto before_crash = taken_in_earlier_life(item, change, stock->lanes.size());
    if (!before_crash || *before_crash > 0) return before_crash;
    asked_of_lanes_.insert(asked);
  }
  const auto debited = admission_.debit_to_pool(item, change.units, change.id);
  if (debited && *debited > 0 && in_pool_.size() < 1'000) in_pool_.push_back({item, change.id, *debited});
  return debited;
}

// A crash can cut a reduction's transfers in two; those that did not land never happened, and are not made up for.
base::Result<std::int64_t> SaleDesk::taken_in_earlier_life(const model::ItemKey& item, const StockChange& change,
                                                           std::size_t lanes) {
  std::int64_t taken = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const auto transfer =
        store_.find_transfer(admission::reduction_transfer_id(item, change.id, static_cast<model::LaneIndex>(lane)));
    if (!transfer) return std::unexpected(transfer.error());
    if (*transfer) taken += (*transfer)->units;
  }
  return taken;
}

}  // namespace seckill::ops
