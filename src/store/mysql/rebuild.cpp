// A lane as the store knows it, for whoever builds it anew (DESIGN §4.5).
#include <fmt/format.h>

#include "store/mysql/authority_rows.hpp"
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

// Their units are in this lane's row, so nobody needs to credit them any more. No transfer is committed into a lane
// whose row is locked, so what is read stays all there is; each is closed by its own key, as close_transfer() does it,
// so that the two cannot wait for each other.
base::Status close_transfers_into(Work& work, const FencedLane& locked) {
  std::vector<std::int64_t> open;
  const auto read = work.query([&](const Row& row) { open.push_back(row.integer(0)); },
                               "SELECT transfer_id FROM stock_transfer WHERE item_id = ? AND state = ? AND to_lane = ? "
                               "ORDER BY transfer_id",
                               locked.item_id, TransferState::open, locked.lane.row.lane);
  if (!read) return read;
  for (const std::int64_t transfer_id : open) {
    const auto closed = work.run("UPDATE stock_transfer SET state = ? WHERE transfer_id = ? AND state = ?",
                                 TransferState::closed, transfer_id, TransferState::open);
    if (!closed) return std::unexpected(closed.error());
  }
  return {};
}

base::Status read_tickets(Work& work, const FencedLane& locked, std::vector<TicketRow>& into) {
  static const std::string sql =
      fmt::format("SELECT {} FROM seckill_order FORCE INDEX (idx_seckill_order_lane) WHERE item_id = ? AND lane = ?",
                  ticket_columns);
  bool corrupt = false;
  const auto read = work.query(
      [&](const Row& row) {
        auto ticket = ticket_row_from(row);
        corrupt = corrupt || !ticket;
        if (ticket) into.push_back(std::move(*ticket));
      },
      sql, locked.item_id, locked.lane.row.lane);
  if (!read) return read;
  if (corrupt) return corrupt_row(work.doing(), "a ticket");
  return {};
}

}  // namespace

base::Result<RebuiltLane> MysqlStoreImpl::rebuild_lane(const model::ItemKey& item, model::LaneIndex index,
                                                       std::uint64_t token) {
  const std::string doing = fmt::format("rebuilding lane {} of {}", index, item.text());
  return rebuilds_.transaction(doing, [&](Work& work) -> base::Result<RebuiltLane> {
    const auto locked = lock_lane(work, item, index);
    if (!locked) return std::unexpected(locked.error());
    if (auto leads = check_token(work, token); !leads) return std::unexpected(leads.error());
    LaneAuthorityRow lane = locked->lane;
    ++lane.row.generation;
    lane.state = LaneState::closed;
    if (auto written = write_authority(work, *locked, lane); !written) return std::unexpected(written.error());
    if (auto closed = close_transfers_into(work, *locked); !closed) return std::unexpected(closed.error());
    RebuiltLane rebuilt{.generation = lane.row.generation, .stock = lane.row.stock, .tickets = {}};
    // Whoever lands or ends a ticket of this lane locks its row first, so this is all of it, and stays so until COMMIT.
    if (auto read = read_tickets(work, *locked, rebuilt.tickets); !read) return std::unexpected(read.error());
    if (auto leads = hold_token(work, token); !leads) return std::unexpected(leads.error());
    return rebuilt;
  });
}

}  // namespace seckill::store::mysql
