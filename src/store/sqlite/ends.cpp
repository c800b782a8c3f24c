// How tickets end: every move by the one transition table and a conditional UPDATE whose WHERE decides (state and, for
// pay and expire, the deadline against the caller's clock); then journal, buyer_units, stock row, payment and outbox in
// the same transaction. Of moves that race exactly one finds its row (FS-18, FS-59). Keeps P2, P6, P7.
#include <fmt/format.h>

#include "store/sqlite/store_impl.hpp"

namespace seckill::store::sqlite {
namespace {

using model::OrderEvent;
using model::OrderState;
using model::StockEffect;

struct Row {
  std::int64_t order_id = 0;
  std::int64_t item_id = 0;
  model::ItemKey item;
  model::BuyerId buyer;
  model::LaneIndex lane = 0;
  std::int64_t units = 0;
  std::int64_t amount_minor = 0;
  std::string currency;
  OrderState state = OrderState::failed;
  model::FailReason reason = model::FailReason::none;
  std::int64_t pay_window_ms = 0;
};

base::Result<std::optional<Row>> find_row(WriteWork& work, const model::Ticket& ticket) {
  auto cursor = work.query(
      "SELECT o.order_id, o.item_id, i.sale, i.sku, o.buyer, o.lane, o.units, o.amount_minor, o.currency, o.state, "
      "o.reason, i.pay_window_ms FROM seckill_order o JOIN sale_item i ON i.item_id = o.item_id WHERE o.ticket = ?",
      blob_of(ticket));
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::optional<Row>{};
  const auto state = model::order_state_from(cursor->integer(9));
  const auto reason = model::fail_reason_from(cursor->integer(10));
  const auto item = item_from(cursor->text(2), cursor->text(3));
  const auto buyer = model::BuyerId::stored(cursor->text(4));
  const auto lane = lane_from(cursor->integer(5));
  if (!state || !reason || !item || !buyer || !lane) return corrupt_row(work.doing(), "ticket " + ticket.str());
  return Row{.order_id = cursor->integer(0),
             .item_id = cursor->integer(1),
             .item = *item,
             .buyer = *buyer,
             .lane = *lane,
             .units = cursor->integer(6),
             .amount_minor = cursor->integer(7),
             .currency = std::string{cursor->text(8)},
             .state = *state,
             .reason = *reason,
             .pay_window_ms = cursor->integer(11)};
}

// The order that a provider's payment was booked to; nullopt: the payment is new.
base::Result<std::optional<std::int64_t>> order_of_payment(WriteWork& work, const EndCommand& command) {
  auto cursor = work.query("SELECT order_id FROM payment WHERE provider = ? AND transaction_id = ?",
                           std::string_view{command.payment_provider}, std::string_view{command.payment_id});
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::optional<std::int64_t>{};
  return std::optional{cursor->integer(0)};
}

// The table refused the move: was it made before, by this same event and payment?
base::Result<bool> made_before(WriteWork& work, const Row& row, const EndCommand& command) {
  switch (command.event) {
    case OrderEvent::pay: {
      if (!model::is_sold(row.state)) return false;
      const auto booked = order_of_payment(work, command);
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

// The conditional update. False: the WHERE did not hold. As the state was read under the same write lock, that means
// the deadline; the state stands in the WHERE all the same, because there it guards whatever was read before.
base::Result<bool> update_order(WriteWork& work, const Row& row, const EndCommand& command, OrderState to) {
  const auto from_number = static_cast<std::int64_t>(row.state);
  const auto to_number = static_cast<std::int64_t>(to);
  const auto run = [&]() -> base::Result<std::int64_t> {
    switch (command.event) {
      case OrderEvent::pay:
        // In `closing` the provider has said that the money was paid in time; only an awaited payment has a deadline.
        return work.run(
            "UPDATE seckill_order SET state = ?1, ended_at = ?2 WHERE order_id = ?3 AND state = ?4 "
            "AND (state = 4 OR pay_before >= ?2)",
            to_number, command.now, row.order_id, from_number);
      case OrderEvent::expire:
        return work.run(
            "UPDATE seckill_order SET state = ?1, ended_at = ?2 WHERE order_id = ?3 AND state = ?4 "
            "AND pay_before < ?2",
            to_number, command.now, row.order_id, from_number);
      case OrderEvent::cancel:
        return work.run("UPDATE seckill_order SET state = ?1, ended_at = ?2 WHERE order_id = ?3 AND state = ?4",
                        to_number, command.now, row.order_id, from_number);
      case OrderEvent::close_begin:
      case OrderEvent::refund:
        return work.run("UPDATE seckill_order SET state = ?1 WHERE order_id = ?2 AND state = ?3", to_number,
                        row.order_id, from_number);
      case OrderEvent::replay:
        return work.run("UPDATE seckill_order SET state = ?1, pay_before = ?2 WHERE order_id = ?3 AND state = ?4",
                        to_number, command.now + row.pay_window_ms, row.order_id, from_number);
      case OrderEvent::discard:
        return work.run(
            "UPDATE seckill_order SET state = ?1, reason = ?2, ended_at = ?3 WHERE order_id = ?4 AND state = ?5",
            to_number, static_cast<std::int64_t>(model::FailReason::discarded), command.now, row.order_id, from_number);
    }
    return std::int64_t{0};
  };
  const auto changed = run();
  if (!changed) return std::unexpected(changed.error());
  return *changed == 1;
}

base::Status move_units(WriteWork& work, const Row& row, StockEffect effect, base::UtcMs now) {
  if (effect == StockEffect::none) return {};
  const bool posts = effect == StockEffect::post;
  const std::int64_t effect_number = posts ? effect_post : effect_void;
  const auto noted =
      work.run("INSERT INTO stock_journal (entry_id, item_id, lane, units, effect, made_at) VALUES (?, ?, ?, ?, ?, ?)",
               end_entry(row.order_id), row.item_id, std::int64_t{row.lane}, row.units, effect_number, now);
  if (!noted) return std::unexpected(noted.error());
  const auto moved =
      posts ? work.run(
                  "UPDATE lane_stock SET held = held - ?1, sold = sold + ?1, version = version + 1 "
                  "WHERE item_id = ?2 AND lane = ?3 AND held >= ?1",
                  row.units, row.item_id, std::int64_t{row.lane})
            : work.run(
                  "UPDATE lane_stock SET held = held - ?1, available = available + ?1, version = version + 1 "
                  "WHERE item_id = ?2 AND lane = ?3 AND held >= ?1",
                  row.units, row.item_id, std::int64_t{row.lane});
  if (!moved) return std::unexpected(moved.error());
  if (*moved != 1) return corrupt_row(work.doing(), fmt::format("the held units of lane {}", row.lane));
  if (!posts) {
    const auto counted =
        work.run("UPDATE buyer_units SET units = units - ?1 WHERE item_id = ?2 AND buyer = ?3 AND units >= ?1",
                 row.units, row.item_id, row.buyer.view());
    if (!counted) return std::unexpected(counted.error());
    if (*counted != 1) return corrupt_row(work.doing(), "the units of a buyer");
  }
  const auto queued = work.run("INSERT INTO event_outbox (order_id, effect, made_at) VALUES (?, ?, ?)", row.order_id,
                               effect_number, now);
  if (!queued) return std::unexpected(queued.error());
  return {};
}

base::Status book_payment(WriteWork& work, const Row& row, const EndCommand& command) {
  const auto booked = work.run(
      "INSERT INTO payment (provider, transaction_id, order_id, amount_minor, currency, state, received_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)",
      std::string_view{command.payment_provider}, std::string_view{command.payment_id}, row.order_id, row.amount_minor,
      std::string_view{row.currency}, payment_applied, command.now);
  if (!booked) return std::unexpected(booked.error());
  return {};
}

// A payment must have a name, and one that no other order has: one transaction pays one order (P7).
base::Result<bool> payment_fits(WriteWork& work, const EndCommand& command) {
  if (command.payment_provider.empty() || command.payment_id.empty()) return false;
  const auto booked = order_of_payment(work, command);
  if (!booked) return std::unexpected(booked.error());
  return !booked->has_value();
}

base::Result<Ended> end_one(WriteWork& work, const EndCommand& command) {
  const auto found = find_row(work, command.ticket);
  if (!found) return std::unexpected(found.error());
  if (!*found || (command.buyer && *command.buyer != (*found)->buyer)) return Ended{};
  const Row& row = **found;
  Ended ended{.result = EndResult::illegal, .state = row.state, .item = row.item, .units = row.units};
  const auto transition = model::transition(row.state, command.event);
  if (!transition) {
    const auto before = made_before(work, row, command);
    if (!before) return std::unexpected(before.error());
    if (*before) ended.result = EndResult::already_there;
    return ended;
  }
  if (command.event == OrderEvent::pay) {
    const auto fits = payment_fits(work, command);
    if (!fits) return std::unexpected(fits.error());
    if (!*fits) return ended;
  }
  const auto updated = update_order(work, row, command, transition->to);
  if (!updated) return std::unexpected(updated.error());
  if (!*updated) {
    ended.result = EndResult::too_late;
    return ended;
  }
  if (auto moved = move_units(work, row, transition->effect, command.now); !moved) {
    return std::unexpected(moved.error());
  }
  if (command.event == OrderEvent::pay) {
    if (auto booked = book_payment(work, row, command); !booked) return std::unexpected(booked.error());
  }
  ended.result = EndResult::done;
  ended.state = transition->to;
  ended.effect = transition->effect;
  return ended;
}

}  // namespace

base::Result<std::vector<Ended>> SqliteStore::end_tickets(std::span<const EndCommand> commands) {
  auto work = begin_write("ending tickets");
  if (!work) return std::unexpected(work.error());
  std::vector<Ended> results;
  results.reserve(commands.size());
  bool changed = false;
  for (const EndCommand& command : commands) {
    auto ended = end_one(*work, command);
    if (!ended) return std::unexpected(ended.error());
    changed = changed || ended->result == EndResult::done;
    results.push_back(std::move(*ended));
  }
  if (!changed) return results;
  if (auto committed = work->commit(); !committed) return std::unexpected(committed.error());
  return results;
}

base::Result<std::vector<model::Ticket>> SqliteStore::due_tickets(base::UtcMs now, std::int64_t limit) {
  constexpr std::string_view doing = "reading due tickets";
  const auto reader = readers_.borrow();
  auto cursor = reader->query(doing,
                              "SELECT ticket FROM seckill_order INDEXED BY idx_seckill_order_due "
                              "WHERE state = 3 AND pay_before < ? ORDER BY pay_before LIMIT ?",
                              now, limit);
  if (!cursor) return std::unexpected(cursor.error());
  std::vector<model::Ticket> tickets;
  for (;;) {
    const auto row = cursor->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return tickets;
    const auto ticket = ticket_from(cursor->blob(0), doing);
    if (!ticket) return std::unexpected(ticket.error());
    tickets.push_back(*ticket);
  }
}

base::Result<std::vector<PendingRelease>> SqliteStore::pending_releases(std::int64_t limit) {
  constexpr std::string_view doing = "reading the outbox";
  const auto reader = readers_.borrow();
  auto cursor =
      reader->query(doing,
                    "SELECT e.event_id, o.ticket, i.sale, i.sku, e.effect FROM event_outbox e "
                    "JOIN seckill_order o ON o.order_id = e.order_id JOIN sale_item i ON i.item_id = o.item_id "
                    "ORDER BY e.event_id LIMIT ?",
                    limit);
  if (!cursor) return std::unexpected(cursor.error());
  std::vector<PendingRelease> releases;
  for (;;) {
    const auto row = cursor->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return releases;
    const auto ticket = ticket_from(cursor->blob(1), doing);
    if (!ticket) return std::unexpected(ticket.error());
    const auto item = item_from(cursor->text(2), cursor->text(3));
    const std::int64_t effect = cursor->integer(4);
    if (!item || (effect != effect_post && effect != effect_void)) return corrupt_row(doing, "a pending release");
    releases.push_back({.id = cursor->integer(0),
                        .ticket = *ticket,
                        .item = *item,
                        .effect = effect == effect_post ? StockEffect::post : StockEffect::void_});
  }
}

base::Status SqliteStore::acknowledge_releases(std::span<const std::int64_t> ids) {
  if (ids.empty()) return {};
  auto work = begin_write("acknowledging releases");
  if (!work) return std::unexpected(work.error());
  for (const std::int64_t id : ids) {
    const auto removed = work->run("DELETE FROM event_outbox WHERE event_id = ?", id);
    if (!removed) return std::unexpected(removed.error());
  }
  return work->commit();
}

base::Status SqliteStore::acknowledge_released(std::span<const model::Ticket> tickets) {
  if (tickets.empty()) return {};
  auto work = begin_write("acknowledging releases");
  if (!work) return std::unexpected(work.error());
  for (const model::Ticket& ticket : tickets) {
    const auto removed =
        work->run("DELETE FROM event_outbox WHERE order_id = (SELECT order_id FROM seckill_order WHERE ticket = ?)",
                  blob_of(ticket));
    if (!removed) return std::unexpected(removed.error());
  }
  return work->commit();
}

}  // namespace seckill::store::sqlite
