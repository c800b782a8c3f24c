#include "admission/remote/lane_desk.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace seckill::admission::remote {

// One answer that waits for its intent.
struct LaneDesk::Durable {
  CallPtr call;
  LaneServer server;
  AdmitReply reply;
  std::atomic<bool> replicas_asked{false};
};

struct LaneDesk::SlowBroker {
  LaneDesk& desk;
  std::shared_ptr<Durable> durable;
  [[nodiscard]] bool over() const noexcept { return durable->call->answered(); }
  void ring() const { desk.ask_replicas(durable); }
};

namespace {

// What an undrained lane does not know enough to say: the buyer may have a ticket of an older generation (P4).
bool denies(Decision decision) noexcept {
  switch (decision) {
    case Decision::limit_reached:
    case Decision::ended:
    case Decision::paused: return true;
    case Decision::short_of_stock:  // a steal decides
    case Decision::not_started:     // nobody can have one
    case Decision::request_conflict:
    case Decision::replay:
    case Decision::busy:
    case Decision::admit: return false;
  }
  return false;
}

}  // namespace

LaneDesk::LaneDesk(const Ports& ports, const Config& config, const Gate& gate, ItemCopies& copies, Relay& relay,
                   StealDesk& steals, Alarms& alarms)
    : ports_{ports},
      config_{config},
      gate_{gate},
      copies_{copies},
      relay_{relay},
      steals_{steals},
      alarms_{alarms},
      turns_{config.round_lanes_max, [this](const ServerTurns::Turn& turn) { take_turn(turn); }} {}

void LaneDesk::ask(CallPtr call) {
  if (call->tries++ >= config_.tries_max) return call->answer_busy();
  const ItemPtr item = call->item;
  const model::LaneIndex index = call->lane;
  LaneState& lane = item->lanes[index];
  {
    std::unique_lock lock{lane.mutex};
    if (lane.waiting.size() >= config_.asks_waiting_max) {
      lock.unlock();
      return call->answer_busy();
    }
    lane.waiting.push_back(std::move(call));
    if (lane.in_turn) return;
    lane.in_turn = true;
  }
  turns_.join(item->copy()->lane(index).run_id, item, index);
}

// The lane's turn: sends what waits, at most one call's.
void LaneDesk::take_turn(const ServerTurns::Turn& turn) {
  std::vector<CallPtr> batch = next_batch(turn.item->lanes[turn.lane]);
  if (batch.empty()) return end_turn(turn);
  send(turn, std::move(batch));
}

// Back into the line of the server that has the lane by now, if anything waits; then the turn is given back.
void LaneDesk::end_turn(const ServerTurns::Turn& turn) {
  LaneState& lane = turn.item->lanes[turn.lane];
  bool again = false;
  {
    const std::scoped_lock lock{lane.mutex};
    again = !lane.waiting.empty();
    lane.in_turn = again;
  }
  if (again) turns_.join(turn.item->copy()->lane(turn.lane).run_id, turn.item, turn.lane);
  turns_.leave(turn);
}

// Empty: nothing waits. What its deadline has answered meanwhile is not asked for any more.
std::vector<CallPtr> LaneDesk::next_batch(LaneState& lane) const {
  std::vector<CallPtr> batch;
  const std::scoped_lock lock{lane.mutex};
  SECKILL_ASSERT(lane.in_turn, "a lane is asked in its turn");
  batch.reserve(std::min(lane.waiting.size(), config_.asks_in_call_max));
  while (!lane.waiting.empty() && batch.size() < config_.asks_in_call_max) {
    if (!lane.waiting.front()->answered()) batch.push_back(std::move(lane.waiting.front()));
    lane.waiting.pop_front();
  }
  return batch;
}

void LaneDesk::send(const ServerTurns::Turn& turn, std::vector<CallPtr> batch) {
  const CopyPtr copy = turn.item->copy();
  const store::LaneAuthorityRow& row = copy->lane(turn.lane);
  auto pass = gate_.enter();
  bool may_ask = pass && copies_.fresh(*copy) && row.state == store::LaneState::lane;
  if (may_ask) {
    LaneState& lane = turn.item->lanes[turn.lane];
    const std::scoped_lock lock{lane.mutex};
    may_ask = row.row.generation > lane.closed_here;
  }
  if (!may_ask) {
    for (const CallPtr& call : batch) call->answer_busy();
    return end_turn(turn);
  }
  std::vector<LaneAsk> asks;
  asks.reserve(batch.size());
  for (const CallPtr& call : batch) {
    const AdmitRequest& request = call->request;
    asks.push_back({.buyer = request.buyer,
                    .request_id = request.request_id,
                    .ticket = call->ticket,
                    .units = request.units,
                    .digest = request.digest,
                    .fields = request.fields});
    call->ticket_possible.store(true, std::memory_order_release);
  }
  ports_.scripts.admit(turn.item->lane_key(turn.lane), copy->server(turn.lane), row.row.generation, std::move(asks),
                       [this, turn, asked = AskedLane{copy->server(turn.lane), row.undrained()},
                        batch = std::move(batch), pass = std::move(pass)](base::Result<LaneDecisions> answer) mutable {
                         decided(asked, batch, answer);
                         batch.clear();  // what was answered is let go before more is begun
                         end_turn(turn);
                       });
}

void LaneDesk::decided(const AskedLane& lane, std::vector<CallPtr>& batch, base::Result<LaneDecisions>& answer) {
  if (!answer) {
    const bool unknown = answer.error().code == base::Errc::timeout;
    for (const CallPtr& call : batch) {
      if (!unknown) call->ticket_possible.store(false, std::memory_order_release);
      call->answer_busy();
    }
    return;
  }
  if (answer->code != LaneCode::done) {
    // Not what the copy says: the next one tells, and the rounds report what stays so.
    if (answer->code == LaneCode::stale) copies_.refresh_soon();
    for (const CallPtr& call : batch) {
      call->ticket_possible.store(false, std::memory_order_release);
      call->answer_busy();
    }
    return;
  }
  SECKILL_ASSERT(answer->decisions.size() == batch.size(), "a lane answers every ask");
  std::vector<Relay::Publication> together;
  together.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    work_off(batch[i], lane, std::move(answer->decisions[i]), together);
  }
  relay_.publish(std::move(together));
}

void LaneDesk::work_off(const CallPtr& call, const AskedLane& lane, LaneDecision decision,
                        std::vector<Relay::Publication>& together) {
  using model::PurchaseAnswer;
  const bool has_ticket = decision.decision == Decision::admit || decision.decision == Decision::replay;
  if (!has_ticket) call->ticket_possible.store(false, std::memory_order_release);
  if (lane.undrained && denies(decision.decision)) return call->answer_busy();
  switch (decision.decision) {
    case Decision::busy: return call->answer_busy();
    case Decision::request_conflict: return call->answer(PurchaseAnswer::request_conflict);
    case Decision::not_started: return call->answer(PurchaseAnswer::not_started);
    case Decision::ended: return call->answer(PurchaseAnswer::ended);
    case Decision::paused: return call->answer(PurchaseAnswer::paused);
    case Decision::limit_reached: return refuse_by_limit(call, std::move(decision));
    case Decision::short_of_stock:
      // An undrained lane is worth a steal, and no more than that is said of it.
      if (!lane.undrained && call->item->sold_out.covers(call->request.units, ports_.clock.steady_now())) {
        return call->answer(PurchaseAnswer::sold_out);
      }
      return steals_.wait(call);
    case Decision::replay:
    case Decision::admit: break;
  }
  const bool admitted_now = decision.decision == Decision::admit;
  if (admitted_now) {
    LaneState& admitting = call->item->lanes[call->lane];
    const std::scoped_lock lock{admitting.mutex};
    if (decision.intent) admitting.holders.add(decision.intent->generation, call->request.buyer.view());
  }
  AdmitReply reply{.answer = admitted_now ? PurchaseAnswer::admitted : PurchaseAnswer::replayed,
                   .ticket = decision.ticket,
                   .own = {}};
  // An ended ticket's row was written before its lane was told: it is durable, published or not.
  const bool durable = !admitted_now && (decision.published || (reply.ticket && !reply.ticket->live));
  if (durable) return call->answer(std::move(reply));
  if (!decision.intent) return call->answer_busy();
  together.push_back(answer_when_durable(call, lane.server, std::move(*decision.intent), std::move(reply)));
}

Relay::Publication LaneDesk::answer_when_durable(const CallPtr& call, const LaneServer& server,
                                                 model::OrderIntent intent, AdmitReply reply) {
  SECKILL_ASSERT(call->place.has_value(), "P9: an intent is published on a place taken before its lane was asked");
  auto durable = std::make_shared<Durable>();
  durable->call = call;
  durable->server = server;
  durable->reply = std::move(reply);
  Places::Place place = std::move(*call->place);
  call->place.reset();
  if (config_.replicas_after.count() > 0) {
    // Full: the deadline's alarm stands, and the broker may still confirm.
    (void)alarms_.try_set(config_.replicas_after, SlowBroker{*this, durable});
  }
  return {.intent = std::move(intent), .place = std::move(place), .done = [this, durable](const Relayed& how) {
            relayed(durable, how);
          }};
}

void LaneDesk::relayed(const std::shared_ptr<Durable>& durable, const Relayed& how) {
  if (!how.durable) {
    if (config_.replicas_after.count() > 0) return ask_replicas(durable);
    return durable->call->answer_busy();
  }
  AdmitReply reply = durable->reply;
  if (how.landed && reply.ticket) {
    // Landed in this process: the row says more than the mark did.
    reply.ticket->state = model::ticket_state(how.landed->state);
    reply.ticket->live = !model::is_ended(how.landed->state);
    if (!reply.ticket->live) reply.answer = model::PurchaseAnswer::replayed;
  }
  durable->call->answer(std::move(reply));
}

// The broker is slow or does not take it: is the lane's own record of it on all replicas? Once for each answer.
void LaneDesk::ask_replicas(const std::shared_ptr<Durable>& durable) {
  if (durable->replicas_asked.exchange(true, std::memory_order_acq_rel) || durable->call->answered()) return;
  const AdmitCall& call = *durable->call;
  const std::chrono::nanoseconds left = call.deadline - ports_.threads.now();
  const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(left);
  auto pass = gate_.enter();
  if (!pass || longest.count() <= 0) return durable->call->answer_busy();
  ports_.scripts.wait_replicas(call.item->lane_key(call.lane), durable->server, longest,
                               [durable, pass = std::move(pass)](const base::Result<LaneCode>& code) {
                                 // Not there in time: the broker may still confirm before the deadline's alarm.
                                 if (code && *code == LaneCode::done) durable->call->answer(durable->reply);
                               });
}

// The refusal names the buyer's own live tickets; those that are not known durable are published first.
void LaneDesk::refuse_by_limit(const CallPtr& call, LaneDecision decision) {
  AdmitReply reply{
      .answer = model::PurchaseAnswer::limit_reached, .ticket = std::nullopt, .own = std::move(decision.own)};
  if (decision.own_unpublished.empty()) return call->answer(std::move(reply));
  std::vector<Places::Place> places;
  if (call->place) places.push_back(std::move(*call->place));
  call->place.reset();
  while (places.size() < decision.own_unpublished.size()) {
    auto place = relay_.try_reserve();
    if (!place) return call->answer_busy();
    places.push_back(std::move(*place));
  }
  for (const model::OrderIntent& intent : decision.own_unpublished) {
    reply.own.push_back(
        {.ticket = intent.ticket, .units = intent.units, .state = model::TicketState::queued, .live = true});
  }
  publish_all(std::move(decision.own_unpublished), std::move(places),
              [call, reply = std::move(reply)](bool durable) mutable {
                if (durable) return call->answer(std::move(reply));
                call->answer_busy();
              });
}

void LaneDesk::publish_all(std::vector<model::OrderIntent> intents, std::vector<Places::Place> places,
                           std::move_only_function<void(bool)> done) {
  SECKILL_ASSERT(places.size() >= intents.size(), "P9: every intent is published on a place");
  if (intents.empty()) return done(true);
  struct All {
    std::atomic<std::size_t> left;
    std::atomic<bool> durable{true};
    std::move_only_function<void(bool)> done;
  };
  const auto all = std::make_shared<All>();
  all->left = intents.size();
  all->done = std::move(done);
  std::vector<Relay::Publication> together;
  together.reserve(intents.size());
  for (model::OrderIntent& intent : intents) {
    const auto one_done = [all](const Relayed& how) {
      // What landed as ended is no live ticket any more: the answer that named it would be wrong.
      if (!how.durable || (how.landed && model::is_ended(how.landed->state))) all->durable = false;
      if (all->left.fetch_sub(1) == 1) all->done(all->durable);
    };
    together.push_back({.intent = std::move(intent), .place = std::move(places.back()), .done = one_done});
    places.pop_back();
  }
  relay_.publish(std::move(together));
}

}  // namespace seckill::admission::remote
