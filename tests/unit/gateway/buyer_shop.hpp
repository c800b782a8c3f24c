// The buyer API on a whole embedded shop: real store, lanes, queue, landing, ends and reads (unit/orders/shop.hpp), a
// real server on a loopback port, and buyers who speak HTTP. The clock is the test's.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>
#include <memory>
#include <string>

#include "base/json.hpp"
#include "gateway/buyer_api.hpp"
#include "payments/demo_provider.hpp"
#include "unit/gateway/http_wire.hpp"
#include "unit/gateway/login_keys.hpp"
#include "unit/orders/shop.hpp"

namespace seckill::gateway::testing {

inline constexpr std::string_view gizmo_path = "/api/v1/sales/g1/items/gizmo";

struct Answer {
  int status = 0;
  std::string head;
  std::string body;
  boost::json::value json;  // null when the body is none

  [[nodiscard]] std::string text(std::string_view key) const {
    const auto* found = json.is_object() ? json.get_object().if_contains(key) : nullptr;
    return found != nullptr && found->is_string() ? std::string{std::string_view{found->get_string()}} : std::string{};
  }
  [[nodiscard]] std::int64_t number(std::string_view key) const {
    const auto* found = json.is_object() ? json.get_object().if_contains(key) : nullptr;
    return found != nullptr && found->is_int64() ? found->get_int64() : INT64_MIN;
  }
  [[nodiscard]] bool has(std::string_view key) const { return json.is_object() && json.get_object().contains(key); }
};

class BuyerShop {
 public:
  // Sale g1: "gizmo" (100 units, limit 2, fields receiver and remark) and "free" (price 0, 5 units); sale d1 is a
  // draft.
  explicit BuyerShop(const BuyerApiConfig& config = demo()) : config_{config} {
    make_sale("g1", true);
    make_sale("d1", false);
    shop.open();
    start();
  }
  ~BuyerShop() {
    stop();
    shop.queue().stop();
    shop.ends().stop();
    shop.reads().stop();
  }

  // As a process that ends and starts again without g1's lanes, as for a sale that is over.
  void restart_without_lanes() {
    stop();
    shop.restart();
    start();
  }

  static BuyerApiConfig demo() {
    BuyerApiConfig config;
    config.login.hs256_secret = secret;
    config.demo_mode = true;
    return config;
  }

  std::string token(std::string_view buyer) {
    return *signer->sign(*model::BuyerId::parse(buyer), shop.clock.now_utc(), std::chrono::hours{1});
  }
  std::string login(std::string_view buyer) { return "Authorization: Bearer " + token(buyer) + "\r\n"; }

  Answer send(const std::string& bytes, bool body_follows = true) {
    http::testing::Wire wire{server->port()};
    EXPECT_TRUE(wire.send(bytes));
    const auto reply = wire.reply(body_follows);
    Answer answer;
    if (!reply) return answer;
    answer.status = reply->status;
    answer.head = reply->head;
    answer.body = reply->body;
    if (auto parsed = base::parse_json(reply->body)) answer.json = std::move(*parsed);
    return answer;
  }
  Answer get(std::string_view target, const std::string& headers = {}) {
    return send(http::testing::get(target, headers));
  }
  Answer post(std::string_view target, std::string_view body, const std::string& headers = {}) {
    return send(http::testing::post(target, body, headers));
  }
  Answer buy(std::string_view buyer, std::string_view request_id, std::string_view body = "{\"quantity\":1}",
             std::string_view item = gizmo_path) {
    return post(std::string{item} + "/purchases", body,
                login(buyer) + "Idempotency-Key: " + std::string{request_id} + "\r\n");
  }
  std::int64_t available(const std::string& sku = "gizmo") {
    return shop.admission().stock({*model::SaleId::parse("g1"), *model::Sku::parse(sku)}).available;
  }

  test::Shop shop;
  std::unique_ptr<TokenSigner> signer;
  std::unique_ptr<payments::DemoProvider> provider;
  std::unique_ptr<BuyerApi> api;
  std::unique_ptr<http::Server> server;

 private:
  void start() {
    signer = std::move(*TokenSigner::make(secret));
    provider = std::make_unique<payments::DemoProvider>(shop.ends());
    const PayTicket pay = [this](const model::Ticket& ticket, const model::BuyerId& buyer, orders::EndDone done) {
      provider->pay(ticket, buyer, std::move(done));
    };
    api = std::move(*BuyerApi::make(config_, BuyerApiParts{.clock = shop.clock,
                                                           .admission = shop.admission(),
                                                           .reads = shop.reads(),
                                                           .ends = shop.ends(),
                                                           .pay = pay,
                                                           .signer = signer.get()}));
    http::ServerConfig server_config = http::testing::quick_config();
    server_config.replies = buyer_core_replies();
    server = std::make_unique<http::Server>(std::move(server_config), *api);
    const auto started = server->start();
    EXPECT_TRUE(started.has_value()) << (started ? "" : started.error().text());
  }
  void stop() {
    server->drain(std::chrono::seconds{5});
    server.reset();
  }

  void make_sale(std::string_view id, bool preload) {
    model::Sale sale;
    sale.id = *model::SaleId::parse(id);
    sale.title = "Gizmos \xE9\x99\x90\xE9\x87\x8F";
    sale.starts_at = shop.clock.now_utc() - 1'000;
    sale.ends_at = sale.starts_at + 3'600'000;
    sale.ticket_key = {9, 9, 9};
    sale.created_at = shop.clock.now_utc();
    model::SaleItem gizmo;
    gizmo.sku = *model::Sku::parse("gizmo");
    gizmo.title = "A \"gizmo\"";
    gizmo.price_minor = 9'900;
    gizmo.list_price_minor = 19'900;
    gizmo.total = 100;
    gizmo.limit = 2;
    gizmo.order_fields = {"receiver", "remark"};
    model::SaleItem free;
    free.sku = *model::Sku::parse("free");
    free.title = "Free";
    free.total = 5;
    sale.items = {gizmo, free};
    ASSERT_TRUE(model::problems_of(sale).empty()) << model::problems_of(sale).front();
    ASSERT_TRUE(shop.store().create_sale(sale, {"test", "sale.create", "{}", 1}));
    if (!preload) return;
    ASSERT_TRUE(shop.store().preload(sale.id, shop.clock.now_utc(), {"test", "sale.preload", "{}", 1}));
    const auto stored = shop.store().find_sale(sale.id);
    ASSERT_TRUE(stored);
    for (const model::SaleItem& item : stored->items) {
      ASSERT_TRUE(shop.admission().install(*stored, item, shop.store()));
    }
  }

  const BuyerApiConfig config_;
};

}  // namespace seckill::gateway::testing
