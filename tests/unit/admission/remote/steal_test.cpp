// Stealing and sold_out over remote lanes (DESIGN §4.3, P8).
#include "unit/admission/remote/remote_world.hpp"

namespace seckill::admission::remote::test {
namespace {

// Both lanes have 8 units; lane 0 is bought empty.
void empty_lane(RemoteWorld& world, model::LaneIndex lane, std::int64_t leave = 0) {
  for (int nth = 10; world.stock(lane).available > leave; ++nth) {
    const std::int64_t units = std::min<std::int64_t>(3, world.stock(lane).available - leave);
    ASSERT_EQ(world.buy(world.request(world.buyer(lane, nth), units)).answer, PurchaseAnswer::admitted);
  }
}

TEST(RemoteSteal, P8_a_short_lane_takes_half_of_the_richest_and_the_buyer_is_admitted) {
  RemoteWorld world;
  empty_lane(world, 0);
  EXPECT_EQ(world.buy(world.request(world.buyer(0), 1)).answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.stock(1).available, 4);
  EXPECT_EQ(world.stock(0).available, 3);
  EXPECT_EQ(world.row_of(1).row.stock.available, 4) << "the store's row moved first";
  EXPECT_EQ(world.transfer_rows(), (std::vector{store::TransferState::closed}));
  EXPECT_EQ(world.open_records(), 0U);
  EXPECT_EQ(world.units_in_lanes(), 16) << "P2";
}

TEST(RemoteSteal, units_come_from_several_lanes_when_one_has_too_few) {
  RemoteWorld world{32, 4};
  empty_lane(world, 0);
  for (const model::LaneIndex lane : {1U, 2U, 3U}) empty_lane(world, lane, 1);
  EXPECT_EQ(world.buy(world.request(world.buyer(0), 3)).answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.units_in_lanes(), 32);
  EXPECT_EQ(world.transfer_rows().size(), 3U);
}

TEST(RemoteSteal, P8_sold_out_is_said_by_two_equal_readings_of_all_lanes_and_leased_for_a_second) {
  RemoteWorld world;
  empty_lane(world, 0);
  empty_lane(world, 1);
  world.pass(5s);
  const int before = world.lanes.calls["read"];
  const auto told = world.ask(world.request(world.buyer(0)));
  world.kernel.run_until([&] { return told->reply.has_value(); }, 1s);
  EXPECT_TRUE(told->is(PurchaseAnswer::sold_out));
  EXPECT_EQ(world.lanes.calls["read"] - before, 4) << "two readings of two lanes";
  const int leased = world.lanes.calls["read"];
  EXPECT_EQ(world.buy(world.request(world.buyer(1, 5))).answer, PurchaseAnswer::sold_out);
  EXPECT_EQ(world.lanes.calls["read"], leased) << "by the lease";
  // A unit that came back is sold at once in its lane, and elsewhere when the lease is over.
  const model::Ticket ended = world.lane(1).buyers.begin()->first;
  ASSERT_EQ(steps::release(world.lane(1), ended), LaneCode::done);
  world.pass(1s);
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::admitted);
}

TEST(RemoteSteal, P8_what_is_too_few_for_one_is_enough_for_another) {
  RemoteWorld world;
  empty_lane(world, 0);
  empty_lane(world, 1, 1);
  EXPECT_EQ(world.buy(world.request(world.buyer(0), 2)).answer, PurchaseAnswer::sold_out);
  EXPECT_EQ(world.buy(world.request(world.buyer(0, 1), 1)).answer, PurchaseAnswer::admitted);
}

TEST(RemoteSteal, P8_a_unit_that_comes_back_between_two_readings_is_not_sold_out) {
  RemoteWorld world;
  empty_lane(world, 0);
  empty_lane(world, 1);
  world.pass(5s);
  const model::Ticket ended = world.lane(1).buyers.begin()->first;
  int reads = 0;
  // Lane 1 has been read empty; then its unit comes back and goes again before it is read a second time.
  world.lanes.before = [&](const std::string& method, const LaneKey& key) {
    if (method != "read" || key.lane != 1 || ++reads != 2) return;
    ASSERT_EQ(steps::release(world.lane(1), ended), LaneCode::done);
  };
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.units_in_lanes(), 16);
}

TEST(RemoteSteal, P8_an_equal_count_of_units_at_another_epoch_is_not_the_same_reading) {
  Config config;
  config.steal_readings_max = 2;
  RemoteWorld world{16, 2, config};
  empty_lane(world, 0);
  empty_lane(world, 1);
  world.pass(5s);
  world.lanes.before = [&](const std::string& method, const LaneKey& key) {
    if (method == "read" && key.lane == 1) ++world.lane(1).epoch;  // a unit came and went
  };
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::busy);
}

TEST(RemoteSteal, P8_units_in_transit_are_not_sold_out) {
  RemoteWorld world;
  empty_lane(world, 0);
  empty_lane(world, 1, 2);
  const LaneTransferRecord record{.id = "other", .debit = true, .units = 2, .other = 0, .other_generation = 1, .at = 0};
  ASSERT_EQ(steps::debit(world.lane(1), 1, record, world.kernel.utc()).units, 2);
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::busy);
}

TEST(RemoteSteal, P8_a_lane_that_is_closed_unknown_or_of_another_generation_is_not_sold_out) {
  for (int what = 0; what < 4; ++what) {
    RemoteWorld world;
    empty_lane(world, 0);
    empty_lane(world, 1);
    world.pass(1s);
    if (what == 0) world.lane(1).phase = steps::LanePhase::closed;
    if (what == 1) world.lanes.always("read", Fault::not_executed);
    if (what == 2) world.lane(1).generation = 2;
    if (what == 3) world.lanes.lanes.erase({world.item, 1});
    EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::busy) << what;
  }
}

TEST(RemoteSteal, without_the_store_there_are_no_steals_and_the_answer_is_busy) {
  RemoteWorld world;
  empty_lane(world, 0);
  world.pass(900ms);
  world.faults.down = true;
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::busy);
  EXPECT_TRUE(world.transfer_rows().empty());
  world.faults.down = false;
  world.pass(12s);
  EXPECT_EQ(world.open_records(), 0U) << "what had left its lane came back";
  EXPECT_EQ(world.units_in_lanes(), 16);
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::admitted);
}

TEST(RemoteSteal, P9_callers_wait_50_ms_at_most_and_at_most_so_many) {
  Config config;
  config.steal_waiters_max = 2;
  RemoteWorld world{16, 2, config};
  empty_lane(world, 0);
  world.pass(100ms);
  world.lanes.always("read", Fault::held);
  std::vector<std::shared_ptr<Told>> told;
  for (int i = 0; i < 3; ++i) told.push_back(world.ask(world.request(world.buyer(0, i))));
  EXPECT_TRUE(told[2]->is(PurchaseAnswer::busy)) << "the third at once";
  EXPECT_FALSE(told[0]->reply);
  world.pass(49ms);
  EXPECT_FALSE(told[0]->reply);
  world.pass(1ms + Alarms::tick);
  ASSERT_TRUE(told[0]->is(PurchaseAnswer::busy));
  EXPECT_FALSE(told[0]->reply->ticket) << "nothing was taken";
  world.lanes.always("read", Fault::none);
  world.lanes.let_go();
  world.pass(100ms);
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::admitted);
}

TEST(RemoteSteal, one_steal_serves_all_who_wait) {
  RemoteWorld world;
  empty_lane(world, 0);
  std::vector<std::shared_ptr<Told>> told;
  for (int i = 0; i < 4; ++i) told.push_back(world.ask(world.request(world.buyer(0, i))));
  world.pass(100ms);
  for (const auto& one : told) EXPECT_TRUE(one->is(PurchaseAnswer::admitted));
  EXPECT_EQ(world.transfer_rows().size(), 1U);
}

}  // namespace
}  // namespace seckill::admission::remote::test
