#include "admission/memory/memory_admission.hpp"

#include <fmt/format.h>

#include <utility>

#include "admission/lane_rules.hpp"
#include "admission/memory/lane_tickets.hpp"
#include "base/assert.hpp"

namespace seckill::admission::memory {

namespace {

// Queue places reserved before a lane's lock is taken; what is not used goes back.
class Places {
 public:
  Places(queue::IntentQueue& queue, std::size_t count) : queue_{queue}, left_{queue.try_reserve(count) ? count : 0} {}
  ~Places() {
    if (left_ > 0) queue_.cancel_reservation(left_);
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  [[nodiscard]] bool add(std::size_t count) {
    if (count > 0 && !queue_.try_reserve(count)) return false;
    left_ += count;
    return true;
  }
  [[nodiscard]] std::size_t left() const noexcept { return left_; }
  void publish(model::LaneRecord record, queue::Confirm confirm) noexcept {
    SECKILL_ASSERT(left_ > 0, "P9: a record is published on a reserved place");
    --left_;
    queue_.publish(std::move(record), std::move(confirm));
  }

 private:
  queue::IntentQueue& queue_;
  std::size_t left_;
};

}  // namespace

// One admit() on its way through the lane.
struct MemoryAdmission::Call {
  const AdmitRequest& request;
  Item& item;
  AdmitDone& done;
  const PackedRequestId request_id;
  const std::uint64_t hash;
  const model::LaneIndex lane;
  Places places;
  model::Ticket ticket;  // derived when it may be needed
  AdmitReply reply;      // when judged `answered`
};

enum class MemoryAdmission::Judged : std::uint8_t {
  answered,   // call.reply is to be sent when no lock is held
  published,  // the queue's confirmation answers
  short_of_stock,
};

MemoryAdmission::MemoryAdmission(queue::IntentQueue& queue, const base::Clock& clock, base::Threads& threads,
                                 base::Random& random)
    : queue_{queue}, clock_{clock}, threads_{threads}, nonce_{fmt::format("{:016x}", random.next())} {}

MemoryAdmission::~MemoryAdmission() = default;

void MemoryAdmission::admit(const AdmitRequest& request, AdmitDone done) {
  const ItemRegistry::Reading reading{items_};
  Item* item = reading.find(request.item);
  if (item == nullptr) return done({.answer = model::PurchaseAnswer::busy, .ticket = std::nullopt, .own = {}});
  const std::string_view buyer = request.buyer.view();
  // Without a place the lane is asked all the same: only what must be written is answered busy, so a buyer with a
  // ticket and a loser get their answers while the disk is full.
  Call call{.request = request,
            .item = *item,
            .done = done,
            .request_id = PackedRequestId{request.request_id},
            .hash = MarkTable::hash_of(buyer),
            .lane = model::lane_of(buyer, item->lane_count),
            .places = Places{queue_, 1},
            .ticket = {},
            .reply = {}};
  Lane& lane = item->lanes[call.lane];
  Judged judged{};
  {
    const std::scoped_lock lock{lane.mutex};
    judged = judge(call, lane);
  }
  if (judged == Judged::short_of_stock) judged = judge_over_all_lanes(call, lane);
  if (judged == Judged::answered) done(std::move(call.reply));
}

// Under the lane's lock.
MemoryAdmission::Judged MemoryAdmission::judge(Call& call, Lane& lane) {
  // A lane with stock will most likely admit: derive the ticket while the indexes' cache lines are on their way.
  if (lane.stock.available >= call.request.units && call.ticket.is_none()) {
    lane.marks.prefetch_buyer(call.hash);
    call.ticket = model::derive_ticket(call.item.ticket_key, call.item.key, call.request.buyer,
                                       call.request.request_id.view(), call.lane);
    lane.marks.prefetch_ticket(call.ticket);
  }
  MarkRecord* mark = lane.marks.find(call.request.buyer.view(), call.hash);
  BuyerFacts buyer;
  TicketRecord* same = nullptr;
  if (mark != nullptr) {
    buyer.tickets = mark->tickets;
    for (TicketRecord* ticket = lane.marks.first(*mark); ticket != nullptr; ticket = lane.marks.next(*ticket)) {
      if (ticket->live()) buyer.live_units += ticket->units;
      if (ticket->is_of(call.request_id)) same = ticket;
    }
    if (same != nullptr) buyer.same_request_digest = same->digest;
  }
  const base::UtcMs now = clock_.now_utc();
  const auto answered = [&](model::PurchaseAnswer answer) {
    call.reply.answer = answer;
    return Judged::answered;
  };
  switch (
      decide({lane.open, lane.stock.available}, *lane.terms, buyer, {call.request.units, call.request.digest}, now)) {
    case Decision::busy: return answered(model::PurchaseAnswer::busy);
    case Decision::replay: return answer_from(call, lane, *same, model::PurchaseAnswer::replayed);
    case Decision::request_conflict: return answered(model::PurchaseAnswer::request_conflict);
    case Decision::not_started: return answered(model::PurchaseAnswer::not_started);
    case Decision::ended: return answered(model::PurchaseAnswer::ended);
    case Decision::paused: return answered(model::PurchaseAnswer::paused);
    case Decision::limit_reached: return refuse_by_limit(call, lane, mark);
    case Decision::short_of_stock:
      if (call.item.sold_out.may_cover(call.request.units) &&
          call.item.sold_out.covers(call.request.units, steady_ns())) {
        return answered(model::PurchaseAnswer::sold_out);
      }
      return Judged::short_of_stock;
    case Decision::admit: return take(call, lane, mark, now);
  }
  return answered(model::PurchaseAnswer::busy);
}

// Hold, mark and intent in one step. Under the lane's lock.
MemoryAdmission::Judged MemoryAdmission::take(Call& call, Lane& lane, MarkRecord* mark, base::UtcMs now) {
  if (call.places.left() == 0) {
    call.reply.answer = model::PurchaseAnswer::busy;
    return Judged::answered;
  }
  const AdmitRequest& request = call.request;
  // Nothing below may fail.
  TicketRecord& record = lane.marks.add(mark, request.buyer.view(), call.hash, call.request_id, call.ticket,
                                        request.digest, request.units);
  record.admitted_at = now;
  record.terms = lane.terms;
  if (request.fields) {
    record.has_fields = true;
    lane.fields.emplace(call.ticket, request.fields);
  }
  ledger::hold(lane.stock, request.units);
  if (mark == nullptr) call.item.filter.add(call.hash);
  publish_intent(call, intent_of(call.item, lane, record, request.buyer, request.request_id), record,
                 model::PurchaseAnswer::admitted);
  return Judged::published;
}

// An answer that rests on a ticket: at once when it is known durable, else behind a copy of its intent. Under the lock.
MemoryAdmission::Judged MemoryAdmission::answer_from(Call& call, Lane& lane, TicketRecord& record,
                                                     model::PurchaseAnswer answer) {
  if (record.published) {
    call.reply.answer = answer;
    call.reply.ticket = view_of(record);
    return Judged::answered;
  }
  if (call.places.left() == 0) {
    call.reply.answer = model::PurchaseAnswer::busy;
    // A refusal by the limit rests on a ticket of another request: this one has none.
    if (answer != model::PurchaseAnswer::limit_reached) call.reply.ticket = view_of(record);
    return Judged::answered;
  }
  publish_intent(call, intent_again(call.item, lane, record), record, answer);
  return Judged::published;
}

// The refusal names the buyer's own live tickets, so it too waits for the newest of them that is not known durable;
// what is queued before it is durable with it. Under the lane's lock.
MemoryAdmission::Judged MemoryAdmission::refuse_by_limit(Call& call, Lane& lane, const MarkRecord* mark) {
  TicketRecord* newest_unpublished = nullptr;
  if (mark != nullptr) {
    for (TicketRecord* ticket = lane.marks.first(*mark); ticket != nullptr; ticket = lane.marks.next(*ticket)) {
      if (ticket->live() && !ticket->published) newest_unpublished = ticket;
    }
  }
  if (newest_unpublished != nullptr) {
    return answer_from(call, lane, *newest_unpublished, model::PurchaseAnswer::limit_reached);
  }
  call.reply.answer = model::PurchaseAnswer::limit_reached;
  if (mark != nullptr) call.reply.own = own_live_tickets(lane, *mark);
  return Judged::answered;
}

// The buyer's lane was short. Under all lanes' locks: judge again (the world moved), take from the richest lanes, or
// say sold_out by this exact reading. No bound on waiters is needed: they are threads, and the step is microseconds
// long.
MemoryAdmission::Judged MemoryAdmission::judge_over_all_lanes(Call& call, Lane& lane) {
  const bool room = call.places.left() > 0 && call.places.add(call.item.lane_count - 1);
  const AllLanes locked{call.item};
  const Judged judged = judge(call, lane);
  if (judged != Judged::short_of_stock) return judged;
  const auto available = locked.available();
  const StealPlan plan = plan_steal({available.data(), call.item.lane_count}, call.lane, call.request.units);
  if (plan.free_units < call.request.units) {
    call.item.sold_out.raise(plan.free_units, steady_ns());
    call.reply.answer = model::PurchaseAnswer::sold_out;
    return Judged::answered;
  }
  if (!room) {
    call.reply.answer = model::PurchaseAnswer::busy;
    return Judged::answered;
  }
  // Nothing below may fail.
  for (const StealStep& step : plan.moves()) {
    ledger::debit(call.item.lanes[step.from].stock, step.units);
    ledger::credit(lane.stock, step.units);
    call.places.publish(model::StockTransfer{.id = next_transfer_id("steal"),
                                             .item = call.item.key,
                                             .from = static_cast<std::int32_t>(step.from),
                                             .to = static_cast<std::int32_t>(call.lane),
                                             .units = step.units,
                                             .generation = lane.generation,
                                             .at = clock_.now_utc()},
                        [](const queue::Confirmation&) {});
  }
  return judge(call, lane);
}

// Under the lane's lock, so that queue order is lane order. Requires: a reserved place.
void MemoryAdmission::publish_intent(Call& call, model::OrderIntent intent, TicketRecord& record,
                                     model::PurchaseAnswer answer) {
  ++call.item.lanes[call.lane].confirmations;
  call.places.publish(std::move(intent), [this, &item = call.item, &record, answer, done = std::move(call.done)](
                                             const queue::Confirmation& confirmation) mutable {
    confirmed(item, record, answer, done, confirmation);
  });
}

void MemoryAdmission::confirmed(Item& item, TicketRecord& record, model::PurchaseAnswer answer, AdmitDone& done,
                                const queue::Confirmation& confirmation) {
  AdmitReply reply;
  {
    // The count keeps the item until here, the reading until the lock is given up.
    const ItemRegistry::Reading reading{items_};
    Lane& lane = item.lanes[record.ticket.lane()];
    const std::scoped_lock lock{lane.mutex};
    --lane.confirmations;
    const bool known = confirmation.durable && landed_in_lane(item, lane, record, confirmation.landed);
    reply.answer = known ? answer : model::PurchaseAnswer::busy;
    if (answer == model::PurchaseAnswer::limit_reached) {
      // The ticket the refusal rests on is another request's; when it is gone, or not known to stay, it is no reason.
      if (known && !record.live()) reply.answer = model::PurchaseAnswer::busy;
      if (known && record.live()) reply.own = own_live_tickets(lane, lane.marks.mark_of(record));
    } else {
      if (known && !record.live()) reply.answer = model::PurchaseAnswer::replayed;
      reply.ticket = view_of(record);
    }
  }
  done(std::move(reply));
}

void MemoryAdmission::landed_late(const model::OrderIntent& intent, const store::Landed& landed) {
  const ItemRegistry::Reading reading{items_};
  Item* item = reading.find(intent.item);
  if (item == nullptr || intent.ticket.lane() >= item->lane_count) return;
  Lane& lane = item->lanes[intent.ticket.lane()];
  const std::scoped_lock lock{lane.mutex};
  // Superseded: not settled, and nobody waits for an answer.
  if (TicketRecord* record = lane.marks.find(intent.ticket)) (void)landed_in_lane(*item, lane, *record, landed);
}

std::string MemoryAdmission::next_transfer_id(std::string_view what) {
  return fmt::format("{}:{}-{}", what, nonce_, transfers_.fetch_add(1, std::memory_order_relaxed) + 1);
}

std::optional<model::PurchaseAnswer> MemoryAdmission::early_answer(const model::ItemKey& key,
                                                                   std::optional<std::string_view> buyer,
                                                                   std::int64_t units_min) const noexcept {
  const ItemRegistry::Reading reading{items_};
  const Item* item = reading.find(key);
  if (item == nullptr || !item->open.load(std::memory_order_acquire)) return std::nullopt;
  const model::ItemTerms& terms = *item->terms.load(std::memory_order_acquire);
  switch (model::phase_at(terms.state, terms.starts_at, terms.ends_at, clock_.now_utc())) {
    case model::Phase::not_started: return model::PurchaseAnswer::not_started;
    case model::Phase::ended:
      if (!buyer || has_mark(*item, *buyer)) return std::nullopt;
      return model::PurchaseAnswer::ended;
    case model::Phase::paused:
      if (!buyer || has_mark(*item, *buyer)) return std::nullopt;
      return model::PurchaseAnswer::paused;
    case model::Phase::open: break;
  }
  if (!buyer || !item->sold_out.may_cover(units_min) || !item->sold_out.covers(units_min, steady_ns())) {
    return std::nullopt;
  }
  if (has_mark(*item, *buyer)) return std::nullopt;
  return model::PurchaseAnswer::sold_out;
}

bool MemoryAdmission::has_mark(const Item& item, std::string_view buyer) const noexcept {
  const std::uint64_t hash = MarkTable::hash_of(buyer);
  if (!item.filter.maybe(hash)) return false;
  Lane& lane = item.lane_of(buyer);
  const std::scoped_lock lock{lane.mutex};
  return lane.marks.find(buyer, hash) != nullptr;
}

}  // namespace seckill::admission::memory
