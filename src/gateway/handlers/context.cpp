#include "gateway/handlers/context.hpp"

namespace seckill::gateway {

std::optional<model::BuyerId> pass_login(BuyerContext& context, const Glance& glance, Exchange& exchange) {
  const auto confirmed = context.login.confirm(glance);
  if (!context.filters.refuses(Filter::login, !confirmed)) return *confirmed;  // the login filter is always enforced
  const bool expired = confirmed.error() == TokenFault::expired;
  exchange.refuse(expired ? Refusal::session_expired : Refusal::unauthorized);
  return std::nullopt;
}

std::optional<model::BuyerId> logged_in_buyer(BuyerContext& context, const http::Request& request, Exchange& exchange) {
  Glance glance;
  context.login.glance(request.authorization, glance);
  std::optional<model::BuyerId> buyer;
  for (const FilterPlace& place : filter_order) {
    if (!applies(place, false) || context.filters.mode(place.filter) == FilterMode::off) continue;
    switch (place.filter) {
      case Filter::phase:
      case Filter::buyer_bucket: break;  // purchases only
      case Filter::login:
        buyer = pass_login(context, glance, exchange);
        if (!buyer) return std::nullopt;
        break;
      case Filter::buyer_calls:
        if (context.filters.refuses(Filter::buyer_calls,
                                    !context.call_bucket.take(buyer->view(), exchange.started()))) {
          exchange.refuse(Refusal::calls_limited);
          return std::nullopt;
        }
        break;
    }
  }
  return buyer;
}

std::optional<model::ItemKey> item_key_of(const RouteMatch& match) noexcept {
  const auto sale = model::SaleId::parse(match.sale);
  const auto sku = model::Sku::parse(match.sku);
  if (!sale || !sku) return std::nullopt;
  return model::ItemKey{*sale, *sku};
}

void refuse_unavailable(Exchange& exchange) { exchange.refuse(Refusal::unavailable); }

void handle_file(BuyerContext& context, const http::Request& request, Exchange exchange) {
  auto reply = context.files.find(request.path, request.if_none_match);
  const bool reading = request.method == http::Method::get || request.method == http::Method::head;
  if (!reading || reply == nullptr) {
    exchange.refuse(Refusal::not_found);
    return;
  }
  exchange.send(std::move(reply));
}

}  // namespace seckill::gateway
