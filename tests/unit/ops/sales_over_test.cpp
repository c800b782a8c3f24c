// Sales that are over give their lanes back, and nothing an operator asks afterwards is answered otherwise than after a
// restart (FS-21: what a sale leaves behind goes within a stated time).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/ops/admin_shop.hpp"

namespace seckill::ops::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr minutes pay_window{15};  // what a sale has when it says nothing

// A round runs among the changes, one after the other: when the next change is answered, it is over.
std::size_t installed_after_a_round(AdminShop& shop) {
  shop.api->give_back_lanes();
  (void)shop.call("POST", "/admin/v1/sales/none/pause");
  return shop.api->desk().installed().size();
}

model::Ticket bought(AdminShop& shop, const std::string& sale, const std::string& buyer) {
  const auto reply = shop.buy(sale, buyer);
  EXPECT_EQ(reply.answer, model::PurchaseAnswer::admitted);
  return reply.ticket ? reply.ticket->ticket : model::Ticket{};
}

TEST(SalesOver, FS_21_LanesGoWhenTheLongestWindowAndTheDelayHavePassed) {
  AdminShop shop;
  shop.make_sale("a");
  ASSERT_EQ(shop.api->desk().installed().size(), 2u) << "this sale, and the shop's own with a shorter window";
  EXPECT_EQ(shop.shop.end(bought(shop, "a", "b1"), model::OrderEvent::pay), store::EndResult::done);
  shop.shop.settle();
  shop.shop.clock.advance(hours{1} + pay_window + seconds{60});
  EXPECT_EQ(installed_after_a_round(shop), 1u) << "not a moment too early";
  shop.shop.clock.advance(milliseconds{1});
  EXPECT_EQ(installed_after_a_round(shop), 0u);
  EXPECT_TRUE(shop.call("GET", "/metrics").body.contains("seckill_items_installed 0\n"));
}

TEST(SalesOver, P6_AnOrderThatIsHeldKeepsItsLanesHoweverLate) {
  AdminShop shop;
  shop.make_sale("a");
  (void)bought(shop, "a", "b1");
  shop.shop.clock.advance(hours{48});
  EXPECT_EQ(installed_after_a_round(shop), 1u);
  shop.shop.expire_all();
  EXPECT_EQ(installed_after_a_round(shop), 0u);
}

TEST(SalesOver, WhatOperatorsReadIsWhatTheyReadAfterARestart) {
  AdminShop shop;
  shop.make_sale("a");
  for (int i = 0; i < 9; ++i) {
    const model::Ticket ticket = bought(shop, "a", fmt::format("b{}", i));
    if (i % 3 == 0) EXPECT_EQ(shop.shop.end(ticket, model::OrderEvent::pay), store::EndResult::done);
    if (i % 3 == 1) EXPECT_EQ(shop.shop.end(ticket, model::OrderEvent::cancel), store::EndResult::done);
  }
  shop.shop.clock.advance(hours{2});
  shop.shop.expire_all();
  ASSERT_EQ(installed_after_a_round(shop), 0u);
  const auto read = [&] {
    shop.shop.settle();
    return std::array{shop.call("GET", "/admin/v1/sales/a").body, shop.call("GET", "/admin/v1/sales/a/verdict").body};
  };
  const auto given_back = read();
  EXPECT_TRUE(given_back[1].contains(R"("holds":true)")) << given_back[1];
  EXPECT_TRUE(given_back[1].contains(R"("drained":true)")) << given_back[1];
  shop.restart();
  ASSERT_EQ(shop.api->desk().installed().size(), 0u);
  EXPECT_EQ(read(), given_back);
}

TEST(SalesOver, ASaleClosedBeforeItsEndGivesItsLanesBackAsLongAfterItWasClosed) {
  AdminShop shop;
  shop.make_sale("a");
  ASSERT_EQ(shop.call("POST", "/admin/v1/sales/a/close").status, 200);
  EXPECT_EQ(installed_after_a_round(shop), 2u);
  shop.shop.clock.advance(pay_window + seconds{60});
  EXPECT_EQ(installed_after_a_round(shop), 2u);
  shop.shop.clock.advance(milliseconds{1});
  EXPECT_EQ(installed_after_a_round(shop), 1u);
}

TEST(SalesOver, WhileTheStoreCannotSayLanesStay) {
  AdminShop shop;
  shop.make_sale("a");
  shop.shop.clock.advance(hours{2});
  shop.shop.store().fail("pending_releases", base::Errc::unavailable, 1'000'000);
  EXPECT_EQ(installed_after_a_round(shop), 2u);
  shop.shop.store().heal();
  EXPECT_EQ(installed_after_a_round(shop), 0u);
}

TEST(SalesOver, AnEndThatIsOwedToALaneKeepsItsLanes) {
  AdminShop shop;
  shop.make_sale("a");
  const model::Ticket ticket = bought(shop, "a", "b1");
  for (const char* method : {"acknowledge_released", "acknowledge_releases"}) {
    shop.shop.store().fail(method, base::Errc::unavailable, 1'000'000);
  }
  EXPECT_EQ(shop.shop.end(ticket, model::OrderEvent::cancel), store::EndResult::done);
  shop.shop.clock.advance(hours{2});
  EXPECT_EQ(installed_after_a_round(shop), 1u) << "the row has ended, and its release waits in the outbox";
  shop.shop.store().heal();
  shop.shop.settle();
  EXPECT_EQ(installed_after_a_round(shop), 0u);
}

TEST(SalesOver, ChangesOfASaleThatIsOverAreRefusedAndAReductionCutShortIsFinished) {
  AdminShop shop;
  shop.make_sale("a", 40);
  const std::string item = "/admin/v1/sales/a/items/tea/";
  shop.shop.store().fail("take_from_pool", base::Errc::disk_full);
  EXPECT_EQ(shop.call("POST", item + "reduce", R"({"units":5,"id":"x"})").status, 503);
  shop.shop.clock.advance(hours{2});
  ASSERT_EQ(installed_after_a_round(shop), 0u);
  const Answer finished = shop.call("POST", item + "reduce", R"({"units":5,"id":"x"})");
  EXPECT_EQ(finished.number("taken"), 5) << finished.body;
  EXPECT_EQ(finished.stock("total"), 35);
  EXPECT_EQ(finished.stock("pool"), 0);
  EXPECT_EQ(shop.call("POST", item + "top-up", R"({"units":5,"id":"t","from":"new"})").status, 409);
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales/a/preload").status, 409);
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales/a/close").text("state"), "closed");
  EXPECT_EQ(shop.api->desk().installed().size(), 0u);
}

}  // namespace
}  // namespace seckill::ops::testing
