// The identities of the store's own rows: a healthy picture is silent, each planted corruption yields exactly its kind,
// at its place.
#include "reconcile/identities.hpp"

#include <array>
#include <set>

#include "unit/reconcile/item_picture.hpp"

namespace seckill::reconcile {
namespace {

using model::OrderState;

TEST_F(Identities, a_healthy_picture_is_silent) { expect_silence(); }

TEST_F(Identities, an_empty_picture_is_silent) {
  picture = {};
  expect_silence();
}

// --- sums ---

TEST_F(Identities, P1_more_held_and_sold_than_there_are_is_oversell) {
  // Every other sum still fits: only the row went below zero.
  add(0, "gina", 5, OrderState::awaiting_payment);
  for (int i = 0; i < 3; ++i) add(0, "buyer" + std::to_string(i), 5, OrderState::awaiting_payment);
  expect(DifferenceKind::oversell, no_lane, 24, 27);
}

TEST_F(Identities, P2_units_that_came_from_nowhere_or_went_are_a_store_sum) {
  picture.store.pool += 1;
  expect(DifferenceKind::store_sum, no_lane, 24, 25);
  picture.store.pool -= 2;
  expect(DifferenceKind::store_sum, no_lane, 24, 23);
}

TEST_F(Identities, a_stock_row_that_holds_what_no_order_does_is_a_lane_row_sum) {
  row(0).stock.held += 1;
  row(0).stock.available -= 1;
  picture.lanes[0].open = false;
  expect(DifferenceKind::lane_row_sum, 0, 5, 6);
}

TEST_F(Identities, P2_a_lane_with_other_units_than_its_row_is_a_lane_sum) {
  picture.lanes[1].stock.available -= 1;
  expect(DifferenceKind::lane_sum, 1, 10, 9);
}

TEST_F(Identities, a_lane_that_holds_what_no_mark_does_is_lane_marks) {
  picture.lanes[0].stock.available -= 1;
  picture.lanes[0].stock.held += 1;
  expect(DifferenceKind::lane_marks, 0, 5, 6);
}

TEST_F(Identities, a_lane_that_could_sell_what_its_row_has_not_is_lane_over_store) {
  // A release that the store never heard of: the lane's own sums fit, its row's too.
  mark(waiting).state = MarkUnits::ended;
  picture.lanes[0].stock.held -= 2;
  picture.lanes[0].stock.available += 2;
  order(waiting).landed_at = now;  // so that the missing mark is not old enough to be told as well
  expect(DifferenceKind::lane_over_store, 0, 5, 7);
}

// --- journal ---

TEST_F(Identities, P6_an_order_without_its_hold_or_with_two_is_journal_hold) {
  auto& journal = picture.store.journal;
  const auto hold = std::ranges::find(journal, waiting, &JournalEntry::ticket);
  journal.push_back(*hold);
  expect(DifferenceKind::journal_hold, 0, 1, 2);
  std::erase_if(journal, [&](const JournalEntry& e) { return e.ticket == waiting; });
  expect(DifferenceKind::journal_hold, 0, 1, 0);
}

TEST_F(Identities, an_entry_of_other_units_is_journal_hold) {
  std::ranges::find(picture.store.journal, waiting, &JournalEntry::ticket)->units += 1;
  expect(DifferenceKind::journal_hold, 0, 1, 2);
}

TEST_F(Identities, P6_an_end_that_is_missing_twice_or_another_is_journal_end) {
  auto& journal = picture.store.journal;
  const auto end = std::ranges::find_if(
      journal, [&](const JournalEntry& e) { return e.ticket == paid && e.effect == JournalEffect::post; });
  end->effect = JournalEffect::void_;
  expect(DifferenceKind::journal_end, 0, 1, 2);
  end->effect = JournalEffect::post;
  journal.push_back(*end);
  expect(DifferenceKind::journal_end, 0, 1, 2);
  std::erase_if(journal, [&](const JournalEntry& e) { return e.ticket == paid && e.effect == JournalEffect::post; });
  expect(DifferenceKind::journal_end, 0, 1, 0);
}

TEST_F(Identities, an_entry_of_no_order_is_journal_without_order) {
  picture.store.journal.push_back({.ticket = ticket_of(1, 77), .lane = 1, .units = 4});
  expect(DifferenceKind::journal_without_order, 1, 0, 4);
}

// --- buyers, releases, payments ---

TEST_F(Identities, P3_units_that_are_not_those_of_the_live_orders_are_buyer_units) {
  picture.store.buyers[0].units += 1;
  expect(DifferenceKind::buyer_units, no_lane, 3, 4);
  EXPECT_EQ(the_only().buyer, buyer("alice"));
  picture.store.buyers.erase(picture.store.buyers.begin());
  expect(DifferenceKind::buyer_units, no_lane, 3, 0);
}

TEST_F(Identities, P3_units_over_the_cap_are_buyer_over_cap) {
  picture.store.buyers[0].cap = 2;
  expect(DifferenceKind::buyer_over_cap, no_lane, 2, 3);
}

TEST_F(Identities, a_release_waits_only_for_an_ended_order_and_a_post_only_for_a_sold_one) {
  const auto pending = [&](const model::Ticket& ticket, model::StockEffect effect) {
    picture.store.releases = {{.id = 1, .ticket = ticket, .item = picture.item, .effect = effect}};
  };
  pending(cancelled, model::StockEffect::void_);
  expect_silence();
  pending(paid, model::StockEffect::post);
  expect_silence();
  pending(waiting, model::StockEffect::void_);
  expect(DifferenceKind::release_without_end, 0, 0, 2);
  pending(cancelled, model::StockEffect::post);
  expect(DifferenceKind::release_without_end, 1, 0, 2);
}

TEST_F(Identities, P7_a_sold_order_without_its_payment_is_found) {
  std::erase_if(picture.store.payments, [&](const Payment& p) { return p.ticket == paid; });
  expect(DifferenceKind::paid_without_payment, 0, 100, 0);
}

TEST_F(Identities, P7_a_payment_without_its_order_needs_a_refund) {
  payment(paid).ticket = ticket_of(0, 88);
  picture.store.payments.push_back(a_payment("again", paid, 100));
  expect(DifferenceKind::payment_without_order, no_lane, 0, 100);
  payment(ticket_of(0, 88)).refunded = true;
  expect_silence();
}

TEST_F(Identities, P7_a_payment_of_a_cancelled_order_needs_a_refund) {
  picture.store.payments.push_back(a_payment("late", cancelled, 200));
  expect(DifferenceKind::payment_without_order, 1, 0, 200);
  picture.store.payments.back().refunded = true;
  expect_silence();
}

TEST_F(Identities, P7_a_free_order_has_no_payment) {
  picture.store.payments.push_back(a_payment("x", free, 1));
  expect(DifferenceKind::payment_of_free_order, 0, 0, 1);
}

TEST_F(Identities, P7_a_payment_is_of_its_orders_amount_and_currency) {
  payment(paid).amount_minor = 99;
  expect(DifferenceKind::payment_amount, 0, 100, 99);
  payment(paid).amount_minor = 100;
  payment(paid).currency = model::Currency::parse("EUR").value();
  expect(DifferenceKind::payment_amount, 0, 100, 100);
}

TEST(DifferenceKinds, every_kind_has_a_name_of_its_own_and_only_three_repairs_run_by_themselves) {
  std::set<std::string_view> names;
  std::array<int, 4> repairs{};
  for (std::uint8_t number = 0; number <= static_cast<std::uint8_t>(DifferenceKind::payment_amount); ++number) {
    const auto kind = static_cast<DifferenceKind>(number);
    EXPECT_TRUE(names.insert(name(kind)).second) << name(kind);
    EXPECT_NE(name(kind), "unknown");
    ++repairs[static_cast<std::size_t>(repair_of(kind))];
  }
  EXPECT_EQ(repairs, (std::array{1, 2, 5, 13}));
  EXPECT_EQ(repair_of(DifferenceKind::oversell), Repair::person);
  for (const Repair repair : {Repair::republish, Repair::resend_release, Repair::rebuild_lane, Repair::person}) {
    EXPECT_NE(name(repair), "unknown");
  }
}

}  // namespace
}  // namespace seckill::reconcile
