#include "store/mysql/ends_batch.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "store/mysql/lists.hpp"

namespace seckill::store::mysql {

using model::OrderEvent;
using model::OrderState;
using model::StockEffect;

base::Status EndsBatch::prepare(std::span<const EndCommand> commands) {
  std::vector<Value> tickets;
  tickets.reserve(commands.size());
  for (const EndCommand& command : commands) tickets.emplace_back(bytes_of(command.ticket));
  // An order's lane never changes, so it may be read before the lock; its state may not.
  if (auto found = find_orders(tickets); !found) return found;
  if (auto locked = lock_stock(); !locked) return locked;
  return read_states(tickets);
}

base::Status EndsBatch::find_orders(std::span<const Value> tickets) {
  bool sound = true;
  const auto read = query_list(
      work_,
      [&](const Row& row) {
        const auto ticket = ticket_from(row.text(0));
        const auto item = item_from(row.text(3), row.text(4));
        const auto buyer = model::BuyerId::stored(row.text(5));
        const auto lane = lane_from(row.integer(6));
        sound = sound && ticket && item && buyer && lane;
        if (!sound) return;
        orders_.insert_or_assign(*ticket, OrderRow{.order_id = row.integer(1),
                                                   .item_id = row.integer(2),
                                                   .item = *item,
                                                   .buyer = *buyer,
                                                   .lane = *lane,
                                                   .units = row.integer(7),
                                                   .amount_minor = row.integer(8),
                                                   .currency = std::string{row.text(9)},
                                                   .pay_window_ms = row.integer(10)});
      },
      "SELECT o.ticket, o.order_id, o.item_id, i.sale, i.sku, o.buyer, o.lane, o.units, o.amount_minor, o.currency, "
      "i.pay_window_ms FROM seckill_order o JOIN sale_item i ON i.item_id = o.item_id WHERE o.ticket IN {}",
      tickets);
  if (!read) return read;
  if (!sound) return corrupt_row(work_.doing(), "an order");
  return {};
}

base::Status EndsBatch::lock_stock() {
  std::map<std::int64_t, std::set<std::int64_t>> lanes_of;
  for (const auto& [ticket, order] : orders_) lanes_of[order.item_id].insert(order.lane);
  for (const auto& [item_id, wanted] : lanes_of) {
    const auto locked = lock_lanes(work_, item_id, std::vector<std::int64_t>(wanted.begin(), wanted.end()));
    if (!locked) return std::unexpected(locked.error());
  }
  return {};
}

base::Status EndsBatch::read_states(std::span<const Value> tickets) {
  bool sound = true;
  const auto read = query_list(
      work_,
      [&](const Row& row) {
        const auto ticket = ticket_from(row.text(0));
        const auto state = model::order_state_from(row.integer(1));
        const auto reason = model::fail_reason_from(row.integer(2));
        const auto order = ticket ? orders_.find(*ticket) : orders_.end();
        if (!state || !reason) sound = false;
        // One that landed since its order was looked up is not locked, so it is not there yet.
        if (!sound || order == orders_.end()) return;
        order->second.state = *state;
        order->second.reason = *reason;
      },
      "SELECT ticket, state, reason FROM seckill_order WHERE ticket IN {}", tickets);
  if (!read) return read;
  if (!sound) return corrupt_row(work_.doing(), "the state of an order");
  return {};
}

base::Result<std::optional<std::int64_t>> EndsBatch::order_of_payment(const EndCommand& command) {
  std::optional<std::int64_t> order_id;
  const auto read = work_.first([&](const Row& row) { order_id = row.integer(0); },
                                "SELECT order_id FROM payment WHERE provider = ? AND transaction_id = ?",
                                command.payment_provider, command.payment_id);
  if (!read) return std::unexpected(read.error());
  return order_id;
}

// The table refused the move: was it made before, by this same event and payment?
base::Result<bool> EndsBatch::made_before(const OrderRow& row, const EndCommand& command) {
  switch (command.event) {
    case OrderEvent::pay: {
      if (!model::is_sold(row.state)) return false;
      const auto booked = order_of_payment(command);
      if (!booked) return std::unexpected(booked.error());
      return *booked == row.order_id;
    }
    case OrderEvent::cancel: return row.state == OrderState::cancelled;
    case OrderEvent::expire: return row.state == OrderState::expired;
    case OrderEvent::close_begin: return row.state == OrderState::closing;
    case OrderEvent::refund: return row.state == OrderState::refunded;
    case OrderEvent::discard: return row.state == OrderState::failed && row.reason == model::FailReason::discarded;
    case OrderEvent::replay: return false;  // an order that was replayed is like any other
  }
  return false;
}

// A payment must have a name, and one that no other order has: one transaction pays one order (P7).
base::Result<bool> EndsBatch::payment_fits(const EndCommand& command) {
  if (command.payment_provider.empty() || command.payment_id.empty()) return false;
  const auto booked = order_of_payment(command);
  if (!booked) return std::unexpected(booked.error());
  return !booked->has_value();
}

// The conditional update; each changes the state, so a row matched is a row changed (FS-59). False: the WHERE did not
// hold. As the state was read under the stock row's lock, that means the deadline; the state stands in the WHERE all
// the same, because there it guards whatever was read before.
base::Result<bool> EndsBatch::update_order(const OrderRow& row, const EndCommand& command, OrderState to) {
  const auto run = [&]() -> base::Result<std::int64_t> {
    switch (command.event) {
      case OrderEvent::pay:
        // In `closing` the provider has said that the money was paid in time; only an awaited payment has a deadline.
        return work_.run(
            "UPDATE seckill_order SET state = ?, ended_at = ? WHERE order_id = ? AND state = ? "
            "AND (? = 4 OR pay_before >= ?)",
            to, command.now, row.order_id, row.state, row.state, command.now);
      case OrderEvent::expire:
        return work_.run(
            "UPDATE seckill_order SET state = ?, ended_at = ? WHERE order_id = ? AND state = ? AND pay_before < ?", to,
            command.now, row.order_id, row.state, command.now);
      case OrderEvent::cancel:
        return work_.run("UPDATE seckill_order SET state = ?, ended_at = ? WHERE order_id = ? AND state = ?", to,
                         command.now, row.order_id, row.state);
      case OrderEvent::close_begin:
      case OrderEvent::refund:
        return work_.run("UPDATE seckill_order SET state = ? WHERE order_id = ? AND state = ?", to, row.order_id,
                         row.state);
      case OrderEvent::replay:
        return work_.run("UPDATE seckill_order SET state = ?, pay_before = ? WHERE order_id = ? AND state = ?", to,
                         command.now + row.pay_window_ms, row.order_id, row.state);
      case OrderEvent::discard:
        return work_.run(
            "UPDATE seckill_order SET state = ?, reason = ?, ended_at = ? WHERE order_id = ? AND state = ?", to,
            model::FailReason::discarded, command.now, row.order_id, row.state);
    }
    return std::int64_t{0};
  };
  const auto changed = run();
  if (!changed) return std::unexpected(changed.error());
  return *changed == 1;
}

base::Status EndsBatch::book_payment(const OrderRow& row, const EndCommand& command) {
  const auto booked = work_.run(
      "INSERT INTO payment (provider, transaction_id, order_id, amount_minor, currency, state, received_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)",
      command.payment_provider, command.payment_id, row.order_id, row.amount_minor, row.currency, payment_applied,
      command.now);
  if (!booked) return std::unexpected(booked.error());
  return {};
}

base::Result<Ended> EndsBatch::end(const EndCommand& command) {
  const auto found = orders_.find(command.ticket);
  if (found == orders_.end() || (command.buyer && *command.buyer != found->second.buyer)) return Ended{};
  OrderRow& row = found->second;
  Ended ended{.result = EndResult::illegal, .state = row.state, .item = row.item, .units = row.units};
  const auto transition = model::transition(row.state, command.event);
  if (!transition) {
    const auto before = made_before(row, command);
    if (!before) return std::unexpected(before.error());
    if (*before) ended.result = EndResult::already_there;
    return ended;
  }
  if (command.event == OrderEvent::pay) {
    const auto fits = payment_fits(command);
    if (!fits) return std::unexpected(fits.error());
    if (!*fits) return ended;
  }
  const auto updated = update_order(row, command, transition->to);
  if (!updated) return std::unexpected(updated.error());
  if (!*updated) {
    ended.result = EndResult::too_late;
    return ended;
  }
  if (command.event == OrderEvent::pay) {
    if (auto booked = book_payment(row, command); !booked) return std::unexpected(booked.error());
  }
  row.state = transition->to;
  if (command.event == OrderEvent::discard) row.reason = model::FailReason::discarded;
  if (transition->effect != StockEffect::none) {
    moves_.push_back({.order = &row, .posts = transition->effect == StockEffect::post, .at = command.now});
  }
  ended.result = EndResult::done;
  ended.state = transition->to;
  ended.effect = transition->effect;
  return ended;
}

base::Status EndsBatch::write() {
  if (moves_.empty()) return {};
  if (auto moved = write_stock(); !moved) return moved;
  if (auto counted = write_buyers(); !counted) return counted;
  return write_rows();
}

base::Status EndsBatch::write_stock() {
  struct Units {
    std::int64_t posted = 0;
    std::int64_t voided = 0;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Units> lanes;
  for (const Move& move : moves_) {
    Units& units = lanes[{move.order->item_id, move.order->lane}];
    (move.posts ? units.posted : units.voided) += move.order->units;
  }
  for (const auto& [lane, units] : lanes) {
    const std::int64_t leaving = units.posted + units.voided;
    const auto moved = work_.run(
        "UPDATE lane_stock SET held = held - ?, sold = sold + ?, available = available + ?, version = version + 1 "
        "WHERE item_id = ? AND lane = ? AND held >= ?",
        leaving, units.posted, units.voided, lane.first, lane.second, leaving);
    if (!moved) return std::unexpected(moved.error());
    if (*moved != 1) return corrupt_row(work_.doing(), fmt::format("the held units of lane {}", lane.second));
  }
  return {};
}

base::Status EndsBatch::write_buyers() {
  std::map<std::pair<std::int64_t, model::BuyerId>, std::int64_t> units;  // the lock order
  for (const Move& move : moves_) {
    if (!move.posts) units[{move.order->item_id, move.order->buyer}] += move.order->units;
  }
  if (units.empty()) return {};
  std::vector<Value> values;
  for (const auto& [buyer, less] : units) values.insert(values.end(), {less, buyer.first, buyer.second.view(), less});
  const auto counted = work_.run_many(
      "UPDATE buyer_units SET units = units - ? WHERE item_id = ? AND buyer = ? AND units >= ?", 4, values);
  if (!counted) return std::unexpected(counted.error());
  if (*counted != std::ssize(units)) return corrupt_row(work_.doing(), "the units of a buyer");
  return {};
}

base::Status EndsBatch::write_rows() {
  std::vector<Value> journal;
  std::vector<Value> outbox;
  for (const Move& move : moves_) {
    const OrderRow& order = *move.order;
    const std::int64_t effect = move.posts ? effect_post : effect_void;
    journal.insert(journal.end(), {end_entry(order.order_id), order.item_id, order.lane, order.units, effect, move.at});
    outbox.insert(outbox.end(), {order.order_id, effect, move.at});
  }
  const auto noted = work_.run_many(
      "INSERT INTO stock_journal (entry_id, item_id, lane, units, effect, made_at) VALUES (?, ?, ?, ?, ?, ?)", 6,
      journal);
  if (!noted) return std::unexpected(noted.error());
  const auto queued =
      work_.run_many("INSERT INTO event_outbox (order_id, effect, made_at) VALUES (?, ?, ?)", 3, outbox);
  if (!queued) return std::unexpected(queued.error());
  return {};
}

}  // namespace seckill::store::mysql
