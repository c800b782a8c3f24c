// The steps of operating: terms, adoption, closing and installing. (generation, leader) only grows along a lane's life.
#include "admission/lane_rules.hpp"
#include "admission/lane_steps.hpp"
#include "base/assert.hpp"

namespace seckill::admission::steps {
namespace {

// What an install step finds before it does anything.
enum class InstallSees : std::uint8_t {
  older,      // a lane that a begin of this plan replaces
  ours,       // this very install under way
  installed,  // this very install, finished: nothing to do
  stale,
};

InstallSees look(const LaneState& lane, const InstallPlan& plan) {
  const std::uint64_t leader = plan.leader.token;
  if (lane.phase == LanePhase::missing || lane.generation < plan.generation) return InstallSees::older;
  if (lane.generation > plan.generation || lane.leader > leader) return InstallSees::stale;
  switch (lane.phase) {
    case LanePhase::installing: return lane.leader == leader ? InstallSees::ours : InstallSees::older;
    // What an earlier leader opened may have admitted since: a plan of the same generation knows nothing of that.
    case LanePhase::open: return lane.leader == leader ? InstallSees::installed : InstallSees::stale;
    case LanePhase::closed: return InstallSees::stale;
    case LanePhase::missing: break;
  }
  return InstallSees::older;
}

LaneUnits units_of(model::OrderState state) {
  if (model::is_held(state)) return LaneUnits::held;
  return model::is_sold(state) ? LaneUnits::sold : LaneUnits::ended;
}

bool is_same(const LaneState& lane, const LaneTicket& known, const store::TicketRow& row) {
  return lane.buyers.at(row.ticket) == row.buyer && known.request_id == row.request_id && known.digest == row.digest &&
         known.units == row.units;
}

// Of a buyer whose limit is judged by the intent's own, and his tickets by the lane's.
bool within_limits(const LaneState& lane, const model::OrderIntent& intent) {
  const LaneMark* mark = lane.mark_of(intent.buyer);
  BuyerFacts buyer;
  if (mark != nullptr) {
    buyer.tickets = static_cast<std::uint32_t>(mark->tickets.size());
    for (const LaneTicket& ticket : mark->tickets) {
      if (ticket.live()) buyer.live_units += ticket.units;
    }
  }
  // The one order of checks, with a phase that is open: the intent passed it when it was admitted.
  model::ItemTerms terms = lane.terms;
  terms.state = model::SaleState::preloaded;
  terms.starts_at = intent.admitted_at;
  terms.ends_at = intent.admitted_at + 1;
  terms.limit = intent.limit;
  const LaneFacts facts{.open = true, .available = lane.stock.available};
  return decide(facts, terms, buyer, {.units = intent.units, .digest = intent.digest}, intent.admitted_at) ==
         Decision::admit;
}

}  // namespace

LaneCode configure(LaneState& lane, const model::ItemTerms& terms) {
  if (lane.phase != LanePhase::open) return LaneCode::closed;
  if (terms.version > lane.terms.version) lane.terms = terms;
  return LaneCode::done;
}

AdoptReply adopt(LaneState& lane, const model::OrderIntent& intent, base::UtcMs now) {
  AdoptReply reply{.code = LaneCode::closed, .adopted = Adopted::refused, .generation = lane.generation};
  if (lane.phase != LanePhase::open) return reply;
  reply.code = intent.generation > lane.generation ? LaneCode::stale : LaneCode::done;
  if (reply.code != LaneCode::done) return reply;
  if (const LaneTicket* known = lane.find(intent.ticket)) {
    const bool same = known->digest == intent.digest && known->request_id == intent.request_id &&
                      lane.buyers.at(intent.ticket) == intent.buyer;
    reply.adopted = same && known->live() ? Adopted::adopted : Adopted::superseded;
    return reply;
  }
  if (!within_limits(lane, intent)) return reply;
  // Nothing below may fail.
  ledger::hold(lane.stock, intent.units);
  LaneTicket& ticket = lane.add(intent.buyer, {.ticket = intent.ticket,
                                               .request_id = intent.request_id,
                                               .digest = intent.digest,
                                               .units = intent.units,
                                               .admitted_at = intent.admitted_at,
                                               .terms = IntentTerms{.price_minor = intent.price_minor,
                                                                    .currency = intent.currency,
                                                                    .limit = intent.limit,
                                                                    .pay_window_ms = intent.pay_window_ms,
                                                                    .fields = intent.fields}});
  lane.open_intent(ticket, now);
  reply.adopted = Adopted::adopted;
  return reply;
}

LaneCode close(LaneState& lane, model::Generation generation, LeaderToken leader) {
  if (lane.phase == LanePhase::missing) return LaneCode::done;
  if (lane.generation > generation) return LaneCode::stale;
  if (lane.generation == generation && lane.leader > leader.token) return LaneCode::stale;
  lane.phase = LanePhase::closed;
  lane.leader = std::max(lane.leader, leader.token);
  return LaneCode::done;
}

LaneCode install_begin(LaneState& lane, const InstallPlan& plan) {
  switch (look(lane, plan)) {
    case InstallSees::stale: return LaneCode::stale;
    case InstallSees::installed: return LaneCode::done;
    case InstallSees::older:
    case InstallSees::ours: break;
  }
  // Nothing below may fail.
  LaneState begun{lane.key};
  begun.phase = LanePhase::installing;
  begun.generation = plan.generation;
  begun.leader = plan.leader.token;
  begun.terms = plan.terms;
  begun.stock.available = plan.stock.available;
  // By generation, so that not even a flush between two readings makes them equal.
  begun.epoch = std::uint64_t{plan.generation} << 32;
  lane = std::move(begun);
  return LaneCode::done;
}

LaneCode install_batch(LaneState& lane, const InstallPlan& plan, std::span<const InstallTicket> tickets) {
  switch (look(lane, plan)) {
    case InstallSees::stale: return LaneCode::stale;
    case InstallSees::installed: return LaneCode::done;
    case InstallSees::older: return LaneCode::refused;
    case InstallSees::ours: break;
  }
  for (const InstallTicket& ticket : tickets) {
    if (ticket.row.units < 1) return LaneCode::refused;
    const LaneTicket* known = lane.find(ticket.row.ticket);
    if (known != nullptr && !is_same(lane, *known, ticket.row)) return LaneCode::refused;
  }
  // Nothing below may fail.
  for (const InstallTicket& ticket : tickets) {
    const store::TicketRow& row = ticket.row;
    if (lane.find(row.ticket) != nullptr) continue;
    const LaneUnits units_state = units_of(row.state);
    if (units_state == LaneUnits::held) lane.stock.held += row.units;
    if (units_state == LaneUnits::sold) lane.stock.sold += row.units;
    lane.add(row.buyer, {.ticket = row.ticket,
                         .request_id = row.request_id,
                         .digest = row.digest,
                         .units = row.units,
                         .admitted_at = row.admitted_at,
                         .state = model::ticket_state(row.state),
                         .units_state = units_state,
                         .published = true,
                         .terms = std::nullopt});
  }
  return LaneCode::done;
}

LaneCode install_open(LaneState& lane, const InstallPlan& plan) {
  switch (look(lane, plan)) {
    case InstallSees::stale: return LaneCode::stale;
    case InstallSees::installed: return LaneCode::done;
    case InstallSees::older: return LaneCode::refused;
    case InstallSees::ours: break;
  }
  if (lane.tickets != plan.tickets || !(lane.stock == plan.stock)) return LaneCode::refused;
  lane.phase = LanePhase::open;
  return LaneCode::done;
}

}  // namespace seckill::admission::steps
