// How tickets end: each move by the one transition table and a condition that decides (state and, for pay and expire,
// the deadline); journal, buyer_units, stock row, payment and outbox in the same transaction.
#include <fmt/format.h>

#include "simulation/devices/store/sim_database.hpp"
#include "simulation/devices/store/transaction.hpp"

namespace seckill::sim {
namespace {

using base::Errc;
using model::OrderEvent;
using model::OrderState;
using model::StockEffect;
using store::EndCommand;
using store::Ended;
using store::EndResult;

PaymentName payment_of(const EndCommand& command) { return {command.payment_provider, command.payment_id}; }

// The table refused the move: was it made before, by this same event and payment?
bool made_before(const Tables& tables, const OrderRow& row, const EndCommand& command) {
  const OrderState state = row.order.state;
  switch (command.event) {
    case OrderEvent::pay: {
      if (!model::is_sold(state)) return false;
      const auto booked = tables.payments.find(payment_of(command));
      return booked != tables.payments.end() && booked->second.order_id == row.order_id;
    }
    case OrderEvent::cancel: return state == OrderState::cancelled;
    case OrderEvent::expire: return state == OrderState::expired;
    case OrderEvent::close_begin: return state == OrderState::closing;
    case OrderEvent::refund: return state == OrderState::refunded;
    case OrderEvent::discard: return state == OrderState::failed && row.order.reason == model::FailReason::discarded;
    case OrderEvent::replay: return false;  // an order that was replayed is like any other
  }
  return false;
}

// The WHERE of the update: the deadline. In `closing` the provider has said that the money was paid in time.
bool in_time(const store::Order& order, const EndCommand& command) {
  if (command.event == OrderEvent::pay) {
    return order.state == OrderState::closing || order.pay_before >= command.now;
  }
  return command.event != OrderEvent::expire || order.pay_before < command.now;
}

void update_order(Transaction& work, const ItemRow& item, OrderRow& row, const EndCommand& command, OrderState to) {
  Tables& tables = work.tables();
  store::Order& order = row.order;
  work.remove(tables.awaiting_payment, {order.pay_before, row.order_id});
  work.set(order.state, to);
  switch (command.event) {
    case OrderEvent::pay:
    case OrderEvent::cancel:
    case OrderEvent::expire: work.set(order.ended_at, command.now); break;
    case OrderEvent::close_begin:
    case OrderEvent::refund: break;
    case OrderEvent::replay: work.set(order.pay_before, command.now + item.terms.pay_window_ms); break;
    case OrderEvent::discard:
      work.set(order.ended_at, command.now);
      work.set(order.reason, model::FailReason::discarded);
      break;
  }
  if (to == OrderState::awaiting_payment) work.add(tables.awaiting_payment, {order.pay_before, row.order_id});
}

base::Status move_units(Transaction& work, ItemRow& item, const OrderRow& row, StockEffect effect, base::UtcMs now) {
  if (effect == StockEffect::none) return {};
  const store::Order& order = row.order;
  const bool posts = effect == StockEffect::post;
  if (work.tables().journal.contains(end_entry(row.order_id))) {
    return work.fail(Errc::constraint, "a second end of ticket " + order.ticket.str());
  }
  work.insert(work.tables().journal, end_entry(row.order_id),
              {.item = item.place,
               .lane = order.lane,
               .units = order.units,
               .effect = posts ? JournalEffect::post : JournalEffect::void_,
               .made_at = now});
  store::LaneAuthorityRow* lane = lane_of(item, order.lane);
  if (lane == nullptr || lane->row.stock.held < order.units) {
    return work.fail(Errc::corrupt, fmt::format("the held units of lane {}", order.lane));
  }
  ledger::LaneStock& stock = lane->row.stock;
  work.move(item, stock.held, -order.units);
  work.move(item, posts ? stock.sold : stock.available, order.units);
  if (!posts) {
    const auto buyer = item.buyers.find(order.buyer);
    if (buyer == item.buyers.end() || buyer->second.units < order.units) {
      return work.fail(Errc::corrupt, "the units of a buyer");
    }
    work.set(buyer->second.units, buyer->second.units - order.units);
  }
  write_outbox(work, row.order_id, effect);
  return {};
}

// A payment must have a name, and one that no other order has: one transaction pays one order (P7).
bool payment_fits(const Tables& tables, const EndCommand& command) {
  if (command.payment_provider.empty() || command.payment_id.empty()) return false;
  return !tables.payments.contains(payment_of(command));
}

base::Result<Ended> end_one(Transaction& work, const EndCommand& command) {
  Tables& tables = work.tables();
  OrderRow* row = tables.find(command.ticket);
  if (row == nullptr || (command.buyer && *command.buyer != row->order.buyer)) return Ended{};
  ItemRow& item = tables.items[row->item];
  Ended ended{.result = EndResult::illegal, .state = row->order.state, .item = item.key, .units = row->order.units};
  const auto transition = model::transition(row->order.state, command.event);
  if (!transition) {
    if (made_before(tables, *row, command)) ended.result = EndResult::already_there;
    return ended;
  }
  if (command.event == OrderEvent::pay && !payment_fits(tables, command)) return ended;
  if (!in_time(row->order, command)) {
    ended.result = EndResult::too_late;
    return ended;
  }
  update_order(work, item, *row, command, transition->to);
  if (auto moved = move_units(work, item, *row, transition->effect, command.now); !moved) {
    return std::unexpected(moved.error());
  }
  if (command.event == OrderEvent::pay) {
    work.insert(tables.payments, payment_of(command),
                {.order_id = row->order_id,
                 .amount_minor = row->order.amount_minor,
                 .currency = row->order.currency,
                 .received_at = command.now});
  }
  ended.result = EndResult::done;
  ended.state = transition->to;
  ended.effect = transition->effect;
  return ended;
}

}  // namespace

base::Result<std::vector<Ended>> SimDatabase::end_tickets(std::span<const EndCommand> commands) {
  const std::scoped_lock lock{mutex_};
  Transaction work{tables_, "ending tickets"};
  std::vector<Ended> results;
  results.reserve(commands.size());
  for (const EndCommand& command : commands) {
    auto ended = end_one(work, command);
    if (!ended) return std::unexpected(ended.error());
    results.push_back(std::move(*ended));
  }
  work.commit();
  return results;
}

base::Result<std::vector<model::Ticket>> SimDatabase::due_tickets(base::UtcMs now, std::int64_t limit) {
  const std::scoped_lock lock{mutex_};
  std::vector<model::Ticket> tickets;
  for (const auto& [pay_before, order_id] : tables_.awaiting_payment) {
    if (pay_before >= now || std::ssize(tickets) >= limit) break;
    tickets.push_back(tables_.orders[static_cast<std::size_t>(order_id - 1)].order.ticket);
  }
  return tickets;
}

base::Result<std::vector<store::PendingRelease>> SimDatabase::pending_releases(std::int64_t limit) {
  const std::scoped_lock lock{mutex_};
  std::vector<store::PendingRelease> releases;
  for (const auto& [id, event] : tables_.outbox) {
    if (std::ssize(releases) >= limit) break;
    const OrderRow& row = tables_.orders[static_cast<std::size_t>(event.order_id - 1)];
    releases.push_back({.id = id, .ticket = row.order.ticket, .item = row.order.item, .effect = event.effect});
  }
  return releases;
}

base::Status SimDatabase::acknowledge_releases(std::span<const std::int64_t> ids) {
  const std::scoped_lock lock{mutex_};
  Transaction work{tables_, "acknowledging releases"};
  for (const std::int64_t id : ids) {
    if (const auto event = tables_.outbox.find(id); event != tables_.outbox.end()) work.erase(tables_.outbox, event);
  }
  work.commit();
  return {};
}

base::Status SimDatabase::acknowledge_released(std::span<const model::Ticket> tickets) {
  const std::scoped_lock lock{mutex_};
  Transaction work{tables_, "acknowledging releases"};
  for (const model::Ticket& ticket : tickets) {
    const OrderRow* row = tables_.find(ticket);
    if (row == nullptr) continue;
    for (auto event = tables_.outbox.begin(); event != tables_.outbox.end();) {
      const auto next = std::next(event);
      if (event->second.order_id == row->order_id) work.erase(tables_.outbox, event);
      event = next;
    }
  }
  work.commit();
  return {};
}

}  // namespace seckill::sim
