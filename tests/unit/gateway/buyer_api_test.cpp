// What an honest buyer may count on, over HTTP against the whole embedded shop.
#include <gtest/gtest.h>

#include "unit/gateway/buyer_shop.hpp"

namespace seckill::gateway::testing {
namespace {

std::string ticket_path(const std::string& ticket) { return std::string{gizmo_path} + "/tickets/" + ticket; }

TEST(BuyerApi, SellsAnItemToABuyer) {
  BuyerShop shop;
  const Answer bought = shop.buy("alice", "r1", R"({"quantity":2,"fields":{"receiver":"Alice"}})");
  ASSERT_EQ(bought.status, 202) << bought.body;
  EXPECT_EQ(bought.number("code"), 1);
  EXPECT_EQ(bought.text("reason"), "admitted");
  EXPECT_EQ(bought.text("state"), "ordered") << "embedded: the order is landed when 202 is sent";
  EXPECT_EQ(bought.number("poll_ms"), 1'000);
  EXPECT_EQ(shop.available(), 98);

  const Answer outcome = shop.get(ticket_path(bought.text("ticket")), shop.login("alice"));
  EXPECT_EQ(outcome.status, 200);
  EXPECT_EQ(outcome.text("state"), "ordered");
  EXPECT_EQ(outcome.text("order_state"), "awaiting_payment");
  EXPECT_EQ(outcome.number("amount_minor"), 19'800);
  EXPECT_EQ(outcome.number("units"), 2);
  EXPECT_GT(outcome.number("poll_ms"), 0);
  const Answer by_request = shop.get(std::string{gizmo_path} + "/purchases?request_id=r1", shop.login("alice"));
  EXPECT_EQ(by_request.body, outcome.body);

  const Answer order = shop.get("/api/v1/orders/" + bought.text("ticket"), shop.login("alice"));
  EXPECT_EQ(order.status, 200);
  EXPECT_EQ(order.text("sale"), "g1");
  EXPECT_EQ(std::string_view{order.json.at("fields").at("receiver").as_string()}, "Alice");
  const Answer list = shop.get("/api/v1/orders?sale=g1&limit=5", shop.login("alice"));
  ASSERT_EQ(list.status, 200);
  ASSERT_EQ(list.json.at("orders").as_array().size(), 1U);
  EXPECT_EQ(list.json.at("orders").as_array()[0], order.json);
  EXPECT_EQ(list.number("next"), 0);
}

TEST(BuyerApi, PaysAndCancelsOnceEach) {
  BuyerShop shop;
  const std::string paid = shop.buy("alice", "r1").text("ticket");
  const std::string cancelled = shop.buy("bob", "r1").text("ticket");
  for (int i = 0; i < 2; ++i) {
    const Answer pay = shop.post("/api/v1/orders/" + paid + "/pay", "", shop.login("alice"));
    EXPECT_EQ(pay.status, 200) << pay.body;
    EXPECT_EQ(pay.text("state"), "paid");
    const Answer cancel = shop.post("/api/v1/orders/" + cancelled + "/cancel", "", shop.login("bob"));
    EXPECT_EQ(cancel.status, 200) << cancel.body;
    EXPECT_EQ(cancel.text("state"), "cancelled");
  }
  const Answer illegal = shop.post("/api/v1/orders/" + paid + "/cancel", "", shop.login("alice"));
  EXPECT_EQ(illegal.status, 409);
  EXPECT_EQ(illegal.text("reason"), "illegal");
  EXPECT_EQ(illegal.text("state"), "paid");
  EXPECT_EQ(shop.post("/api/v1/orders/" + cancelled + "/pay", "", shop.login("bob")).status, 409);
  const Answer final_state = shop.get(ticket_path(paid), shop.login("alice"));
  EXPECT_EQ(final_state.text("order_state"), "paid");
  EXPECT_FALSE(final_state.has("poll_ms"));
  shop.shop.settle();
  EXPECT_EQ(shop.available(), 99);
}

TEST(BuyerApi, PayAfterTheDeadlineIsTooLate) {
  BuyerShop shop;
  const std::string ticket = shop.buy("alice", "r1").text("ticket");
  shop.shop.clock.advance(std::chrono::minutes{16});
  const Answer late = shop.post("/api/v1/orders/" + ticket + "/pay", "", shop.login("alice"));
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(late.text("reason"), "too_late");
}

TEST(BuyerApi, APriceOfZeroIsPaidAtOnce) {
  BuyerShop shop;
  const std::string path = "/api/v1/sales/g1/items/free";
  const Answer bought = shop.buy("alice", "r1", "{\"quantity\":1}", path);
  ASSERT_EQ(bought.status, 202) << bought.body;
  const Answer outcome = shop.get(path + "/purchases?request_id=r1", shop.login("alice"));
  EXPECT_EQ(outcome.text("order_state"), "paid");
  EXPECT_FALSE(outcome.has("pay_before"));
}

TEST(BuyerApi, ShowsSalesItemsStockAndTime) {
  BuyerShop shop;
  const base::UtcMs now = shop.shop.clock.now_utc();
  EXPECT_EQ(shop.get("/api/v1/time").number("now_ms"), now);
  const Answer sale = shop.get("/api/v1/sales/g1");
  ASSERT_EQ(sale.status, 200);
  EXPECT_EQ(sale.number("now_ms"), now);
  EXPECT_EQ(sale.text("sale"), "g1");
  EXPECT_EQ(sale.text("phase"), "open");
  EXPECT_EQ(sale.text("state"), "preloaded");
  EXPECT_EQ(sale.text("kind"), "goods");
  EXPECT_EQ(sale.text("currency"), "CNY");
  ASSERT_EQ(sale.json.at("items").as_array().size(), 2U);
  EXPECT_EQ(std::string_view{sale.json.at("items").at(0).at("title").as_string()}, "A \"gizmo\"");
  EXPECT_EQ(sale.json.at("items").at(0).at("order_fields").as_array().size(), 2U);
  const Answer item = shop.get(gizmo_path);
  EXPECT_EQ(item.number("price_minor"), 9'900);
  EXPECT_EQ(item.number("starts_at"), sale.number("starts_at"));
  const Answer stock = shop.get(std::string{gizmo_path} + "/stock");
  EXPECT_EQ(stock.number("about"), 100);
  EXPECT_FALSE(stock.json.at("sold_out").as_bool());
  const Answer list = shop.get("/api/v1/sales");
  ASSERT_EQ(list.json.at("sales").as_array().size(), 2U) << "g1 and the shop's own s1, not the draft";
  for (const std::string_view path :
       {"/api/v1/sales/d1", "/api/v1/sales/nothing", "/api/v1/sales/g1/items/nothing",
        "/api/v1/sales/g1/items/nothing/stock", "/api/v1/sales/+g1", "/api/v1/sales/G1"}) {
    const Answer missing = shop.get(path);
    EXPECT_EQ(missing.status, 404) << path;
    EXPECT_EQ(missing.text("reason"), "not_found");
  }
}

TEST(BuyerApi, FS_42_ThePageGetsTheServersTimeWithEveryView) {
  BuyerShop shop;
  (void)shop.get("/api/v1/sales/g1");
  shop.shop.clock.advance(std::chrono::milliseconds{700});
  const Answer cached = shop.get("/api/v1/sales/g1");
  EXPECT_EQ(cached.number("now_ms"), shop.shop.clock.now_utc()) << "the view is cached, the time is not";
  EXPECT_NE(cached.head.find("\r\nCache-Control: no-store\r\n"), std::string::npos);
  shop.shop.clock.advance(std::chrono::hours{2});
  EXPECT_EQ(shop.get("/api/v1/sales/g1").text("phase"), "ended");
}

TEST(BuyerApi, FS_42_TheServerAloneDecidesTheStartAndTheEnd) {
  BuyerShop shop;
  shop.shop.clock.step_utc(std::chrono::milliseconds{-1'001});  // one millisecond before the start
  const Answer early = shop.buy("alice", "r1");
  EXPECT_EQ(early.status, 409);
  EXPECT_EQ(early.text("reason"), "not_started");
  shop.shop.clock.step_utc(std::chrono::milliseconds{1});
  EXPECT_EQ(shop.buy("alice", "r2").status, 202) << "an early click costs no quota";
  shop.shop.clock.step_utc(std::chrono::milliseconds{3'600'000 - 1});
  EXPECT_EQ(shop.buy("bob", "r1").status, 202);
  shop.shop.clock.step_utc(std::chrono::milliseconds{1});
  EXPECT_EQ(shop.buy("carol", "r1").text("reason"), "ended");
  EXPECT_EQ(shop.buy("alice", "r2").status, 200) << "P4: a buyer with a ticket gets it also after the end";
}

// Every question about a sale that is over and whose lanes are gone, however they went.
void expect_ended_sale_knows_its_buyers(void (*lose_lanes)(BuyerShop&)) {
  BuyerShop shop;
  const std::string ticket = shop.buy("alice", "r1").text("ticket");
  EXPECT_EQ(shop.shop.end(*model::Ticket::parse(ticket), model::OrderEvent::pay), store::EndResult::done);
  shop.shop.clock.advance(std::chrono::hours{2});
  lose_lanes(shop);
  const Answer again = shop.buy("alice", "r1");
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.text("ticket"), ticket);
  EXPECT_EQ(shop.buy("alice", "r1", "{\"quantity\":2}").text("reason"), "request_conflict");
  EXPECT_EQ(shop.buy("alice", "r2").text("reason"), "ended");
  EXPECT_EQ(shop.buy("bob", "r1").text("reason"), "ended");
  EXPECT_EQ(shop.get(std::string{gizmo_path} + "/purchases?request_id=r1", shop.login("alice")).text("ticket"), ticket);
  const Answer never = shop.get(std::string{gizmo_path} + "/purchases?request_id=r9", shop.login("alice"));
  EXPECT_EQ(never.text("reason"), "no_record") << "the store is whole: nobody has to ask for ever";
  EXPECT_EQ(shop.get(std::string{gizmo_path} + "/purchases?request_id=r1", shop.login("bob")).body, never.body);
  const Answer mine = shop.get("/api/v1/sales/g1/me", shop.login("alice"));
  ASSERT_EQ(mine.status, 200) << mine.body;
  EXPECT_EQ(std::string_view{mine.json.at("items").at(0).at("tickets").at(0).at("ticket").as_string()}, ticket);
  EXPECT_FALSE(mine.json.at("items").at(1).at("can_buy").as_bool());
}

TEST(BuyerApi, AnEndedSaleWithoutLanesStillKnowsItsBuyers) {
  expect_ended_sale_knows_its_buyers([](BuyerShop& shop) { shop.restart_without_lanes(); });
}

TEST(BuyerApi, P4_FS_21_AnEndedSaleThatGaveItsLanesBackStillKnowsItsBuyers) {
  expect_ended_sale_knows_its_buyers([](BuyerShop& shop) {
    for (const char* sku : {"gizmo", "free"}) {
      EXPECT_TRUE(shop.shop.admission().retire({*model::SaleId::parse("g1"), *model::Sku::parse(sku)}));
    }
  });
}

TEST(BuyerApi, AnEarlierPurchaseAboveALoweredLimitKeepsItsTicket) {
  BuyerShop shop;
  const std::string ticket = shop.buy("alice", "r1", "{\"quantity\":2}").text("ticket");
  ASSERT_FALSE(ticket.empty());
  auto sale = shop.shop.store().find_sale(*model::SaleId::parse("g1"));
  ASSERT_TRUE(sale);
  sale->items.front().limit = 1;
  ++sale->version;
  ASSERT_TRUE(shop.shop.store().update_sale(*sale, {"test", "sale.edit", "{}", 1}));
  sale = shop.shop.store().find_sale(sale->id);
  const model::SaleItem& gizmo = sale->items.front();
  ASSERT_TRUE(shop.shop.admission().configure({sale->id, gizmo.sku}, model::terms_of(*sale, gizmo)));
  shop.api->sale_changed(sale->id);

  const Answer again = shop.buy("alice", "r1", "{\"quantity\":2}");
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.text("ticket"), ticket);
  EXPECT_EQ(shop.buy("alice", "r1", "{\"quantity\":3}").text("reason"), "request_conflict");
  EXPECT_EQ(shop.buy("alice", "r2", "{\"quantity\":2}").status, 400) << "no ticket: only a request that cannot be";
  EXPECT_EQ(shop.buy("bob", "r1", "{\"quantity\":2}").status, 400);
  EXPECT_EQ(shop.available(), 98);

  shop.shop.clock.advance(std::chrono::hours{2});
  shop.restart_without_lanes();
  const Answer ended = shop.buy("alice", "r1", "{\"quantity\":2}");
  EXPECT_EQ(ended.status, 200) << ended.body;
  EXPECT_EQ(ended.text("ticket"), ticket);
}

TEST(BuyerApi, TellsABuyerWhatHeHas) {
  BuyerShop shop;
  const Answer before = shop.get("/api/v1/sales/g1/me", shop.login("alice"));
  ASSERT_EQ(before.status, 200) << before.body;
  EXPECT_EQ(before.text("buyer"), "alice");
  EXPECT_TRUE(before.json.at("items").at(0).at("can_buy").as_bool());
  const std::string ticket = shop.buy("alice", "r1", "{\"quantity\":2}").text("ticket");
  const Answer after = shop.get("/api/v1/sales/g1/me", shop.login("alice"));
  const auto& gizmo = after.json.at("items").at(0);
  EXPECT_FALSE(gizmo.at("can_buy").as_bool());
  EXPECT_EQ(gizmo.at("units").as_int64(), 2);
  EXPECT_EQ(std::string_view{gizmo.at("tickets").at(0).at("ticket").as_string()}, ticket);
  EXPECT_TRUE(after.json.at("items").at(1).at("can_buy").as_bool());
  const Answer limit = shop.buy("alice", "r2");
  EXPECT_EQ(limit.status, 409);
  EXPECT_EQ(limit.text("reason"), "limit_reached");
  EXPECT_EQ(std::string_view{limit.json.at("tickets").at(0).at("ticket").as_string()}, ticket);
}

TEST(BuyerApi, AnswersInTheBuyersLanguage) {
  BuyerShop shop;
  EXPECT_EQ(shop.get("/api/v1/nothing").text("msg"), "\xE6\xB2\xA1\xE6\x9C\x89\xE6\x89\xBE\xE5\x88\xB0");
  EXPECT_EQ(shop.get("/api/v1/nothing", "Accept-Language: en-GB,en;q=0.9\r\n").text("msg"), "Not found");
}

TEST(BuyerApi, MethodsThatARouteDoesNotHaveAreNamed) {
  BuyerShop shop;
  const Answer put =
      shop.send("PUT " + std::string{gizmo_path} + "/purchases HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.text("reason"), "method_not_allowed");
  EXPECT_NE(put.head.find("\r\nAllow: GET, HEAD, POST\r\n"), std::string::npos);
  const Answer head = shop.send("HEAD /api/v1/time HTTP/1.1\r\nHost: a\r\n\r\n", false);
  EXPECT_EQ(head.status, 200);
}

TEST(BuyerApi, DemoLoginsWorkInDemoModeAndDoNotExistOutsideIt) {
  BuyerShop shop;
  const Answer login = shop.post("/api/v1/demo/logins", R"({"buyer":"dora"})");
  ASSERT_EQ(login.status, 200);
  EXPECT_EQ(login.text("buyer"), "dora");
  EXPECT_EQ(login.number("expires_at"), shop.shop.clock.now_utc() + 12 * 3'600'000);
  const Answer mine = shop.get("/api/v1/sales/g1/me", "Authorization: Bearer " + login.text("token") + "\r\n");
  EXPECT_EQ(mine.text("buyer"), "dora");
  for (const std::string_view body :
       {"", "{}", "[]", R"({"buyer":""})", R"({"buyer":1})", R"({"buyer":"a","x":1})", R"({"buyer":"a\n"})"}) {
    EXPECT_EQ(shop.post("/api/v1/demo/logins", body).status, 400) << body;
  }
  BuyerApiConfig config = BuyerShop::demo();
  config.demo_mode = false;
  BuyerShop real{config};
  EXPECT_EQ(real.post("/api/v1/demo/logins", R"({"buyer":"dora"})").status, 404);
  const std::string ticket = real.buy("alice", "r1").text("ticket");
  EXPECT_EQ(real.post("/api/v1/orders/" + ticket + "/pay", "", real.login("alice")).text("reason"), "not_found");
}

TEST(BuyerApi, CountsTheFunnelAndTheAnswers) {
  BuyerShop shop;
  (void)shop.get("/api/v1/sales/g1");
  (void)shop.buy("alice", "r1");
  (void)shop.buy("alice", "r1");
  (void)shop.buy("bob", "r1", "{\"quantity\":9}");
  (void)shop.post(std::string{gizmo_path} + "/purchases", "{\"quantity\":1}", "Idempotency-Key: r\r\n");
  GatewayCounters& counters = shop.api->counters();
  const SaleCounters& sale = counters.of_sale("g1");
  EXPECT_EQ(sale.sale().view(), "g1");
  EXPECT_EQ(sale.stage(FunnelStage::viewed), 1U);
  EXPECT_EQ(sale.stage(FunnelStage::clicked), 4U);
  EXPECT_EQ(sale.stage(FunnelStage::passed_gateway), 2U);
  EXPECT_EQ(sale.stage(FunnelStage::admitted), 1U);
  EXPECT_EQ(sale.answers(model::PurchaseAnswer::replayed), 1U);
  EXPECT_EQ(counters.http(RouteId::purchase, 2), 2U);
  EXPECT_EQ(counters.http(RouteId::purchase, 4), 2U);
  EXPECT_EQ(shop.api->filters().rejected(Filter::login), 1U);
  std::uint64_t observed = 0;
  for (std::size_t bucket = 0; bucket <= latency_bounds_us.size(); ++bucket) {
    observed += counters.purchase_latency().bucket(bucket);
  }
  EXPECT_EQ(observed, 4U);
  EXPECT_EQ(counters.sales().size(), 2U) << "the sale, and the rest";
}

TEST(BuyerApi, ServesThePageFromTheBinary) {
  BuyerShop shop;
  const Answer page = shop.get("/?sale=g1");
  ASSERT_EQ(page.status, 200);
  EXPECT_NE(page.head.find("\r\nContent-Type: text/html; charset=utf-8\r\n"), std::string::npos);
  EXPECT_NE(page.head.find("\r\nContent-Security-Policy: default-src 'none'"), std::string::npos);
  EXPECT_NE(page.head.find("\r\nX-Content-Type-Options: nosniff\r\n"), std::string::npos);
  const std::size_t at = page.head.find("ETag: ") + 6;
  const std::string etag = page.head.substr(at, page.head.find("\r\n", at) - at);
  const Answer again = shop.get("/", "If-None-Match: \"x\", W/" + etag + "\r\n");
  EXPECT_EQ(again.status, 304);
  EXPECT_TRUE(again.body.empty());
  for (const StaticFile& file : static_files()) {
    const Answer got = shop.get(file.path);
    EXPECT_EQ(got.status, 200) << file.path;
    EXPECT_EQ(got.body, file.bytes) << file.path;
  }
  EXPECT_EQ(shop.get("/index.html").status, 404);
  EXPECT_EQ(shop.get("/assets/nothing.js").status, 404);
  EXPECT_EQ(shop.post("/assets/nothing.js", "").status, 405);
}

}  // namespace
}  // namespace seckill::gateway::testing
