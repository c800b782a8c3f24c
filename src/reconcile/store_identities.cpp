// The store's rows against each other: stock, journal, buyers, outbox, payments.
#include "reconcile/finding_list.hpp"

namespace seckill::reconcile {
namespace {

using model::OrderState;

// A discarded ticket was parked, and held, before it failed.
bool was_discarded(const store::Order& order) noexcept {
  return order.state == OrderState::failed && order.reason == model::FailReason::discarded;
}
bool was_voided(const store::Order& order) noexcept {
  return order.state == OrderState::cancelled || order.state == OrderState::expired || was_discarded(order);
}

void check_stock(const StorePicture& store, FindingList& list) {
  std::int64_t sum = store.pool;
  std::int64_t taken = 0;
  std::map<model::LaneIndex, ledger::LaneStock> of_orders;
  for (const store::Order& order : store.orders) {
    if (model::is_held(order.state)) of_orders[order.lane].held += order.units;
    if (model::is_sold(order.state)) of_orders[order.lane].sold += order.units;
  }
  for (const LaneRowPicture& lane : store.lanes) {
    const ledger::LaneStock& stock = lane.row.stock;
    sum += stock.total();
    taken += stock.held + stock.sold;
    const ledger::LaneStock& orders = of_orders[lane.row.lane];
    if (stock.held != orders.held || stock.sold != orders.sold) {
      list.add(DifferenceKind::lane_row_sum, {.lane = lane_number(lane.row.lane)}, orders.held + orders.sold,
               stock.held + stock.sold);
    }
    of_orders.erase(lane.row.lane);
  }
  // Orders of lanes without a stock row.
  for (const auto& [lane, orders] : of_orders) {
    list.add(DifferenceKind::lane_row_sum, {.lane = lane_number(lane)}, orders.held + orders.sold, 0);
  }
  if (taken > store.total) list.add(DifferenceKind::oversell, {}, store.total, taken);
  if (sum != store.total) list.add(DifferenceKind::store_sum, {}, store.total, sum);
}

// How many entries an order has, and how many of them are the ones it should have.
struct Entries {
  std::int64_t holds = 0;
  std::int64_t ends = 0;
  bool all_fit = true;
};

void check_journal(const StorePicture& store, const OrdersByTicket& orders, FindingList& list) {
  std::map<model::Ticket, Entries> entries;
  for (const JournalEntry& entry : store.journal) {
    const auto found = orders.find(entry.ticket);
    if (found == orders.end()) {
      list.add(DifferenceKind::journal_without_order, {.lane = lane_number(entry.lane), .ticket = &entry.ticket}, 0,
               entry.units);
      continue;
    }
    const store::Order& order = *found->second;
    const bool fits = entry.lane == order.lane && entry.units == order.units;
    Entries& counted = entries[entry.ticket];
    // An entry that does not fit counts as one too many: neither 0 nor 1 can be right then.
    if (entry.effect == JournalEffect::hold) {
      counted.holds += fits ? 1 : 2;
    } else {
      const bool wanted = entry.effect == JournalEffect::post ? model::is_sold(order.state) : was_voided(order);
      counted.ends += fits && wanted ? 1 : 2;
    }
  }
  for (const store::Order& order : store.orders) {
    const Entries counted = entries[order.ticket];
    const std::int64_t holds = order.state != OrderState::failed || was_discarded(order) ? 1 : 0;
    const std::int64_t ends = model::is_sold(order.state) || was_voided(order) ? 1 : 0;
    const Place place{.lane = lane_number(order.lane), .buyer = &order.buyer, .ticket = &order.ticket};
    if (counted.holds != holds) list.add(DifferenceKind::journal_hold, place, holds, counted.holds);
    if (counted.ends != ends) list.add(DifferenceKind::journal_end, place, ends, counted.ends);
  }
}

void check_buyers(const StorePicture& store, FindingList& list) {
  std::map<model::BuyerId, std::int64_t> live;
  for (const store::Order& order : store.orders) {
    if (!model::is_ended(order.state)) live[order.buyer] += order.units;
  }
  for (const BuyerUnits& buyer : store.buyers) {
    const std::int64_t units = live[buyer.buyer];
    if (buyer.units != units) list.add(DifferenceKind::buyer_units, {.buyer = &buyer.buyer}, units, buyer.units);
    if (buyer.units > buyer.cap) {
      list.add(DifferenceKind::buyer_over_cap, {.buyer = &buyer.buyer}, buyer.cap, buyer.units);
    }
    live.erase(buyer.buyer);
  }
  for (const auto& [buyer, units] : live) list.add(DifferenceKind::buyer_units, {.buyer = &buyer}, units, 0);
}

void check_releases(const StorePicture& store, const OrdersByTicket& orders, FindingList& list) {
  for (const store::PendingRelease& release : store.releases) {
    const auto found = orders.find(release.ticket);
    const bool posts = release.effect == model::StockEffect::post;
    if (found != orders.end() &&
        (posts ? model::is_sold(found->second->state) : model::is_ended(found->second->state))) {
      continue;
    }
    const Place place = found == orders.end() ? Place{.ticket = &release.ticket}
                                              : Place{.lane = lane_number(found->second->lane),
                                                      .buyer = &found->second->buyer,
                                                      .ticket = &release.ticket};
    list.add(DifferenceKind::release_without_end, place, 0, found == orders.end() ? 0 : found->second->units);
  }
}

void check_payment(const Payment& payment, const store::Order* order, FindingList& list) {
  Place place{.ticket = &payment.ticket};
  if (order != nullptr) place = {.lane = lane_number(order->lane), .buyer = &order->buyer, .ticket = &order->ticket};
  if (order == nullptr || !model::is_sold(order->state)) {
    if (!payment.refunded) list.add(DifferenceKind::payment_without_order, place, 0, payment.amount_minor);
    return;
  }
  if (order->price_minor == 0) {
    list.add(DifferenceKind::payment_of_free_order, place, 0, payment.amount_minor);
  } else if (payment.amount_minor != order->amount_minor || payment.currency != order->currency) {
    list.add(DifferenceKind::payment_amount, place, order->amount_minor, payment.amount_minor);
  }
}

void check_payments(const StorePicture& store, const OrdersByTicket& orders, FindingList& list) {
  std::map<model::Ticket, std::int64_t> payments;
  for (const Payment& payment : store.payments) {
    const auto found = orders.find(payment.ticket);
    check_payment(payment, found == orders.end() ? nullptr : found->second, list);
    ++payments[payment.ticket];
  }
  for (const store::Order& order : store.orders) {
    if (!model::is_sold(order.state) || order.price_minor == 0 || payments.contains(order.ticket)) continue;
    list.add(DifferenceKind::paid_without_payment,
             {.lane = lane_number(order.lane), .buyer = &order.buyer, .ticket = &order.ticket}, order.amount_minor, 0);
  }
}

}  // namespace

void check_store(const StorePicture& store, const OrdersByTicket& orders, FindingList& list) {
  check_stock(store, list);
  check_journal(store, orders, list);
  check_buyers(store, list);
  check_releases(store, orders, list);
  check_payments(store, orders, list);
}

}  // namespace seckill::reconcile
