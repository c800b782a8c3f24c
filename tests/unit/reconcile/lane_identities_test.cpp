// The identities between lanes and store: units in transit are no difference, marks and rows owe each other what they
// say.
#include "unit/reconcile/item_picture.hpp"

namespace seckill::reconcile {
namespace {

// --- units in transit ---

class IdentitiesInTransit : public Identities {
 protected:
  // Three units from lane 0 to lane 1, as far as `step`: 1 debited, 2 committed, 3 credited, 4 closed.
  void bring_to(int step) {
    const store::LaneTransfer transfer{
        .id = "t1", .item = picture.item, .from = 0, .to = 1, .units = 3, .from_generation = 3, .to_generation = 3};
    picture.lanes[0].stock.available -= 3;
    if (step < 4) picture.lanes[0].transfers.push_back({.id = "t1", .debit = true, .units = 3});
    if (step >= 2) {
      row(0).stock.available -= 3;
      row(1).stock.available += 3;
      const auto state = step < 4 ? store::TransferState::open : store::TransferState::closed;
      picture.store.transfers.push_back({.transfer = transfer, .state = state});
    }
    if (step >= 3) picture.lanes[1].stock.available += 3;
    if (step == 3) picture.lanes[1].transfers.push_back({.id = "t1", .debit = false, .units = 3});
  }
};

TEST_F(IdentitiesInTransit, P2_no_step_of_a_transfer_is_a_difference) {
  const ItemPicture before = picture;
  for (const int step : {1, 2, 3, 4}) {
    SCOPED_TRACE(step);
    picture = before;
    bring_to(step);
    expect_silence();
  }
}

TEST_F(IdentitiesInTransit, P2_an_abandoned_transfer_is_in_transit_until_it_is_given_back) {
  bring_to(1);
  picture.store.transfers.push_back({.transfer = {.id = "t1", .item = picture.item, .from = 0, .to = 1, .units = 3},
                                     .state = store::TransferState::abandoned});
  expect_silence();
  picture.lanes[0].stock.available += 3;
  picture.lanes[0].transfers[0].units = 0;
  expect_silence();
}

TEST_F(IdentitiesInTransit, P2_a_credit_that_came_twice_is_found) {
  bring_to(3);
  picture.lanes[1].stock.available += 3;
  const auto found = differences(picture);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kind, DifferenceKind::lane_sum);
  EXPECT_EQ(found[1].kind, DifferenceKind::lane_over_store);
}

TEST_F(IdentitiesInTransit, P2_a_credit_that_never_came_though_the_transfer_is_closed_is_a_lane_sum) {
  bring_to(4);
  picture.lanes[1].stock.available -= 3;
  expect(DifferenceKind::lane_sum, 1, 13, 10);
}

TEST_F(IdentitiesInTransit, P2_a_credit_before_the_commit_is_found) {
  bring_to(1);
  picture.lanes[1].stock.available += 3;
  picture.lanes[1].transfers.push_back({.id = "t1", .debit = false, .units = 3});
  const auto found = differences(picture);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kind, DifferenceKind::lane_sum);
  EXPECT_EQ(found[1].kind, DifferenceKind::lane_over_store);
}

TEST_F(IdentitiesInTransit, P2_a_memory_lanes_transfer_is_in_both_lanes_until_it_landed) {
  picture.lanes[0].stock.available -= 2;
  picture.lanes[1].stock.available += 2;
  picture.lanes[0].transfers.push_back({.id = "steal", .debit = true, .units = 2, .queued = true});
  picture.lanes[1].transfers.push_back({.id = "steal", .debit = false, .units = 2, .queued = true});
  expect_silence();
  row(1).stock.available += 2;
  row(0).stock.available -= 2;
  picture.store.transfers.push_back({.transfer = {.id = "steal", .item = picture.item, .from = 0, .to = 1, .units = 2},
                                     .state = store::TransferState::closed});
  expect_silence();
  picture.lanes[0].transfers.clear();
  picture.lanes[1].transfers.clear();
  expect_silence();
}

// --- marks and rows ---

TEST_F(Identities, P5_an_old_mark_without_a_row_is_republished_and_a_young_one_has_time) {
  picture.lanes[0].marks.push_back({.ticket = ticket_of(0, 99),
                                    .buyer = buyer("gina"),
                                    .units = 2,
                                    .state = MarkUnits::held,
                                    .published = false,
                                    .admitted_at = now - grace_ms});
  picture.lanes[0].stock.available -= 2;
  picture.lanes[0].stock.held += 2;
  expect_silence();
  picture.lanes[0].marks.back().admitted_at -= 1;
  expect(DifferenceKind::mark_without_row, 0, 2, 0);
  EXPECT_EQ(the_only().ticket, ticket_of(0, 99));
  EXPECT_EQ(the_only().buyer, buyer("gina"));
  EXPECT_EQ(repair_of(the_only().kind), Repair::republish);
}

TEST_F(Identities, a_live_row_without_its_mark_rebuilds_the_lane) {
  std::erase_if(picture.lanes[0].marks, [&](const Mark& m) { return m.ticket == waiting; });
  picture.lanes[0].stock.held -= 2;
  row(0).stock.available += 2;  // the lane gave the units to nobody
  picture.lanes[0].stock.available += 2;
  row(0).stock.available -= 2;
  picture.lanes[0].stock.available -= 2;
  picture.lanes[0].transfers.push_back({.id = "lost", .debit = true, .units = 2});
  expect(DifferenceKind::row_without_mark, 0, 2, 0);
  EXPECT_EQ(repair_of(the_only().kind), Repair::rebuild_lane);
}

TEST_F(Identities, a_mark_of_an_ended_row_is_sent_its_release_again) {
  mark(cancelled).state = MarkUnits::held;
  picture.lanes[1].stock.available -= 2;
  picture.lanes[1].stock.held += 2;
  expect(DifferenceKind::mark_of_ended_row, 1, 0, 2);
  EXPECT_EQ(repair_of(the_only().kind), Repair::resend_release);
  order(cancelled).ended_at = now;
  expect_silence();
  order(cancelled).ended_at = long_ago;
  mark(cancelled).admitted_at = now;
  expect_silence();
}

TEST_F(Identities, a_failed_row_is_an_ended_one) {
  mark(failed).state = MarkUnits::held;
  picture.lanes[1].stock.available -= 1;
  picture.lanes[1].stock.held += 1;
  expect(DifferenceKind::mark_of_ended_row, 1, 0, 1);
}

TEST_F(Identities, a_sold_row_whose_mark_is_held_is_posted_again) {
  mark(paid).state = MarkUnits::held;
  picture.lanes[0].stock.sold -= 1;
  picture.lanes[0].stock.held += 1;
  expect(DifferenceKind::mark_not_posted, 0, 1, 0);
  EXPECT_EQ(repair_of(the_only().kind), Repair::resend_release);
  order(paid).ended_at = now;
  expect_silence();
}

TEST_F(Identities, a_mark_that_was_sold_before_its_row_is_a_mismatch) {
  mark(waiting).state = MarkUnits::sold;
  picture.lanes[0].stock.held -= 2;
  picture.lanes[0].stock.sold += 2;
  expect(DifferenceKind::mark_row_mismatch, 0, 2, 2);
}

TEST_F(Identities, a_mark_of_another_buyer_is_a_mismatch) {
  mark(waiting).buyer = buyer("mallory");
  expect(DifferenceKind::mark_row_mismatch, 0, 2, 2);
}

TEST_F(Identities, a_lane_that_is_closed_or_of_another_generation_takes_no_part) {
  picture.lanes[0].marks.clear();
  picture.lanes[1].stock.available += 5;
  picture.lanes[0].open = false;
  picture.lanes[1].generation = 2;
  expect_silence();
  picture.lanes[1].generation = 3;
  picture.store.lanes[1].state = store::LaneState::closed;
  expect_silence();
  picture.store.lanes[1].state = store::LaneState::store;
  expect_silence();
}

}  // namespace
}  // namespace seckill::reconcile
