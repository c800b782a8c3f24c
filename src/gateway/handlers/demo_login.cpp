// POST /api/v1/demo/logins: a token for any name, in demo mode only. Outside it the route does not exist.
#include <boost/json.hpp>
#include <utility>

#include "base/json.hpp"
#include "gateway/handlers/context.hpp"
#include "gateway/json_text.hpp"

namespace seckill::gateway {

void handle_demo_login(BuyerContext& context, const http::Request& request, Exchange exchange) {
  if (!context.config.demo_mode || context.parts.signer == nullptr) return exchange.refuse(Refusal::not_found);
  const base::Result<boost::json::value> parsed = base::parse_json(request.body);
  if (!parsed || !parsed->is_object()) return exchange.refuse(Refusal::bad_json);
  const boost::json::object& object = parsed->get_object();
  const boost::json::value* name = object.if_contains("buyer");
  if (name == nullptr || !name->is_string()) return exchange.refuse(Refusal::bad_buyer);
  if (object.size() != 1) return exchange.refuse(Refusal::bad_key);
  const std::optional<model::BuyerId> buyer = model::BuyerId::parse(std::string_view{name->get_string()});
  if (!buyer) return exchange.refuse(Refusal::bad_buyer);
  const base::UtcMs now = context.parts.clock.now_utc();
  const base::Result<std::string> token = context.parts.signer->sign(*buyer, now, context.config.demo_login_lifetime);
  if (!token) return refuse_unavailable(exchange);
  std::string body;
  body += '{';
  append_word(body, "token", *token);
  append_text(body, "buyer", buyer->view());
  append_member(body, "expires_at", (now / 1'000 + context.config.demo_login_lifetime.count()) * 1'000);
  body += '}';
  exchange.send_json(std::move(body));
}

}  // namespace seckill::gateway
