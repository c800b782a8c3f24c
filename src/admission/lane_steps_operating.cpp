// The steps of operating: terms, adoption, closing and installing. Generation and leader only grow along a lane's life.
#include "admission/lane_rules.hpp"
#include "admission/lane_steps.hpp"
#include "base/assert.hpp"

namespace seckill::admission::steps {
namespace {

// What an install step finds before it does anything.
enum class InstallSees : std::uint8_t {
  older,      // a lane that a begin of this plan replaces, and no install of this plan
  ours,       // this very install under way
  installed,  // this very install, finished: nothing to do
  stale,
};

InstallSees look(const LaneState& lane, const InstallPlan& plan) {
  const std::uint64_t leader = plan.leader.token;
  if (lane.leader > leader || lane.closed_generation >= plan.generation) return InstallSees::stale;
  if (lane.phase != LanePhase::missing && lane.generation >= plan.generation) {
    // What an earlier leader opened may have admitted since: a plan of the same generation knows nothing of that.
    const bool same = lane.generation == plan.generation && lane.leader == leader;
    return same && lane.phase == LanePhase::open ? InstallSees::installed : InstallSees::stale;
  }
  if (lane.beside.empty() || lane.beside.front().leader < leader) return InstallSees::older;
  const model::Generation begun = lane.beside.front().generation;
  if (begun > plan.generation) return InstallSees::stale;
  return begun == plan.generation ? InstallSees::ours : InstallSees::older;
}

LaneUnits units_of(model::OrderState state) {
  if (model::is_held(state)) return LaneUnits::held;
  return model::is_sold(state) ? LaneUnits::sold : LaneUnits::ended;
}

bool is_same(const LaneState& lane, const LaneTicket& known, const store::TicketRow& row) {
  return lane.buyers.at(row.ticket) == row.buyer && known.request_id == row.request_id && known.digest == row.digest &&
         known.units == row.units;
}

// What has ended may have no units: the failure of an intent whose own could not be believed.
bool has_units(const store::TicketRow& row) { return row.units >= (units_of(row.state) == LaneUnits::ended ? 0 : 1); }

IntentTerms terms_of(const model::OrderIntent& intent) {
  return {.price_minor = intent.price_minor,
          .currency = intent.currency,
          .limit = intent.limit,
          .pay_window_ms = intent.pay_window_ms,
          .fields = intent.fields};
}

bool within_limits(const LaneState& lane, const model::OrderIntent& intent) {
  const LaneMark* mark = lane.mark_of(intent.buyer);
  BuyerFacts buyer;
  if (mark != nullptr) {
    buyer.tickets = static_cast<std::uint32_t>(mark->tickets.size());
    for (const LaneTicket& ticket : mark->tickets) {
      if (ticket.live()) buyer.live_units += ticket.units;
    }
  }
  return may_adopt(lane.stock.available, lane.terms, buyer, intent);
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
  const bool adopted = within_limits(lane, intent);
  // Nothing below may fail.
  LaneTicket ticket{.ticket = intent.ticket,
                    .request_id = intent.request_id,
                    .digest = intent.digest,
                    .units = intent.units,
                    .admitted_at = intent.admitted_at,
                    .terms = terms_of(intent)};
  if (adopted) {
    ledger::hold(lane.stock, intent.units);
    lane.open_intent(lane.add(intent.buyer, std::move(ticket)), now);
    reply.adopted = Adopted::adopted;
    return reply;
  }
  // His request id stands for this ticket and its end from now on, whoever asks before the row is written.
  ticket.state = model::TicketState::failed;
  ticket.units_state = LaneUnits::ended;
  ticket.published = true;
  ticket.terms.reset();
  lane.add(intent.buyer, std::move(ticket));
  return reply;
}

LaneCode close(LaneState& lane, model::Generation generation, LeaderToken leader) {
  if (lane.leader > leader.token) return LaneCode::stale;
  if (lane.phase != LanePhase::missing && lane.generation > generation) return LaneCode::stale;
  // Nothing below may fail.
  lane.leader = leader.token;
  lane.closed_generation = std::max(lane.closed_generation, generation);
  if (lane.phase == LanePhase::open) lane.phase = LanePhase::closed;
  std::erase_if(lane.beside, [&](const LaneState& begun) { return begun.generation <= generation; });
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
  lane.leader = plan.leader.token;
  if (lane.phase == LanePhase::open) {
    lane.phase = LanePhase::closed;
    lane.closed_generation = std::max(lane.closed_generation, lane.generation);
  }
  lane.beside.assign(1, begun);
  return LaneCode::done;
}

LaneCode install_batch(LaneState& lane, const InstallPlan& plan, std::span<const InstallTicket> tickets) {
  switch (look(lane, plan)) {
    case InstallSees::stale: return LaneCode::stale;
    case InstallSees::installed: return LaneCode::done;
    case InstallSees::older: return LaneCode::refused;
    case InstallSees::ours: break;
  }
  LaneState& begun = lane.beside.front();
  for (const InstallTicket& ticket : tickets) {
    if (!has_units(ticket.row)) return LaneCode::refused;
    const LaneTicket* known = begun.find(ticket.row.ticket);
    if (known != nullptr && !is_same(begun, *known, ticket.row)) return LaneCode::refused;
  }
  // Nothing below may fail.
  for (const InstallTicket& ticket : tickets) {
    const store::TicketRow& row = ticket.row;
    if (begun.find(row.ticket) != nullptr) continue;
    const LaneUnits units_state = units_of(row.state);
    if (units_state == LaneUnits::held) begun.stock.held += row.units;
    if (units_state == LaneUnits::sold) begun.stock.sold += row.units;
    LaneTicket& added = begun.add(row.buyer, {.ticket = row.ticket,
                                              .request_id = row.request_id,
                                              .digest = row.digest,
                                              .units = row.units,
                                              .admitted_at = row.admitted_at,
                                              .state = model::ticket_state(row.state),
                                              .units_state = units_state,
                                              .published = true,
                                              .terms = std::nullopt});
    if (!ticket.intent) continue;
    added.state = model::TicketState::queued;
    added.published = false;
    added.terms = terms_of(*ticket.intent);
    begun.open_intent(added, 0);  // claimed by nobody: the next sweep publishes it
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
  const LaneState& begun = lane.beside.front();
  if (begun.tickets != plan.tickets || !(begun.stock == plan.stock)) return LaneCode::refused;
  // Nothing below may fail.
  LaneState opened = std::move(lane.beside.front());
  opened.phase = LanePhase::open;
  opened.closed_generation = lane.closed_generation;
  lane = std::move(opened);
  return LaneCode::done;
}

}  // namespace seckill::admission::steps
