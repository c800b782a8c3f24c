// Pieces that several topics share: numbers that columns hold, and what is read from stored values.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "store/mysql/pool.hpp"

namespace seckill::store::mysql {

// stock_journal.effect and event_outbox.effect.
inline constexpr std::int64_t effect_hold = 1;
inline constexpr std::int64_t effect_post = 2;
inline constexpr std::int64_t effect_void = 3;
// Keys of stock_journal: the key itself allows one hold and one end a ticket.
[[nodiscard]] constexpr std::int64_t end_entry(std::int64_t order_id) noexcept { return 2 * order_id + 1; }
inline constexpr std::int64_t payment_applied = 2;

// An item as the write methods need it.
struct ItemRow {
  std::int64_t item_id = 0;
  std::int64_t total = 0;
  std::int64_t pool = 0;
  std::int64_t reserve = 0;
  std::int64_t lanes = 0;
};

// Writes the operator's entry in the transaction of his change.
[[nodiscard]] base::Status write_audit(Work& work, const AuditEntry& audit);
// Without a lock. Errc::not_found when the item does not exist.
[[nodiscard]] base::Result<ItemRow> find_item(Work& work, const model::ItemKey& item);
// With the item's row locked; see the lock order in pool.hpp.
[[nodiscard]] base::Result<ItemRow> lock_item(Work& work, const model::ItemKey& item);
// Pool and lanes. Errc::not_found. Requires: one snapshot when the numbers must belong together.
[[nodiscard]] base::Result<ItemStock> read_stock(Work& work, const model::ItemKey& item);

// Moves units between pool and lanes by conditional updates and writes the row in `state`; an id that is known already
// changes nothing and returns false. Errc::oversell_guard: the source is short. stale: of another generation.
// constraint: no such lane. Requires: the stock rows of both ends are locked, in order. `item_id` is transfer.item's.
[[nodiscard]] base::Result<bool> apply_transfer(Work& work, std::int64_t item_id, const model::StockTransfer& transfer,
                                                TransferState state);
// A stock row as a transaction locked it.
struct LockedLane {
  std::int64_t lane = 0;
  std::int64_t generation = 0;
  LaneState state = LaneState::lane;
  std::int64_t available = 0;
};
// Locks the stock rows of an item's lanes that `lanes` names (ascending, without repetition); those that do not exist
// are passed over. Ascending.
[[nodiscard]] base::Result<std::vector<LockedLane>> lock_lanes(Work& work, std::int64_t item_id,
                                                               std::span<const std::int64_t> lanes);

// The columns of seckill_order that ticket_row_from() reads, in its order, of a table alias-free query.
inline constexpr std::string_view ticket_columns = "ticket, buyer, request_id, digest, units, state, admitted_at";
// nullopt: a stored value cannot be what was written.
[[nodiscard]] std::optional<TicketRow> ticket_row_from(const Row& row);

// What a read makes of a value that no CHECK of the schema would have let in: nullopt, and the caller answers
// Errc::corrupt.
[[nodiscard]] std::optional<model::Ticket> ticket_from(std::string_view bytes) noexcept;
[[nodiscard]] inline std::optional<model::LaneIndex> lane_from(std::int64_t stored) noexcept {
  if (stored < 0 || stored >= std::int64_t{base::limits::lanes_max}) return std::nullopt;
  return static_cast<model::LaneIndex>(stored);
}
[[nodiscard]] inline std::optional<model::Generation> generation_from(std::int64_t stored) noexcept {
  if (stored < 1 || stored > std::int64_t{UINT32_MAX}) return std::nullopt;
  return static_cast<model::Generation>(stored);
}
[[nodiscard]] inline std::optional<LaneState> lane_state_from(std::int64_t stored) noexcept {
  if (stored < 1 || stored > 3) return std::nullopt;
  return static_cast<LaneState>(stored);
}
[[nodiscard]] inline std::optional<model::ItemKey> item_from(std::string_view sale, std::string_view sku) noexcept {
  const auto sale_id = model::SaleId::parse(sale);
  const auto sku_id = model::Sku::parse(sku);
  if (!sale_id || !sku_id) return std::nullopt;
  return model::ItemKey{.sale = *sale_id, .sku = *sku_id};
}
// Counts of units that sums over an item's lanes can be made of.
[[nodiscard]] inline bool are_units(std::initializer_list<std::int64_t> counts) noexcept {
  constexpr std::int64_t most = INT64_MAX / 4 / std::int64_t{base::limits::lanes_max};
  return std::ranges::all_of(counts, [](std::int64_t count) { return count >= 0 && count <= most; });
}
[[nodiscard]] inline std::string_view bytes_of(const model::Ticket& ticket) noexcept {
  return {reinterpret_cast<const char*>(ticket.bytes().data()), ticket.bytes().size()};
}
[[nodiscard]] inline std::unexpected<base::Error> corrupt_row(std::string_view doing, std::string_view what) {
  return base::fail(base::Errc::corrupt, std::string{doing},
                    "a stored row cannot be what was written: " + std::string{what});
}

}  // namespace seckill::store::mysql
