#include "gateway/handlers/ended_sale.hpp"

#include <utility>

namespace seckill::gateway {

using model::PurchaseAnswer;

admission::TicketView ticket_view_of(const store::Order& order) noexcept {
  return {order.ticket, order.units, model::ticket_state(order.state), !model::is_ended(order.state)};
}

bool ended_without_lanes(const BuyerContext& context, const SaleView& view, const admission::AdmitRequest& request) {
  if (view.phase(context.parts.clock.now_utc()) != model::Phase::ended) return false;
  return !context.parts.admission.ticket_of(request.item, request.buyer, request.request_id);
}

void answer_from_store(BuyerContext& context, const SaleView& view, const model::SaleItem& item,
                       const admission::AdmitRequest& request, admission::AdmitDone done) {
  if (item.lanes == 0) {  // never preloaded: nobody can have a ticket
    admission::AdmitReply reply;
    reply.answer = PurchaseAnswer::ended;
    return done(std::move(reply));
  }
  const model::Ticket ticket =
      model::derive_ticket(view.sale().ticket_key, request.item, request.buyer, request.request_id.view(),
                           model::lane_of(request.buyer.view(), item.lanes));
  context.parts.reads.find(ticket, [digest = request.digest, done = std::move(done)](
                                       const base::Result<std::optional<store::Order>>& order) mutable {
    admission::AdmitReply reply;
    if (!order) {
      reply.answer = PurchaseAnswer::busy;
    } else if (!*order) {
      reply.answer = PurchaseAnswer::ended;
    } else if ((*order)->digest != digest) {
      reply.answer = PurchaseAnswer::request_conflict;
    } else {
      reply.answer = PurchaseAnswer::replayed;
      reply.ticket = ticket_view_of(**order);
    }
    done(std::move(reply));
  });
}

}  // namespace seckill::gateway
