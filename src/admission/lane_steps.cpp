// The steps of buying, looking and ending.
#include "admission/lane_steps.hpp"

#include <algorithm>

#include "admission/lane_rules.hpp"
#include "base/assert.hpp"
#include "base/hash.hpp"

namespace seckill::admission::steps {
namespace {

BuyerFacts facts_of(const LaneMark* mark, const LaneAsk& ask) {
  BuyerFacts facts;
  if (mark == nullptr) return facts;
  facts.tickets = static_cast<std::uint32_t>(mark->tickets.size());
  for (const LaneTicket& ticket : mark->tickets) {
    if (ticket.live()) facts.live_units += ticket.units;
    if (ticket.request_id == ask.request_id) facts.same_request_digest = ticket.digest;
  }
  return facts;
}

// Hold, mark and intent. Nothing below may fail.
void take(LaneState& lane, const LaneAsk& ask, base::UtcMs now, LaneDecision& decision) {
  ledger::hold(lane.stock, ask.units);
  LaneTicket& ticket = lane.add(ask.buyer, {.ticket = ask.ticket,
                                            .request_id = ask.request_id,
                                            .digest = ask.digest,
                                            .units = ask.units,
                                            .admitted_at = now,
                                            .terms = IntentTerms{.price_minor = lane.terms.price_minor,
                                                                 .currency = lane.terms.currency,
                                                                 .limit = lane.terms.limit,
                                                                 .pay_window_ms = lane.terms.pay_window_ms,
                                                                 .fields = ask.fields}});
  lane.open_intent(ticket, now);
  decision.ticket = view_of(ticket);
  decision.intent = lane.intent_of(ask.buyer, ticket);
}

void replay(const LaneState& lane, const LaneMark& mark, const LaneAsk& ask, LaneDecision& decision) {
  const LaneTicket& same = *std::ranges::find(mark.tickets, ask.request_id, &LaneTicket::request_id);
  decision.ticket = view_of(same);
  decision.published = same.published;
  if (!same.published) decision.intent = lane.intent_of(mark.buyer, same);
}

// The refusal names the buyer's own live tickets; those that are not known durable as intents, to be published first.
void name_own(const LaneState& lane, const LaneMark& mark, LaneDecision& decision) {
  for (const LaneTicket& ticket : mark.tickets) {
    if (!ticket.live()) continue;
    if (ticket.published) {
      decision.own.push_back(view_of(ticket));
    } else {
      decision.own_unpublished.push_back(lane.intent_of(mark.buyer, ticket));
    }
  }
}

LaneDecision judge(LaneState& lane, const LaneAsk& ask, base::UtcMs now) {
  const LaneMark* mark = lane.mark_of(ask.buyer);
  const LaneFacts facts{.open = true, .available = lane.stock.available};
  LaneDecision decision;
  decision.decision = decide(facts, lane.terms, facts_of(mark, ask), {.units = ask.units, .digest = ask.digest}, now);
  switch (decision.decision) {
    case Decision::admit: take(lane, ask, now, decision); break;
    case Decision::replay: replay(lane, *mark, ask, decision); break;
    case Decision::limit_reached:
      if (mark != nullptr) name_own(lane, *mark, decision);
      break;
    case Decision::busy:
    case Decision::request_conflict:
    case Decision::not_started:
    case Decision::ended:
    case Decision::paused:
    case Decision::short_of_stock: break;
  }
  return decision;
}

// The ticket's end rests on its row, so the store has it.
void known_in_store(LaneState& lane, LaneTicket& ticket) {
  lane.set_published(ticket);
  ticket.terms.reset();
}

}  // namespace

LaneDecisions admit(LaneState& lane, model::Generation generation, std::span<const LaneAsk> asks, base::UtcMs now) {
  if (lane.phase != LanePhase::open) return {.code = LaneCode::closed, .decisions = {}};
  if (lane.generation != generation) return {.code = LaneCode::stale, .decisions = {}};
  LaneDecisions answer{.code = LaneCode::done, .decisions = {}};
  answer.decisions.reserve(asks.size());
  for (const LaneAsk& ask : asks) answer.decisions.push_back(judge(lane, ask, now));
  return answer;
}

LaneCode confirm_published(LaneState& lane, std::span<const model::Ticket> tickets) {
  if (lane.phase == LanePhase::missing) return LaneCode::closed;
  for (const model::Ticket& ticket : tickets) {
    if (LaneTicket* found = lane.find(ticket)) lane.set_published(*found);
  }
  return LaneCode::done;
}

std::vector<model::OrderIntent> claim_intents(LaneState& lane, std::int64_t age_ms, std::size_t count,
                                              base::UtcMs now) {
  std::vector<model::OrderIntent> claimed;
  for (auto& [entry, intent] : lane.intents) {
    if (claimed.size() >= count) break;
    // A clock that went back must not keep an intent from being claimed for ever.
    if (intent.claimed_at <= now && now - intent.claimed_at < age_ms) continue;
    const LaneTicket* ticket = lane.find(intent.ticket);
    SECKILL_ASSERT(ticket != nullptr && ticket->live(), "P5: an open intent is of a live ticket");
    claimed.push_back(lane.intent_of(lane.buyers.at(intent.ticket), *ticket));
    intent.claimed_at = now;
  }
  return claimed;
}

LaneScripts::MarkPage live_marks(const LaneState& lane, base::UtcMs before, std::uint64_t cursor) {
  LaneScripts::MarkPage page;
  const std::size_t end = std::min<std::size_t>(lane.marks.size(), cursor + live_marks_page);
  for (std::size_t place = cursor; place < end; ++place) {
    const LaneMark& mark = lane.marks[place];
    for (const LaneTicket& ticket : mark.tickets) {
      if (ticket.terms && ticket.admitted_at < before) {
        page.intents.push_back(lane.intent_of(mark.buyer, ticket));
      }
    }
  }
  page.next = end < lane.marks.size() ? end : 0;
  return page;
}

LaneScripts::HolderPage mark_holders(const LaneState& lane, std::uint64_t cursor) {
  LaneScripts::HolderPage page;
  if (lane.phase == LanePhase::missing) return page;
  page.code = LaneCode::done;
  page.generation = lane.generation;
  const std::size_t end = std::min<std::size_t>(lane.marks.size(), cursor + live_marks_page);
  for (std::size_t place = cursor; place < end; ++place) {
    page.fingerprints.push_back(base::xxh3_64(lane.marks[place].buyer.view()));
  }
  page.next = end < lane.marks.size() ? end : 0;
  return page;
}

LaneReading read(const LaneState& lane) {
  LaneReading reading;
  if (lane.phase == LanePhase::missing) return reading;
  reading.known = true;
  reading.generation = lane.generation;
  reading.open = lane.phase == LanePhase::open;
  reading.stock = lane.stock;
  reading.epoch = lane.epoch;
  reading.marks = static_cast<std::int64_t>(lane.marks.size());
  reading.open_intents = static_cast<std::int64_t>(lane.intents.size());
  for (const auto& [entry, intent] : lane.intents) {
    // The stream is in the order of entering; an adopted intent was admitted earlier than those before it.
    const LaneMark& mark = *lane.mark_of(lane.buyers.at(intent.ticket));
    const base::UtcMs at = std::ranges::find(mark.tickets, intent.ticket, &LaneTicket::ticket)->admitted_at;
    if (reading.oldest_open_intent == 0 || at < reading.oldest_open_intent) reading.oldest_open_intent = at;
  }
  for (const auto& [id, transfer] : lane.transfers) {
    if (transfer.closed_at == 0) reading.transfers.push_back(transfer.record);
  }
  return reading;
}

LaneScripts::FoundTickets buyer_tickets(const LaneState& lane, const model::BuyerId& buyer) {
  LaneScripts::FoundTickets found;
  if (lane.phase != LanePhase::open) return found;
  found.code = LaneCode::done;
  found.generation = lane.generation;
  const LaneMark* mark = lane.mark_of(buyer);
  if (mark == nullptr) return found;
  for (const LaneTicket& ticket : mark->tickets) {
    found.tickets.push_back(view_of(ticket));
    if (ticket.live() && !ticket.published) found.unpublished.push_back(lane.intent_of(buyer, ticket));
  }
  return found;
}

LaneCode release(LaneState& lane, const model::Ticket& ticket) {
  if (lane.phase != LanePhase::open) return LaneCode::closed;
  LaneTicket* found = lane.find(ticket);
  if (found == nullptr) return LaneCode::done;
  // Nothing below may fail.
  known_in_store(lane, *found);
  if (found->units_state != LaneUnits::held) return LaneCode::done;
  ledger::void_hold(lane.stock, found->units);
  found->units_state = LaneUnits::ended;
  if (found->state == model::TicketState::queued) found->state = model::TicketState::ordered;
  if (found->state == model::TicketState::parked) found->state = model::TicketState::failed;  // discarded
  ++lane.epoch;
  return LaneCode::done;
}

LaneCode post(LaneState& lane, const model::Ticket& ticket) {
  if (lane.phase != LanePhase::open) return LaneCode::closed;
  LaneTicket* found = lane.find(ticket);
  if (found == nullptr) return LaneCode::done;
  // Nothing below may fail.
  known_in_store(lane, *found);
  if (found->units_state != LaneUnits::held) return LaneCode::done;
  ledger::post(lane.stock, found->units);
  found->units_state = LaneUnits::sold;
  found->state = model::TicketState::ordered;
  return LaneCode::done;
}

}  // namespace seckill::admission::steps
