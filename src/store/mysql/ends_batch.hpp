// One transaction that ends tickets: their orders as locked, and what the moves owe the journal, the stock rows, the
// buyers and the outbox. See ends.cpp.
#pragma once

#include <unordered_map>
#include <vector>

#include "store/mysql/rows.hpp"

namespace seckill::store::mysql {

// One transaction, one thread: prepare() once, end() for each command in order, write() once.
class EndsBatch {
 public:
  explicit EndsBatch(Work& work) : work_{work} {}

  // Finds the orders, locks their stock rows, then reads their states.
  [[nodiscard]] base::Status prepare(std::span<const EndCommand> commands);
  // Moves the order's row, and books its payment; the rest waits for write().
  [[nodiscard]] base::Result<Ended> end(const EndCommand& command);
  // Journal, stock rows, buyer_units and outbox of all moves that had an effect. Errc::corrupt: they do not have what
  // the orders say.
  [[nodiscard]] base::Status write();

 private:
  struct OrderRow {
    std::int64_t order_id = 0;
    std::int64_t item_id = 0;
    model::ItemKey item;
    model::BuyerId buyer;
    std::int64_t lane = 0;
    std::int64_t units = 0;
    std::int64_t amount_minor = 0;
    std::string currency;
    model::OrderState state = model::OrderState::failed;
    model::FailReason reason = model::FailReason::none;
    std::int64_t pay_window_ms = 0;
  };
  struct Move {
    const OrderRow* order = nullptr;
    bool posts = false;  // else voids
    base::UtcMs at = 0;
  };

  [[nodiscard]] base::Status find_orders(std::span<const Value> tickets);
  [[nodiscard]] base::Status lock_stock();
  [[nodiscard]] base::Status read_states(std::span<const Value> tickets);
  // The order that a provider's payment was booked to; nullopt: the payment is new.
  [[nodiscard]] base::Result<std::optional<std::int64_t>> order_of_payment(const EndCommand& command);
  [[nodiscard]] base::Result<bool> made_before(const OrderRow& row, const EndCommand& command);
  [[nodiscard]] base::Result<bool> payment_fits(const EndCommand& command);
  [[nodiscard]] base::Result<bool> update_order(const OrderRow& row, const EndCommand& command, model::OrderState to);
  [[nodiscard]] base::Status book_payment(const OrderRow& row, const EndCommand& command);
  [[nodiscard]] base::Status write_stock();
  [[nodiscard]] base::Status write_buyers();
  [[nodiscard]] base::Status write_rows();

  Work& work_;
  std::unordered_map<model::Ticket, OrderRow, model::TicketHash> orders_;
  std::vector<Move> moves_;
};

}  // namespace seckill::store::mysql
