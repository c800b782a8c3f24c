#include "admission/memory/lane_tickets.hpp"

#include "base/assert.hpp"

namespace seckill::admission::memory {

TicketView view_of(const TicketRecord& record) noexcept {
  return {.ticket = record.ticket, .units = record.units, .state = record.state, .live = record.live()};
}

std::vector<TicketView> own_live_tickets(const Lane& lane, const MarkRecord& mark) {
  std::vector<TicketView> own;
  for (const TicketRecord* ticket = lane.marks.first(mark); ticket != nullptr; ticket = lane.marks.next(*ticket)) {
    if (ticket->live() && ticket->published) own.push_back(view_of(*ticket));
  }
  return own;
}

model::OrderIntent intent_of(const Item& item, const Lane& lane, const TicketRecord& record,
                             const model::BuyerId& buyer, const model::RequestId& request_id) {
  SECKILL_ASSERT(!record.published && record.terms != nullptr, "P5: only an intent that may be lost is made again");
  return {.ticket = record.ticket,
          .item = item.key,
          .buyer = buyer,
          .request_id = request_id,
          .digest = record.digest,
          .lane = record.ticket.lane(),
          .generation = lane.generation,
          .units = record.units,
          .price_minor = record.terms->price_minor,
          .currency = record.terms->currency,
          .limit = record.terms->limit,
          .pay_window_ms = record.terms->pay_window_ms,
          .admitted_at = record.admitted_at,
          .fields = record.has_fields ? lane.fields.find(record.ticket)->second : nullptr};
}

model::OrderIntent intent_again(const Item& item, const Lane& lane, const TicketRecord& record) {
  return intent_of(item, lane, record, model::BuyerId::trusted(lane.marks.mark_of(record).buyer()),
                   PackedRequestId::unpack(record.request_tag, record.request_bytes()));
}

void mark_published(Lane& lane, TicketRecord& record) {
  record.published = true;
  if (record.has_fields) lane.fields.erase(record.ticket);
  record.has_fields = false;
}

void void_units(Item& item, Lane& lane, TicketRecord& record) {
  if (record.units_state != Units::held) return;
  ledger::void_hold(lane.stock, record.units);
  record.units_state = Units::ended;
  item.sold_out.lower();
}

void post_units(Lane& lane, TicketRecord& record) {
  if (record.units_state != Units::held) return;
  ledger::post(lane.stock, record.units);
  record.units_state = Units::sold;
}

bool landed_in_lane(Item& item, Lane& lane, TicketRecord& record, const std::optional<store::Landed>& landed) {
  if (!landed) {
    mark_published(lane, record);
    return true;
  }
  switch (landed->as) {
    case store::LandedAs::ordered:
    case store::LandedAs::already_live:
      // Its end may have overtaken this confirmation; an end is final.
      if (record.live()) {
        record.state = model::ticket_state(landed->state);
        if (model::is_sold(landed->state)) post_units(lane, record);
      }
      break;
    case store::LandedAs::already_ended:
      void_units(item, lane, record);
      record.state = model::ticket_state(landed->state);
      break;
    case store::LandedAs::failed:
      void_units(item, lane, record);
      record.state = model::TicketState::failed;
      break;
    case store::LandedAs::superseded: return false;
  }
  mark_published(lane, record);
  return true;
}

}  // namespace seckill::admission::memory
