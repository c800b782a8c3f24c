// Transfers between lanes (DESIGN §4.3): uk_stock_transfer_id decides between commit and abandon, once for all. P2:
// the units of both ends move in the transaction that writes the row.
#include <fmt/format.h>

#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;
using model::StockTransfer;

constexpr std::size_t id_bytes_max = 255;  // the column's width

std::optional<TransferState> transfer_state_from(std::int64_t stored) noexcept {
  if (stored < 1 || stored > 3) return std::nullopt;
  return static_cast<TransferState>(stored);
}

base::Result<ItemRow> item_of(Work& work, const LaneTransfer& transfer) {
  auto item = find_item(work, transfer.item);
  if (!item) return item;
  if (transfer.id.empty() || transfer.id.size() > id_bytes_max || transfer.units < 1 || transfer.from == transfer.to) {
    return work.fail(Errc::invalid, "a transfer has an id, two ends and at least one unit");
  }
  for (const std::int32_t end : {transfer.from, transfer.to}) {
    if (end != StockTransfer::pool && !lane_from(end)) {
      return work.fail(Errc::not_found, fmt::format("{} has no lane {}", transfer.item.text(), end));
    }
  }
  return item;
}

base::Result<std::optional<TransferState>> state_of(Work& work, std::string_view id, std::int64_t item_id,
                                                    const LaneTransfer& transfer) {
  std::optional<TransferState> state;
  bool same = false;
  const auto found = work.first(
      [&](const Row& row) {
        same = row.integer(0) == item_id && row.integer(1) == transfer.from && row.integer(2) == transfer.to &&
               row.integer(3) == transfer.units;
        state = transfer_state_from(row.integer(4));
      },
      "SELECT item_id, from_lane, to_lane, units, state FROM stock_transfer WHERE id = ?", id);
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::optional<TransferState>{};
  // An id that names two transfers is a broken caller.
  if (!same) return work.fail(Errc::already_exists, "the id was used for another transfer");
  if (!state) return corrupt_row(work.doing(), "the state of a transfer");
  return state;
}

// Writes the row, or tells in what state somebody else wrote it first.
base::Result<std::optional<TransferState>> write_row(Work& work, std::int64_t item_id, const LaneTransfer& transfer,
                                                     TransferState state) {
  const auto generation = [](std::int32_t end, model::Generation read_at) {
    return end == StockTransfer::pool ? std::int64_t{0} : std::int64_t{read_at};
  };
  const auto written = work.run(
      "INSERT INTO stock_transfer (id, item_id, from_lane, to_lane, units, from_generation, to_generation, state, "
      "made_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED))",
      transfer.id, item_id, transfer.from, transfer.to, transfer.units,
      generation(transfer.from, transfer.from_generation), generation(transfer.to, transfer.to_generation), state);
  if (written) return std::optional<TransferState>{};
  if (written.error().code != Errc::constraint) return std::unexpected(written.error());
  const auto known = state_of(work, transfer.id, item_id, transfer);
  if (!known) return std::unexpected(known.error());
  if (!*known) return std::unexpected(written.error());
  return *known;
}

// One end of a transfer, locked.
struct End {
  std::int64_t free = 0;
  bool fits = false;  // the pool always; a lane of the generation that was read, in state `lane`
};

// Locks both ends: lanes ascending, then the pool. nullopt: there is no such lane.
class Ends {
 public:
  base::Status lock(Work& work, std::int64_t item_id, const LaneTransfer& transfer);
  [[nodiscard]] std::optional<End> at(std::int32_t end, model::Generation read_at) const;

 private:
  struct Lane {
    std::int64_t lane, generation, state, available;
  };
  std::vector<Lane> lanes_;
  std::int64_t pool_ = 0;
};

base::Status Ends::lock(Work& work, std::int64_t item_id, const LaneTransfer& transfer) {
  const auto [lower, higher] = std::minmax(transfer.from, transfer.to);
  for (const std::int32_t lane : {lower, higher}) {
    if (lane == StockTransfer::pool) continue;
    // By the whole key: a list of lanes is read by item_id alone, and so waits for lanes that it does not name.
    const auto locked = work.first(
        [&](const Row& row) {
          lanes_.push_back(
              {.lane = lane, .generation = row.integer(0), .state = row.integer(1), .available = row.integer(2)});
        },
        "SELECT generation, state, available FROM lane_stock WHERE item_id = ? AND lane = ? FOR UPDATE", item_id, lane);
    if (!locked) return std::unexpected(locked.error());
  }
  if (lower != StockTransfer::pool) return {};
  const auto item = lock_item(work, transfer.item);
  if (!item) return std::unexpected(item.error());
  pool_ = item->pool;
  return {};
}

std::optional<End> Ends::at(std::int32_t end, model::Generation read_at) const {
  if (end == StockTransfer::pool) return End{.free = pool_, .fits = true};
  const auto lane = std::ranges::find(lanes_, end, &Lane::lane);
  if (lane == lanes_.end()) return std::nullopt;
  const bool fits = lane->generation == read_at && lane->state == static_cast<std::int64_t>(LaneState::lane);
  return End{.free = lane->available, .fits = fits};
}

// Adds `units` (negative: takes) to an end that is locked and has them.
base::Status move_end(Work& work, std::int64_t item_id, std::int32_t end, std::int64_t units) {
  const auto moved =
      end == StockTransfer::pool
          ? work.run("UPDATE sale_item SET pool = pool + ? WHERE item_id = ? AND pool + ? >= 0", units, item_id, units)
          : work.run(
                "UPDATE lane_stock SET available = available + ?, total = total + ?, version = version + 1 "
                "WHERE item_id = ? AND lane = ? AND available + ? >= 0",
                units, units, item_id, end, units);
  if (!moved) return std::unexpected(moved.error());
  if (*moved != 1) return corrupt_row(work.doing(), fmt::format("the locked units of end {}", end));
  return {};
}

TransferResult answer_of_commit(TransferState known) noexcept {
  return known == TransferState::abandoned ? TransferResult::abandoned : TransferResult::done;
}

TransferResult answer_of_abandon(TransferState known) noexcept {
  return known == TransferState::abandoned ? TransferResult::abandoned : TransferResult::committed;
}

base::Result<TransferResult> commit_locked(Work& work, std::int64_t item_id, const LaneTransfer& transfer,
                                           const Ends& ends) {
  const auto from = ends.at(transfer.from, transfer.from_generation);
  const auto to = ends.at(transfer.to, transfer.to_generation);
  if (!from || !to) return work.fail(Errc::not_found, transfer.item.text() + " has no such lane");
  if (!from->fits || !to->fits) return TransferResult::stale;
  if (from->free < transfer.units) return TransferResult::refused;
  // The row first: whoever abandons the id meanwhile holds no lock of a lane.
  const auto known = write_row(work, item_id, transfer, TransferState::open);
  if (!known) return std::unexpected(known.error());
  if (*known) return answer_of_commit(**known);
  if (auto taken = move_end(work, item_id, transfer.from, -transfer.units); !taken) {
    return std::unexpected(taken.error());
  }
  if (auto given = move_end(work, item_id, transfer.to, transfer.units); !given) return std::unexpected(given.error());
  return TransferResult::done;
}

}  // namespace

base::Result<TransferResult> MysqlStoreImpl::commit_transfer(const LaneTransfer& transfer) {
  const std::string doing = "committing transfer " + transfer.id;
  return operating_.transaction(doing, [&](Work& work) -> base::Result<TransferResult> {
    const auto item = item_of(work, transfer);
    if (!item) return std::unexpected(item.error());
    Ends ends;
    if (auto locked = ends.lock(work, item->item_id, transfer); !locked) return std::unexpected(locked.error());
    // Under the locks: a commit of this id that was on its way has been decided.
    const auto known = state_of(work, transfer.id, item->item_id, transfer);
    if (!known) return std::unexpected(known.error());
    if (*known) return answer_of_commit(**known);
    return commit_locked(work, item->item_id, transfer, ends);
  });
}

base::Result<TransferResult> MysqlStoreImpl::abandon_transfer(const LaneTransfer& transfer) {
  const std::string doing = "abandoning transfer " + transfer.id;
  return operating_.transaction(doing, [&](Work& work) -> base::Result<TransferResult> {
    const auto item = item_of(work, transfer);
    if (!item) return std::unexpected(item.error());
    auto known = state_of(work, transfer.id, item->item_id, transfer);
    if (!known) return std::unexpected(known.error());
    if (*known) return answer_of_abandon(**known);
    known = write_row(work, item->item_id, transfer, TransferState::abandoned);
    if (!known) return std::unexpected(known.error());
    return *known ? answer_of_abandon(**known) : TransferResult::abandoned;
  });
}

base::Status MysqlStoreImpl::close_transfer(const std::string& id) {
  return operating_.transaction("closing a transfer", [&](Work& work) -> base::Status {
    const auto closed = work.run("UPDATE stock_transfer SET state = ? WHERE id = ? AND state = ?",
                                 TransferState::closed, id, TransferState::open);
    if (!closed) return std::unexpected(closed.error());
    return {};
  });
}

base::Result<std::optional<TransferState>> MysqlStoreImpl::transfer_state(const std::string& id) {
  constexpr std::string_view doing = "reading a transfer";
  return reads_.reading(doing, [&](Work& work) -> base::Result<std::optional<TransferState>> {
    std::optional<TransferState> state;
    const auto found = work.first([&](const Row& row) { state = transfer_state_from(row.integer(0)); },
                                  "SELECT state FROM stock_transfer WHERE id = ?", id);
    if (!found) return std::unexpected(found.error());
    if (*found && !state) return corrupt_row(doing, "the state of a transfer");
    return state;
  });
}

base::Result<std::vector<LaneTransfer>> MysqlStoreImpl::open_transfers(const model::ItemKey& item) {
  const std::string doing = "reading the open transfers of " + item.text();
  return reads_.transaction(doing, [&](Work& work) -> base::Result<std::vector<LaneTransfer>> {
    const auto found = find_item(work, item);
    if (!found) return std::unexpected(found.error());
    std::vector<LaneTransfer> transfers;
    const auto read = work.query(
        [&](const Row& row) {
          transfers.push_back({.id = std::string{row.text(0)},
                               .item = item,
                               .from = static_cast<std::int32_t>(row.integer(1)),
                               .to = static_cast<std::int32_t>(row.integer(2)),
                               .units = row.integer(3),
                               .from_generation = static_cast<model::Generation>(row.integer(4)),
                               .to_generation = static_cast<model::Generation>(row.integer(5))});
        },
        "SELECT id, from_lane, to_lane, units, from_generation, to_generation FROM stock_transfer "
        "WHERE item_id = ? AND state = ? ORDER BY transfer_id",
        found->item_id, TransferState::open);
    if (!read) return std::unexpected(read.error());
    return transfers;
  });
}

}  // namespace seckill::store::mysql
