#include "gateway/buyer_api.hpp"

#include "base/assert.hpp"
#include "gateway/handlers/context.hpp"

namespace seckill::gateway {

std::vector<std::string> problems_of(const BuyerApiConfig& config) {
  std::vector<std::string> problems;
  for (const std::string& problem : problems_of(config.buyer_bucket)) problems.push_back("buyer_bucket: " + problem);
  for (const std::string& problem : problems_of(config.buyer_calls)) problems.push_back("buyer_calls: " + problem);
  if (config.busy_retry_after < std::chrono::seconds{1} || config.busy_retry_after > std::chrono::seconds{3'600}) {
    problems.emplace_back("busy_retry_after: must be from 1 s to 1 h");
  }
  if (config.login.leeway < std::chrono::seconds{0} || config.login.leeway > std::chrono::seconds{300}) {
    problems.emplace_back("login.leeway: must be from 0 s to 5 min");
  }
  if (config.login.cache_entries > 16'777'216) problems.emplace_back("login.cache_entries: must be at most 16777216");
  return problems;
}

BuyerContext::BuyerContext(const BuyerApiConfig& settings, BuyerApiParts borrowed,
                           std::unique_ptr<TokenVerifier> verifier)
    : config{settings},
      parts{std::move(borrowed)},
      replies{Replies::RetryAfter{BuyerBucket{settings.buyer_bucket, 64}.retry_after(), settings.busy_retry_after}},
      login{std::move(verifier), settings.login, parts.clock, counters},
      purchase_bucket{settings.buyer_bucket},
      call_bucket{settings.buyer_calls},
      views{parts.reads, parts.clock, counters},
      files{parts.files} {}

BuyerApi::BuyerApi(std::unique_ptr<BuyerContext> context) : context_{std::move(context)} {}
BuyerApi::~BuyerApi() = default;

base::Result<std::unique_ptr<BuyerApi>> BuyerApi::make(const BuyerApiConfig& config, BuyerApiParts parts) {
  SECKILL_ASSERT(problems_of(config).empty(), "the configuration was checked when it was read");
  base::Result<std::unique_ptr<TokenVerifier>> verifier = TokenVerifier::make(config.login);
  if (!verifier) return std::unexpected(verifier.error());
  return std::unique_ptr<BuyerApi>{
      new BuyerApi{std::make_unique<BuyerContext>(config, std::move(parts), std::move(*verifier))}};
}

void BuyerApi::sale_changed(const model::SaleId& sale) { context_->views.forget(sale); }

GatewayCounters& BuyerApi::counters() noexcept { return context_->counters; }
FilterModes& BuyerApi::filters() noexcept { return context_->filters; }

namespace {

void handle_no_route(BuyerContext& context, const http::Request& request, const RouteMatch& match, Exchange exchange) {
  if (match.allowed == 0) {
    handle_file(context, request, std::move(exchange));
    return;
  }
  const std::string_view sentence = exchange.language() == Language::zh ? "不支持的方法" : "Method not allowed";
  http::Reply reply =
      http::Reply::json(405, R"({"code":405,"reason":"method_not_allowed","msg":")" + std::string{sentence} + "\"}");
  reply.header("Allow", std::string{allow_header(match.allowed)});
  exchange.send(std::move(reply));
}

}  // namespace

void BuyerApi::handle(const http::Request& request, http::ReplySlot slot) {
  BuyerContext& context = *context_;
  const RouteMatch route = match(request.method, request.path);
  Exchange exchange{context, route.id, language_of(request.accept_language), context.parts.clock.steady_now(),
                    std::move(slot)};
  switch (route.id) {
    case RouteId::purchase: return handle_purchase(context, request, route, std::move(exchange));
    case RouteId::outcome_by_request: return handle_outcome_by_request(context, request, route, std::move(exchange));
    case RouteId::outcome_by_ticket: return handle_outcome_by_ticket(context, request, route, std::move(exchange));
    case RouteId::time: return handle_time(context, std::move(exchange));
    case RouteId::sales: return handle_sales(context, std::move(exchange));
    case RouteId::sale: return handle_sale(context, route, std::move(exchange));
    case RouteId::item: return handle_item(context, route, std::move(exchange));
    case RouteId::stock: return handle_stock(context, route, std::move(exchange));
    case RouteId::my_state: return handle_my_state(context, request, route, std::move(exchange));
    case RouteId::orders: return handle_orders(context, request, std::move(exchange));
    case RouteId::order: return handle_order(context, request, route, std::move(exchange));
    case RouteId::cancel: return handle_cancel(context, request, route, std::move(exchange));
    case RouteId::pay: return handle_pay(context, request, route, std::move(exchange));
    case RouteId::demo_login: return handle_demo_login(context, request, std::move(exchange));
    case RouteId::page:
    case RouteId::asset: return handle_file(context, request, std::move(exchange));
    case RouteId::none: return handle_no_route(context, request, route, std::move(exchange));
  }
}

}  // namespace seckill::gateway
