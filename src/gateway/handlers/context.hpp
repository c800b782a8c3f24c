// What every handler works with, and the one request it is working on. Private to the gateway.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gateway/buyer_api.hpp"
#include "gateway/http/reply_slot.hpp"
#include "gateway/http/request.hpp"
#include "gateway/login/login.hpp"
#include "gateway/router.hpp"
#include "gateway/views/view_cache.hpp"

namespace seckill::gateway {

// Constant after construction but for the parts that say "any thread" themselves.
struct BuyerContext {
  BuyerContext(const BuyerApiConfig& settings, BuyerApiParts borrowed, std::unique_ptr<TokenVerifier> verifier);

  BuyerApiConfig config;
  BuyerApiParts parts;
  GatewayCounters counters;
  FilterModes filters;
  Replies replies;
  Login login;
  BuyerBucket purchase_bucket;
  BuyerBucket call_bucket;
  ViewCache views;
  StaticFiles files;
};

// One request under way: the right to answer it, and what counting the answer needs. Move-only; one thread at a time.
// Dropped without an answer it answers 503.
class Exchange {
 public:
  Exchange(BuyerContext& context, RouteId route, Language language, std::chrono::nanoseconds started,
           http::ReplySlot slot) noexcept
      : context_{&context}, slot_{std::move(slot)}, started_{started}, route_{route}, language_{language} {}

  [[nodiscard]] Language language() const noexcept { return language_; }
  [[nodiscard]] RouteId route() const noexcept { return route_; }
  [[nodiscard]] std::chrono::nanoseconds started() const noexcept { return started_; }

  void refuse(Refusal refusal) {
    account(http_status(refusal));
    slot_.send(context_->replies.get(refusal, language_));
  }
  void send(http::Reply&& reply) {
    account(reply.status());
    slot_.send(std::move(reply));
  }
  // 200 with a body that must not be kept by caches.
  void send_json(std::string body, int status = 200) {
    http::Reply reply = http::Reply::json(status, std::move(body));
    reply.header("Cache-Control", "no-store");
    send(std::move(reply));
  }
  void send(std::shared_ptr<const http::PreparedReply> reply) {
    account(reply->status());
    slot_.send(std::move(reply));
  }

 private:
  void account(int status) noexcept {
    context_->counters.count_http(route_, status);
    const std::chrono::nanoseconds took = context_->parts.clock.steady_now() - started_;
    (route_ == RouteId::purchase ? context_->counters.purchase_latency() : context_->counters.other_latency())
        .record(took);
  }

  BuyerContext* context_;
  http::ReplySlot slot_;
  std::chrono::nanoseconds started_;
  RouteId route_;
  Language language_;
};

// The login filter: the buyer whose token was glanced at, or nullopt when `exchange` was answered 401.
[[nodiscard]] std::optional<model::BuyerId> pass_login(BuyerContext& context, const Glance& glance, Exchange& exchange);

// Walks the filters for every logged-in request but a purchase: the buyer, or nullopt when `exchange` was answered.
[[nodiscard]] std::optional<model::BuyerId> logged_in_buyer(BuyerContext& context, const http::Request& request,
                                                            Exchange& exchange);

// The ids of a path, or nullopt: no such thing can exist, 404.
[[nodiscard]] std::optional<model::ItemKey> item_key_of(const RouteMatch& match) noexcept;

// What an error of the store means to a buyer: always 503, for nothing is known.
void refuse_unavailable(Exchange& exchange);

// --- the handlers, by file ---
// purchase.cpp
void handle_purchase(BuyerContext& context, const http::Request& request, const RouteMatch& match, Exchange exchange);
// outcome.cpp
void handle_outcome_by_request(BuyerContext& context, const http::Request& request, const RouteMatch& match,
                               Exchange exchange);
void handle_outcome_by_ticket(BuyerContext& context, const http::Request& request, const RouteMatch& match,
                              Exchange exchange);
// sale_pages.cpp
void handle_time(BuyerContext& context, Exchange exchange);
void handle_sales(BuyerContext& context, Exchange exchange);
void handle_sale(BuyerContext& context, const RouteMatch& match, Exchange exchange);
void handle_item(BuyerContext& context, const RouteMatch& match, Exchange exchange);
void handle_stock(BuyerContext& context, const RouteMatch& match, Exchange exchange);
// my_state.cpp
void handle_my_state(BuyerContext& context, const http::Request& request, const RouteMatch& match, Exchange exchange);
// orders.cpp
void handle_orders(BuyerContext& context, const http::Request& request, Exchange exchange);
void handle_order(BuyerContext& context, const http::Request& request, const RouteMatch& match, Exchange exchange);
void handle_cancel(BuyerContext& context, const http::Request& request, const RouteMatch& match, Exchange exchange);
void handle_pay(BuyerContext& context, const http::Request& request, const RouteMatch& match, Exchange exchange);
// demo_login.cpp
void handle_demo_login(BuyerContext& context, const http::Request& request, Exchange exchange);
// static
void handle_file(BuyerContext& context, const http::Request& request, Exchange exchange);

}  // namespace seckill::gateway
