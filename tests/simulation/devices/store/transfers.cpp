// Transfers between lanes (DESIGN §4.3): the row's key decides between commit and abandon, once for all.
#include <fmt/format.h>

#include "simulation/devices/store/sim_database.hpp"
#include "simulation/devices/store/transaction.hpp"

namespace seckill::sim {
namespace {

using base::Errc;
using model::StockTransfer;
using store::LaneTransfer;
using store::TransferResult;
using store::TransferState;

// What a lane or the pool says of its end of a transfer.
enum class End : std::uint8_t { fits, missing, stale };

End check_end(ItemRow& item, std::int32_t end, model::Generation generation) {
  if (end == StockTransfer::pool) return End::fits;
  const store::LaneAuthorityRow* lane = lane_of(item, end);
  if (lane == nullptr) return End::missing;
  const bool as_read = lane->row.generation == generation && lane->state == store::LaneState::lane;
  return as_read ? End::fits : End::stale;
}

std::int64_t& free_units(ItemRow& item, std::int32_t end) {
  return end == StockTransfer::pool ? item.pool : lane_of(item, end)->row.stock.available;
}

// The item, when the transfer is one that could be.
base::Result<ItemRow*> item_of(Transaction& work, const LaneTransfer& transfer) {
  ItemRow* item = work.tables().find(transfer.item);
  if (item == nullptr) return work.fail(Errc::not_found, "there is no item " + transfer.item.text());
  if (transfer.id.empty() || transfer.units < 1 || transfer.from == transfer.to) {
    return work.fail(Errc::invalid, "a transfer has an id, two ends and at least one unit");
  }
  return item;
}

// The stored row must be of the same transfer: an id that names two is a broken caller.
base::Result<TransferState> state_of(const Transaction& work, const TransferRow& row, const LaneTransfer& transfer) {
  const LaneTransfer& known = row.transfer;
  const bool same = known.item == transfer.item && known.from == transfer.from && known.to == transfer.to &&
                    known.units == transfer.units;
  if (!same) return work.fail(Errc::already_exists, "the id was used for another transfer");
  return row.state;
}

}  // namespace

base::Result<TransferResult> SimDatabase::commit_transfer(const LaneTransfer& transfer) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = "committing transfer " + transfer.id;
  Transaction work{tables_, doing};
  const auto item = item_of(work, transfer);
  if (!item) return std::unexpected(item.error());
  if (const auto known = tables_.transfers.find(transfer.id); known != tables_.transfers.end()) {
    const auto state = state_of(work, known->second, transfer);
    if (!state) return std::unexpected(state.error());
    return *state == TransferState::abandoned ? TransferResult::abandoned : TransferResult::done;
  }
  bool stale = false;
  for (const auto& [end, generation] :
       {std::pair{transfer.from, transfer.from_generation}, std::pair{transfer.to, transfer.to_generation}}) {
    switch (check_end(**item, end, generation)) {
      case End::fits: break;
      case End::missing: return work.fail(Errc::not_found, fmt::format("{} has no lane {}", transfer.item.text(), end));
      case End::stale: stale = true; break;
    }
  }
  if (stale) return TransferResult::stale;
  if (free_units(**item, transfer.from) < transfer.units) return TransferResult::refused;
  work.move(**item, free_units(**item, transfer.from), -transfer.units);
  work.move(**item, free_units(**item, transfer.to), transfer.units);
  work.insert(tables_.transfers, transfer.id,
              {.transfer = transfer, .state = TransferState::open, .made_at = clock_.now_utc()});
  work.commit();
  return TransferResult::done;
}

base::Result<TransferResult> SimDatabase::abandon_transfer(const LaneTransfer& transfer) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = "abandoning transfer " + transfer.id;
  Transaction work{tables_, doing};
  const auto item = item_of(work, transfer);
  if (!item) return std::unexpected(item.error());
  if (const auto known = tables_.transfers.find(transfer.id); known != tables_.transfers.end()) {
    const auto state = state_of(work, known->second, transfer);
    if (!state) return std::unexpected(state.error());
    return *state == TransferState::abandoned ? TransferResult::abandoned : TransferResult::committed;
  }
  work.insert(tables_.transfers, transfer.id,
              {.transfer = transfer, .state = TransferState::abandoned, .made_at = clock_.now_utc()});
  work.commit();
  return TransferResult::abandoned;
}

base::Status SimDatabase::close_transfer(const std::string& id) {
  const std::scoped_lock lock{mutex_};
  Transaction work{tables_, "closing a transfer"};
  const auto found = tables_.transfers.find(id);
  if (found == tables_.transfers.end() || found->second.state != TransferState::open) return {};
  work.set(found->second.state, TransferState::closed);
  work.commit();
  return {};
}

base::Result<std::optional<TransferState>> SimDatabase::transfer_state(const std::string& id) {
  const std::scoped_lock lock{mutex_};
  const auto found = tables_.transfers.find(id);
  if (found == tables_.transfers.end()) return std::nullopt;
  return found->second.state;
}

base::Result<std::vector<LaneTransfer>> SimDatabase::open_transfers(const model::ItemKey& item) {
  const std::scoped_lock lock{mutex_};
  if (tables_.find(item) == nullptr) {
    return base::fail(Errc::not_found, "reading the open transfers of " + item.text(), "there is no such item");
  }
  std::vector<LaneTransfer> transfers;
  for (const auto& [id, row] : tables_.transfers) {
    if (row.state == TransferState::open && row.transfer.item == item) transfers.push_back(row.transfer);
  }
  return transfers;
}

}  // namespace seckill::sim
