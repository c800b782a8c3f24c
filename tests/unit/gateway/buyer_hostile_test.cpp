// What a hostile or broken client gets, over HTTP against the whole embedded shop: nothing, politely.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "unit/gateway/buyer_shop.hpp"

namespace seckill::gateway::testing {
namespace {

TEST(BuyerApi, FS_15_IdentityComesFromTheTokenAlone) {
  BuyerShop shop;
  const std::string as_bob = "X-User: bob\r\nCookie: user=bob; sub=bob\r\nX-Forwarded-User: bob\r\n";
  const std::string key = "Idempotency-Key: r1\r\n";
  const Answer bought = shop.post(std::string{gizmo_path} + "/purchases?userId=bob&buyer=bob&sub=bob",
                                  "{\"quantity\":1}", shop.login("alice") + as_bob + key);
  ASSERT_EQ(bought.status, 202);
  EXPECT_EQ(shop.buy("alice", "r2", R"({"quantity":1,"userId":"bob"})").status, 400);
  EXPECT_EQ(shop.buy("alice", "r2", R"({"quantity":1,"buyer":"bob"})").status, 400);
  EXPECT_EQ(shop.get("/api/v1/orders?buyer=bob", shop.login("alice") + as_bob).json.at("orders").as_array().size(), 1U);
  EXPECT_EQ(shop.get("/api/v1/orders", shop.login("bob")).json.at("orders").as_array().size(), 0U);
  EXPECT_EQ(shop.available(), 99);
  const Answer two =
      shop.send("POST " + std::string{gizmo_path} + "/purchases HTTP/1.1\r\nHost: a\r\nContent-Length: 14\r\n" +
                shop.login("alice") + shop.login("bob") + "Idempotency-Key: r3\r\n\r\n{\"quantity\":1}");
  EXPECT_EQ(two.status, 400) << "two credentials are none";
}

TEST(BuyerApi, FS_15_WithoutAValidLoginNothingIsTouched) {
  BuyerShop shop;
  const std::string key = "Idempotency-Key: r1\r\n";
  const std::string expired = "Authorization: Bearer " +
                              *shop.signer->sign(*model::BuyerId::parse("alice"), shop.shop.clock.now_utc() - 7'200'000,
                                                 std::chrono::hours{1}) +
                              "\r\n";
  for (const std::string& login :
       {std::string{}, std::string{"Authorization: Bearer\r\n"}, std::string{"Authorization: Bearer a.b.c\r\n"},
        std::string{"Authorization: Basic YWxpY2U6eA==\r\n"},
        std::string{"Cookie: token=" + shop.token("alice") + "\r\n"},
        "Authorization: Bearer " + sign_raw(R"({"alg":"none"})", R"({"sub":"alice","exp":9999999999})") + "\r\n",
        expired}) {
    const Answer refused = shop.post(std::string{gizmo_path} + "/purchases", "{\"quantity\":1}", login + key);
    EXPECT_EQ(refused.status, 401) << login;
    EXPECT_EQ(refused.text("reason"), "unauthorized");
    EXPECT_NE(refused.head.find("\r\nWWW-Authenticate: Bearer\r\n"), std::string::npos);
    for (const Route& route : routes()) {
      if (!route.needs_login || route.method != http::Method::get) continue;
      std::string path{route.pattern};
      for (const auto& [hole, value] :
           {std::pair{"{sale}", "g1"}, {"{sku}", "gizmo"}, {"{ticket}", "00000000000000000000000000"}}) {
        if (const auto at = path.find(hole); at != std::string::npos)
          path.replace(at, std::string_view{hole}.size(), value);
      }
      EXPECT_EQ(shop.get(path, login).status, 401) << path;
    }
  }
  EXPECT_EQ(shop.available(), 100);
  EXPECT_EQ(shop.api->counters().of_sale("g1").stage(FunnelStage::passed_gateway), 0U);
}

TEST(BuyerApi, FS_17_HostileQuantitiesChangeNothing) {
  BuyerApiConfig config = BuyerShop::demo();
  config.buyer_bucket = {1'000, 1'000'000};
  BuyerShop shop{config};
  for (const std::string_view value : {"-1",
                                       "0",
                                       "-0",
                                       "0.1",
                                       "1.5",
                                       "1e2",
                                       "\"1\"",
                                       "\" 1\"",
                                       "true",
                                       "null",
                                       "[]",
                                       "3",
                                       "2147483647",
                                       "2147483648",
                                       "4294967297",
                                       "9223372036854775807",
                                       "18446744073709551617",
                                       "NaN",
                                       "",
                                       "1,\"quantity\":100"}) {
    const Answer refused = shop.buy("alice", "r1", "{\"quantity\":" + std::string{value} + "}");
    EXPECT_EQ(refused.status, 400) << value;
    EXPECT_EQ(refused.text("reason"), "bad_request");
    EXPECT_LE(refused.body.size(), refusal_body_bytes_max);
  }
  EXPECT_EQ(shop.buy("alice", "r1", "{}").status, 400);
  EXPECT_EQ(shop.buy("alice", "r1", "").status, 400);
  EXPECT_EQ(shop.available(), 100);
  EXPECT_EQ(shop.buy("alice", "r1").status, 202) << "refusals are not remembered";
}

TEST(BuyerApi, FS_24_AForeignOrderAndNoneReadTheSame) {
  BuyerShop shop;
  const std::string ticket = shop.buy("alice", "r1").text("ticket");
  const std::string never = "00000000000000000000000001";
  ASSERT_EQ(ticket.size(), 26U);
  const auto same = [&](const std::string& before, const std::string& after, bool posting) {
    const auto ask = [&](const std::string& which) {
      const std::string path = before + which + after;
      return posting ? shop.post(path, "", shop.login("bob")) : shop.get(path, shop.login("bob"));
    };
    const Answer foreign = ask(ticket);
    const Answer unknown = ask(never);
    const Answer malformed = ask("1");
    EXPECT_EQ(foreign.status, 404) << before;
    EXPECT_EQ(foreign.text("reason"), "no_record");
    EXPECT_EQ(foreign.body, unknown.body);
    EXPECT_EQ(foreign.status, unknown.status);
    EXPECT_EQ(malformed.body, unknown.body);
  };
  same("/api/v1/orders/", "", false);
  same("/api/v1/orders/", "/cancel", true);
  same("/api/v1/orders/", "/pay", true);
  same(std::string{gizmo_path} + "/tickets/", "", false);
  const Answer by_request = shop.get(std::string{gizmo_path} + "/purchases?request_id=r1", shop.login("bob"));
  EXPECT_EQ(by_request.text("reason"), "no_record");
  EXPECT_EQ(shop.get("/api/v1/orders/" + ticket, shop.login("alice")).text("state"), "awaiting_payment");
}

TEST(BuyerApi, FS_24_GuessingIsLimited) {
  BuyerShop shop;
  int limited = 0;
  for (int i = 0; i < 60; ++i) {
    const Answer answer = shop.get("/api/v1/orders/00000000000000000000000001", shop.login("bob"));
    if (answer.status == 429) ++limited;
  }
  EXPECT_EQ(limited, 20) << "forty at once, then ten a second";
  EXPECT_EQ(shop.buy("bob", "r1").status, 202) << "questions do not use up clicks";
}

TEST(BuyerApi, FS_36_OneRequestIdIsOnePurchase) {
  BuyerShop shop;
  const Answer first = shop.buy("alice", "r1");
  const Answer again = shop.buy("alice", "r1");
  ASSERT_EQ(first.status, 202);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.text("reason"), "replayed");
  EXPECT_EQ(again.text("ticket"), first.text("ticket"));
  const Answer other = shop.buy("alice", "r1", "{\"quantity\":2}");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(other.text("reason"), "request_conflict");
  EXPECT_EQ(shop.buy("alice", "r1", R"({"quantity":1,"fields":{"receiver":"x"}})").status, 422);
  const Answer bob = shop.buy("bob", "r1");
  EXPECT_EQ(bob.status, 202) << "request ids are a buyer's own";
  EXPECT_NE(bob.text("ticket"), first.text("ticket"));
  EXPECT_EQ(shop.available(), 98);
}

TEST(BuyerApi, FS_36_TheSameClickInParallelIsOneEffect) {
  BuyerShop shop;
  std::set<std::string> tickets;
  std::mutex mutex;
  std::vector<std::thread> clicks;
  for (int i = 0; i < 5; ++i) {
    clicks.emplace_back([&] {
      const Answer answer = shop.buy("alice", "r1");
      EXPECT_TRUE(answer.status == 202 || answer.status == 200) << answer.body;
      const std::lock_guard lock{mutex};
      tickets.insert(answer.text("ticket"));
    });
  }
  for (auto& click : clicks) click.join();
  EXPECT_EQ(tickets.size(), 1U);
  EXPECT_EQ(shop.available(), 99);
}

TEST(BuyerApi, FS_36_BadRequestIdsAreRefused) {
  BuyerApiConfig config = BuyerShop::demo();
  config.buyer_bucket = {1'000, 1'000'000};
  BuyerShop shop{config};
  for (const std::string& key :
       {std::string{}, std::string(65, 'a'), std::string{"late:x"}, std::string{"a b"}, std::string{"\xC3\xA9"},
        std::string{"a/b"}, std::string{"a,b"}, std::string(4'000, 'k')}) {
    EXPECT_EQ(shop.buy("alice", key).status, 400) << key;
  }
  EXPECT_EQ(shop.post(std::string{gizmo_path} + "/purchases", "{\"quantity\":1}", shop.login("alice")).status, 400);
  EXPECT_EQ(shop.post(std::string{gizmo_path} + "/purchases", "{\"quantity\":1}",
                      shop.login("alice") + "Idempotency-Key: a\r\nIdempotency-Key: b\r\n")
                .status,
            400);
  EXPECT_EQ(shop.available(), 100);
}

TEST(BuyerApi, FS_48_AnotherSpellingOfThePathNeverBuys) {
  BuyerShop shop;
  for (const std::string_view path :
       {"/api/v1/sales/g1/items/gizmo/purchases/", "//api/v1/sales/g1/items/gizmo/purchases",
        "/./api/v1/sales/g1/items/gizmo/purchases", "/API/v1/sales/g1/items/gizmo/purchases",
        "/%61pi/v1/sales/g1/items/gizmo/purchases", "/api/v1/sales/g1/items/gizmo/purchases;x=1",
        "/api/v1/sales/G1/items/gizmo/purchases", "/api/v1/sales/+g1/items/gizmo/purchases",
        "/api/v1/sales/g1/items/gizmo%20/purchases", "/api/v1/sales/g1/items/0gizmo/purchases",
        "/api/v1/sales/x/../g1/items/gizmo/purchases"}) {
    const Answer answer = shop.post(path, "{\"quantity\":1}", shop.login("bob") + "Idempotency-Key: r1\r\n");
    EXPECT_EQ(answer.status, 404) << path;
  }
  EXPECT_EQ(shop.available(), 100);
  const Answer queried = shop.post(std::string{gizmo_path} + "/purchases?a=1", "{\"quantity\":1}",
                                   shop.login("alice") + "Idempotency-Key: r1\r\n");
  EXPECT_EQ(queried.status, 202);
  EXPECT_EQ(shop.buy("alice", "r1").text("ticket"), queried.text("ticket")) << "a query is no other address";
}

TEST(BuyerApi, FS_31_NumbersInQueriesAndPathsAreReadStrictly) {
  BuyerApiConfig config = BuyerShop::demo();
  config.buyer_calls = {100'000, 1'000'000};
  BuyerShop shop{config};
  for (const std::string_view value :
       {"", "abc", "1a", "%2B1", "+1", "99999999999999999999", "-0", "-1", "0x10", "1.5", "01", "1e3"}) {
    for (const std::string_view key : {"before", "limit"}) {
      const Answer answer =
          shop.get("/api/v1/orders?" + std::string{key} + "=" + std::string{value}, shop.login("alice"));
      EXPECT_EQ(answer.status, 400) << key << "=" << value;
    }
  }
  EXPECT_EQ(shop.get("/api/v1/orders?limit=0", shop.login("alice")).status, 400);
  EXPECT_EQ(shop.get("/api/v1/orders?limit=101", shop.login("alice")).status, 400);
  EXPECT_EQ(shop.get("/api/v1/orders?limit=1&limit=2", shop.login("alice")).status, 400);
  EXPECT_EQ(shop.get("/api/v1/orders?sale=a%20b", shop.login("alice")).status, 400);
  EXPECT_EQ(shop.get("/api/v1/orders?limit=100&before=9223372036854775807&x=y", shop.login("alice")).status, 200);
  for (const std::string_view query :
       {"", "?request_id=", "?request_id=a%3Ab", "?request_id=a&request_id=b", "?requestid=a"}) {
    EXPECT_EQ(shop.get(std::string{gizmo_path} + "/purchases" + std::string{query}, shop.login("alice")).status, 400)
        << query;
  }
}

TEST(BuyerApi, FS_32_InvalidUtf8IsRefusedAndListsStayReadable) {
  BuyerApiConfig config = BuyerShop::demo();
  config.buyer_bucket = {1'000, 1'000'000};
  BuyerShop shop{config};
  for (const std::string_view bytes : {"\xC3\x28", "\xED\xA0\x80", "\xF0\x9F\x98", "\xFF"}) {
    const std::string text{bytes};
    EXPECT_EQ(shop.buy("alice", "r1", R"({"quantity":1,"fields":{"receiver":")" + text + "\"}}").status, 400);
    EXPECT_EQ(shop.buy("alice", text).status, 400);
    const Answer agent = shop.get("/api/v1/sales", "User-Agent: " + text + "\r\nX-Forwarded-For: " + text + "\r\n");
    EXPECT_TRUE(agent.status == 200 || agent.status == 400);
    EXPECT_TRUE(agent.json.is_object());
    EXPECT_EQ(shop.get("/api/v1/sales/" + text).status, 400);
  }
  EXPECT_EQ(
      shop.buy("alice", "r1", "{\"quantity\":1,\"fields\":{\"receiver\":\"\xF0\x9F\x98\x80\xF0\xA0\xAE\xB7\"}}").status,
      202);
  const Answer list = shop.get("/api/v1/orders", shop.login("alice"));
  ASSERT_EQ(list.status, 200);
  EXPECT_EQ(std::string_view{list.json.at("orders").at(0).at("fields").at("receiver").as_string()},
            "\xF0\x9F\x98\x80\xF0\xA0\xAE\xB7");
}

TEST(BuyerApi, FS_33_DeepBodiesAreRefusedAndTheNextRequestWorks) {
  BuyerApiConfig config = BuyerShop::demo();
  config.buyer_bucket = {1'000, 1'000'000};
  BuyerShop shop{config};
  for (const std::size_t depth : {std::size_t{100}, std::size_t{1'200}, std::size_t{10'000}}) {
    EXPECT_EQ(shop.buy("alice", "r1", std::string(depth, '[')).status, 400);
    EXPECT_EQ(shop.buy("alice", "r1", R"({"quantity":1,"x":)" + std::string(depth, '[') + "}").status, 400);
    std::string objects;
    for (std::size_t i = 0; i < depth / 5; ++i) objects += "{\"a\":";
    EXPECT_EQ(shop.buy("alice", "r1", objects).status, 400);
  }
  EXPECT_EQ(shop.buy("alice", "r1", std::string(500'000, '[')).status, 413);
  EXPECT_EQ(shop.buy("alice", "r1").status, 202);
}

TEST(BuyerApi, FS_12_NoRecordIsNeverFailedAndOneBuyersStateIsHisOwn) {
  BuyerShop shop;
  const std::string ticket = shop.buy("alice", "r1").text("ticket");
  (void)shop.post("/api/v1/orders/" + ticket + "/cancel", "", shop.login("alice"));
  const std::string of_bob = shop.buy("bob", "r1").text("ticket");
  const Answer bob = shop.get(std::string{gizmo_path} + "/tickets/" + of_bob, shop.login("bob"));
  EXPECT_EQ(bob.text("order_state"), "awaiting_payment");
  const Answer never = shop.get(std::string{gizmo_path} + "/purchases?request_id=never", shop.login("bob"));
  EXPECT_EQ(never.status, 404);
  EXPECT_EQ(never.text("reason"), "no_record");
  const Answer no_sale = shop.get("/api/v1/sales/none/items/gizmo/purchases?request_id=r1", shop.login("bob"));
  EXPECT_EQ(no_sale.status, 404);
}

TEST(BuyerApi, FS_12_AStoreThatCannotBeAskedIsUnavailableNeverNoRecord) {
  BuyerShop shop;
  const std::string ticket = shop.buy("alice", "r1").text("ticket");
  const std::string by_request = std::string{gizmo_path} + "/purchases?request_id=r1";
  const auto while_away = [&](const auto& ask) {
    shop.shop.store().fail("find_order", base::Errc::unavailable);
    const Answer answer = ask();
    EXPECT_EQ(answer.status, 503) << answer.body;
    EXPECT_NE(answer.head.find("\r\nRetry-After: "), std::string::npos);
  };
  while_away([&] { return shop.get(by_request, shop.login("alice")); });
  while_away([&] { return shop.get(std::string{gizmo_path} + "/tickets/" + ticket, shop.login("alice")); });
  shop.shop.clock.advance(std::chrono::hours{2});
  shop.restart_without_lanes();
  while_away([&] { return shop.get(by_request, shop.login("alice")); });
  while_away([&] { return shop.buy("alice", "r1"); });
  EXPECT_EQ(shop.buy("alice", "r1").text("ticket"), ticket) << "asked again, he reads what he has";
}

TEST(BuyerApi, P5_WhileTheDiskIsFullTheAnswerIsBusyWithTheTicket) {
  BuyerShop shop;
  shop.shop.store().fail("land", base::Errc::disk_full, 1'000'000);
  Answer unknown;
  std::jthread buyer{[&] { unknown = shop.buy("alice", "r1"); }};
  while (shop.shop.store().calls("land") == 0) std::this_thread::yield();
  shop.shop.clock.advance(std::chrono::seconds{5});  // past any deadline of a confirmation
  buyer.join();
  EXPECT_EQ(unknown.status, 503) << unknown.body;
  EXPECT_EQ(unknown.text("reason"), "busy");
  EXPECT_EQ(unknown.text("ticket").size(), 26U) << "unknown is not failed: he may ask what became of it";
  shop.shop.store().heal();
  shop.shop.settle();
  const Answer known = shop.buy("alice", "r1");
  EXPECT_EQ(known.status, 200) << known.body;
  EXPECT_EQ(known.text("ticket"), unknown.text("ticket"));
  EXPECT_EQ(shop.available(), 99);
}

TEST(BuyerApi, ClickingTooFastIsDelayedNotDenied) {
  BuyerShop shop;
  int admitted = 0;
  Answer last;
  for (int i = 0; i < 8; ++i) {
    last = shop.buy("alice", "r1");
    if (last.status == 202 || last.status == 200) ++admitted;
  }
  EXPECT_EQ(admitted, 5);
  EXPECT_EQ(last.status, 429);
  EXPECT_EQ(last.number("code"), -6);
  EXPECT_NE(last.head.find("\r\nRetry-After: 1\r\n"), std::string::npos);
  shop.shop.clock.advance(std::chrono::seconds{1});
  EXPECT_EQ(shop.buy("alice", "r1").status, 200) << "his ticket is still his";
}

TEST(BuyerApi, SoldOutIsToldBeforeTheLoginButNeverToABuyerWithATicket) {
  BuyerShop shop;
  const std::string path = "/api/v1/sales/g1/items/free";
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(shop.buy("winner" + std::to_string(i), "r1", "{\"quantity\":1}", path).status, 202);
  }
  EXPECT_EQ(shop.buy("late", "r1", "{\"quantity\":1}", path).text("reason"), "sold_out");
  const std::uint64_t verified = shop.api->counters().events(GatewayEvent::token_verified);
  const Answer refused = shop.buy("later", "r1", "{\"quantity\":1}", path);
  EXPECT_EQ(refused.text("reason"), "sold_out");
  EXPECT_EQ(refused.number("code"), 0);
  EXPECT_EQ(shop.api->counters().events(GatewayEvent::token_verified), verified) << "no signature was checked";
  EXPECT_EQ(shop.buy("winner0", "r1", "{\"quantity\":1}", path).status, 200);
  // A forged token in a winner's name gets past the first filter and no further.
  const std::string forged = "Authorization: Bearer " + base64url(R"({"alg":"HS256"})") + "." +
                             base64url(R"({"sub":"winner0","exp":9999999999})") + ".AAAA\r\nIdempotency-Key: r1\r\n";
  EXPECT_EQ(shop.post(path + "/purchases", "{\"quantity\":1}", forged).status, 401);
}

}  // namespace
}  // namespace seckill::gateway::testing
