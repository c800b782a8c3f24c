// The oracle's reading of the store's rows and of the lanes' counts.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simulation/oracle/oracle.hpp"

namespace seckill::sim {
namespace {

using model::OrderState;

constexpr std::size_t units_asked_max = 64;  // in one purchase of a simulated buyer

std::string counts_text(const ledger::LaneStock& stock) {
  return fmt::format("{} available, {} held, {} sold", stock.available, stock.held, stock.sold);
}

// Which states an order may be seen in after it was seen in `from`; moves between two looks add up.
bool may_follow(OrderState from, OrderState to) {
  if (from == to) return true;
  switch (from) {
    case OrderState::parked: return true;
    case OrderState::awaiting_payment: return to != OrderState::parked && to != OrderState::failed;
    case OrderState::closing:
      return to == OrderState::paid || to == OrderState::cancelled || to == OrderState::expired ||
             to == OrderState::refunded;
    case OrderState::paid: return to == OrderState::refunded;
    case OrderState::failed:
    case OrderState::cancelled:
    case OrderState::expired:
    case OrderState::refunded: return false;
  }
  return false;
}

bool fits(model::OrderEvent told_done, OrderState state) {
  switch (told_done) {
    case model::OrderEvent::pay: return state == OrderState::paid || state == OrderState::refunded;
    case model::OrderEvent::cancel: return state == OrderState::cancelled;
    case model::OrderEvent::expire: return state == OrderState::expired;
    case model::OrderEvent::refund: return state == OrderState::refunded;
    case model::OrderEvent::discard: return state == OrderState::failed;
    case model::OrderEvent::close_begin:
    case model::OrderEvent::replay: return true;
  }
  return false;
}

}  // namespace

void Oracle::lanes_are(const model::ItemKey& key, std::span<const admission::LaneView> lanes) {
  Item& item = items_[key];
  item.known = !lanes.empty() && std::ranges::all_of(lanes, &admission::LaneView::open);
  if (!item.known) return;
  const auto row = tables_.item_by_key.find(key);
  if (row == tables_.item_by_key.end()) return complain("P2", "lanes of an item that the store does not know");
  const ItemRow& stored = tables_.items.at(row->second);
  std::int64_t units = 0;
  std::int64_t taken = 0;
  item.free = 0;
  for (const admission::LaneView& lane : lanes) {
    const ledger::LaneStock& stock = lane.stock;
    if (stock.available < 0 || stock.held < 0 || stock.sold < 0) {
      complain("P1", fmt::format("lane {} of {} has {}", lane.lane, key.text(), counts_text(stock)));
    }
    item.free += stock.available;
    taken += stock.held + stock.sold;
    units += stock.total();
  }
  if (taken > stored.terms.total) {
    complain("P1",
             fmt::format("{} units of {} are held or sold in its lanes, of {}", taken, key.text(), stored.terms.total));
  }
  // Units enter the store's lanes first and leave them last.
  std::int64_t in_store = 0;
  for (const store::LaneAuthorityRow& lane : stored.lanes) in_store += lane.row.stock.total();
  if (units > in_store) {
    complain("P2",
             fmt::format("the lanes of {} have {} units, the store's rows of them {}", key.text(), units, in_store));
  }
  if (item.last_short.empty()) item.last_short.assign(units_asked_max + 1, Time{-1});
  for (std::size_t n = item.last_short.size() - 1; n > 0 && item.free < static_cast<std::int64_t>(n); --n) {
    item.last_short[n] = kernel_.now();
  }
}

void Oracle::step() {
  for (const ItemRow& row : tables_.items) check_counts(row);
  for (; rows_seen_ < tables_.orders.size(); ++rows_seen_) check_first_seen(tables_.orders[rows_seen_]);
  // Whatever changes an order or a lane's row writes one of these.
  const std::size_t changes = tables_.orders.size() + tables_.journal.size() + tables_.transfers.size();
  if (std::exchange(changes_seen_, changes) != changes) check_store();
}

void Oracle::check_counts(const ItemRow& row) {
  if (row.lanes.empty()) return;
  std::int64_t units = row.pool;
  std::int64_t taken = 0;
  bool sound = row.pool >= 0;
  for (const store::LaneAuthorityRow& lane : row.lanes) {
    const ledger::LaneStock& stock = lane.row.stock;
    sound = sound && stock.available >= 0 && stock.held >= 0 && stock.sold >= 0;
    taken += stock.held + stock.sold;
    units += stock.total();
  }
  if (!sound || taken > row.terms.total) {
    complain("P1",
             fmt::format("the store has {} units of {} held or sold, of {}", taken, row.key.text(), row.terms.total));
  }
  if (units != row.terms.total) {
    complain("P2", fmt::format("the store has {} units of {} in pool and lanes, of {}", units, row.key.text(),
                               row.terms.total));
  }
}

// P3 and P4: a row is what somebody asked for, on terms that held when it was admitted.
void Oracle::check_first_seen(const OrderRow& row) {
  const store::Order& order = row.order;
  const auto what = [&] {
    return fmt::format("order {} ({}'s request {} for {} of {})", order.ticket.str(), order.buyer.view(),
                       order.request_id.view(), order.units, order.item.text());
  };
  if (order.state == OrderState::failed) {
    if (rules_.nothing_fails) complain("P6", fmt::format("{} failed: {}", what(), model::name(order.reason)));
    return;
  }
  const auto request = requests_.find({order.item, order.buyer, order.request_id});
  if (request == requests_.end() || std::ranges::count(request->second.digests, order.digest) == 0) {
    return complain("P4", what() + " is nothing that anybody asked for");
  }
  if (request->second.ticket && *request->second.ticket != order.ticket) {
    complain("P4", fmt::format("{}: its buyer was told ticket {}", what(), request->second.ticket->str()));
  }
  const base::UtcMs error = rules_.clock_error_max.count();
  const bool sound = items_[order.item].terms.may(
      order.admitted_at - error, order.admitted_at + error, [&](const model::ItemTerms& held) {
        return model::phase_at(held.state, held.starts_at, held.ends_at, order.admitted_at) == model::Phase::open &&
               held.price_minor == order.price_minor;
      });
  if (!sound) complain("P4", fmt::format("{} was admitted at a time or price at which it was not on sale", what()));
}

void Oracle::check_store() {
  for (const OrderRow& row : tables_.orders) {
    check_state(row);
    check_journal(row);
  }
  for (const ItemRow& row : tables_.items) {
    if (row.lanes.empty()) continue;
    check_sums(row);
    check_limits(row);
  }
  if (!rules_.acknowledged_is_landed) return;
  for (const auto& [number, ticket] : tickets_) {
    if (!ticket.acknowledged || tables_.order_by_ticket.contains(number)) continue;
    complain("P5", fmt::format("ticket {} was acknowledged and is gone from the store", number.str()));
  }
}

void Oracle::check_state(const OrderRow& row) {
  const store::Order& order = row.order;
  Ticket& ticket = tickets_[order.ticket];
  ticket.item = order.item;
  if (ticket.last_state && !may_follow(*ticket.last_state, order.state)) {
    complain("P6", fmt::format("order {} went from {} to {}", order.ticket.str(), model::name(*ticket.last_state),
                               model::name(order.state)));
  }
  ticket.last_state = order.state;
  if (ticket.done && !fits(*ticket.done, order.state)) {
    complain("P6", fmt::format("order {} is {}, although its {} was told done", order.ticket.str(),
                               model::name(order.state), model::name(*ticket.done)));
  }
}

// One hold, and the one end that the state says.
void Oracle::check_journal(const OrderRow& row) {
  const store::Order& order = row.order;
  const JournalRow* const hold = tables_.entry(hold_entry(row.order_id));
  const JournalRow* const end = tables_.entry(end_entry(row.order_id));
  const bool failed = order.state == OrderState::failed;
  if (failed && hold == nullptr && end == nullptr) return;
  bool sound = hold != nullptr && hold->effect == JournalEffect::hold && hold->units == order.units &&
               hold->lane == order.lane && hold->item == row.item;
  if (model::is_held(order.state)) {
    sound = sound && end == nullptr;
  } else {
    const JournalEffect expected = model::is_sold(order.state) ? JournalEffect::post : JournalEffect::void_;
    sound = sound && end != nullptr && end->effect == expected && end->units == order.units && end->lane == order.lane;
  }
  if (!sound) {
    complain("P6", fmt::format("order {} is {}, and its journal says otherwise", order.ticket.str(),
                               model::name(order.state)));
  }
}

// Every count of an item again, from its orders.
void Oracle::check_sums(const ItemRow& row) {
  std::vector<ledger::LaneStock> lanes(row.lanes.size());
  std::map<model::BuyerId, std::int64_t> buyers;
  for (const std::int64_t id : row.orders) {
    const store::Order& order = tables_.orders.at(static_cast<std::size_t>(id - 1)).order;
    if (model::is_held(order.state)) lanes.at(order.lane).held += order.units;
    if (model::is_sold(order.state)) lanes.at(order.lane).sold += order.units;
    if (!model::is_ended(order.state)) buyers[order.buyer] += order.units;
  }
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    const ledger::LaneStock& stored = row.lanes[lane].row.stock;
    if (stored.held == lanes[lane].held && stored.sold == lanes[lane].sold) continue;
    complain("P2", fmt::format("lane {} of {} has {} in the store, its orders {} held and {} sold", lane,
                               row.key.text(), counts_text(stored), lanes[lane].held, lanes[lane].sold));
  }
  for (const auto& [buyer, counted] : row.buyers) {
    const auto found = buyers.find(buyer);
    const std::int64_t live = found == buyers.end() ? 0 : found->second;
    if (counted.units == live) continue;
    complain("P3", fmt::format("{} has {} units of {} by buyer_units, {} by his orders", buyer.view(), counted.units,
                               row.key.text(), live));
  }
}

// What is live now was live when the later of them was admitted: then the limit held too.
void Oracle::check_limits(const ItemRow& row) {
  std::map<model::BuyerId, std::vector<const store::Order*>> buyers;
  for (const std::int64_t id : row.orders) {
    const store::Order& order = tables_.orders.at(static_cast<std::size_t>(id - 1)).order;
    if (!model::is_ended(order.state)) buyers[order.buyer].push_back(&order);
  }
  const TermsHistory& terms = items_[row.key].terms;
  const base::UtcMs error = rules_.clock_error_max.count();
  for (auto& [buyer, orders] : buyers) {
    std::ranges::sort(orders, {},
                      [](const store::Order* order) { return std::pair{order->admitted_at, order->ticket}; });
    std::int64_t units = 0;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      units += orders[i]->units;
      const base::UtcMs at = orders[i]->admitted_at;
      if (i + 1 < orders.size() && orders[i + 1]->admitted_at == at) continue;
      if (terms.may(at - error, at + error, [&](const model::ItemTerms& held) { return units <= held.limit; }))
        continue;
      complain("P3", fmt::format("{} has {} units of {}, more than any limit in force when the last was admitted",
                                 buyer.view(), units, row.key.text()));
    }
  }
}

void Oracle::check_quiet(const model::ItemKey& key, std::span<const admission::LaneView> lanes) {
  check_store();
  const auto found = tables_.item_by_key.find(key);
  if (found == tables_.item_by_key.end()) return complain("P2", key.text() + " is gone from the store");
  const ItemRow& row = tables_.items.at(found->second);
  for (const std::int64_t id : row.orders) {
    const store::Order& order = tables_.orders.at(static_cast<std::size_t>(id - 1)).order;
    if (!model::is_held(order.state)) continue;
    complain("P6", fmt::format("order {} is still {} when everything is quiet", order.ticket.str(),
                               model::name(order.state)));
  }
  for (const auto& [event, pending] : tables_.outbox) {
    const model::ItemKey& item = tables_.orders.at(static_cast<std::size_t>(pending.order_id - 1)).order.item;
    if (item == key) complain("P6", fmt::format("event {} still waits in the outbox of {}", event, key.text()));
  }
  for (const auto& [number, ticket] : tickets_) {
    if (ticket.item != key || !ticket.acknowledged || tables_.order_by_ticket.contains(number)) continue;
    complain("P5", fmt::format("ticket {} was acknowledged and never landed", number.str()));
  }
  // A closed sale gets no lanes when a server starts.
  const bool closed = tables_.sales.at(tables_.sale_by_id.at(key.sale)).sale.state == model::SaleState::closed;
  if (lanes.empty() && closed) return;
  if (lanes.size() != row.lanes.size()) {
    return complain("P8", fmt::format("{} of {} lanes of {} are there", lanes.size(), row.lanes.size(), key.text()));
  }
  for (const admission::LaneView& lane : lanes) {
    const ledger::LaneStock& stored = row.lanes.at(lane.lane).row.stock;
    if (!lane.open) complain("P8", fmt::format("lane {} of {} stays closed", lane.lane, key.text()));
    if (lane.stock == stored) continue;
    complain("P2", fmt::format("lane {} of {} has {}, its row in the store {}", lane.lane, key.text(),
                               counts_text(lane.stock), counts_text(stored)));
  }
}

}  // namespace seckill::sim
