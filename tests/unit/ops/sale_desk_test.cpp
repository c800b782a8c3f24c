// Changes to sales and stock against the real store and lanes: seen at once (FS-53), never overwriting (FS-03), and
// harmless to repeat, also after a restart.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/ops/admin_shop.hpp"

namespace seckill::ops::testing {
namespace {

using Answers = model::PurchaseAnswer;

TEST(SaleDesk, FS_03_PreloadAgainAndRestartKeepWhatWasTaken) {
  AdminShop shop;
  shop.make_sale("a", 100);
  for (int i = 0; i < 40; ++i) ASSERT_EQ(shop.buy("a", fmt::format("b{}", i)).answer, Answers::admitted);
  const Answer again = shop.call("POST", "/admin/v1/sales/a/preload");
  EXPECT_EQ(again.live("available"), 60);
  shop.shop.settle();
  shop.restart();
  const Answer shown = shop.call("POST", "/admin/v1/sales/a/preload");
  EXPECT_EQ(shown.stock("available"), 60);
  EXPECT_EQ(shown.live("available"), 60);
  EXPECT_EQ(shown.live("held"), 40);
  for (int i = 0; i < 60; ++i) ASSERT_EQ(shop.buy("a", fmt::format("c{}", i)).answer, Answers::admitted);
  EXPECT_EQ(shop.buy("a", "late").answer, Answers::sold_out);
}

TEST(SaleDesk, FS_53_PauseResumeAndCloseAreSeenByTheNextPurchase) {
  AdminShop shop;
  shop.make_sale("a");
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales/a/pause").text("state"), "paused");
  EXPECT_EQ(shop.buy("a", "b1").answer, Answers::paused);
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales/a/resume").text("phase"), "open");
  EXPECT_EQ(shop.buy("a", "b1").answer, Answers::admitted);
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales/a/close").text("phase"), "ended");
  EXPECT_EQ(shop.buy("a", "b2").answer, Answers::ended);
  EXPECT_EQ(shop.buy("a", "b1").answer, Answers::replayed) << "who has a ticket is never denied";
  const Answer refused = shop.call("POST", "/admin/v1/sales/a/resume");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.text("detail"), "a closed sale stays closed");
  EXPECT_EQ(std::ranges::count(shop.changed, "a"), 5) << "created, preloaded, paused, resumed, closed: each was told";
}

TEST(SaleDesk, FS_53_AnEditBindsTheNextPurchaseAndLeavesOrdersAlone) {
  AdminShop shop;
  shop.make_sale("a");
  const auto before = shop.buy("a", "b1");
  const Answer edited =
      shop.call("PATCH", "/admin/v1/sales/a", R"({"version":2,"items":[{"sku":"tea","price_minor":500,"limit":2}]})");
  ASSERT_EQ(edited.status, 200) << edited.body;
  EXPECT_EQ(edited.number("version"), 3);
  EXPECT_EQ(shop.call("PATCH", "/admin/v1/sales/a", R"({"version":2,"title":"x"})").status, 412);
  const auto after = shop.buy("a", "b2", 2);
  ASSERT_EQ(after.answer, Answers::admitted);
  const auto price = [&](const model::Ticket& ticket) {
    return shop.call("GET", "/admin/v1/orders/" + ticket.str()).number("price_minor");
  };
  EXPECT_EQ(price(before.ticket->ticket), 100);
  EXPECT_EQ(price(after.ticket->ticket), 500);
}

TEST(SaleDesk, FS_53_ForbiddenEditsAreRefusedWithAReason) {
  AdminShop shop;
  shop.make_sale("a");
  const auto edit = [&](const std::string& fields) {
    return shop.call("PATCH", "/admin/v1/sales/a", R"({"version":2,)" + fields + "}");
  };
  const Answer start = edit(fmt::format(R"("starts_at":{})", shop.shop.clock.now_utc() + 1'000));
  EXPECT_EQ(start.status, 409);
  EXPECT_EQ(start.text("detail"), "a started sale keeps its starts_at");
  EXPECT_EQ(edit(R"("items":[{"sku":"tea","price_minor":0}])").status, 409);
  EXPECT_EQ(edit(R"("items":[{"sku":"nope","limit":2}])").status, 422);
  EXPECT_EQ(edit(R"("items":[{"sku":"tea","limit":0}])").status, 422);
  EXPECT_EQ(shop.call("GET", "/admin/v1/sales/a").number("version"), 2) << "nothing was changed";
}

TEST(SaleDesk, ASaleThatHasEndedIsNotPreloadedAndADraftIsNotPaused) {
  AdminShop shop;
  ASSERT_EQ(shop.call("POST", "/admin/v1/sales", shop.sale_json("a")).status, 201);
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales/a/pause").status, 409);
  shop.shop.clock.advance(std::chrono::hours{2});
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales/a/preload").status, 409);
}

TEST(SaleDesk, ATopUpMovesOnceHoweverOftenItIsAskedAlsoAfterARestart) {
  AdminShop shop;
  shop.make_sale("a", 80, R"(,"lanes":4)");
  const std::string path = "/admin/v1/sales/a/items/tea/top-up";
  const std::string body = R"({"units":10,"id":"t1","from":"new"})";
  const Answer first = shop.call("POST", path, body);
  EXPECT_EQ(first.number("moved"), 10) << first.body;
  EXPECT_EQ(first.stock("total"), 90);
  EXPECT_EQ(first.live("available"), 90);
  EXPECT_EQ(shop.call("POST", path, body).number("moved"), 0);
  shop.restart();
  const Answer again = shop.call("POST", path, body);
  EXPECT_EQ(again.number("moved"), 0);
  EXPECT_EQ(again.stock("available"), 90);
  EXPECT_EQ(again.live("available"), 90) << "lanes built with the transfer are not credited once more";
  EXPECT_EQ(shop.call("POST", path, R"({"units":11,"id":"t1","from":"new"})").status, 409);
  EXPECT_EQ(shop.call("POST", path, R"({"units":10,"id":"t1","from":"reserve"})").status, 409);
}

TEST(SaleDesk, ATopUpWhoseAnswerIsLostIsFinishedByAskingAgain) {
  AdminShop shop;
  shop.make_sale("a", 40);
  const std::string path = "/admin/v1/sales/a/items/tea/top-up";
  const std::string body = R"({"units":10,"id":"t1","from":"new"})";
  shop.shop.store().fail("pool_to_lanes", base::Errc::disk_full);
  EXPECT_EQ(shop.call("POST", path, body).status, 503);
  EXPECT_EQ(shop.call("GET", "/admin/v1/sales/a").stock("pool"), 10);
  shop.shop.store().lose_answer("pool_to_lanes");
  EXPECT_EQ(shop.call("POST", path, body).status, 503);
  const Answer finished = shop.call("POST", path, body);
  EXPECT_EQ(finished.stock("total"), 50) << finished.body;
  EXPECT_EQ(finished.stock("available"), 50);
  EXPECT_EQ(finished.live("available"), 50) << "the lanes get the units of a commit nobody was told about";
}

TEST(SaleDesk, AReserveIsOnSaleOnlyWhenATopUpReleasesIt) {
  AdminShop shop;
  shop.make_sale("a", 20, R"(,"reserve":12)");
  const std::string path = "/admin/v1/sales/a/items/tea/top-up";
  EXPECT_EQ(shop.call("GET", "/admin/v1/sales/a").live("available"), 8);
  const Answer released = shop.call("POST", path, R"({"units":10,"id":"r1","from":"reserve"})");
  EXPECT_EQ(released.stock("total"), 20) << released.body;
  EXPECT_EQ(released.stock("pool"), 2);
  EXPECT_EQ(released.live("available"), 18);
  EXPECT_EQ(shop.call("POST", path, R"({"units":10,"id":"r1","from":"reserve"})").number("moved"), 0);
  EXPECT_EQ(shop.call("POST", path, R"({"units":3,"id":"r2","from":"reserve"})").status, 409) << "only two are left";
}

TEST(SaleDesk, AReductionTakesFreeUnitsOnlyAndOnlyOnce) {
  AdminShop shop;
  shop.make_sale("a", 10);
  for (int i = 0; i < 7; ++i) ASSERT_EQ(shop.buy("a", fmt::format("b{}", i)).answer, Answers::admitted);
  const std::string path = "/admin/v1/sales/a/items/tea/reduce";
  const Answer taken = shop.call("POST", path, R"({"units":5,"id":"x"})");
  EXPECT_EQ(taken.number("taken"), 3) << taken.body;
  EXPECT_EQ(taken.stock("total"), 7);
  EXPECT_EQ(taken.live("available"), 0);
  const Answer again = shop.call("POST", path, R"({"units":5,"id":"x"})");
  EXPECT_EQ(again.number("taken"), 3);
  EXPECT_TRUE(again.json.at("repeated").as_bool());
  EXPECT_EQ(again.stock("total"), 7);
  EXPECT_EQ(shop.buy("a", "late").answer, Answers::sold_out);
}

TEST(SaleDesk, AReducedItemCanStillBeEdited) {
  AdminShop shop;
  shop.make_sale("a", 80, R"(,"lanes":10,"reserve":0)");
  ASSERT_EQ(shop.call("POST", "/admin/v1/sales/a/items/tea/reduce", R"({"units":75,"id":"x"})").status, 200);
  const Answer edited = shop.call("PATCH", "/admin/v1/sales/a", R"({"version":2,"items":[{"sku":"tea","limit":2}]})");
  EXPECT_EQ(edited.status, 200) << edited.body << ": ten lanes for five units are no reason to refuse a limit";
}

TEST(SaleDesk, AReductionThatStoppedHalfWayIsFinishedByAskingAgain) {
  AdminShop shop;
  shop.make_sale("a", 40);
  shop.shop.store().fail("take_from_pool", base::Errc::disk_full);
  const std::string path = "/admin/v1/sales/a/items/tea/reduce";
  EXPECT_EQ(shop.call("POST", path, R"({"units":5,"id":"x"})").status, 503);
  const Answer finished = shop.call("POST", path, R"({"units":5,"id":"x"})");
  EXPECT_EQ(finished.number("taken"), 5) << finished.body;
  EXPECT_EQ(finished.stock("total"), 35);
  EXPECT_EQ(finished.stock("pool"), 0);
  EXPECT_EQ(finished.live("available"), 35);
}

TEST(SaleDesk, P2_ATopUpThatStoppedBetweenStoreAndLanesIsFinishedAlsoAfterTheEnd) {
  AdminShop shop;
  shop.make_sale("a", 40);
  shop.shop.store().lose_answer("pool_to_lanes");
  const std::string path = "/admin/v1/sales/a/items/tea/top-up";
  EXPECT_EQ(shop.call("POST", path, R"({"units":8,"id":"t","from":"new"})").status, 503);
  shop.shop.clock.advance(std::chrono::hours{2});
  EXPECT_EQ(shop.call("POST", path, R"({"units":8,"id":"other","from":"new"})").status, 409) << "the sale has ended";
  const Answer finished = shop.call("POST", path, R"({"units":8,"id":"t","from":"new"})");
  EXPECT_EQ(finished.status, 200) << finished.body;
  EXPECT_EQ(finished.stock("total"), 48);
  EXPECT_EQ(finished.live("available"), 48);
}

TEST(SaleDesk, P2_AReductionThatARestartCutShortTakesNoUnitTwice) {
  AdminShop shop;
  shop.make_sale("a", 40);
  shop.shop.store().fail("take_from_pool", base::Errc::disk_full);
  const std::string path = "/admin/v1/sales/a/items/tea/reduce";
  EXPECT_EQ(shop.call("POST", path, R"({"units":5,"id":"x"})").status, 503);
  shop.restart();
  const Answer finished = shop.call("POST", path, R"({"units":5,"id":"x"})");
  EXPECT_EQ(finished.number("taken"), 5) << finished.body;
  EXPECT_EQ(finished.stock("total"), 35);
  EXPECT_EQ(finished.stock("pool"), 0) << "what had left the lanes before is what leaves the sale";
  EXPECT_EQ(finished.live("available"), 35);
}

TEST(SaleDesk, ADraftsStockChangesInThePool) {
  AdminShop shop;
  ASSERT_EQ(shop.call("POST", "/admin/v1/sales", shop.sale_json("a", 20)).status, 201);
  const std::string item = "/admin/v1/sales/a/items/tea/";
  EXPECT_EQ(shop.call("POST", item + "top-up", R"({"units":5,"id":"t","from":"new"})").stock("pool"), 25);
  EXPECT_EQ(shop.call("POST", item + "top-up", R"({"units":5,"id":"u","from":"reserve"})").status, 409);
  EXPECT_EQ(shop.call("POST", item + "reduce", R"({"units":50,"id":"r"})").number("taken"), 24);
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales/a/preload").live("available"), 1);
}

TEST(SaleDesk, ADraftsTopUpAskedAgainAfterPreloadLeavesTheReserveAlone) {
  AdminShop shop;
  ASSERT_EQ(shop.call("POST", "/admin/v1/sales", shop.sale_json("a", 20, R"(,"reserve":8)")).status, 201);
  const std::string item = "/admin/v1/sales/a/items/tea/";
  const std::string top_up = R"({"units":5,"id":"t","from":"new"})";
  ASSERT_EQ(shop.call("POST", item + "top-up", top_up).stock("pool"), 25);
  ASSERT_EQ(shop.call("POST", "/admin/v1/sales/a/preload").live("available"), 17);
  const Answer again = shop.call("POST", item + "top-up", top_up);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.stock("pool"), 8);
  EXPECT_EQ(again.live("available"), 17);
  EXPECT_EQ(shop.call("POST", item + "reduce", R"({"units":5,"id":"t"})").status, 409) << "an id is for one change";
}

TEST(SaleDesk, AnIdThatReleasedReserveBringsNoNewUnitsThatStayInThePool) {
  AdminShop shop;
  shop.make_sale("a", 20, R"(,"reserve":5)");
  const std::string item = "/admin/v1/sales/a/items/tea/";
  ASSERT_EQ(shop.call("POST", item + "top-up", R"({"units":5,"id":"t","from":"reserve"})").status, 200);
  EXPECT_EQ(shop.call("POST", item + "top-up", R"({"units":5,"id":"t","from":"new"})").status, 409);
  const Answer shown = shop.call("GET", "/admin/v1/sales/a");
  EXPECT_EQ(shown.stock("pool"), 0);
  EXPECT_EQ(shown.live("available"), 20);
}

TEST(SaleDesk, LanesOfSalesThatEndedLongAgoAreNotBuilt) {
  AdminShop shop;
  shop.make_sale("a");
  EXPECT_EQ(shop.api->desk().installed().size(), 2u);
  shop.shop.clock.advance(std::chrono::hours{1});
  shop.restart();
  EXPECT_EQ(shop.api->desk().installed().size(), 2u) << "holds may still be paid or expire";
  shop.shop.clock.advance(std::chrono::hours{48});
  shop.restart();
  EXPECT_TRUE(shop.api->desk().installed().empty());
}

}  // namespace
}  // namespace seckill::ops::testing
