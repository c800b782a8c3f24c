#include "admission/lane_steps_state.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace seckill::admission::steps {

LaneMark* LaneState::mark_of(const model::BuyerId& buyer) noexcept {
  const auto place = places.find(buyer);
  return place == places.end() ? nullptr : &marks[place->second];
}

const LaneMark* LaneState::mark_of(const model::BuyerId& buyer) const noexcept {
  const auto place = places.find(buyer);
  return place == places.end() ? nullptr : &marks[place->second];
}

LaneTicket* LaneState::find(const model::Ticket& ticket) noexcept {
  const auto buyer = buyers.find(ticket);
  if (buyer == buyers.end()) return nullptr;
  LaneMark* mark = mark_of(buyer->second);
  SECKILL_ASSERT(mark != nullptr, "P4: a known ticket is in its buyer's mark");
  const auto found = std::ranges::find(mark->tickets, ticket, &LaneTicket::ticket);
  SECKILL_ASSERT(found != mark->tickets.end(), "P4: a known ticket is in its buyer's mark");
  return &*found;
}

LaneTicket& LaneState::add(const model::BuyerId& buyer, LaneTicket ticket) {
  const bool is_new = buyers.emplace(ticket.ticket, buyer).second;
  SECKILL_ASSERT(is_new, "P4: a ticket is in a lane once");
  const auto [place, first] = places.emplace(buyer, marks.size());
  if (first) marks.push_back({.buyer = buyer, .tickets = {}});
  ++tickets;
  return marks[place->second].tickets.emplace_back(std::move(ticket));
}

void LaneState::open_intent(LaneTicket& ticket, base::UtcMs now) {
  ticket.stream_entry = next_entry++;
  intents.emplace(ticket.stream_entry, OpenIntent{.ticket = ticket.ticket, .claimed_at = now});
}

void LaneState::set_published(LaneTicket& ticket) noexcept {
  ticket.published = true;
  if (ticket.stream_entry != 0) intents.erase(std::exchange(ticket.stream_entry, 0));
}

model::OrderIntent LaneState::intent_of(const model::BuyerId& buyer, const LaneTicket& ticket) const {
  SECKILL_ASSERT(ticket.terms.has_value(), "P5: an intent is made again from all that it needs");
  return {.ticket = ticket.ticket,
          .item = key.item,
          .buyer = buyer,
          .request_id = ticket.request_id,
          .digest = ticket.digest,
          .lane = key.lane,
          .generation = generation,
          .units = ticket.units,
          .price_minor = ticket.terms->price_minor,
          .currency = ticket.terms->currency,
          .limit = ticket.terms->limit,
          .pay_window_ms = ticket.terms->pay_window_ms,
          .admitted_at = ticket.admitted_at,
          .fields = ticket.terms->fields};
}

TicketView view_of(const LaneTicket& ticket) noexcept {
  return {.ticket = ticket.ticket, .units = ticket.units, .state = ticket.state, .live = ticket.live()};
}

}  // namespace seckill::admission::steps
