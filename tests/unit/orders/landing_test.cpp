// Landing on the real store: batches, the ticket that is to blame, and the days on which the disk is full.
#include "orders/landing.hpp"

#include <gtest/gtest.h>

#include "unit/orders/shop.hpp"

namespace seckill::orders {
namespace {

using test::Shop;

// An intent as a lane would write it, so that the store can be handed what no sound lane admits.
model::OrderIntent intent_of(const Shop& shop, const std::string& buyer, const std::string& request,
                             std::int64_t units = 1, std::int64_t limit = 1, std::int64_t price = 9'900) {
  model::OrderIntent intent;
  intent.item = shop.item;
  intent.buyer = test::buyer_named(buyer);
  intent.request_id = test::request_named(request);
  intent.lane = 0;
  intent.ticket = model::derive_ticket(model::TicketKey{7}, shop.item, intent.buyer, request, intent.lane);
  intent.digest = model::content_digest(units, nullptr);
  intent.units = units;
  intent.price_minor = price;
  intent.limit = limit;
  intent.pay_window_ms = 60'000;
  intent.admitted_at = shop.clock.now_utc();
  return intent;
}

std::vector<store::LandedAs> kinds(const std::vector<store::Landed>& landed) {
  std::vector<store::LandedAs> as;
  for (const auto& one : landed) as.push_back(one.as);
  return as;
}

ledger::LaneStock stock_row(Shop& shop) {
  const auto stock = shop.store().item_stock(shop.item);
  EXPECT_TRUE(stock.has_value());
  return stock->lanes.at(0).stock;
}

using store::LandedAs;

TEST(Landing, a_batch_becomes_orders_in_one_transaction) {
  Shop shop{{.total = 20, .lanes = 1}};
  std::vector<model::LaneRecord> batch;
  for (int i = 0; i < 8; ++i) batch.emplace_back(intent_of(shop, "b" + std::to_string(i), "r"));
  const auto landed = shop.landing().consume(batch);
  ASSERT_TRUE(landed.has_value()) << landed.error().text();
  EXPECT_EQ(kinds(*landed), std::vector(8, LandedAs::ordered));
  EXPECT_EQ(shop.store().calls("land"), 1);
  EXPECT_EQ(stock_row(shop).held, 8);
  EXPECT_EQ(shop.landing().counters().batches, 1U);
  EXPECT_EQ(shop.landing().counters().records, 8U);
  EXPECT_EQ(shop.landing().counters().orders, 8U);
}

TEST(Landing, a_batch_offered_twice_is_landed_once) {
  Shop shop{{.total = 20, .lanes = 1}};
  const std::vector<model::LaneRecord> batch{intent_of(shop, "b1", "r"), intent_of(shop, "b2", "r")};
  ASSERT_TRUE(shop.landing().consume(batch).has_value());
  const auto again = shop.landing().consume(batch);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(kinds(*again), std::vector(2, LandedAs::already_live));
  EXPECT_EQ(stock_row(shop).held, 2);
  EXPECT_EQ(shop.landing().counters().duplicates, 2U);
}

TEST(Landing, FS_12_one_ticket_that_violates_leaves_the_other_tickets_of_its_batch_untouched) {
  Shop shop{{.total = 20, .lanes = 1}};
  std::vector<model::LaneRecord> batch;
  for (int i = 0; i < 4; ++i) batch.emplace_back(intent_of(shop, "b" + std::to_string(i), "r"));
  const auto guilty = intent_of(shop, "b2", "second");  // one more than b2's limit
  batch.emplace_back(guilty);
  for (int i = 4; i < 7; ++i) batch.emplace_back(intent_of(shop, "b" + std::to_string(i), "r"));
  const auto landed = shop.landing().consume(batch);
  ASSERT_TRUE(landed.has_value()) << landed.error().text();
  auto expected = std::vector(8, LandedAs::ordered);
  expected[4] = LandedAs::failed;
  EXPECT_EQ(kinds(*landed), expected);
  const auto row = shop.store().find_order(guilty.ticket);
  ASSERT_TRUE(row.has_value() && row->has_value());
  EXPECT_EQ((*row)->state, model::OrderState::failed);
  EXPECT_EQ((*row)->reason, model::FailReason::limit_reached);
  EXPECT_EQ(stock_row(shop).held, 7) << "a failed ticket takes no unit";
  EXPECT_TRUE(shop.alarms().empty());
  EXPECT_EQ(shop.landing().counters().failures, 1U);
}

TEST(Landing, FS_12_failed_stays_failed_however_often_its_intent_comes_again) {
  Shop shop{{.total = 20, .lanes = 1}};
  const auto guilty = intent_of(shop, "b1", "second");
  const std::vector<model::LaneRecord> batch{intent_of(shop, "b1", "first"), guilty};
  ASSERT_TRUE(shop.landing().consume(batch).has_value());
  const std::vector<model::LaneRecord> again{guilty};
  const auto landed = shop.landing().consume(again);
  ASSERT_TRUE(landed.has_value());
  EXPECT_EQ(kinds(*landed), std::vector{LandedAs::failed});
  EXPECT_EQ(shop.state_of(guilty.ticket), model::OrderState::failed);
}

TEST(Landing, a_short_stock_row_fails_that_ticket_closes_the_lanes_and_raises_the_alarm) {
  Shop shop{{.total = 8, .lanes = 1}};
  std::vector<model::LaneRecord> batch;
  for (int i = 0; i < 9; ++i) batch.emplace_back(intent_of(shop, "b" + std::to_string(i), "r"));
  const auto landed = shop.landing().consume(batch);
  ASSERT_TRUE(landed.has_value()) << landed.error().text();
  auto expected = std::vector(9, LandedAs::ordered);
  expected[8] = LandedAs::failed;
  EXPECT_EQ(kinds(*landed), expected);
  EXPECT_EQ(shop.alarms().size(), 1U);
  EXPECT_EQ(shop.landing().counters().guard_trips, 1U);
  const auto row = shop.store().find_order(std::get<model::OrderIntent>(batch[8]).ticket);
  ASSERT_TRUE(row.has_value() && row->has_value());
  EXPECT_EQ((*row)->reason, model::FailReason::oversell_guard);
  for (const auto& lane : shop.admission().lanes(shop.item)) EXPECT_FALSE(lane.open);
  EXPECT_EQ(stock_row(shop), (ledger::LaneStock{.available = 0, .held = 8, .sold = 0}));
}

TEST(Landing, the_environment_counts_against_nobody) {
  for (const auto code : {base::Errc::disk_full, base::Errc::unavailable, base::Errc::timeout}) {
    Shop shop{{.total = 20, .lanes = 1}};
    const std::vector<model::LaneRecord> batch{intent_of(shop, "b1", "r"), intent_of(shop, "b2", "r")};
    shop.store().fail("land", code, 3);
    for (int i = 0; i < 3; ++i) {
      const auto refused = shop.landing().consume(batch);
      ASSERT_FALSE(refused.has_value());
      EXPECT_EQ(refused.error().code, code);
    }
    EXPECT_EQ(shop.landing().counters().not_now, 3U);
    EXPECT_EQ(shop.landing().counters().failures, 0U);
    const auto landed = shop.landing().consume(batch);
    ASSERT_TRUE(landed.has_value());
    EXPECT_EQ(kinds(*landed), std::vector(2, LandedAs::ordered));
  }
}

TEST(Landing, a_disk_that_fills_while_a_batch_is_halved_loses_and_doubles_nothing) {
  // Whatever call it is that fails first, offering the batch again ends in the same state.
  for (int after = 0; after < 8; ++after) {
    Shop shop{{.total = 20, .lanes = 1}};
    std::vector<model::LaneRecord> batch;
    for (int i = 0; i < 4; ++i) batch.emplace_back(intent_of(shop, "b" + std::to_string(i), "r"));
    batch.emplace_back(intent_of(shop, "b0", "second"));
    shop.store().fail("land", base::Errc::disk_full, 1, after);
    auto landed = shop.landing().consume(batch);
    if (!landed) {
      shop.store().fail("fail_intent", base::Errc::disk_full, 1);
      EXPECT_FALSE(shop.landing().consume(batch).has_value()) << "the failure itself must be durable, too";
      landed = shop.landing().consume(batch);
    }
    ASSERT_TRUE(landed.has_value()) << landed.error().text();
    ASSERT_EQ(landed->size(), 5U);
    EXPECT_EQ(landed->back().as, LandedAs::failed);
    EXPECT_EQ(stock_row(shop).held, 4);
    const auto audit = shop.store().audit_item(shop.item, shop.clock.now_utc());
    ASSERT_TRUE(audit.has_value());
    EXPECT_EQ(audit->orders_held_units, 4);
    EXPECT_EQ(audit->journal_mismatch + audit->lane_mismatch + audit->buyer_units_mismatch, 0);
  }
}

TEST(Landing, a_transfer_that_cannot_land_is_left_out_and_raises_the_alarm) {
  Shop shop{{.total = 16, .lanes = 2}};
  const model::StockTransfer impossible{.id = "steal:1", .item = shop.item, .from = 0, .to = 1, .units = 9, .at = 1};
  const std::vector<model::LaneRecord> batch{intent_of(shop, "b1", "r"), impossible, intent_of(shop, "b2", "r")};
  const auto landed = shop.landing().consume(batch);
  ASSERT_TRUE(landed.has_value()) << landed.error().text();
  EXPECT_EQ(kinds(*landed), std::vector(2, LandedAs::ordered));
  EXPECT_EQ(shop.alarms().size(), 1U);
  EXPECT_EQ(stock_row(shop), (ledger::LaneStock{.available = 6, .held = 2, .sold = 0}));
}

TEST(Landing, with_price_0_a_landed_order_is_paid_at_once) {
  Shop shop{{.total = 20, .price_minor = 0, .lanes = 1}};
  const std::vector<model::LaneRecord> batch{intent_of(shop, "b1", "r", 1, 1, 0)};
  const auto landed = shop.landing().consume(batch);
  ASSERT_TRUE(landed.has_value());
  EXPECT_EQ(landed->front().state, model::OrderState::paid);
  EXPECT_EQ(stock_row(shop).sold, 1);
}

}  // namespace
}  // namespace seckill::orders
