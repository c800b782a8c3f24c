// Early answers: whom a node refuses by itself while an item is sold out, paused or over (P9), and whom it never does
// (P4: a buyer with a ticket).
#include "unit/admission/remote/remote_world.hpp"

namespace seckill::admission::remote::test {
namespace {

using namespace std::chrono_literals;

std::optional<PurchaseAnswer> early(const RemoteWorld& world, const model::BuyerId& buyer, std::int64_t units = 1) {
  return world.admission->early_answer(world.item, buyer.view(), units);
}

// Two lanes of three units; all sold to buyers 0 of each lane. Somebody without a ticket goes on asking, so the flag
// has been up for rounds, and has just been told sold_out.
struct SoldOut : RemoteWorld {
  SoldOut() : RemoteWorld(6, 2) {
    EXPECT_EQ(buy(request(buyer(0), 3)).answer, PurchaseAnswer::admitted);
    EXPECT_EQ(buy(request(buyer(1), 3)).answer, PurchaseAnswer::admitted);
    keep_asking();
  }
  void keep_asking() {
    for (int i = 0; i < 15; ++i) {
      raise();
      pass(200ms);
    }
    raise();
  }
  void raise() { EXPECT_EQ(buy(request(buyer(0, 9), 1, "late")).answer, PurchaseAnswer::sold_out); }
};

TEST(RemoteEarlyAnswer, sold_out_is_told_to_whom_has_no_mark_without_asking_his_lane) {
  SoldOut world;
  const int admits = world.lanes.calls["admit"];
  EXPECT_EQ(early(world, world.buyer(0, 3)), PurchaseAnswer::sold_out);
  EXPECT_EQ(early(world, world.buyer(1, 3)), PurchaseAnswer::sold_out);
  EXPECT_EQ(world.admission->early_answer(world.item, std::nullopt, 1), std::nullopt) << "who is unknown may have one";
  EXPECT_EQ(world.lanes.calls["admit"], admits);
}

TEST(RemoteEarlyAnswer, P4_who_has_a_ticket_is_never_refused_early) {
  SoldOut world;
  for (const model::LaneIndex lane : {0U, 1U}) {
    EXPECT_EQ(early(world, world.buyer(lane)), std::nullopt);
    EXPECT_EQ(world.buy(world.request(world.buyer(lane), 3)).answer, PurchaseAnswer::replayed);
  }
}

TEST(RemoteEarlyAnswer, the_flag_falls_by_itself_and_units_that_come_back_are_sold) {
  SoldOut world;
  ASSERT_EQ(early(world, world.buyer(0, 3)), PurchaseAnswer::sold_out);
  const model::Ticket sold = *world.admission->ticket_of(world.item, world.buyer(0), *model::RequestId::parse("r1"));
  steps::release(world.lane(0), sold);
  world.pass(1'000ms);
  EXPECT_EQ(early(world, world.buyer(0, 3)), std::nullopt);
  EXPECT_EQ(world.buy(world.request(world.buyer(0, 3))).answer, PurchaseAnswer::admitted);
}

TEST(RemoteEarlyAnswer, nobody_is_refused_before_all_marks_are_known) {
  RemoteWorld world(6, 2);
  world.lanes.always("mark_holders", Fault::not_executed);
  ASSERT_EQ(world.buy(world.request(world.buyer(0), 3)).answer, PurchaseAnswer::admitted);
  ASSERT_EQ(world.buy(world.request(world.buyer(1), 3)).answer, PurchaseAnswer::admitted);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(world.buy(world.request(world.buyer(0, 9), 1, "late")).answer, PurchaseAnswer::sold_out);
    EXPECT_EQ(early(world, world.buyer(0, 3)), std::nullopt);
    world.pass(500ms);
  }
}

TEST(RemoteEarlyAnswer, P4_a_mark_made_through_another_node_is_known_before_anybody_is_refused_by_a_later_flag) {
  SoldOut world;
  const model::Ticket sold = *world.admission->ticket_of(world.item, world.buyer(0), *model::RequestId::parse("r1"));
  steps::release(world.lane(0), sold);
  // Bought on another node, which this one hears nothing of.
  const model::BuyerId other = world.buyer(0, 4);
  const auto ticket = *world.admission->ticket_of(world.item, other, *model::RequestId::parse("r1"));
  const LaneAsk ask{.buyer = other,
                    .request_id = *model::RequestId::parse("r1"),
                    .ticket = ticket,
                    .units = 3,
                    .digest = 0,
                    .fields = nullptr};
  const LaneAsk asks[] = {ask};
  ASSERT_EQ(steps::admit(world.lane(0), 1, asks, world.node.clock().now_utc()).decisions.front().decision,
            Decision::admit);
  world.pass(1'000ms);  // the flag has fallen
  for (int i = 0; i < 20; ++i) {
    world.raise();
    EXPECT_EQ(early(world, other), std::nullopt);
    world.pass(100ms);
  }
  world.raise();
  EXPECT_EQ(early(world, world.buyer(0, 3)), PurchaseAnswer::sold_out);
}

TEST(RemoteEarlyAnswer, paused_and_over_are_told_once_the_lanes_say_so_themselves) {
  RemoteWorld world;
  const model::BuyerId owner = world.buyer(0);
  const model::BuyerId stranger = world.buyer(0, 3);
  ASSERT_EQ(world.buy(world.request(owner)).answer, PurchaseAnswer::admitted);
  const auto set = [&](model::SaleState from, model::SaleState to) {
    ASSERT_TRUE(world.database.set_sale_state(world.item.sale, from, to, {}));
    world.pass(4'000ms);
  };
  set(model::SaleState::preloaded, model::SaleState::paused);
  EXPECT_EQ(early(world, stranger), PurchaseAnswer::paused);
  EXPECT_EQ(early(world, owner), std::nullopt);
  set(model::SaleState::paused, model::SaleState::preloaded);
  EXPECT_EQ(early(world, stranger), std::nullopt);
  ASSERT_EQ(world.buy(world.request(stranger)).answer, PurchaseAnswer::admitted);
  set(model::SaleState::preloaded, model::SaleState::closed);
  EXPECT_EQ(early(world, stranger), std::nullopt) << "he has bought since";
  EXPECT_EQ(early(world, owner), std::nullopt);
  EXPECT_EQ(early(world, world.buyer(1, 5)), PurchaseAnswer::ended);
}

TEST(RemoteEarlyAnswer, P4_after_a_rebuild_nobody_is_refused_until_the_new_marks_are_known) {
  SoldOut world;
  ASSERT_EQ(early(world, world.buyer(0, 3)), PurchaseAnswer::sold_out);
  world.lanes.always("mark_holders", Fault::not_executed);
  world.rebuild(0);
  world.pass(1'100ms);
  // Nothing has landed here, so the new lane begins with its units and without marks.
  ASSERT_EQ(world.buy(world.request(world.buyer(0), 3, "again")).answer, PurchaseAnswer::admitted);
  world.keep_asking();
  EXPECT_EQ(early(world, world.buyer(0, 3)), std::nullopt);
  world.lanes.always("mark_holders", Fault::none);
  world.keep_asking();
  EXPECT_EQ(early(world, world.buyer(0, 3)), PurchaseAnswer::sold_out);
  EXPECT_EQ(early(world, world.buyer(0)), std::nullopt);
}

}  // namespace
}  // namespace seckill::admission::remote::test
