// Units between the outside, the pool and the lanes. Keeps P2: units move by conditional updates with checked row
// counts, and each move is a row that its id allows once.
#include <fmt/format.h>

#include <map>
#include <set>

#include "store/mysql/lists.hpp"
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;
using model::StockTransfer;

constexpr std::string_view item_sql =
    "SELECT item_id, total, pool, reserve, lanes FROM sale_item WHERE sale = ? AND sku = ?";
constexpr std::string_view item_for_update_sql =
    "SELECT item_id, total, pool, reserve, lanes FROM sale_item WHERE sale = ? AND sku = ? FOR UPDATE";

base::Result<ItemRow> item_by(Work& work, std::string_view sql, const model::ItemKey& item) {
  ItemRow found;
  const auto row = work.first(
      [&](const Row& r) {
        found = {.item_id = r.integer(0),
                 .total = r.integer(1),
                 .pool = r.integer(2),
                 .reserve = r.integer(3),
                 .lanes = r.integer(4)};
      },
      sql, item.sale.view(), item.sku.view());
  if (!row) return std::unexpected(row.error());
  if (!*row) return work.fail(Errc::not_found, "there is no item " + item.text());
  if (!are_units({found.total, found.pool, found.reserve}) || found.lanes < 0 ||
      found.lanes > std::int64_t{base::limits::lanes_max}) {
    return corrupt_row(work.doing(), "item " + item.text());
  }
  return found;
}

// Adds `units` (negative: takes) to one end of a transfer. False: the row has fewer, or there is no such row.
base::Result<bool> move_end(Work& work, std::int64_t item_id, std::int32_t end, std::int64_t units) {
  const auto moved =
      end == StockTransfer::pool
          ? work.run("UPDATE sale_item SET pool = pool + ? WHERE item_id = ? AND pool + ? >= 0", units, item_id, units)
          : work.run(
                "UPDATE lane_stock SET available = available + ?, total = total + ?, version = version + 1 "
                "WHERE item_id = ? AND lane = ? AND available + ? >= 0",
                units, units, item_id, end, units);
  if (!moved) return std::unexpected(moved.error());
  return *moved == 1;
}

// Errc::constraint: no such lane. stale: the lane is of another generation than the transfer.
base::Status check_end(Work& work, std::int64_t item_id, std::int32_t end, const StockTransfer& transfer) {
  if (end == StockTransfer::pool) return {};
  std::int64_t generation = 0;
  const auto row = work.first([&](const Row& r) { generation = r.integer(0); },
                              "SELECT generation FROM lane_stock WHERE item_id = ? AND lane = ?", item_id, end);
  if (!row) return std::unexpected(row.error());
  if (!*row) return work.fail(Errc::constraint, fmt::format("{} has no lane {}", transfer.item.text(), end));
  if (generation != transfer.generation) {
    return work.fail(Errc::stale, fmt::format("lane {} of {} is of generation {}, the transfer of {}", end,
                                              transfer.item.text(), generation, transfer.generation));
  }
  return {};
}

base::Status add_lane(Work& work, std::int64_t item_id, std::uint32_t lane) {
  const auto added = work.run(
      "INSERT INTO lane_stock (item_id, lane, total, available, held, sold, generation, state, run_id, replication_id, "
      "version) VALUES (?, ?, 0, 0, 0, 0, 1, ?, '', '', 1)",
      item_id, lane, LaneState::lane);
  if (!added) return std::unexpected(added.error());
  return {};
}

// Spreads what is on sale over the item's lanes by transfers with fixed ids. They are closed: lanes are installed from
// their rows, not credited.
base::Status preload_item(Work& work, const model::ItemKey& key, base::UtcMs now) {
  const auto item = lock_item(work, key);
  if (!item) return std::unexpected(item.error());
  const std::int64_t on_sale = std::max<std::int64_t>(item->total - item->reserve, 0);
  if (on_sale > item->pool) return corrupt_row(work.doing(), "the pool of " + key.text());
  const std::uint32_t lanes = item->lanes > 0 ? static_cast<std::uint32_t>(item->lanes) : model::default_lanes(on_sale);
  const auto fixed = work.run("UPDATE sale_item SET lanes = ? WHERE item_id = ?", lanes, item->item_id);
  if (!fixed) return std::unexpected(fixed.error());
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (auto added = add_lane(work, item->item_id, lane); !added) return added;
    const StockTransfer transfer{.id = fmt::format("preload:{}:{}", key.text(), lane),
                                 .item = key,
                                 .from = StockTransfer::pool,
                                 .to = static_cast<std::int32_t>(lane),
                                 .units = ledger::preload_share(on_sale, lanes, lane),
                                 .generation = 1,
                                 .at = now};
    if (transfer.units == 0) continue;
    if (auto moved = apply_transfer(work, item->item_id, transfer, TransferState::closed); !moved) {
      return std::unexpected(moved.error());
    }
  }
  return {};
}

base::Result<std::vector<model::ItemKey>> items_of(Work& work, const model::SaleId& sale) {
  std::vector<model::ItemKey> items;
  bool sound = true;
  const auto read = work.query(
      [&](const Row& row) {
        const auto sku = model::Sku::parse(row.text(0));
        sound = sound && sku.has_value();
        if (sku) items.push_back({.sale = sale, .sku = *sku});
      },
      "SELECT sku FROM sale_item WHERE sale = ? ORDER BY item_id", sale.view());
  if (!read) return std::unexpected(read.error());
  if (!sound) return corrupt_row(work.doing(), "an item of sale " + sale.str());
  return items;
}

// The sale's state, with its row locked: whoever preloads it twice waits here. Errc::not_found.
base::Result<model::SaleState> lock_sale(Work& work, const model::SaleId& sale) {
  std::optional<model::SaleState> state;
  const auto row = work.first([&](const Row& r) { state = model::sale_state_from(r.integer(0)); },
                              "SELECT state FROM sale WHERE id = ? FOR UPDATE", sale.view());
  if (!row) return std::unexpected(row.error());
  if (!*row) return work.fail(Errc::not_found, "there is no such sale");
  if (!state) return corrupt_row(work.doing(), "the state of a sale");
  return *state;
}

// Finds the items of the transfers, then locks all that they touch in the one order: lanes, then items.
base::Result<std::map<model::ItemKey, std::int64_t>> lock_for(Work& work, std::span<const StockTransfer> transfers) {
  std::map<model::ItemKey, std::int64_t> items;
  std::map<std::int64_t, std::set<std::int64_t>> lanes;
  for (const StockTransfer& transfer : transfers) {
    if (transfer.units < 1 || transfer.from != StockTransfer::pool || transfer.to < 0) {
      return work.fail(Errc::invalid, "transfer " + transfer.id + " does not move units from the pool to a lane");
    }
    if (!items.contains(transfer.item)) {
      const auto item = find_item(work, transfer.item);
      if (!item) return std::unexpected(item.error());
      items.emplace(transfer.item, item->item_id);
    }
    lanes[items.at(transfer.item)].insert(transfer.to);
  }
  for (const auto& [item_id, wanted] : lanes) {
    const std::vector<std::int64_t> ascending(wanted.begin(), wanted.end());
    if (const auto locked = lock_lanes(work, item_id, ascending); !locked) return std::unexpected(locked.error());
  }
  for (const auto& [item_id, wanted] : lanes) {
    const auto locked =
        work.first([](const Row&) {}, "SELECT pool FROM sale_item WHERE item_id = ? FOR UPDATE", item_id);
    if (!locked) return std::unexpected(locked.error());
  }
  return items;
}

// A transfer stays open until its lane has been credited: whoever finds it finishes it (lane_authority.hpp). Where the
// landing itself admits, no lane has a copy of the units.
base::Status close_where_nobody_is_credited(Work& work, std::int64_t item_id, const StockTransfer& transfer) {
  const auto closed = work.run(
      "UPDATE stock_transfer SET state = ? WHERE id = ? AND EXISTS "
      "(SELECT 1 FROM lane_stock l WHERE l.item_id = ? AND l.lane = ? AND l.state = ?)",
      TransferState::closed, transfer.id, item_id, transfer.to, LaneState::store);
  if (!closed) return std::unexpected(closed.error());
  return {};
}

}  // namespace

base::Result<ItemRow> find_item(Work& work, const model::ItemKey& item) { return item_by(work, item_sql, item); }
base::Result<ItemRow> lock_item(Work& work, const model::ItemKey& item) {
  return item_by(work, item_for_update_sql, item);
}

base::Result<std::vector<LockedLane>> lock_lanes(Work& work, std::int64_t item_id,
                                                 std::span<const std::int64_t> lanes) {
  std::vector<LockedLane> locked;
  bool sound = true;
  const std::vector<Value> list(lanes.begin(), lanes.end());
  const Value item[] = {item_id};
  // Points of the primary key, taken in its order: other lanes of the item are not waited for.
  const auto read = query_list(
      work,
      [&](const Row& row) {
        const auto state = lane_state_from(row.integer(2));
        sound = sound && state;
        if (state) {
          locked.push_back(
              {.lane = row.integer(0), .generation = row.integer(1), .state = *state, .available = row.integer(3)});
        }
      },
      "SELECT lane, generation, state, available FROM lane_stock WHERE item_id = ? AND lane IN {} "
      "ORDER BY lane FOR UPDATE",
      list, item);
  if (!read) return std::unexpected(read.error());
  if (!sound) return corrupt_row(work.doing(), "the state of a stock row");
  return locked;
}

base::Result<bool> apply_transfer(Work& work, std::int64_t item_id, const StockTransfer& transfer,
                                  TransferState state) {
  const auto known = work.first([](const Row&) {}, "SELECT 1 FROM stock_transfer WHERE id = ?", transfer.id);
  if (!known) return known;
  if (*known) return false;
  for (const std::int32_t end : {transfer.from, transfer.to}) {
    if (auto fits = check_end(work, item_id, end, transfer); !fits) return std::unexpected(fits.error());
  }
  // No row changes by 0 units, and that must not be taken for a short one (FS-59, P1).
  if (transfer.units < 1) return work.fail(Errc::constraint, "transfer " + transfer.id + " moves no units");
  const auto taken = move_end(work, item_id, transfer.from, -transfer.units);
  if (!taken) return taken;
  if (!*taken) {
    return work.fail(
        Errc::oversell_guard,
        fmt::format("transfer {} of {}: fewer than {} units are free in {}", transfer.id, transfer.item.text(),
                    transfer.units,
                    transfer.from == StockTransfer::pool ? "the pool" : fmt::format("lane {}", transfer.from)));
  }
  const auto given = move_end(work, item_id, transfer.to, transfer.units);
  if (!given) return given;
  if (!*given) return work.fail(Errc::constraint, "transfer " + transfer.id + ": its target does not take units");
  const auto generation_of = [&](std::int32_t end) -> std::int64_t {
    return end == StockTransfer::pool ? 0 : transfer.generation;
  };
  const auto noted = work.run(
      "INSERT INTO stock_transfer (id, item_id, from_lane, to_lane, units, from_generation, to_generation, state, "
      "made_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      transfer.id, item_id, transfer.from, transfer.to, transfer.units, generation_of(transfer.from),
      generation_of(transfer.to), state, transfer.at);
  if (!noted) return std::unexpected(noted.error());
  return true;
}

base::Status MysqlStoreImpl::preload(const model::SaleId& sale, base::UtcMs now, const AuditEntry& audit) {
  const std::string doing = "preloading sale " + sale.str();
  return operating_.transaction(doing, [&](Work& work) -> base::Status {
    const auto state = lock_sale(work, sale);
    if (!state) return std::unexpected(state.error());
    switch (*state) {
      case model::SaleState::draft: break;
      case model::SaleState::preloaded:
      case model::SaleState::paused: return {};
      case model::SaleState::closed: return work.fail(Errc::refused, "a closed sale stays closed");
    }
    const auto items = items_of(work, sale);
    if (!items) return std::unexpected(items.error());
    for (const model::ItemKey& item : *items) {
      if (auto loaded = preload_item(work, item, now); !loaded) return loaded;
    }
    const auto opened = work.run("UPDATE sale SET state = ?, version = version + 1 WHERE id = ? AND state = ?",
                                 model::SaleState::preloaded, sale.view(), model::SaleState::draft);
    if (!opened) return std::unexpected(opened.error());
    if (*opened != 1) return work.fail(Errc::stale, "the sale is no longer a draft");
    return write_audit(work, audit);
  });
}

base::Status MysqlStoreImpl::change_pool(const model::ItemKey& key, std::int64_t units, const std::string& id,
                                         const AuditEntry& audit, std::string_view doing) {
  return operating_.transaction(doing, [&](Work& work) -> base::Status {
    const auto item = lock_item(work, key);
    if (!item) return std::unexpected(item.error());
    std::int64_t before = 0;
    const auto known = work.first([&](const Row& row) { before = row.integer(0); },
                                  "SELECT units FROM pool_change WHERE item_id = ? AND id = ?", item->item_id, id);
    if (!known) return std::unexpected(known.error());
    if (*known && before == units) return {};
    if (*known) return work.fail(Errc::already_exists, "the id was used for another number of units");
    if (units > base::limits::units_per_item_max - item->total) {
      return work.fail(Errc::invalid, fmt::format("an item has at most {} units", base::limits::units_per_item_max));
    }
    const auto changed =
        work.run("UPDATE sale_item SET total = total + ?, pool = pool + ? WHERE item_id = ? AND pool + ? >= 0", units,
                 units, item->item_id, units);
    if (!changed) return std::unexpected(changed.error());
    if (*changed != 1) return work.fail(Errc::refused, fmt::format("the pool has {} units", item->pool));
    const auto noted = work.run("INSERT INTO pool_change (item_id, id, units, made_at) VALUES (?, ?, ?, ?)",
                                item->item_id, id, units, audit.at);
    if (!noted) return std::unexpected(noted.error());
    return write_audit(work, audit);
  });
}

base::Status MysqlStoreImpl::add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                                         const AuditEntry& audit) {
  const std::string doing = "adding units to " + item.text();
  if (units < 1) return base::fail(Errc::invalid, doing, "at least one unit");
  return change_pool(item, units, id, audit, doing);
}

base::Status MysqlStoreImpl::take_from_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                                            const AuditEntry& audit) {
  const std::string doing = "taking units from " + item.text();
  if (units < 1) return base::fail(Errc::invalid, doing, "at least one unit");
  return change_pool(item, -units, id, audit, doing);
}

base::Status MysqlStoreImpl::pool_to_lanes(std::span<const StockTransfer> transfers, const AuditEntry& audit) {
  return operating_.transaction("moving units from the pool to lanes", [&](Work& work) -> base::Status {
    const auto items = lock_for(work, transfers);
    if (!items) return std::unexpected(items.error());
    bool changed = false;
    for (const StockTransfer& transfer : transfers) {
      auto moved = apply_transfer(work, items->at(transfer.item), transfer, TransferState::open);
      if (!moved) {
        // Here the source is the pool and the caller an operator: too few is an answer, not a broken promise.
        const bool answer = moved.error().code == Errc::oversell_guard || moved.error().code == Errc::constraint;
        if (answer) moved.error().code = Errc::refused;
        return std::unexpected(std::move(moved.error()));
      }
      if (*moved) {
        if (auto closed = close_where_nobody_is_credited(work, items->at(transfer.item), transfer); !closed)
          return closed;
      }
      changed = changed || *moved;
    }
    return changed ? write_audit(work, audit) : base::Status{};
  });
}

}  // namespace seckill::store::mysql
