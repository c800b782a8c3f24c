// The verdict on a sound picture, and one planted corruption after another: each is found by the promise it breaks and
// by no other.
#include "orders/verdict.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace seckill::orders {
namespace {

const model::ItemKey phone{model::SaleId::trusted("s1"), model::Sku::trusted("phone")};

std::int64_t& count_of(store::ItemAudit& audit, model::OrderState state) {
  return audit.orders_by_state[static_cast<std::size_t>(state)];
}

// 100 units: 10 in the pool, two lanes of 45 with 5 held and 20 sold each.
Picture sound_picture() {
  ItemPicture item;
  item.audit.item = phone;
  item.audit.stock.total = 100;
  item.audit.stock.pool = 10;
  for (model::LaneIndex lane = 0; lane < 2; ++lane) {
    const ledger::LaneStock stock{.available = 20, .held = 5, .sold = 20};
    item.audit.stock.lanes.push_back({.lane = lane, .generation = 1, .stock = stock});
    item.lanes.push_back({.lane = lane, .generation = 1, .open = true, .stock = stock, .marks = 25});
  }
  item.audit.orders_held_units = 10;
  item.audit.orders_sold_units = 40;
  count_of(item.audit, model::OrderState::awaiting_payment) = 10;
  count_of(item.audit, model::OrderState::paid) = 40;
  Picture picture;
  picture.items.push_back(item);
  picture.places.push_back({"intents waiting to land", 0, 65'536});
  picture.drained = true;
  picture.crowd = CrowdEvidence{.acknowledged = 50, .repeats = 7};
  return picture;
}

std::string broken(const std::vector<PromiseVerdict>& verdicts) {
  std::string names;
  for (const auto& verdict : verdicts) {
    if (!verdict.holds) names += verdict.promise;
  }
  return names;
}

TEST(Verdict, a_sound_picture_keeps_all_nine_promises) {
  const auto verdicts = judge(sound_picture());
  ASSERT_EQ(verdicts.size(), 9U);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    EXPECT_EQ(verdicts[i].promise, "P" + std::to_string(i + 1));
    EXPECT_TRUE(verdicts[i].holds) << verdicts[i].promise << ": " << verdicts[i].detail;
    EXPECT_FALSE(verdicts[i].title.empty());
    EXPECT_FALSE(verdicts[i].detail.empty());
  }
  EXPECT_TRUE(all_hold(verdicts));
}

TEST(Verdict, an_item_that_is_not_in_the_lanes_is_judged_by_its_rows_alone) {
  auto picture = sound_picture();
  picture.items[0].lanes.clear();
  EXPECT_EQ(broken(judge(picture)), "");
}

TEST(Verdict, nothing_at_all_breaks_no_promise) { EXPECT_TRUE(all_hold(judge(Picture{}))); }

struct Corruption {
  std::string what;
  std::string breaks;
  std::function<void(Picture&, ItemPicture&)> plant;
};

std::vector<Corruption> corruptions() {
  return {
      {"more orders than units, every sum in itself right", "P1",
       [](Picture&, ItemPicture& item) {
         for (std::size_t i = 0; i < 2; ++i) {
           auto& row = item.audit.stock.lanes[i].stock;
           row.sold += 60;
           row.available -= 60;
           item.lanes[i].stock = row;
         }
         item.audit.orders_sold_units += 120;
       }},
      {"one lane of the store below zero", "P1",
       [](Picture&, ItemPicture& item) {
         auto& a = item.audit.stock.lanes[0].stock;
         auto& b = item.audit.stock.lanes[1].stock;
         b.available += a.available + 1;
         a.available = -1;
         item.lanes[0].stock = a;
         item.lanes[1].stock = b;
         item.lanes[0].stock.available = -1;
       }},
      {"a unit vanished from the pool", "P2", [](Picture&, ItemPicture& item) { item.audit.stock.pool -= 1; }},
      {"a unit appeared from nowhere", "P2", [](Picture&, ItemPicture& item) { item.audit.stock.pool += 1; }},
      {"an order without its journal entry", "P2",
       [](Picture&, ItemPicture& item) { item.audit.journal_mismatch = 1; }},
      {"a lane's row that differs from its orders", "P2",
       [](Picture&, ItemPicture& item) { item.audit.lane_mismatch = 1; }},
      {"orders for a unit that no row holds", "P2",
       [](Picture&, ItemPicture& item) { item.audit.orders_held_units += 1; }},
      {"a lane with a unit more than its row", "P2",
       [](Picture&, ItemPicture& item) { item.lanes[0].stock.available += 1; }},
      {"a buyer over his limit", "P3", [](Picture&, ItemPicture& item) { item.audit.buyers_over_cap = 1; }},
      {"a buyer's count that differs from his orders", "P3",
       [](Picture&, ItemPicture& item) { item.audit.buyer_units_mismatch = 1; }},
      {"a repeat that got another ticket", "P4",
       [](Picture& picture, ItemPicture&) { picture.crowd->repeats_with_other_ticket = 1; }},
      {"a ticket given twice", "P4", [](Picture& picture, ItemPicture&) { picture.crowd->shared_tickets = 1; }},
      {"a lane's hold without an order", "P5",
       [](Picture&, ItemPicture& item) {
         item.lanes[1].stock.held += 1;
         item.lanes[1].stock.available -= 1;
       }},
      {"an acknowledged ticket that is nowhere", "P5",
       [](Picture& picture, ItemPicture&) { picture.crowd->acknowledged_without_row = 1; }},
      {"an order past its deadline", "P6", [](Picture&, ItemPicture& item) { item.audit.overdue = 1; }},
      {"a payment that has not reached its lane", "P6",
       [](Picture&, ItemPicture& item) {
         item.lanes[0].stock.held += 1;
         item.lanes[0].stock.sold -= 1;
       }},
      {"an unacknowledged release", "P6", [](Picture& picture, ItemPicture&) { picture.releases_pending = 1; }},
      {"an intent that never landed", "P6", [](Picture& picture, ItemPicture&) { picture.in_flight = 1; }},
      {"a paid order without money", "P7", [](Picture&, ItemPicture& item) { item.audit.paid_without_payment = 1; }},
      {"money without an order", "P7", [](Picture&, ItemPicture& item) { item.audit.payment_without_order = 1; }},
      {"sold out is said while lanes have units", "P8",
       [](Picture&, ItemPicture& item) { item.sold_out_while_units = true; }},
      {"a queue past its bound", "P9",
       [](Picture& picture, ItemPicture&) { picture.places[0].depth = picture.places[0].capacity + 1; }},
  };
}

TEST(Verdict, each_planted_corruption_is_found_by_exactly_the_promise_it_breaks) {
  for (const auto& corruption : corruptions()) {
    auto picture = sound_picture();
    corruption.plant(picture, picture.items[0]);
    const auto verdicts = judge(picture);
    EXPECT_EQ(broken(verdicts), corruption.breaks) << corruption.what;
    EXPECT_FALSE(all_hold(verdicts)) << corruption.what;
  }
}

TEST(Verdict, what_is_under_way_is_no_breach_until_everything_has_come_to_rest) {
  auto picture = sound_picture();
  picture.drained = false;
  picture.in_flight = 3;
  picture.releases_pending = 2;
  picture.items[0].lanes[0].stock.held += 3;  // admitted, not landed yet
  picture.items[0].lanes[0].stock.available -= 3;
  EXPECT_EQ(broken(judge(picture)), "");
  picture.drained = true;
  EXPECT_EQ(broken(judge(picture)), "P5P6");
}

TEST(Verdict, oversell_in_the_lanes_is_found_while_everything_still_moves) {
  auto picture = sound_picture();
  picture.drained = false;
  picture.items[0].lanes[0].stock.held = 81;
  EXPECT_EQ(broken(judge(picture)), "P1");
}

TEST(Verdict, P1_one_unit_too_many_is_an_oversell_in_rows_in_orders_and_in_lanes) {
  auto picture = sound_picture();
  picture.items[0].audit.stock.total = 50;  // as many as are held or sold
  EXPECT_TRUE(judge(picture).front().holds);
  picture.items[0].audit.stock.total = 49;
  const auto p1 = judge(picture).front();
  EXPECT_FALSE(p1.holds);
  EXPECT_EQ(p1.detail, "s1/phone: 10 held and 40 sold of 49 in the store (and 2 more)") << "each of the three counts";
}

TEST(Verdict, the_first_finding_is_told_and_the_rest_are_counted) {
  auto picture = sound_picture();
  picture.items[0].audit.buyers_over_cap = 2;
  picture.items[0].audit.buyer_units_mismatch = 1;
  const auto verdicts = judge(picture);
  EXPECT_EQ(verdicts[2].detail, "s1/phone: 2 buyers have more than their limit (and 1 more)");
}

TEST(Verdict, sold_out_with_an_empty_item_is_the_truth) {
  auto picture = sound_picture();
  auto& item = picture.items[0];
  for (std::size_t i = 0; i < 2; ++i) {
    auto& row = item.audit.stock.lanes[i].stock;
    row.sold += row.available;
    item.audit.orders_sold_units += row.available;
    row.available = 0;
    item.lanes[i].stock = row;
  }
  item.sold_out_while_units = true;
  EXPECT_EQ(broken(judge(picture)), "");
}

}  // namespace
}  // namespace seckill::orders
