// One landing transaction's picture of its lanes and tickets. See landing.cpp for the protocol.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "store/mysql/rows.hpp"

namespace seckill::store::mysql {

// A row to be inserted into seckill_order. `intent` is borrowed until the row is written.
struct NewOrder {
  const model::OrderIntent* intent = nullptr;
  std::int64_t item_id = 0;
  model::OrderState state = model::OrderState::awaiting_payment;
  model::FailReason reason = model::FailReason::none;
  std::int64_t amount_minor = 0;
  base::UtcMs landed_at = 0;
  base::UtcMs pay_before = 0;
  base::UtcMs ended_at = 0;
};
inline constexpr std::string_view insert_order_sql =
    "INSERT INTO seckill_order (ticket, item_id, buyer, request_id, digest, lane, units, price_minor, amount_minor, "
    "currency, state, reason, admitted_at, landed_at, pay_before, ended_at, fields) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
inline constexpr std::size_t insert_order_width = 17;
// Appends one row of insert_order_sql; texts are borrowed.
void append_values(std::vector<Value>& values, const NewOrder& row, std::string_view request_id);

// One transaction, one thread. prepare() once, then decide() … write() and move() in the records' order.
class LandingBatch {
 public:
  LandingBatch(Work& work, base::UtcMs now) : work_{work}, now_{now} {}

  // Finds the items, locks the stock rows and reads the tickets of all records. Errc::constraint: no such item.
  [[nodiscard]] base::Status prepare(std::span<const model::LaneRecord> records);
  // What becomes of an intent; nothing is written yet. `intent` must live until write(). Errc::constraint: no such
  // lane, or an amount that does not fit.
  [[nodiscard]] base::Result<Landed> decide(const model::OrderIntent& intent);
  // Writes all that was decided since the last write, and moves the stock rows by it. Errc::oversell_guard: a row is
  // short. constraint: a key or CHECK refuses a row.
  [[nodiscard]] base::Status write();
  // Requires: nothing is undecided. A transfer of an older generation is passed over: the rebuild has closed or
  // abandoned it, and the lane was built without it.
  [[nodiscard]] base::Status move(const model::StockTransfer& transfer);

 private:
  struct Lane {
    std::int64_t item_id = 0;
    LockedLane row;           // in state `store` `available` counts what was decided and moved
    std::int64_t held = 0;    // decided and not yet written: units that go from available to held,
    std::int64_t sold = 0;    // and to sold at once
    std::int64_t strays = 0;  // likewise
  };
  struct Known {
    model::OrderState state = model::OrderState::failed;
    base::UtcMs pay_before = 0;
  };
  // What admission by database knows of a buyer.
  struct Buyer {
    std::int64_t units = 0;
    std::int64_t tickets = 0;
  };

  [[nodiscard]] std::optional<std::int64_t> item_id_of(const model::ItemKey& item) const noexcept;
  [[nodiscard]] Lane* lane_of(std::int64_t item_id, std::int64_t lane) noexcept;
  [[nodiscard]] base::Status find_items(std::span<const model::LaneRecord> records);
  [[nodiscard]] base::Status lock_stock(std::span<const model::LaneRecord> records);
  [[nodiscard]] base::Status read_tickets(std::span<const model::LaneRecord> records);
  [[nodiscard]] base::Result<Buyer*> buyer_of(std::int64_t item_id, const model::BuyerId& buyer);
  [[nodiscard]] base::Result<std::optional<model::FailReason>> refused_by_store(Lane& lane,
                                                                                const model::OrderIntent& intent);
  [[nodiscard]] base::Status write_orders();
  [[nodiscard]] base::Status write_journal();
  [[nodiscard]] base::Status write_buyers();
  [[nodiscard]] base::Status write_stock();

  Work& work_;
  base::UtcMs now_;
  std::vector<std::pair<model::ItemKey, std::int64_t>> items_;  // few a batch: a search in line beats a table
  std::unordered_map<std::int64_t, std::int64_t> tickets_max_;  // by item; of items with a lane in state `store`
  std::vector<Lane> lanes_;                                     // ascending by item and lane
  std::unordered_map<model::Ticket, Known, model::TicketHash> known_;
  std::unordered_map<std::string, Buyer> buyers_;  // by item and buyer
  std::vector<NewOrder> rows_;                     // decided and not yet written
};

}  // namespace seckill::store::mysql
