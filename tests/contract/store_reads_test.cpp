// Reading: orders by ticket, buyer, sale and state with cursors, tickets of an item, the audit of an item.
#include <algorithm>
#include <map>

#include "store_contract.hpp"

namespace seckill::store::contract {
namespace {

using model::OrderState;

class StoreReads : public StoreSuite {
 protected:
  // Two sales, two items in the first; every third order of an item is paid, every fourth cancelled.
  void fill() {
    first_ = a_sale("s1", {an_item("a", 200), an_item("b", 200)});
    second_ = a_sale("s2", {an_item("a", 200)});
    for (const model::Sale& sale : {first_, second_}) {
      ASSERT_TRUE(store().create_sale(sale, by("c")).has_value());
      ASSERT_TRUE(store().preload(sale.id, start_of_sale, by("p")).has_value());
    }
    const Shop shops[] = {Shop{store(), first_, 0}, Shop{store(), first_, 1}, Shop{store(), second_, 0}};
    for (int i = 0; i < 24; ++i) {
      const Shop& shop = shops[i % 3];
      const std::string buyer = "buyer" + std::to_string(i % 6);
      const auto intent = shop.intent(buyer, "r" + std::to_string(i), 1);
      auto generous = intent;
      generous.limit = 100;
      tickets_.push_back(shop.ordered(generous));
      if (i % 3 == 0 && i % 2 == 0)
        ASSERT_EQ(shop.end(pay(intent.ticket, "p" + std::to_string(i))).result, EndResult::done);
      if (i % 4 == 1) ASSERT_EQ(shop.end(cancel(intent.ticket)).result, EndResult::done);
    }
  }

  // All pages of a query, checked against what a plain filter over find_order says.
  void expect_all(OrderQuery query) {
    std::vector<model::Ticket> wanted;
    for (auto ticket = tickets_.rbegin(); ticket != tickets_.rend(); ++ticket) {
      const Order order = store().find_order(*ticket).value().value();
      if (query.buyer && order.buyer != *query.buyer) continue;
      if (query.sale && order.item.sale != *query.sale) continue;
      if (query.state && order.state != *query.state) continue;
      wanted.push_back(*ticket);
    }
    for (const std::int64_t limit : {1, 5, 1'000}) {
      query.limit = limit;
      query.before = 0;
      std::vector<model::Ticket> got;
      for (std::size_t pages = 0; pages <= tickets_.size(); ++pages) {
        const OrderPage page = store().list_orders(query).value();
        EXPECT_LE(std::ssize(page.orders), limit);
        for (const Order& order : page.orders) got.push_back(order.ticket);
        if (page.next == 0) break;
        query.before = page.next;
      }
      EXPECT_EQ(got, wanted) << "limit " << limit;
    }
  }

  model::Sale first_;
  model::Sale second_;
  std::vector<model::Ticket> tickets_;  // in the order of landing
};
SECKILL_FOR_EVERY_STORE(StoreReads);

TEST_P(StoreReads, every_filter_lists_newest_first_page_by_page) {
  fill();
  const std::optional<OrderState> states[] = {{},
                                              OrderState::awaiting_payment,
                                              OrderState::paid,
                                              OrderState::cancelled,
                                              OrderState::closing,
                                              OrderState::failed,
                                              OrderState::parked,
                                              OrderState::refunded};
  const std::optional<model::SaleId> sales[] = {{}, first_.id, second_.id, model::SaleId::parse("none")};
  const std::optional<model::BuyerId> buyers[] = {{}, model::BuyerId::parse("buyer1"), model::BuyerId::parse("none")};
  const Shop shop{store(), second_};
  ASSERT_EQ(shop.end(event(tickets_[2], model::OrderEvent::close_begin)).result, EndResult::done);
  for (const auto& buyer : buyers) {
    for (const auto& sale : sales) {
      for (const auto& state : states) {
        SCOPED_TRACE((buyer ? buyer->str() : "any") + " " + (sale ? sale->str() : "any") + " " +
                     std::string{state ? model::name(*state) : "any"});
        expect_all({.buyer = buyer, .sale = sale, .state = state});
      }
    }
  }
}

TEST_P(StoreReads, a_limit_outside_its_bounds_is_brought_inside) {
  fill();
  EXPECT_EQ(store().list_orders({.buyer = {}, .sale = {}, .state = {}, .before = 0, .limit = -3}).value().orders.size(),
            1U);
  EXPECT_EQ(store()
                .list_orders({.buyer = {}, .sale = {}, .state = {}, .before = 0, .limit = INT64_MAX})
                .value()
                .orders.size(),
            tickets_.size());
}

TEST_P(StoreReads, visiting_shows_every_ticket_of_the_item_as_a_lane_must_know_it) {
  fill();
  const Shop shop{store(), first_, 1};
  const auto failed = shop.intent("buyer9", "r9");
  ASSERT_TRUE(store().fail_intent(failed, model::FailReason::superseded, start_of_sale).has_value());
  std::map<model::Ticket, TicketRow> rows;
  ASSERT_TRUE(store().visit_tickets(shop.item(), [&](const TicketRow& row) { rows[row.ticket] = row; }).has_value());
  EXPECT_EQ(rows.size(), 9U);
  for (const auto& [ticket, row] : rows) {
    const Order order = shop.order(ticket);
    EXPECT_EQ(order.item, shop.item());
    EXPECT_EQ(row.buyer, order.buyer);
    EXPECT_EQ(row.request_id, order.request_id);
    EXPECT_EQ(row.digest, order.digest);
    EXPECT_EQ(row.units, order.units);
    EXPECT_EQ(row.state, order.state);
    EXPECT_EQ(row.admitted_at, order.admitted_at);
  }
  EXPECT_EQ(rows[failed.ticket].state, OrderState::failed);
}

TEST_P(StoreReads, the_audit_of_an_item_counts_its_orders_and_finds_them_sound) {
  const Shop shop = a_shop(100);
  const auto paid = shop.ordered(shop.intent("alice", "r1", 2));
  const auto cancelled = shop.ordered(shop.intent("bob"));
  const auto waiting = shop.ordered(shop.intent("carol"));
  ASSERT_EQ(shop.end(pay(paid, "p1")).result, EndResult::done);
  ASSERT_EQ(shop.end(cancel(cancelled)).result, EndResult::done);
  const auto count = [](const ItemAudit& audit, OrderState state) {
    return audit.orders_by_state[static_cast<std::size_t>(state)];
  };
  const base::UtcMs deadline = shop.order(waiting).pay_before;
  const ItemAudit audit = store().audit_item(shop.item(), deadline + 5'000).value();
  EXPECT_EQ(audit.item, shop.item());
  EXPECT_EQ(audit.stock.total, 100);
  EXPECT_EQ(audit.orders_held_units, 1);
  EXPECT_EQ(audit.orders_sold_units, 2);
  EXPECT_EQ(count(audit, OrderState::paid), 1);
  EXPECT_EQ(count(audit, OrderState::cancelled), 1);
  EXPECT_EQ(count(audit, OrderState::awaiting_payment), 1);
  EXPECT_EQ(audit.overdue, 0) << "up to 5 s past the deadline is in stated time";
  EXPECT_EQ(shop.broken(), "");
  EXPECT_EQ(store().audit_item(shop.item(), deadline + 5'001).value().overdue, 1);
}

}  // namespace
}  // namespace seckill::store::contract
