// Landing: what every store answers to fresh, repeated, ended, failed, superseded and impossible intents.
#include "store_contract.hpp"

namespace seckill::store::contract {
namespace {

using base::Errc;
using model::OrderState;
using model::StockTransfer;

class StoreLanding : public StoreSuite {};
SECKILL_FOR_EVERY_STORE(StoreLanding);

TEST_P(StoreLanding, an_intent_becomes_an_order_that_awaits_payment) {
  const Shop shop = a_shop(100);
  auto intent = shop.intent("alice", "r1", 2);
  intent.fields = std::make_shared<const std::string>(R"({"receiver":"Alice"})");
  const auto landed = shop.land({intent}, start_of_sale + 10).value();
  ASSERT_EQ(landed.size(), 1U);
  EXPECT_EQ(landed[0].as, LandedAs::ordered);
  EXPECT_EQ(landed[0].state, OrderState::awaiting_payment);
  EXPECT_EQ(landed[0].pay_before, start_of_sale + 10 + pay_window_ms);

  const Order order = shop.order(intent.ticket);
  EXPECT_EQ(order.ticket, intent.ticket);
  EXPECT_EQ(order.item, shop.item());
  EXPECT_EQ(order.buyer.view(), "alice");
  EXPECT_EQ(order.request_id.view(), "r1");
  EXPECT_EQ(order.digest, intent.digest);
  EXPECT_EQ(order.lane, intent.lane);
  EXPECT_EQ(order.units, 2);
  EXPECT_EQ(order.price_minor, 1'999);
  EXPECT_EQ(order.amount_minor, 3'998);
  EXPECT_EQ(order.currency.view(), "CNY");
  EXPECT_EQ(order.state, OrderState::awaiting_payment);
  EXPECT_EQ(order.reason, model::FailReason::none);
  EXPECT_EQ(order.admitted_at, intent.admitted_at);
  EXPECT_EQ(order.landed_at, start_of_sale + 10);
  EXPECT_EQ(order.pay_before, start_of_sale + 10 + pay_window_ms);
  EXPECT_EQ(order.ended_at, 0);
  EXPECT_EQ(order.fields, R"({"receiver":"Alice"})");
  EXPECT_EQ(shop.sums(), (ledger::LaneStock{.available = 98, .held = 2, .sold = 0}));
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, an_empty_batch_changes_nothing) {
  const Shop shop = a_shop(100);
  EXPECT_TRUE(shop.land({}).value().empty());
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, FS_05_a_repeated_intent_is_one_order) {
  const Shop shop = a_shop(100);
  const auto intent = shop.intent("alice");
  shop.ordered(intent);
  const auto again = shop.land({intent}, start_of_sale + 5'000).value();
  EXPECT_EQ(again[0].as, LandedAs::already_live);
  EXPECT_EQ(again[0].state, OrderState::awaiting_payment);
  EXPECT_EQ(again[0].pay_before, start_of_sale + 10 + pay_window_ms) << "the deadline is the first landing's";
  EXPECT_EQ(shop.sums().held, 1);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, FS_05_the_same_ticket_twice_in_one_batch_is_one_order) {
  const Shop shop = a_shop(100);
  const auto intent = shop.intent("alice");
  const auto landed = shop.land({intent, shop.intent("bob"), intent}).value();
  EXPECT_EQ(landed[0].as, LandedAs::ordered);
  EXPECT_EQ(landed[1].as, LandedAs::ordered);
  EXPECT_EQ(landed[2].as, LandedAs::already_live);
  EXPECT_EQ(shop.sums().held, 2);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, a_repeated_intent_of_an_ended_order_is_already_ended_and_holds_nothing) {
  const Shop shop = a_shop(100);
  const auto cancelled = shop.intent("alice");
  const auto expired = shop.intent("bob");
  shop.ordered(cancelled);
  shop.ordered(expired);
  ASSERT_EQ(shop.end(cancel(cancelled.ticket)).result, EndResult::done);
  ASSERT_EQ(shop.end(expire(expired.ticket, start_of_sale + 10 + pay_window_ms + 1)).result, EndResult::done);
  const auto landed = shop.land({cancelled, expired}).value();
  EXPECT_EQ(landed[0].as, LandedAs::already_ended);
  EXPECT_EQ(landed[0].state, OrderState::cancelled);
  EXPECT_EQ(landed[0].pay_before, 0);
  EXPECT_EQ(landed[1].as, LandedAs::already_ended);
  EXPECT_EQ(landed[1].state, OrderState::expired);
  EXPECT_EQ(shop.sums().available, 100);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, a_repeated_intent_of_a_paid_or_refunded_order_is_already_live) {
  const Shop shop = a_shop(100);
  const auto intent = shop.intent("alice");
  shop.ordered(intent);
  ASSERT_EQ(shop.end(pay(intent.ticket, "p1")).result, EndResult::done);
  EXPECT_EQ(shop.land({intent}).value()[0].as, LandedAs::already_live);
  ASSERT_EQ(shop.end(event(intent.ticket, model::OrderEvent::refund)).result, EndResult::done);
  const auto landed = shop.land({intent}).value();
  EXPECT_EQ(landed[0].as, LandedAs::already_live);
  EXPECT_EQ(landed[0].state, OrderState::refunded);
  EXPECT_EQ(shop.sums().sold, 1);
}

TEST_P(StoreLanding, an_intent_that_failed_stays_failed) {
  const Shop shop = a_shop(100);
  const auto intent = shop.intent("alice");
  ASSERT_TRUE(store().fail_intent(intent, model::FailReason::limit_reached, start_of_sale + 9).has_value());
  const Order order = shop.order(intent.ticket);
  EXPECT_EQ(order.state, OrderState::failed);
  EXPECT_EQ(order.reason, model::FailReason::limit_reached);
  EXPECT_EQ(order.ended_at, start_of_sale + 9);
  const auto landed = shop.land({intent}).value();
  EXPECT_EQ(landed[0].as, LandedAs::failed);
  EXPECT_EQ(landed[0].state, OrderState::failed);
  EXPECT_EQ(shop.sums().available, 100);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, failing_an_intent_queues_its_release_once_and_leaves_an_existing_row_alone) {
  const Shop shop = a_shop(100);
  const auto failed = shop.intent("alice");
  const auto live = shop.intent("bob");
  shop.ordered(live);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store().fail_intent(failed, model::FailReason::unreadable, start_of_sale).has_value());
    ASSERT_TRUE(store().fail_intent(live, model::FailReason::unreadable, start_of_sale).has_value());
  }
  EXPECT_EQ(shop.order(live.ticket).state, OrderState::awaiting_payment);
  const auto pending = store().pending_releases(10).value();
  ASSERT_EQ(pending.size(), 1U);
  EXPECT_EQ(pending[0].ticket, failed.ticket);
  EXPECT_EQ(pending[0].item, shop.item());
  EXPECT_EQ(pending[0].effect, model::StockEffect::void_);
}

TEST_P(StoreLanding, whatever_an_intent_holds_it_can_be_failed) {
  const Shop shop = a_shop(100);
  shop.ordered(shop.intent("alice", "r1"));
  auto twin = shop.intent("alice", "r1");
  auto bytes = twin.ticket.bytes();
  bytes[15] ^= 1;
  twin.ticket = model::Ticket{bytes};  // another ticket of the same request: no derivation makes it
  auto empty = shop.intent("bob");
  empty.units = 0;
  auto absurd = shop.intent("carol");
  absurd.units = INT64_MAX;
  absurd.price_minor = -5;
  for (const auto& intent : {twin, empty, absurd}) {
    const auto landed = shop.land({intent});
    ASSERT_FALSE(landed.has_value());
    EXPECT_EQ(landed.error().code, Errc::constraint);
    const auto failed = store().fail_intent(intent, model::FailReason::unreadable, start_of_sale);
    ASSERT_TRUE(failed.has_value()) << failed.error().text();
    EXPECT_EQ(shop.land({intent}).value()[0].as, LandedAs::failed);
  }
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, an_intent_of_an_unknown_item_or_lane_violates_and_names_it) {
  const Shop shop = a_shop(100);
  auto elsewhere = shop.intent("alice");
  elsewhere.item.sku = model::Sku::parse("nothing").value();
  const auto unknown = shop.land({elsewhere});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, Errc::constraint);
  EXPECT_NE(unknown.error().text().find("s1/nothing"), std::string::npos);
  const auto no_lane = shop.land({shop.intent("alice", "r1", 1, 63)});
  ASSERT_FALSE(no_lane.has_value());
  EXPECT_EQ(no_lane.error().code, Errc::constraint);
}

TEST_P(StoreLanding, an_intent_of_another_generation_is_superseded_and_changes_nothing) {
  const Shop shop = a_shop(100);
  auto old = shop.intent("alice");
  old.generation = 0;
  const auto landed = shop.land({shop.intent("bob"), old}).value();
  EXPECT_EQ(landed[0].as, LandedAs::ordered);
  EXPECT_EQ(landed[1].as, LandedAs::superseded);
  EXPECT_FALSE(store().find_order(old.ticket).value().has_value());
  EXPECT_EQ(shop.sums().held, 1);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, one_intent_over_the_limit_refuses_the_whole_batch) {
  const Shop shop = a_shop(100, 2);
  shop.ordered(shop.intent("alice", "r1", 2));
  const auto landed = shop.land({shop.intent("bob"), shop.intent("alice", "r2", 1)});
  ASSERT_FALSE(landed.has_value());
  EXPECT_EQ(landed.error().code, Errc::constraint);
  EXPECT_NE(landed.error().cause.find("buyer_units"), std::string::npos) << "the cause tells that it is the limit";
  EXPECT_FALSE(store().find_order(shop.intent("bob").ticket).value().has_value());
  EXPECT_EQ(shop.sums(), (ledger::LaneStock{.available = 98, .held = 2, .sold = 0}));
  EXPECT_EQ(shop.broken(), "");
  EXPECT_TRUE(shop.land({shop.intent("bob")}).has_value()) << "the innocent one lands by itself";
}

TEST_P(StoreLanding, a_lowered_limit_does_not_bind_what_was_admitted_under_a_higher_one) {
  const Shop shop = a_shop(100, 2);
  auto first = shop.intent("alice", "r1", 3);
  first.limit = 5;
  auto second = shop.intent("alice", "r2", 2);
  second.limit = 2;  // the limit was lowered in between; the lane, which knows, admitted before that
  shop.ordered(first);
  shop.ordered(second);
  EXPECT_EQ(shop.broken(), "");
  const auto third = shop.land({shop.intent("alice", "r3", 1)});
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, Errc::constraint);
}

TEST_P(StoreLanding, an_intent_of_more_units_than_its_own_limit_violates_whatever_the_buyer_was_allowed_before) {
  const Shop shop = a_shop(100, 5);
  shop.ordered(shop.intent("alice", "r1", 1));
  auto impossible = shop.intent("alice", "r2", 2);
  impossible.limit = 1;
  const auto landed = shop.land({impossible});
  ASSERT_FALSE(landed.has_value());
  EXPECT_EQ(landed.error().code, Errc::constraint);
  EXPECT_NE(landed.error().cause.find("buyer_units"), std::string::npos);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, FS_01_a_short_stock_row_refuses_the_whole_batch) {
  const Shop shop = a_shop(8, 8);
  ASSERT_EQ(shop.lanes(), 1U);
  shop.ordered(shop.intent("alice", "r1", 7));
  const auto landed = shop.land({shop.intent("bob"), shop.intent("carol")});
  ASSERT_FALSE(landed.has_value());
  EXPECT_EQ(landed.error().code, Errc::oversell_guard);
  EXPECT_FALSE(store().find_order(shop.intent("bob").ticket).value().has_value());
  EXPECT_EQ(shop.sums(), (ledger::LaneStock{.available = 1, .held = 7, .sold = 0}));
  shop.ordered(shop.intent("bob"));
  EXPECT_EQ(shop.sums().available, 0);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, a_price_0_order_is_paid_at_once) {
  const Shop shop = a_shop(100, 2, [](model::SaleItem& item) { item.price_minor = 0; });
  const auto intent = shop.intent("alice", "r1", 2);
  const auto landed = shop.land({intent}).value();
  EXPECT_EQ(landed[0].as, LandedAs::ordered);
  EXPECT_EQ(landed[0].state, OrderState::paid);
  EXPECT_EQ(landed[0].pay_before, 0);
  const Order order = shop.order(intent.ticket);
  EXPECT_EQ(order.state, OrderState::paid);
  EXPECT_EQ(order.pay_before, 0);
  EXPECT_EQ(order.ended_at, start_of_sale + 10);
  EXPECT_EQ(shop.sums(), (ledger::LaneStock{.available = 98, .held = 0, .sold = 2}));
  EXPECT_TRUE(store().due_tickets(INT64_MAX, 10).value().empty());
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, transfers_move_units_once_an_id_and_in_the_order_of_the_records) {
  const Shop shop = a_shop(32, 32);
  ASSERT_EQ(shop.lanes(), 4U);
  StockTransfer steal{
      .id = "t1", .item = shop.item(), .from = 1, .to = 0, .units = 8, .generation = 1, .at = start_of_sale};
  const std::vector<model::LaneRecord> records{shop.intent("alice", "r1", 8, 0), steal, shop.intent("bob", "r1", 8, 0)};
  const auto landed = store().land(records, start_of_sale).value();
  ASSERT_EQ(landed.size(), 2U) << "one result for each intent";
  EXPECT_EQ(shop.stock().lanes[0].stock, (ledger::LaneStock{.available = 0, .held = 16, .sold = 0}));
  EXPECT_EQ(shop.stock().lanes[1].stock.available, 0);
  // The same records again, as after a lost reply.
  const auto again = store().land(records, start_of_sale).value();
  EXPECT_EQ(again[0].as, LandedAs::already_live);
  EXPECT_EQ(again[1].as, LandedAs::already_live);
  EXPECT_EQ(shop.stock().lanes[0].stock.total(), 16);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, FS_01_units_that_came_to_a_lane_later_do_not_cover_an_earlier_hold) {
  const Shop shop = a_shop(32, 32);
  const StockTransfer steal{
      .id = "t1", .item = shop.item(), .from = 1, .to = 0, .units = 8, .generation = 1, .at = start_of_sale};
  const auto hold = shop.intent("alice", "r1", 9, 0);
  // A lane that admits nine when it has eight is broken, whatever it is given in the same batch.
  const std::vector<model::LaneRecord> hold_first{hold, steal};
  const auto refused = store().land(hold_first, start_of_sale);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::oversell_guard);
  EXPECT_EQ(shop.sums(), (ledger::LaneStock{.available = 32, .held = 0, .sold = 0}));
  const std::vector<model::LaneRecord> steal_first{steal, hold};
  ASSERT_TRUE(store().land(steal_first, start_of_sale).has_value());
  EXPECT_EQ(shop.stock().lanes[0].stock, (ledger::LaneStock{.available = 7, .held = 9, .sold = 0}));
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, a_transfer_reaches_the_pool_and_a_short_one_refuses_the_batch) {
  const Shop shop = a_shop(16);
  const std::vector<model::LaneRecord> reduce{StockTransfer{
      .id = "d1", .item = shop.item(), .from = 0, .to = StockTransfer::pool, .units = 3, .generation = 1, .at = 0}};
  ASSERT_TRUE(store().land(reduce, start_of_sale).has_value());
  EXPECT_EQ(shop.stock().pool, 3);
  const std::vector<model::LaneRecord> too_much{
      shop.intent("alice"),
      StockTransfer{.id = "d2", .item = shop.item(), .from = 1, .to = 0, .units = 9, .generation = 1, .at = 0}};
  const auto refused = store().land(too_much, start_of_sale);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::oversell_guard);
  EXPECT_EQ(shop.sums().held, 0);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, FS_59_a_transfer_of_no_units_is_refused_as_such_and_is_no_short_row) {
  const Shop shop = a_shop(16);
  for (const std::int64_t units : {std::int64_t{0}, std::int64_t{-1}}) {
    for (const std::int32_t from : {StockTransfer::pool, 0}) {
      const std::vector<model::LaneRecord> nothing{StockTransfer{
          .id = "none", .item = shop.item(), .from = from, .to = 1, .units = units, .generation = 1, .at = 0}};
      const auto landed = store().land(nothing, start_of_sale);
      ASSERT_FALSE(landed.has_value());
      EXPECT_EQ(landed.error().code, Errc::constraint) << units << " from " << from;
    }
  }
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, a_transfer_of_an_older_generation_changes_nothing) {
  const Shop shop = a_shop(16);
  const std::vector<model::LaneRecord> records{
      StockTransfer{.id = "old", .item = shop.item(), .from = 0, .to = 1, .units = 3, .generation = 0, .at = 0}};
  ASSERT_TRUE(store().land(records, start_of_sale).has_value());
  EXPECT_EQ(shop.stock().lanes[0].stock.available, 8);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLanding, FS_05_two_requests_of_one_buyer_are_two_orders_and_one_request_is_one) {
  const Shop shop = a_shop(100, 2);
  const auto landed =
      shop.land({shop.intent("alice", "r1"), shop.intent("alice", "r2"), shop.intent("alice", "r1")}).value();
  EXPECT_EQ(landed[0].as, LandedAs::ordered);
  EXPECT_EQ(landed[1].as, LandedAs::ordered);
  EXPECT_EQ(landed[2].as, LandedAs::already_live);
  EXPECT_EQ(
      store().list_orders({.buyer = model::BuyerId::parse("alice"), .sale = {}, .state = {}}).value().orders.size(),
      2U);
}

}  // namespace
}  // namespace seckill::store::contract
