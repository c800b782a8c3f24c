// Admission over remote lanes: a node gives up its watch over an item whose sale is over; the lanes themselves stay.
#include "unit/admission/remote/remote_world.hpp"

namespace seckill::admission::remote::test {
namespace {

void close_sale(RemoteWorld& world) {
  ASSERT_TRUE(world.database.set_sale_state(world.sale.id, model::SaleState::preloaded, model::SaleState::closed, {}));
  world.pass(2s);  // the copies are read each second
}

base::Status retire(RemoteWorld& world) { return world.admission->retire(world.item); }

void expect_refused(RemoteWorld& world, std::string_view why) {
  const base::Status refused = retire(world);
  ASSERT_FALSE(refused) << why;
  EXPECT_EQ(refused.error().code, base::Errc::refused) << refused.error().text();
  EXPECT_FALSE(world.admission->lanes(world.item).empty()) << why;
}

TEST(RemoteRetire, a_sale_that_runs_and_a_ticket_that_holds_keep_the_watch) {
  RemoteWorld world;
  world.pass(100ms);
  expect_refused(world, "the sale is open");
  const AdmitReply bought = world.buy(world.request(world.buyer(0)));
  ASSERT_EQ(bought.answer, PurchaseAnswer::admitted);
  close_sale(world);
  expect_refused(world, "the lane holds a unit");
  EXPECT_EQ(steps::release(world.lane(0), bought.ticket->ticket), LaneCode::done);
  EXPECT_TRUE(retire(world));
}

TEST(RemoteRetire, P5_an_intent_that_is_not_confirmed_keeps_its_sweep) {
  Config config;
  config.replicas_after = 0ms;
  RemoteWorld world{16, 2, config};
  world.broker.answers = queue::Published::refused;
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::busy);
  close_sale(world);
  expect_refused(world, "its intent stands in the stream");
}

TEST(RemoteRetire, a_lane_that_does_not_answer_or_is_closed_keeps_the_watch) {
  RemoteWorld world;
  close_sale(world);
  world.lanes.always("read", Fault::lost_request);
  const base::Status silent = retire(world);
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, base::Errc::unavailable) << silent.error().text();
  world.lanes.always("read", Fault::none);
  world.lane(1).phase = steps::LanePhase::closed;
  expect_refused(world, "a lane is not open");
}

TEST(RemoteRetire, P5_intents_of_an_older_generation_that_may_still_be_adopted_keep_the_watch) {
  RemoteWorld world;
  world.rebuild(1, store::LaneState::lane, false);
  close_sale(world);
  expect_refused(world, "an undrained lane may get a ticket yet");
  world.drain(1);
  world.pass(2s);
  EXPECT_TRUE(retire(world));
}

TEST(RemoteRetire, FS_21_afterwards_no_lane_is_asked_and_the_item_can_be_watched_again) {
  RemoteWorld world;
  close_sale(world);
  ASSERT_TRUE(retire(world));
  EXPECT_TRUE(world.admission->lanes(world.item).empty());
  EXPECT_EQ(world.admission->ticket_of(world.item, world.buyer(0), *model::RequestId::parse("r1")), std::nullopt);
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::busy);
  world.pass(2s);  // a round that had begun ends
  const int asked = world.lanes.calls["read"];
  world.pass(5s);
  EXPECT_EQ(world.lanes.calls["read"], asked);
  EXPECT_TRUE(retire(world)) << "again is harmless";
  EXPECT_TRUE(world.admission->install(world.sale, world.sale.items.front(), world.store));
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::ended);
}

}  // namespace
}  // namespace seckill::admission::remote::test
