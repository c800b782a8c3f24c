// Reading orders and tickets, and the audit of an item: every answer of one instant.
#include <algorithm>

#include "simulation/devices/store/sim_database.hpp"

namespace seckill::sim {
namespace {

using base::Errc;
using model::OrderState;

constexpr base::UtcMs overdue_grace_ms = 5'000;

bool fits(const store::OrderQuery& query, const store::Order& order) {
  return (!query.buyer || order.buyer == *query.buyer) && (!query.sale || order.item.sale == *query.sale) &&
         (!query.state || order.state == *query.state);
}

// A hold for every row but a failed one, a discarded one being held before; the end that its state says.
bool journal_fits(const Tables& tables, const OrderRow& row) {
  const store::Order& order = row.order;
  const bool discarded = order.state == OrderState::failed && order.reason == model::FailReason::discarded;
  const bool held_once = order.state != OrderState::failed || discarded;
  const bool voided = order.state == OrderState::cancelled || order.state == OrderState::expired || discarded;
  const JournalRow* hold = tables.entry(hold_entry(row.order_id));
  const JournalRow* end = tables.entry(end_entry(row.order_id));
  if ((hold != nullptr) != held_once) return false;
  if ((end != nullptr) != (model::is_sold(order.state) || voided)) return false;
  if (end != nullptr && (end->effect == JournalEffect::void_) != voided) return false;
  for (const JournalRow* entry : {hold, end}) {
    if (entry != nullptr && (entry->units != order.units || entry->lane != order.lane || entry->item != row.item)) {
      return false;
    }
  }
  return true;
}

void count_orders(const Tables& tables, const ItemRow& item, base::UtcMs now, store::ItemAudit& audit) {
  std::map<model::BuyerId, std::int64_t> live;
  std::vector<ledger::LaneStock> by_lane(item.lanes.size());
  for (const auto& [buyer, units] : item.buyers) live[buyer] = 0;
  for (const std::int64_t order_id : item.orders) {
    const OrderRow& row = tables.orders[static_cast<std::size_t>(order_id - 1)];
    const store::Order& order = row.order;
    ++audit.orders_by_state[static_cast<std::size_t>(order.state)];
    if (model::is_held(order.state)) audit.orders_held_units += order.units;
    if (model::is_sold(order.state)) audit.orders_sold_units += order.units;
    if (!model::is_ended(order.state)) live[order.buyer] += order.units;
    if (order.lane < by_lane.size()) {
      if (model::is_held(order.state)) by_lane[order.lane].held += order.units;
      if (model::is_sold(order.state)) by_lane[order.lane].sold += order.units;
    }
    if (!journal_fits(tables, row)) ++audit.journal_mismatch;
    const bool paid =
        std::ranges::any_of(tables.payments, [&](const auto& p) { return p.second.order_id == order_id; });
    if (model::is_sold(order.state) && order.price_minor > 0 && !paid) ++audit.paid_without_payment;
    if (order.state == OrderState::awaiting_payment && order.pay_before < now - overdue_grace_ms) ++audit.overdue;
  }
  for (const auto& [buyer, units] : live) {
    const auto counted = item.buyers.find(buyer);
    if ((counted == item.buyers.end() ? 0 : counted->second.units) != units) ++audit.buyer_units_mismatch;
  }
  for (std::size_t lane = 0; lane < by_lane.size(); ++lane) {
    const ledger::LaneStock& stock = item.lanes[lane].row.stock;
    if (stock.held != by_lane[lane].held || stock.sold != by_lane[lane].sold) ++audit.lane_mismatch;
  }
}

}  // namespace

store::TicketRow ticket_row(const store::Order& order) {
  return {.ticket = order.ticket,
          .buyer = order.buyer,
          .request_id = order.request_id,
          .digest = order.digest,
          .units = order.units,
          .state = order.state,
          .admitted_at = order.admitted_at};
}

store::Order order_read(const OrderRow& row) {
  store::Order order = row.order;
  const bool awaited = order.state == OrderState::awaiting_payment || order.state == OrderState::closing;
  if (!awaited) order.pay_before = 0;
  return order;
}

base::Result<std::optional<store::Order>> SimDatabase::find_order(const model::Ticket& ticket) {
  const std::scoped_lock lock{mutex_};
  const OrderRow* row = tables_.find(ticket);
  if (row == nullptr) return std::optional<store::Order>{};
  return std::optional{order_read(*row)};
}

base::Result<store::OrderPage> SimDatabase::list_orders(const store::OrderQuery& query) {
  const std::scoped_lock lock{mutex_};
  const std::int64_t limit = std::clamp<std::int64_t>(query.limit, 1, 1'000);
  store::OrderPage page;
  std::int64_t last = 0;
  for (auto row = tables_.orders.rbegin(); row != tables_.orders.rend(); ++row) {
    if (query.before > 0 && row->order_id >= query.before) continue;
    if (!fits(query, row->order)) continue;
    if (std::ssize(page.orders) == limit) {
      page.next = last;
      break;
    }
    last = row->order_id;
    page.orders.push_back(order_read(*row));
  }
  return page;
}

base::Status SimDatabase::visit_tickets(const model::ItemKey& item,
                                        const std::function<void(const store::TicketRow&)>& visitor) {
  const std::scoped_lock lock{mutex_};
  const ItemRow* row = tables_.find(item);
  if (row == nullptr) return base::fail(Errc::not_found, "reading the tickets of " + item.text(), "no such item");
  for (const std::int64_t order_id : row->orders) {
    visitor(ticket_row(tables_.orders[static_cast<std::size_t>(order_id - 1)].order));
  }
  return {};
}

base::Result<store::ItemAudit> SimDatabase::audit_item(const model::ItemKey& item, base::UtcMs now) {
  const std::scoped_lock lock{mutex_};
  const ItemRow* row = tables_.find(item);
  if (row == nullptr) return base::fail(Errc::not_found, "auditing " + item.text(), "there is no such item");
  store::ItemAudit audit{.item = item, .stock = stock_of(*row)};
  for (const auto& [buyer, units] : row->buyers) {
    if (units.units > units.cap) ++audit.buyers_over_cap;
  }
  count_orders(tables_, *row, now, audit);
  for (const auto& [name, payment] : tables_.payments) {
    const OrderRow& order = tables_.orders[static_cast<std::size_t>(payment.order_id - 1)];
    if (order.item == row->place && !model::is_sold(order.order.state)) ++audit.payment_without_order;
  }
  return audit;
}

}  // namespace seckill::sim
