// What became of a purchase, by ticket or by the request id that asked for it (FS-12): its own buyer is told its own
// state; everybody else, and whoever asks for what never was, reads the same "no record"; what cannot be known now is
// 503.
#include <utility>

#include "gateway/handlers/context.hpp"
#include "gateway/handlers/order_text.hpp"
#include "gateway/query.hpp"

namespace seckill::gateway {
namespace {

void tell_outcome(BuyerContext& context, const model::ItemKey& item, const model::BuyerId& buyer,
                  const model::Ticket& ticket, Exchange exchange) {
  context.parts.reads.outcome(item, buyer, ticket,
                              [exchange = std::move(exchange)](const base::Result<orders::Outcome>& outcome) mutable {
                                if (!outcome) return refuse_unavailable(exchange);
                                if (!outcome->found) return exchange.refuse(Refusal::no_record);
                                exchange.send_json(outcome_json(*outcome));
                              });
}

// An ended sale without lanes: every ticket it ever had is in the store, so no row means no record.
void tell_from_store(BuyerContext& context, const model::ItemKey& item, const model::BuyerId& buyer,
                     const model::Ticket& ticket, Exchange exchange) {
  context.parts.reads.find(ticket, [item, buyer, exchange = std::move(exchange)](
                                       const base::Result<std::optional<store::Order>>& order) mutable {
    if (!order) return refuse_unavailable(exchange);
    const orders::Outcome outcome = *order ? orders::outcome_of(**order, item, buyer) : orders::Outcome{};
    if (!outcome.found) return exchange.refuse(Refusal::no_record);
    exchange.send_json(outcome_json(outcome));
  });
}

// For an item whose lanes are not here: its ticket can still be computed when the store knows its lanes.
void derive_and_tell(BuyerContext& context, const ViewAnswer& known, const model::ItemKey& item,
                     const model::BuyerId& buyer, const model::RequestId& request_id, Exchange exchange) {
  if (known.status == ViewStatus::unavailable) return refuse_unavailable(exchange);
  const model::SaleItem* found = known.view ? known.view->find(item.sku.view()) : nullptr;
  if (found == nullptr) return exchange.refuse(Refusal::no_record);
  if (found->lanes == 0) return refuse_unavailable(exchange);
  const model::LaneIndex lane = model::lane_of(buyer.view(), found->lanes);
  const model::Ticket ticket =
      model::derive_ticket(known.view->sale().ticket_key, item, buyer, request_id.view(), lane);
  if (known.view->phase(context.parts.clock.now_utc()) == model::Phase::ended) {
    return tell_from_store(context, item, buyer, ticket, std::move(exchange));
  }
  tell_outcome(context, item, buyer, ticket, std::move(exchange));
}

}  // namespace

void handle_outcome_by_request(BuyerContext& context, const http::Request& request, const RouteMatch& match,
                               Exchange exchange) {
  const std::optional<model::ItemKey> item = item_key_of(match);
  if (!item) return exchange.refuse(Refusal::not_found);
  const std::optional<model::BuyerId> buyer = logged_in_buyer(context, request, exchange);
  if (!buyer) return;
  const auto asked = query_value(request.query, "request_id");
  if (!asked || !*asked) return exchange.refuse(Refusal::bad_query);
  const std::optional<model::RequestId> request_id = model::RequestId::parse(**asked);
  if (!request_id) return exchange.refuse(Refusal::bad_query);
  if (const auto ticket = context.parts.admission.ticket_of(*item, *buyer, *request_id)) {
    return tell_outcome(context, *item, *buyer, *ticket, std::move(exchange));
  }
  context.views.get(item->sale, [&context, item = *item, buyer = *buyer, request_id = *request_id,
                                 exchange = std::move(exchange)](const ViewAnswer& known) mutable {
    derive_and_tell(context, known, item, buyer, request_id, std::move(exchange));
  });
}

void handle_outcome_by_ticket(BuyerContext& context, const http::Request& request, const RouteMatch& match,
                              Exchange exchange) {
  const std::optional<model::ItemKey> item = item_key_of(match);
  if (!item) return exchange.refuse(Refusal::not_found);
  const std::optional<model::BuyerId> buyer = logged_in_buyer(context, request, exchange);
  if (!buyer) return;
  const std::optional<model::Ticket> ticket = model::Ticket::parse(match.ticket);
  if (!ticket) return exchange.refuse(Refusal::no_record);
  tell_outcome(context, *item, *buyer, *ticket, std::move(exchange));
}

}  // namespace seckill::gateway
