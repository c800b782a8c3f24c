// Units between the outside, the pool and the lanes (P2): what SQL does by conditional updates.
#include <fmt/format.h>

#include "base/limits.hpp"
#include "simulation/devices/store/sim_database.hpp"
#include "simulation/devices/store/transaction.hpp"

namespace seckill::sim {
namespace {

using base::Errc;
using model::StockTransfer;

std::int64_t& free_units(ItemRow& item, std::int32_t end) {
  return end == StockTransfer::pool ? item.pool : lane_of(item, end)->row.stock.available;
}

base::Status check_end(Transaction& work, ItemRow& item, std::int32_t end, model::Generation generation,
                       const std::string& id) {
  if (end == StockTransfer::pool) return {};
  const store::LaneAuthorityRow* lane = lane_of(item, end);
  if (lane == nullptr) return work.fail(Errc::constraint, fmt::format("{} has no lane {}", item.key.text(), end));
  if (lane->row.generation == generation) return {};
  return work.fail(Errc::stale, fmt::format("lane {} of {} is of generation {}, transfer {} of {}", end,
                                            item.key.text(), lane->row.generation, id, generation));
}

// Spreads what is on sale over the item's lanes by transfers with fixed ids.
base::Status preload_item(Transaction& work, ItemRow& item, base::UtcMs now) {
  const std::int64_t on_sale = std::max<std::int64_t>(item.terms.total - item.terms.reserve, 0);
  if (on_sale > item.pool) return work.fail(Errc::corrupt, "the pool of " + item.key.text());
  const std::uint32_t lanes = item.terms.lanes > 0 ? item.terms.lanes : model::default_lanes(on_sale);
  work.set(item.terms.lanes, lanes);
  std::vector<store::LaneAuthorityRow> rows(lanes);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) rows[lane].row.lane = lane;
  work.set(item.lanes, std::move(rows));
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const StockTransfer transfer{.id = fmt::format("preload:{}:{}", item.key.text(), lane),
                                 .item = item.key,
                                 .from = StockTransfer::pool,
                                 .to = static_cast<std::int32_t>(lane),
                                 .units = ledger::preload_share(on_sale, lanes, lane),
                                 .generation = 1,
                                 .at = now};
    if (transfer.units == 0) continue;
    if (auto moved = apply_transfer(work, item, transfer); !moved) return std::unexpected(moved.error());
  }
  return {};
}

}  // namespace

base::Result<bool> apply_transfer(Transaction& work, ItemRow& item, const StockTransfer& transfer) {
  if (work.tables().transfers.contains(transfer.id)) return false;
  for (const std::int32_t end : {transfer.from, transfer.to}) {
    if (auto fits = check_end(work, item, end, transfer.generation, transfer.id); !fits) {
      return std::unexpected(fits.error());
    }
  }
  if (free_units(item, transfer.from) < transfer.units) {
    return work.fail(Errc::oversell_guard, fmt::format("transfer {} of {}: fewer than {} units are free in {}",
                                                       transfer.id, item.key.text(), transfer.units, transfer.from));
  }
  if (transfer.units < 1 || transfer.from == transfer.to) {
    return work.fail(Errc::constraint, "transfer " + transfer.id + " moves nothing");
  }
  work.move(item, free_units(item, transfer.from), -transfer.units);
  work.move(item, free_units(item, transfer.to), transfer.units);
  work.insert(work.tables().transfers, transfer.id,
              {.transfer = {.id = transfer.id,
                            .item = transfer.item,
                            .from = transfer.from,
                            .to = transfer.to,
                            .units = transfer.units,
                            .from_generation = transfer.generation,
                            .to_generation = transfer.generation},
               .state = store::TransferState::closed,
               .made_at = transfer.at});
  return true;
}

store::ItemStock stock_of(const ItemRow& item) {
  store::ItemStock stock{.total = item.terms.total, .pool = item.pool, .lanes = {}};
  for (const store::LaneAuthorityRow& lane : item.lanes) stock.lanes.push_back(lane.row);
  return stock;
}

base::Status SimDatabase::preload(const model::SaleId& sale, base::UtcMs now, const store::AuditEntry& audit) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = "preloading sale " + sale.str();
  Transaction work{tables_, doing};
  SaleRow* row = tables_.find(sale);
  if (row == nullptr) return work.fail(Errc::not_found, "there is no such sale");
  switch (row->sale.state) {
    case model::SaleState::draft: break;
    case model::SaleState::preloaded:
    case model::SaleState::paused: return {};
    case model::SaleState::closed: return work.fail(Errc::refused, "a closed sale stays closed");
  }
  for (const std::size_t place : row->items) {
    if (auto loaded = preload_item(work, tables_.items[place], now); !loaded) return loaded;
  }
  work.set(row->sale.state, model::SaleState::preloaded);
  work.set(row->sale.version, row->sale.version + 1);
  write_audit(work, audit);
  work.commit();
  return {};
}

base::Result<store::ItemStock> SimDatabase::item_stock(const model::ItemKey& item) {
  const std::scoped_lock lock{mutex_};
  const ItemRow* row = tables_.find(item);
  if (row == nullptr)
    return base::fail(Errc::not_found, "reading the stock of " + item.text(), "there is no such item");
  return stock_of(*row);
}

base::Status SimDatabase::change_pool(const model::ItemKey& key, std::int64_t units, const std::string& id,
                                      const store::AuditEntry& audit, std::string_view doing) {
  const std::scoped_lock lock{mutex_};
  Transaction work{tables_, doing};
  ItemRow* item = tables_.find(key);
  if (item == nullptr) return work.fail(Errc::not_found, "there is no item " + key.text());
  if (const auto known = item->pool_changes.find(id); known != item->pool_changes.end()) {
    if (known->second == units) return {};
    return work.fail(Errc::already_exists, "the id was used for another number of units");
  }
  if (units > base::limits::units_per_item_max - item->terms.total) {
    return work.fail(Errc::invalid, fmt::format("an item has at most {} units", base::limits::units_per_item_max));
  }
  if (item->pool + units < 0) return work.fail(Errc::refused, fmt::format("the pool has {} units", item->pool));
  work.move(*item, item->terms.total, units);
  work.move(*item, item->pool, units);
  work.insert(item->pool_changes, id, units);
  write_audit(work, audit);
  work.commit();
  return {};
}

base::Status SimDatabase::add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                                      const store::AuditEntry& audit) {
  const std::string doing = "adding units to " + item.text();
  if (units < 1) return base::fail(Errc::invalid, doing, "at least one unit");
  return change_pool(item, units, id, audit, doing);
}

base::Status SimDatabase::take_from_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                                         const store::AuditEntry& audit) {
  const std::string doing = "taking units from " + item.text();
  if (units < 1) return base::fail(Errc::invalid, doing, "at least one unit");
  return change_pool(item, -units, id, audit, doing);
}

base::Status SimDatabase::pool_to_lanes(std::span<const StockTransfer> transfers, const store::AuditEntry& audit) {
  const std::scoped_lock lock{mutex_};
  Transaction work{tables_, "moving units from the pool to lanes"};
  for (const StockTransfer& transfer : transfers) {
    if (transfer.units < 1 || transfer.from != StockTransfer::pool || transfer.to < 0) {
      return work.fail(Errc::invalid, "transfer " + transfer.id + " does not move units from the pool to a lane");
    }
    if (tables_.find(transfer.item) == nullptr) {
      return work.fail(Errc::not_found, "there is no item " + transfer.item.text());
    }
  }
  bool changed = false;
  for (const StockTransfer& transfer : transfers) {
    ItemRow* item = tables_.find(transfer.item);
    auto moved = apply_transfer(work, *item, transfer);
    if (!moved) {
      // The source is the pool and the caller an operator: too few is an answer, not a broken promise.
      const bool answer = moved.error().code == Errc::oversell_guard || moved.error().code == Errc::constraint;
      if (answer) moved.error().code = Errc::refused;
      return std::unexpected(std::move(moved.error()));
    }
    changed = changed || *moved;
    const store::LaneAuthorityRow* to = lane_of(*item, transfer.to);
    if (*moved && tables_.remote_lanes && to != nullptr && to->state != store::LaneState::store) {
      work.set(tables_.transfers.at(transfer.id).state, store::TransferState::open);
    }
  }
  if (!changed) return {};
  write_audit(work, audit);
  work.commit();
  return {};
}

base::Result<std::optional<std::int64_t>> SimDatabase::pool_change(const model::ItemKey& item, const std::string& id) {
  const std::scoped_lock lock{mutex_};
  const ItemRow* row = tables_.find(item);
  if (row == nullptr) return std::nullopt;
  const auto change = row->pool_changes.find(id);
  if (change == row->pool_changes.end()) return std::nullopt;
  return change->second;
}

base::Result<std::optional<StockTransfer>> SimDatabase::find_transfer(const std::string& id) {
  const std::scoped_lock lock{mutex_};
  const auto found = tables_.transfers.find(id);
  if (found == tables_.transfers.end() || found->second.state == store::TransferState::abandoned) return std::nullopt;
  const store::LaneTransfer& transfer = found->second.transfer;
  return StockTransfer{
      .id = id,
      .item = transfer.item,
      .from = transfer.from,
      .to = transfer.to,
      .units = transfer.units,
      .generation = transfer.to == StockTransfer::pool ? transfer.from_generation : transfer.to_generation,
      .at = found->second.made_at};
}

}  // namespace seckill::sim
