// POST …/purchases: the filters in their order, then the form of the request, then admission.
#include <utility>

#include "base/assert.hpp"
#include "gateway/handlers/context.hpp"
#include "gateway/handlers/ended_sale.hpp"
#include "gateway/json_text.hpp"
#include "gateway/purchase_body.hpp"

namespace seckill::gateway {
namespace {

using model::PurchaseAnswer;

constexpr std::int64_t poll_ticket_ms = 1'000;

// A purchase that passed the filters and has a readable form.
struct Purchase {
  model::ItemKey item;
  model::BuyerId buyer;
  model::RequestId request_id;
  PurchaseBody body;
};

void refuse_answer(BuyerContext& context, const model::ItemKey& item, PurchaseAnswer answer, Exchange& exchange) {
  context.counters.of_sale(item.sale.view()).count(answer);
  exchange.refuse(refusal_of(answer));
}

// Answered: nullopt. The walk through filters/order.hpp.
std::optional<model::BuyerId> pass_filters(BuyerContext& context, const http::Request& request,
                                           const model::ItemKey& item, Exchange& exchange) {
  Glance glance;
  context.login.glance(request.authorization, glance);
  std::optional<model::BuyerId> buyer;
  for (const FilterPlace& place : filter_order) {
    if (!applies(place, true) || context.filters.mode(place.filter) == FilterMode::off) continue;
    switch (place.filter) {
      case Filter::phase: {
        const auto answer = context.parts.admission.early_answer(item, glance.subject, 1);
        if (context.filters.refuses(Filter::phase, answer.has_value())) {
          refuse_answer(context, item, *answer, exchange);
          return std::nullopt;
        }
        break;
      }
      case Filter::login:
        buyer = pass_login(context, glance, exchange);
        if (!buyer) return std::nullopt;
        break;
      case Filter::buyer_bucket: {
        const bool taken = context.purchase_bucket.take(buyer->view(), exchange.started());
        if (context.filters.refuses(Filter::buyer_bucket, !taken)) {
          refuse_answer(context, item, PurchaseAnswer::rate_limited, exchange);
          return std::nullopt;
        }
        break;
      }
      case Filter::buyer_calls: break;  // everything but purchases
    }
  }
  return buyer;
}

void send_ticket(int status, PurchaseAnswer answer, const admission::TicketView& ticket, Exchange& exchange) {
  std::string body;
  body.reserve(128);
  body += '{';
  append_member(body, "code", model::answer_code(answer));
  append_word(body, "reason", model::name(answer));
  append_ticket(body, "ticket", ticket.ticket);
  append_word(body, "state", model::name(ticket.state));
  append_member(body, "units", ticket.units);
  if (ticket.state != model::TicketState::failed) append_member(body, "poll_ms", poll_ticket_ms);
  body += '}';
  exchange.send(http::Reply::json(status, std::move(body)));
}

void send_limit_reached(const std::vector<admission::TicketView>& own, Exchange& exchange) {
  std::string body = open_refusal_body(Refusal::limit_reached, exchange.language());
  append_key(body, "tickets");
  body += '[';
  for (const admission::TicketView& ticket : own) {
    if (body.back() != '[') body += ',';
    body += '{';
    append_ticket(body, "ticket", ticket.ticket);
    append_member(body, "units", ticket.units);
    append_word(body, "state", model::name(ticket.state));
    body += '}';
  }
  body += "]}";
  exchange.send(http::Reply::json(409, std::move(body)));
}

// Unknown, not failed: the ticket lets the page ask for its outcome.
void send_busy_with_ticket(BuyerContext& context, const model::Ticket& ticket, Exchange& exchange) {
  std::string body = open_refusal_body(Refusal::busy, exchange.language());
  append_ticket(body, "ticket", ticket);
  body += '}';
  exchange.send(http::Reply::json(503, std::move(body)).retry_after(context.config.busy_retry_after));
}

void finish(BuyerContext& context, SaleCounters& sale, const admission::AdmitReply& reply, Exchange& exchange) {
  sale.count(reply.answer);
  const bool owes_ticket = reply.answer == PurchaseAnswer::admitted || reply.answer == PurchaseAnswer::replayed;
  SECKILL_ASSERT(!owes_ticket || reply.ticket, "P4: an admitted or replayed request has its ticket");
  switch (reply.answer) {
    case PurchaseAnswer::admitted:
      sale.count(FunnelStage::admitted);
      sale.count(FunnelStage::published);
      send_ticket(202, reply.answer, *reply.ticket, exchange);
      return;
    case PurchaseAnswer::replayed: send_ticket(200, reply.answer, *reply.ticket, exchange); return;
    case PurchaseAnswer::limit_reached: send_limit_reached(reply.own, exchange); return;
    case PurchaseAnswer::busy:
      if (reply.ticket) {
        send_busy_with_ticket(context, reply.ticket->ticket, exchange);
        return;
      }
      break;
    case PurchaseAnswer::sold_out:
    case PurchaseAnswer::request_conflict:
    case PurchaseAnswer::not_started:
    case PurchaseAnswer::ended:
    case PurchaseAnswer::paused:
    case PurchaseAnswer::rate_limited:
    case PurchaseAnswer::challenge_required:
    case PurchaseAnswer::rejected_by_risk:
    case PurchaseAnswer::bad_token: break;
  }
  exchange.refuse(refusal_of(reply.answer));
}

void ask_admission(BuyerContext& context, const Purchase& purchase, const SaleView& view, const model::SaleItem& item,
                   Exchange exchange) {
  SaleCounters& sale = context.counters.of_sale(purchase.item.sale.view());
  sale.count(FunnelStage::passed_gateway);
  admission::AdmitRequest request;
  request.item = purchase.item;
  request.buyer = purchase.buyer;
  request.request_id = purchase.request_id;
  request.units = purchase.body.quantity;
  request.fields = canonical_fields(purchase.body);
  request.digest = model::content_digest(request.units, request.fields);
  admission::AdmitDone done = [&context, &sale,
                               exchange = std::move(exchange)](const admission::AdmitReply& reply) mutable {
    finish(context, sale, reply, exchange);
  };
  if (ended_without_lanes(context, view, request)) {
    return answer_from_store(context, view, item, request, std::move(done));
  }
  context.parts.admission.admit(request, std::move(done));
}

// More than the limit: nobody may buy so much, but the limit may have been higher when this request was admitted, and
// a buyer with a ticket is never denied it. So the mark is asked first. Requires: the item has, or had, lanes.
void repeat_or_refuse(BuyerContext& context, Purchase purchase, SaleViewPtr view, const model::SaleItem& item,
                      Exchange exchange) {
  const auto ticket = context.parts.admission.ticket_of(purchase.item, purchase.buyer, purchase.request_id);
  // Lanes that are not here cannot say: the store does when the sale has ended, else the answer is busy.
  if (!ticket) return ask_admission(context, purchase, *view, item, std::move(exchange));
  const model::ItemKey key = purchase.item;
  const model::BuyerId buyer = purchase.buyer;
  context.parts.admission.find_ticket(
      key, buyer, *ticket,
      [&context, &item, purchase = std::move(purchase), view = std::move(view),
       exchange = std::move(exchange)](const base::Result<std::optional<admission::TicketView>>& found) mutable {
        if (!found) return refuse_answer(context, purchase.item, PurchaseAnswer::busy, exchange);
        if (!*found) return exchange.refuse(Refusal::bad_quantity);
        ask_admission(context, purchase, *view, item, std::move(exchange));
      });
}

void admit(BuyerContext& context, const Purchase& purchase, const ViewAnswer& known, Exchange exchange) {
  if (known.status != ViewStatus::found) {
    // Not even the store knows the sale, or nobody can be asked.
    if (known.status == ViewStatus::not_found) return exchange.refuse(Refusal::not_found);
    return refuse_answer(context, purchase.item, PurchaseAnswer::busy, exchange);
  }
  const model::SaleItem* item = known.view->find(purchase.item.sku.view());
  if (item == nullptr) return exchange.refuse(Refusal::not_found);
  if (const auto problem = check_purchase(purchase.body, *item)) {
    const bool may_have_ticket = *problem == Refusal::bad_quantity && item->lanes != 0;
    if (!may_have_ticket) return exchange.refuse(*problem);
    return repeat_or_refuse(context, purchase, known.view, *item, std::move(exchange));
  }
  ask_admission(context, purchase, *known.view, *item, std::move(exchange));
}

}  // namespace

void handle_purchase(BuyerContext& context, const http::Request& request, const RouteMatch& match, Exchange exchange) {
  context.counters.of_sale(match.sale).count(FunnelStage::clicked);
  const std::optional<model::ItemKey> item = item_key_of(match);
  if (!item) return exchange.refuse(Refusal::not_found);
  const std::optional<model::BuyerId> buyer = pass_filters(context, request, *item, exchange);
  if (!buyer) return;
  const std::optional<model::RequestId> request_id = model::RequestId::parse(request.idempotency_key);
  if (!request_id) return exchange.refuse(Refusal::bad_idempotency_key);
  std::expected<PurchaseBody, Refusal> body = read_purchase_body(request.body);
  if (!body) return exchange.refuse(body.error());
  Purchase purchase{*item, *buyer, *request_id, std::move(*body)};
  if (const std::optional<ViewAnswer> known = context.views.try_get(item->sale)) {
    return admit(context, purchase, *known, std::move(exchange));
  }
  context.views.get(item->sale,
                    [&context, purchase = std::move(purchase), exchange = std::move(exchange)](
                        const ViewAnswer& known) mutable { admit(context, purchase, known, std::move(exchange)); });
}

}  // namespace seckill::gateway
