// The admin API over HTTP against the whole embedded shop: token, routes, problems, audit, reports.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/ops/admin_shop.hpp"

namespace seckill::ops::testing {
namespace {

TEST(AdminApi, WithoutTheTokenNothingBelowAdminIsToldNotEvenWhichPathsExist) {
  AdminShop shop;
  for (const char* path : {"/admin/v1/sales", "/admin/v1/sales/s1", "/admin/v1/nope", "/admin"}) {
    for (const std::string_view token : {std::string_view{}, std::string_view{"wrong"}, operator_token.substr(1)}) {
      const Answer answer = shop.call("GET", path, {}, token);
      EXPECT_EQ(answer.status, 401) << path;
      EXPECT_EQ(answer.content_type, "application/problem+json");
    }
  }
  EXPECT_EQ(shop.call("GET", "/admin/v1/nope").status, 404);
  EXPECT_EQ(shop.call("DELETE", "/admin/v1/sales/s1").status, 405);
  EXPECT_EQ(shop.call("GET", "/nope", {}, "").status, 404);
}

TEST(AdminApi, ProbesNeedNoTokenAndReadinessTellsWhy) {
  AdminShop shop;
  EXPECT_EQ(shop.call("GET", "/livez", {}, "").status, 200);
  EXPECT_EQ(shop.call("GET", "/readyz", {}, "").body, R"({"ready":true})");
  shop.readiness.block("stopping");
  const Answer answer = shop.call("GET", "/readyz", {}, "");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, R"({"ready":false,"why":["stopping"]})");
}

TEST(AdminApi, ProblemsAreListedTogether) {
  AdminShop shop;
  const Answer answer = shop.call("POST", "/admin/v1/sales", R"({"id":"x y","title":"t","starts_at":"noon"})");
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.number("status"), 422);
  EXPECT_GE(answer.json.at("problems").as_array().size(), 4u);
  EXPECT_EQ(shop.call("GET", "/admin/v1/sales/x").status, 404);
}

TEST(AdminApi, FS_53_ASkuTwiceOrAnIdTwiceIsRefused) {
  AdminShop shop;
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales", shop.sale_json("a")).status, 201);
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales", shop.sale_json("a")).status, 409);
  std::string twice = shop.sale_json("b");
  twice.insert(twice.size() - 2, R"(,{"sku":"tea","title":"x","price_minor":1,"total":1})");
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales", twice).status, 422);
}

TEST(AdminApi, EveryChangeHasItsAuditRowAndRepeatsHaveNone) {
  AdminShop shop;
  shop.make_sale("a");
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales/a/preload").status, 200);
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales/a/pause").status, 200);
  EXPECT_EQ(shop.call("POST", "/admin/v1/sales/a/pause").status, 200);
  const Answer log = shop.call("GET", "/admin/v1/audit?limit=3");
  ASSERT_EQ(log.status, 200);
  std::vector<std::string> actions;
  for (const auto& entry : log.json.at("entries").as_array()) {
    actions.emplace_back(std::string_view{entry.as_object().at("action").as_string()});
    EXPECT_EQ(entry.as_object().at("detail").as_object().at("sale").as_string(), "a");
  }
  EXPECT_EQ(actions, (std::vector<std::string>{"sale.pause", "sale.preload", "sale.create"}));
  const std::string before = fmt::format("/admin/v1/audit?limit=1&before={}",
                                         log.json.at("entries").as_array().at(1).as_object().at("id").as_int64());
  EXPECT_EQ(shop.call("GET", before).json.at("entries").as_array().at(0).as_object().at("action").as_string(),
            "sale.create");
}

TEST(AdminApi, OrdersAreFoundByTicketBuyerAndState) {
  AdminShop shop;
  shop.make_sale("a");
  const auto reply = shop.buy("a", "张三");
  ASSERT_EQ(reply.answer, model::PurchaseAnswer::admitted);
  const std::string ticket = reply.ticket->ticket.str();
  const Answer order = shop.call("GET", "/admin/v1/orders/" + ticket);
  EXPECT_EQ(order.text("buyer"), "张三");
  EXPECT_EQ(order.text("state"), "awaiting_payment");
  EXPECT_EQ(shop.call("GET", "/admin/v1/orders/00000000000000000000000001").status, 404);
  EXPECT_EQ(shop.call("GET", "/admin/v1/orders/zz").status, 404);
  const auto count = [&](const std::string& query) {
    const Answer page = shop.call("GET", "/admin/v1/orders?" + query);
    EXPECT_EQ(page.status, 200) << page.body;
    return page.json.at("orders").as_array().size();
  };
  EXPECT_EQ(count("sale=a&buyer=%E5%BC%A0%E4%B8%89&state=awaiting_payment"), 1u);
  EXPECT_EQ(count("sale=a&state=paid"), 0u);
  EXPECT_EQ(shop.call("GET", "/admin/v1/orders?state=happy").status, 422);
}

TEST(AdminApi, VerdictAndFunnelTellTheSameStory) {
  AdminShop shop;
  shop.make_sale("a");
  const auto paid = shop.buy("a", "b1");
  ASSERT_EQ(shop.buy("a", "b2").answer, model::PurchaseAnswer::admitted);
  ASSERT_EQ(shop.shop.end(paid.ticket->ticket, model::OrderEvent::pay), store::EndResult::done);
  shop.shop.settle();
  const Answer verdict = shop.call("GET", "/admin/v1/sales/a/verdict");
  EXPECT_TRUE(verdict.json.at("drained").as_bool()) << verdict.body;
  EXPECT_TRUE(verdict.json.at("holds").as_bool()) << verdict.body;
  EXPECT_EQ(verdict.json.at("promises").as_array().size(), 9u);
  EXPECT_EQ(verdict.json.at("counts").as_object().at("sold").as_int64(), 1);
  EXPECT_EQ(verdict.json.at("counts").as_object().at("held").as_int64(), 1);
  const Answer funnel = shop.call("GET", "/admin/v1/sales/a/funnel");
  const auto& stages = funnel.json.at("stages").as_array();
  ASSERT_EQ(stages.size(), 7u);
  EXPECT_EQ(stages.at(5).as_object().at("count").as_int64(), 2) << "ordered";
  EXPECT_EQ(stages.at(6).as_object().at("count").as_int64(), 1) << "paid";
  EXPECT_EQ(shop.call("GET", "/admin/v1/sales/none/funnel").status, 404);
}

TEST(AdminApi, MetricsNameWhatIsCountedButNoBuyer) {
  AdminShop shop;
  shop.make_sale("a");
  ASSERT_EQ(shop.buy("a", "secret-buyer").answer, model::PurchaseAnswer::admitted);
  const Answer metrics = shop.call("GET", "/metrics", {}, "");
  EXPECT_EQ(metrics.status, 200);
  for (const char* line :
       {"seckill_landing_orders_total 1", R"(seckill_lane_units{sale="a",sku="tea",state="held"} 1)",
        R"(seckill_funnel_total{sale="a",stage="admitted"} 0)", R"(seckill_build_info{version="test"} 1)",
        "seckill_queue_depth 0", "seckill_deadline_lag_seconds 0"}) {
    EXPECT_NE(metrics.body.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(metrics.body.find("secret-buyer"), std::string::npos);
}

TEST(AdminApi, ABackupIsANewFileOnTheServersMachine) {
  AdminShop shop;
  const test::TempFolder folder;
  const std::string body = fmt::format(R"({{"path":"{}/copy.db"}})", folder.path());
  EXPECT_EQ(shop.call("POST", "/admin/v1/backup", body).status, 200);
  EXPECT_EQ(shop.call("POST", "/admin/v1/backup", body).status, 409);
  EXPECT_EQ(shop.call("POST", "/admin/v1/backup", R"({"path":"copy.db"})").status, 422);
  EXPECT_EQ(shop.call("POST", "/admin/v1/backup", "{}").status, 422);
}

TEST(AdminApi, AStoreThatCannotBeAskedIs503NotNotFound) {
  AdminShop shop;
  shop.make_sale("a");
  shop.shop.store().fail("audit_item", base::Errc::unavailable, 1'000'000);
  EXPECT_EQ(shop.call("GET", "/admin/v1/sales/a/verdict").status, 503);
  shop.shop.store().heal();
  EXPECT_EQ(shop.call("GET", "/admin/v1/sales/a/verdict").status, 200);
}

}  // namespace
}  // namespace seckill::ops::testing
