// The admin API on a whole embedded shop: real store, lanes, queue, landing and ends (unit/orders/shop.hpp), a real
// server on a loopback port, and an operator who speaks HTTP. The clock is the test's.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>

#include "base/json.hpp"
#include "drivers/http_client.hpp"
#include "gateway/http/server.hpp"
#include "ops/admin_api.hpp"
#include "unit/orders/shop.hpp"

namespace seckill::ops::testing {

inline constexpr std::string_view operator_token = "an-operator-token-of-enough-bytes-0123456789";

struct Answer {
  int status = 0;
  std::string content_type;
  std::string body;
  boost::json::object json;  // empty when the body is no object

  [[nodiscard]] std::int64_t number(std::string_view key) const {
    const auto* found = json.if_contains(key);
    return found != nullptr && found->is_int64() ? found->get_int64() : INT64_MIN;
  }
  [[nodiscard]] std::string text(std::string_view key) const {
    const auto* found = json.if_contains(key);
    return found != nullptr && found->is_string() ? std::string{std::string_view{found->get_string()}} : std::string{};
  }
  // The first item's field of `stock`.
  [[nodiscard]] std::int64_t stock(std::string_view key) const {
    const auto& holder = json.contains("stock") ? json : json.at("items").as_array().at(0).as_object();
    return holder.at("stock").as_object().at(key).as_int64();
  }
  [[nodiscard]] std::int64_t live(std::string_view key) const {
    const auto& holder = json.contains("stock") ? json : json.at("items").as_array().at(0).as_object();
    return holder.at("stock").as_object().at("live").as_object().at(key).as_int64();
  }
};

class AdminShop {
 public:
  explicit AdminShop(test::ShopTerms terms = {}) : shop{terms} {
    shop.open();
    start();
  }
  ~AdminShop() { stop(); }

  // As a process that ends in order and is started again on the same data.
  void restart() {
    stop();
    shop.restart();
    start();
  }

  Answer call(const std::string& method, const std::string& path, const std::string& body = {},
              std::string_view token = operator_token) {
    drivers::HttpRequest request{.method = method,
                                 .url = fmt::format("http://127.0.0.1:{}{}", server->port(), path),
                                 .headers = {},
                                 .body = body,
                                 .timeout = std::chrono::seconds{60}};
    if (!token.empty()) request.headers.push_back(fmt::format("Authorization: Bearer {}", token));
    const auto response = client.send(request);
    EXPECT_TRUE(response) << response.error().text();
    if (!response) return {};
    Answer answer{response->status, response->content_type, response->body, {}};
    if (auto json = base::parse_json(response->body); json && json->is_object()) answer.json = json->get_object();
    return answer;
  }

  std::string sale_json(const std::string& id, std::int64_t total = 80, const std::string& item_extra = {}) {
    const base::UtcMs now = shop.clock.now_utc();
    return fmt::format(R"({{"id":"{}","title":"测试","starts_at":{},"ends_at":{},"items":[{{"sku":"tea","title":"茶",)"
                       R"("price_minor":100,"total":{}{}}}]}})",
                       id, now - 1'000, now + 3'600'000, total, item_extra);
  }
  void make_sale(const std::string& id, std::int64_t total = 80, const std::string& item_extra = {}) {
    ASSERT_EQ(call("POST", "/admin/v1/sales", sale_json(id, total, item_extra)).status, 201);
    ASSERT_EQ(call("POST", "/admin/v1/sales/" + id + "/preload").status, 200);
  }
  // A purchase as the gateway would ask for it.
  admission::AdmitReply buy(const std::string& sale, const std::string& buyer, std::int64_t units = 1) {
    std::promise<admission::AdmitReply> promise;
    auto reply = promise.get_future();
    shop.admission().admit({.item = {*model::SaleId::parse(sale), *model::Sku::parse("tea")},
                            .buyer = test::buyer_named(buyer),
                            .request_id = test::request_named(fmt::format("r-{:x}", base::xxh3_64(buyer))),
                            .units = units,
                            .digest = model::content_digest(units, nullptr),
                            .fields = nullptr},
                           [&promise](admission::AdmitReply got) { promise.set_value(std::move(got)); });
    if (reply.wait_for(test::patience) != std::future_status::ready) std::abort();
    return reply.get();
  }

  test::Shop shop;
  Readiness readiness;
  gateway::GatewayCounters counters;
  std::vector<std::string> changed;  // sales the desk told about; by the change worker
  std::unique_ptr<AdminApi> api;
  std::unique_ptr<gateway::http::Server> server;
  drivers::HttpClient client;

 private:
  void start() {
    api = std::make_unique<AdminApi>(AdminParts{.store = shop.store(),
                                                .admission = shop.admission(),
                                                .clock = shop.clock,
                                                .readiness = readiness,
                                                .counters = &counters,
                                                .queue = &shop.queue(),
                                                .landing = shop.landing().counters(),
                                                .ends = shop.ends(),
                                                .deadlines = &shop.deadlines(),
                                                .reads = &shop.reads(),
                                                .sale_changed =
                                                    [this](const model::SaleId& sale) {
                                                      counters.register_sale(sale);
                                                      changed.push_back(sale.str());
                                                    }},
                                     operator_token);
    const auto installed = api->install_all();
    ASSERT_TRUE(installed) << installed.error().text();
    MetricSources sources;
    sources.gateway = &counters;
    sources.queue = &shop.queue();
    sources.landing = &shop.landing().counters();
    sources.ends = &shop.ends();
    sources.deadlines = &shop.deadlines();
    sources.reads = &shop.reads();
    sources.admission = &shop.admission();
    sources.items = [this] { return api->desk().installed(); };
    sources.version = "test";
    api->set_metrics(std::move(sources));
    api->open();
    gateway::http::ServerConfig config;
    config.body_bytes_max = base::limits::http_admin_body_bytes_max;
    server = std::make_unique<gateway::http::Server>(config, *api);
    const auto started = server->start();
    ASSERT_TRUE(started) << started.error().text();
  }
  void stop() {
    server->drain(std::chrono::seconds{30});
    api->stop();
    server.reset();
    api.reset();
  }
};

}  // namespace seckill::ops::testing
