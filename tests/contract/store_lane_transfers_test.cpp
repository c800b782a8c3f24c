// Transfers between lanes as the store decides them (DESIGN §4.3): commit or abandon, once an id, fenced by
// generations.
#include "store_lane_authority.hpp"

namespace seckill::store::contract {
namespace {

using base::Errc;
using model::StockTransfer;

class StoreLaneTransfers : public LaneAuthoritySuite {
 protected:
  std::int64_t available(const Shop& shop, model::LaneIndex lane) { return row(shop, lane).row.stock.available; }
  TransferResult commit(const LaneTransfer& transfer) { return authority().commit_transfer(transfer).value(); }
  TransferResult abandon(const LaneTransfer& transfer) { return authority().abandon_transfer(transfer).value(); }
};
SECKILL_FOR_EVERY_LANE_AUTHORITY(StoreLaneTransfers);

TEST_P(StoreLaneTransfers, a_commit_moves_units_once_an_id_and_stays_open_until_it_is_closed) {
  const Shop shop = a_shop(16);
  const auto steal = transfer(shop, "t1", 0, 1, 3);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(commit(steal), TransferResult::done);
    EXPECT_EQ(available(shop, 0), 5);
    EXPECT_EQ(available(shop, 1), 11);
  }
  const auto open = authority().open_transfers(shop.item()).value();
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].id, "t1");
  EXPECT_EQ(open[0].units, 3);
  EXPECT_EQ(open[0].to_generation, 1U);
  EXPECT_EQ(authority().transfer_state("t1").value(), TransferState::open);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(authority().close_transfer("t1").has_value());
  EXPECT_EQ(authority().transfer_state("t1").value(), TransferState::closed);
  EXPECT_TRUE(authority().open_transfers(shop.item()).value().empty());
  EXPECT_EQ(commit(steal), TransferResult::done) << "a late repetition is told what became of it";
  EXPECT_EQ(abandon(steal), TransferResult::committed);
  EXPECT_EQ(available(shop, 1), 11);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLaneTransfers, what_is_abandoned_first_never_moves) {
  const Shop shop = a_shop(16);
  const auto steal = transfer(shop, "t1", 0, 1, 3);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(abandon(steal), TransferResult::abandoned);
    EXPECT_EQ(commit(steal), TransferResult::abandoned);
  }
  ASSERT_TRUE(authority().close_transfer("t1").has_value());
  EXPECT_EQ(authority().transfer_state("t1").value(), TransferState::abandoned) << "closing makes nothing of it";
  EXPECT_EQ(available(shop, 0), 8);
  EXPECT_TRUE(authority().open_transfers(shop.item()).value().empty());
  EXPECT_FALSE(store().find_transfer("t1").value().has_value()) << "there is no such committed transfer";
  reopen();
  EXPECT_EQ(authority().commit_transfer(steal).value(), TransferResult::abandoned) << "for ever";
}

TEST_P(StoreLaneTransfers, what_is_committed_first_is_not_abandoned) {
  const Shop shop = a_shop(16);
  const auto steal = transfer(shop, "t1", 0, 1, 3);
  ASSERT_EQ(commit(steal), TransferResult::done);
  EXPECT_EQ(abandon(steal), TransferResult::committed);
  EXPECT_EQ(authority().transfer_state("t1").value(), TransferState::open);
  EXPECT_EQ(available(shop, 1), 11);
}

TEST_P(StoreLaneTransfers, an_id_that_is_unknown_has_no_state_and_closing_it_makes_none) {
  const Shop shop = a_shop(16);
  EXPECT_FALSE(authority().transfer_state("t1").value().has_value());
  ASSERT_TRUE(authority().close_transfer("t1").has_value());
  EXPECT_FALSE(authority().transfer_state("t1").value().has_value());
  EXPECT_EQ(commit(transfer(shop, "t1", 0, 1, 3)), TransferResult::done);
}

TEST_P(StoreLaneTransfers, a_commit_needs_both_generations_and_both_lanes_open) {
  const Shop shop = a_shop(24);
  ASSERT_EQ(shop.lanes(), 3U);
  const auto token = lead();
  const auto from_0 = transfer(shop, "from-0", 0, 1, 1);
  const auto to_0 = transfer(shop, "to-0", 1, 0, 1);
  const auto others = transfer(shop, "others", 1, 2, 1);
  rebuilt(shop, 0, token);
  EXPECT_EQ(commit(from_0), TransferResult::stale);
  EXPECT_EQ(commit(to_0), TransferResult::stale);
  EXPECT_EQ(commit(others), TransferResult::done);
  EXPECT_FALSE(authority().transfer_state("from-0").value().has_value()) << "nothing was written";
  EXPECT_EQ(abandon(from_0), TransferResult::abandoned) << "it may be given back in any generation";

  const auto closed_source = transfer(shop, "closed-source", 0, 1, 1);
  const auto closed_target = transfer(shop, "closed-target", 1, 0, 1);
  ASSERT_TRUE(authority().close_lane(shop.item(), 0, token).has_value());
  EXPECT_EQ(commit(closed_source), TransferResult::stale);
  EXPECT_EQ(commit(closed_target), TransferResult::stale);
  rebuilt(shop, 0, token, LaneState::store);
  EXPECT_EQ(commit(transfer(shop, "store", 1, 0, 1)), TransferResult::stale);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLaneTransfers, a_source_row_that_is_short_refuses_and_nothing_is_remembered) {
  const Shop shop = a_shop(16, 8);
  shop.ordered(shop.intent("alice", "r1", 6, 0));
  const auto steal = transfer(shop, "t1", 0, 1, 3);
  EXPECT_EQ(commit(steal), TransferResult::refused);
  EXPECT_FALSE(authority().transfer_state("t1").value().has_value());
  ASSERT_EQ(shop.end(cancel(shop.intent("alice", "r1", 6, 0).ticket)).result, EndResult::done);
  EXPECT_EQ(commit(steal), TransferResult::done);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLaneTransfers, the_pool_is_an_end_without_a_generation) {
  const Shop shop = a_shop(20, 2, [](model::SaleItem& item) { item.reserve = 4; });
  const auto pool = StockTransfer::pool;
  EXPECT_EQ(commit(transfer(shop, "top-up", pool, 0, 5)), TransferResult::refused);
  EXPECT_EQ(commit(transfer(shop, "top-up", pool, 0, 4)), TransferResult::done);
  EXPECT_EQ(available(shop, 0), 12);
  EXPECT_EQ(commit(transfer(shop, "reduce", 1, pool, 8)), TransferResult::done);
  EXPECT_EQ(shop.stock().pool, 8);
  EXPECT_EQ(authority().open_transfers(shop.item()).value().size(), 2U);
  EXPECT_EQ(store().find_transfer("reduce").value()->units, 8);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLaneTransfers, what_is_no_transfer_is_invalid_and_an_id_names_one) {
  const Shop shop = a_shop(16);
  EXPECT_EQ(authority().commit_transfer(transfer(shop, "", 0, 1, 1)).error().code, Errc::invalid);
  EXPECT_EQ(authority().commit_transfer(transfer(shop, "t", 0, 0, 1)).error().code, Errc::invalid);
  EXPECT_EQ(authority().commit_transfer(transfer(shop, "t", 0, 1, 0)).error().code, Errc::invalid);
  EXPECT_EQ(authority().abandon_transfer(transfer(shop, "t", 0, 1, -1)).error().code, Errc::invalid);
  auto no_lane = transfer(shop, "t", 0, 1, 1);
  no_lane.to = 2;
  EXPECT_EQ(authority().commit_transfer(no_lane).error().code, Errc::not_found);
  ASSERT_EQ(commit(transfer(shop, "t", 0, 1, 1)), TransferResult::done);
  EXPECT_EQ(authority().commit_transfer(transfer(shop, "t", 0, 1, 2)).error().code, Errc::already_exists);
  EXPECT_EQ(authority().abandon_transfer(transfer(shop, "t", 1, 0, 1)).error().code, Errc::already_exists);
  EXPECT_EQ(available(shop, 0), 7);
}

TEST_P(StoreLaneTransfers, a_rebuild_closes_what_was_committed_into_its_lane_and_leaves_the_rest_open) {
  const Shop shop = a_shop(24);
  ASSERT_EQ(commit(transfer(shop, "into", 0, 1, 2)), TransferResult::done);
  ASSERT_EQ(commit(transfer(shop, "out", 1, 2, 1)), TransferResult::done);
  const auto before = transfer(shop, "undecided", 0, 1, 1);
  const auto made = authority().rebuild_lane(shop.item(), 1, lead()).value();
  EXPECT_EQ(made.stock.available, 9) << "the units that came are in its row";
  EXPECT_EQ(authority().transfer_state("into").value(), TransferState::closed);
  EXPECT_EQ(authority().transfer_state("out").value(), TransferState::open) << "lane 2 still waits for its unit";
  EXPECT_EQ(commit(before), TransferResult::stale);
  EXPECT_EQ(abandon(before), TransferResult::abandoned);
  EXPECT_EQ(shop.broken(), "");
}

}  // namespace
}  // namespace seckill::store::contract
