// A buyer's own orders: list, one, cancel, pay. Another buyer's order and one that never was are answered with the same
// bytes (FS-24).
#include <utility>

#include "gateway/handlers/context.hpp"
#include "gateway/handlers/order_text.hpp"
#include "gateway/json_text.hpp"
#include "gateway/query.hpp"

namespace seckill::gateway {
namespace {

constexpr std::int64_t page_size_default = 20;
constexpr std::int64_t page_size_max = 100;

// The page asked for, or nullopt: a parameter is not acceptable.
std::optional<store::OrderQuery> read_query(std::string_view text, const model::BuyerId& buyer) {
  store::OrderQuery query;
  query.buyer = buyer;
  query.limit = page_size_default;
  const auto sale = query_value(text, "sale");
  const auto before = query_value(text, "before");
  const auto limit = query_value(text, "limit");
  if (!sale || !before || !limit) return std::nullopt;
  if (*sale) {
    query.sale = model::SaleId::parse(**sale);
    if (!query.sale) return std::nullopt;
  }
  if (*before) {
    const std::optional<std::int64_t> value = base::parse_decimal(**before);
    if (!value) return std::nullopt;
    query.before = *value;
  }
  if (*limit) {
    const std::optional<std::int64_t> value = base::parse_decimal(**limit);
    if (!value || *value < 1 || *value > page_size_max) return std::nullopt;
    query.limit = *value;
  }
  return query;
}

void send_state(const model::Ticket& ticket, model::OrderState state, Exchange& exchange) {
  std::string body;
  body += '{';
  append_ticket(body, "ticket", ticket);
  append_word(body, "state", model::name(state));
  body += '}';
  exchange.send_json(std::move(body));
}

void send_conflict(std::string_view reason, std::string_view zh, std::string_view en, model::OrderState state,
                   Exchange& exchange) {
  std::string body;
  body += '{';
  append_member(body, "code", 409);
  append_word(body, "reason", reason);
  append_word(body, "msg", exchange.language() == Language::zh ? zh : en);
  append_word(body, "state", model::name(state));
  body += '}';
  exchange.send(http::Reply::json(409, std::move(body)));
}

// One wording for every asked-for end; exactly one of racing ends wins, and the loser reads the state that won.
orders::EndDone end_reply(const model::Ticket& ticket, Exchange exchange) {
  return [ticket, exchange = std::move(exchange)](const base::Result<store::Ended>& ended) mutable {
    if (!ended) return refuse_unavailable(exchange);
    switch (ended->result) {
      case store::EndResult::done:
      case store::EndResult::already_there: return send_state(ticket, ended->state, exchange);
      case store::EndResult::illegal:
        return send_conflict("illegal", "订单当前状态不允许此操作", "Not possible in the order's state", ended->state,
                             exchange);
      case store::EndResult::too_late:
        return send_conflict("too_late", "已超过支付时限", "The time to pay is over", ended->state, exchange);
      case store::EndResult::not_found: return exchange.refuse(Refusal::no_record);
    }
  };
}

// The buyer and the ticket of a request about one order; nullopt when it was answered.
struct OwnTicket {
  model::BuyerId buyer;
  model::Ticket ticket;
};
std::optional<OwnTicket> own_ticket(BuyerContext& context, const http::Request& request, const RouteMatch& match,
                                    Exchange& exchange) {
  const std::optional<model::BuyerId> buyer = logged_in_buyer(context, request, exchange);
  if (!buyer) return std::nullopt;
  const std::optional<model::Ticket> ticket = model::Ticket::parse(match.ticket);
  if (!ticket) {
    exchange.refuse(Refusal::no_record);
    return std::nullopt;
  }
  return OwnTicket{*buyer, *ticket};
}

}  // namespace

void handle_orders(BuyerContext& context, const http::Request& request, Exchange exchange) {
  const std::optional<model::BuyerId> buyer = logged_in_buyer(context, request, exchange);
  if (!buyer) return;
  const std::optional<store::OrderQuery> query = read_query(request.query, *buyer);
  if (!query) return exchange.refuse(Refusal::bad_query);
  context.parts.reads.list(*query,
                           [exchange = std::move(exchange)](const base::Result<store::OrderPage>& page) mutable {
                             if (!page) return refuse_unavailable(exchange);
                             std::string body = "{\"orders\":[";
                             for (const store::Order& order : page->orders) {
                               if (body.back() != '[') body += ',';
                               append_order(body, order);
                             }
                             body += ']';
                             append_member(body, "next", page->next);
                             body += '}';
                             exchange.send_json(std::move(body));
                           });
}

void handle_order(BuyerContext& context, const http::Request& request, const RouteMatch& match, Exchange exchange) {
  const std::optional<OwnTicket> own = own_ticket(context, request, match, exchange);
  if (!own) return;
  context.parts.reads.find(own->ticket, [buyer = own->buyer, exchange = std::move(exchange)](
                                            const base::Result<std::optional<store::Order>>& order) mutable {
    if (!order) return refuse_unavailable(exchange);
    if (!*order || (*order)->buyer != buyer) return exchange.refuse(Refusal::no_record);
    std::string body;
    append_order(body, **order);
    exchange.send_json(std::move(body));
  });
}

void handle_cancel(BuyerContext& context, const http::Request& request, const RouteMatch& match, Exchange exchange) {
  const std::optional<OwnTicket> own = own_ticket(context, request, match, exchange);
  if (!own) return;
  store::EndCommand command;
  command.ticket = own->ticket;
  command.event = model::OrderEvent::cancel;
  command.buyer = own->buyer;
  context.parts.ends.submit(std::move(command), end_reply(own->ticket, std::move(exchange)));
}

void handle_pay(BuyerContext& context, const http::Request& request, const RouteMatch& match, Exchange exchange) {
  if (!context.config.demo_mode || !context.parts.pay) return exchange.refuse(Refusal::not_found);
  const std::optional<OwnTicket> own = own_ticket(context, request, match, exchange);
  if (!own) return;
  context.parts.pay(own->ticket, own->buyer, end_reply(own->ticket, std::move(exchange)));
}

}  // namespace seckill::gateway
