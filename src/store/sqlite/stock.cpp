// Units between the outside, the pool and the lanes. Keeps P2: units move by conditional updates with checked row
// counts, and each move is a row that its id allows once.
#include <fmt/format.h>

#include "base/limits.hpp"
#include "store/sqlite/store_impl.hpp"

namespace seckill::store::sqlite {
namespace {

using base::Errc;
using model::StockTransfer;

// Adds `units` (negative: takes) to one end of a transfer. False: the row has fewer, or there is no such row.
base::Result<bool> move_end(WriteWork& work, std::int64_t item_id, std::int32_t end, std::int64_t units) {
  const auto moved =
      end == StockTransfer::pool
          ? work.run("UPDATE sale_item SET pool = pool + ?1 WHERE item_id = ?2 AND pool + ?1 >= 0", units, item_id)
          : work.run(
                "UPDATE lane_stock SET available = available + ?1, total = total + ?1, version = version + 1 "
                "WHERE item_id = ?2 AND lane = ?3 AND available + ?1 >= 0",
                units, item_id, std::int64_t{end});
  if (!moved) return std::unexpected(moved.error());
  return *moved == 1;
}

// Errc::constraint: no such lane. stale: the lane is of another generation than the transfer.
base::Status check_end(WriteWork& work, std::int64_t item_id, std::int32_t end, const StockTransfer& transfer) {
  if (end == StockTransfer::pool) return {};
  auto cursor =
      work.query("SELECT generation FROM lane_stock WHERE item_id = ? AND lane = ?", item_id, std::int64_t{end});
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return work.fail(Errc::constraint, fmt::format("{} has no lane {}", transfer.item.text(), end));
  if (cursor->integer(0) != transfer.generation) {
    return work.fail(Errc::stale, fmt::format("lane {} of {} is of generation {}, the transfer of {}", end,
                                              transfer.item.text(), cursor->integer(0), transfer.generation));
  }
  return {};
}

base::Result<bool> exists(WriteWork& work, std::string_view sql, const auto&... key) {
  auto cursor = work.query(sql, key...);
  if (!cursor) return std::unexpected(cursor.error());
  return cursor->next();
}

base::Status add_lane(WriteWork& work, std::int64_t item_id, std::uint32_t lane) {
  const auto added = work.run(
      "INSERT INTO lane_stock (item_id, lane, total, available, held, sold, generation, state, run_id, replication_id, "
      "version) VALUES (?, ?, 0, 0, 0, 0, 1, ?, '', '', 1)",
      item_id, std::int64_t{lane}, lane_state_lane);
  if (!added) return std::unexpected(added.error());
  return {};
}

// Spreads what is on sale over the item's lanes by transfers with fixed ids.
base::Status preload_item(WriteWork& work, const model::ItemKey& key, base::UtcMs now) {
  const auto item = find_item(work, key);
  if (!item) return std::unexpected(item.error());
  const std::int64_t on_sale = std::max<std::int64_t>(item->total - item->reserve, 0);
  if (on_sale > item->pool) return corrupt_row(work.doing(), "the pool of " + key.text());
  const std::uint32_t lanes = item->lanes > 0 ? static_cast<std::uint32_t>(item->lanes) : model::default_lanes(on_sale);
  const auto fixed = work.run("UPDATE sale_item SET lanes = ? WHERE item_id = ?", std::int64_t{lanes}, item->item_id);
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
    if (auto moved = apply_transfer(work, item->item_id, transfer); !moved) return std::unexpected(moved.error());
  }
  return {};
}

base::Result<std::vector<model::ItemKey>> items_of(WriteWork& work, const model::SaleId& sale) {
  auto cursor = work.query("SELECT sku FROM sale_item WHERE sale = ? ORDER BY item_id", sale.view());
  if (!cursor) return std::unexpected(cursor.error());
  std::vector<model::ItemKey> items;
  for (;;) {
    const auto row = cursor->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return items;
    const auto sku = model::Sku::parse(cursor->text(0));
    if (!sku) return corrupt_row(work.doing(), "an item of sale " + sale.str());
    items.push_back({.sale = sale, .sku = *sku});
  }
}

// The sale's state, Errc::not_found.
base::Result<model::SaleState> state_of(WriteWork& work, const model::SaleId& sale) {
  auto cursor = work.query("SELECT state FROM sale WHERE id = ?", sale.view());
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return work.fail(Errc::not_found, "there is no such sale");
  const auto state = model::sale_state_from(cursor->integer(0));
  if (!state) return corrupt_row(work.doing(), "the state of a sale");
  return *state;
}

}  // namespace

base::Result<ItemRow> find_item(WriteWork& work, const model::ItemKey& item) {
  auto cursor =
      work.query("SELECT item_id, total, pool, reserve, lanes, pay_window_ms FROM sale_item WHERE sale = ? AND sku = ?",
                 item.sale.view(), item.sku.view());
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return work.fail(Errc::not_found, "there is no item " + item.text());
  if (!are_units({cursor->integer(1), cursor->integer(2), cursor->integer(3)}) || cursor->integer(4) < 0 ||
      cursor->integer(4) > std::int64_t{base::limits::lanes_max}) {
    return corrupt_row(work.doing(), "item " + item.text());
  }
  return ItemRow{.item_id = cursor->integer(0),
                 .total = cursor->integer(1),
                 .pool = cursor->integer(2),
                 .reserve = cursor->integer(3),
                 .lanes = cursor->integer(4),
                 .pay_window_ms = cursor->integer(5)};
}

base::Result<bool> apply_transfer(WriteWork& work, std::int64_t item_id, const StockTransfer& transfer) {
  const auto known = exists(work, "SELECT 1 FROM stock_transfer WHERE id = ?", std::string_view{transfer.id});
  if (!known) return known;
  if (*known) return false;
  for (const std::int32_t end : {transfer.from, transfer.to}) {
    if (auto fits = check_end(work, item_id, end, transfer); !fits) return std::unexpected(fits.error());
  }
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
  const auto noted = work.run(
      "INSERT INTO stock_transfer (id, item_id, from_lane, to_lane, units, generation, state, made_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      std::string_view{transfer.id}, item_id, std::int64_t{transfer.from}, std::int64_t{transfer.to}, transfer.units,
      std::int64_t{transfer.generation}, transfer_closed, transfer.at);
  if (!noted) return std::unexpected(noted.error());
  return true;
}

base::Status SqliteStore::preload(const model::SaleId& sale, base::UtcMs now, const AuditEntry& audit) {
  const std::string doing = "preloading sale " + sale.str();
  auto work = begin_write(doing);
  if (!work) return std::unexpected(work.error());
  const auto state = state_of(*work, sale);
  if (!state) return std::unexpected(state.error());
  switch (*state) {
    case model::SaleState::draft: break;
    case model::SaleState::preloaded:
    case model::SaleState::paused: return {};
    case model::SaleState::closed: return work->fail(Errc::refused, "a closed sale stays closed");
  }
  const auto items = items_of(*work, sale);
  if (!items) return std::unexpected(items.error());
  for (const model::ItemKey& item : *items) {
    if (auto loaded = preload_item(*work, item, now); !loaded) return loaded;
  }
  const auto opened = work->run("UPDATE sale SET state = ?, version = version + 1 WHERE id = ? AND state = ?",
                                static_cast<std::int64_t>(model::SaleState::preloaded), sale.view(),
                                static_cast<std::int64_t>(model::SaleState::draft));
  if (!opened) return std::unexpected(opened.error());
  if (*opened != 1) return work->fail(Errc::stale, "the sale is no longer a draft");
  if (auto audited = write_audit(*work, audit); !audited) return audited;
  return work->commit();
}

base::Status SqliteStore::change_pool(const model::ItemKey& key, std::int64_t units, const std::string& id,
                                      const AuditEntry& audit, std::string_view doing) {
  auto work = begin_write(doing);
  if (!work) return std::unexpected(work.error());
  const auto item = find_item(*work, key);
  if (!item) return std::unexpected(item.error());
  {
    auto known =
        work->query("SELECT units FROM pool_change WHERE item_id = ? AND id = ?", item->item_id, std::string_view{id});
    if (!known) return std::unexpected(known.error());
    const auto row = known->next();
    if (!row) return std::unexpected(row.error());
    if (*row && known->integer(0) == units) return {};
    if (*row) return work->fail(Errc::already_exists, "the id was used for another number of units");
  }
  if (units > base::limits::units_per_item_max - item->total) {
    return work->fail(Errc::invalid, fmt::format("an item has at most {} units", base::limits::units_per_item_max));
  }
  const auto changed =
      work->run("UPDATE sale_item SET total = total + ?1, pool = pool + ?1 WHERE item_id = ?2 AND pool + ?1 >= 0",
                units, item->item_id);
  if (!changed) return std::unexpected(changed.error());
  if (*changed != 1) return work->fail(Errc::refused, fmt::format("the pool has {} units", item->pool));
  const auto noted = work->run("INSERT INTO pool_change (item_id, id, units, made_at) VALUES (?, ?, ?, ?)",
                               item->item_id, std::string_view{id}, units, audit.at);
  if (!noted) return std::unexpected(noted.error());
  if (auto audited = write_audit(*work, audit); !audited) return audited;
  return work->commit();
}

base::Status SqliteStore::add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                                      const AuditEntry& audit) {
  const std::string doing = "adding units to " + item.text();
  if (units < 1) return base::fail(Errc::invalid, doing, "at least one unit");
  return change_pool(item, units, id, audit, doing);
}

base::Status SqliteStore::take_from_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                                         const AuditEntry& audit) {
  const std::string doing = "taking units from " + item.text();
  if (units < 1) return base::fail(Errc::invalid, doing, "at least one unit");
  return change_pool(item, -units, id, audit, doing);
}

base::Status SqliteStore::pool_to_lanes(std::span<const StockTransfer> transfers, const AuditEntry& audit) {
  constexpr std::string_view doing = "moving units from the pool to lanes";
  auto work = begin_write(doing);
  if (!work) return std::unexpected(work.error());
  std::vector<std::int64_t> item_ids;
  for (const StockTransfer& transfer : transfers) {
    if (transfer.units < 1 || transfer.from != StockTransfer::pool || transfer.to < 0) {
      return work->fail(Errc::invalid, "transfer " + transfer.id + " does not move units from the pool to a lane");
    }
    const auto item = find_item(*work, transfer.item);
    if (!item) return std::unexpected(item.error());
    item_ids.push_back(item->item_id);
  }
  bool changed = false;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    auto moved = apply_transfer(*work, item_ids[i], transfers[i]);
    if (!moved) {
      // Here the source is the pool and the caller an operator: too few is an answer, not a broken promise.
      const bool answer = moved.error().code == Errc::oversell_guard || moved.error().code == Errc::constraint;
      if (answer) moved.error().code = Errc::refused;
      return std::unexpected(std::move(moved.error()));
    }
    changed = changed || *moved;
  }
  if (!changed) return {};
  if (auto audited = write_audit(*work, audit); !audited) return audited;
  return work->commit();
}

base::Result<ItemStock> SqliteStore::item_stock(const model::ItemKey& item) {
  const std::string doing = "reading the stock of " + item.text();
  const auto reader = readers_.borrow();
  auto snapshot = Transaction::begin(*reader, Transaction::Kind::read, doing);
  if (!snapshot) return std::unexpected(snapshot.error());
  return read_stock(*reader, doing, item);
}

}  // namespace seckill::store::sqlite
