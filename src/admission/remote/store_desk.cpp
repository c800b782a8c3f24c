#include "admission/remote/store_desk.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"

namespace seckill::admission::remote {
namespace {

constexpr std::int64_t micro = 1'000'000;

TicketView view_of(const store::Order& order) {
  return {.ticket = order.ticket,
          .units = order.units,
          .state = model::ticket_state(order.state),
          .live = !model::is_ended(order.state)};
}

}  // namespace

StoreDesk::StoreDesk(const Ports& ports, const Config& config, const ItemCopies& copies, Relay& relay)
    : ports_{ports}, config_{config}, copies_{copies}, relay_{relay}, changed_{ports.threads.make_signal()} {}

void StoreDesk::start() {
  filled_at_ = ports_.threads.now();
  tokens_micro_ = config_.store_admissions_per_s * micro / 10;
  for (std::size_t i = 0; i < config_.store_threads; ++i) {
    threads_.push_back(ports_.threads.start("store-desk", [this] { run(); }));
  }
}

void StoreDesk::stop() {
  std::deque<CallPtr> left;
  {
    const std::scoped_lock lock{mutex_};
    stopping_ = true;
    left.swap(waiting_);
  }
  changed_->notify_all();
  for (const auto& thread : threads_) thread->join();
  threads_.clear();
  for (const CallPtr& call : left) call->answer_busy();
}

void StoreDesk::ask(CallPtr call) {
  {
    const std::scoped_lock lock{mutex_};
    if (!stopping_ && waiting_.size() < config_.store_waiting_max) {
      waiting_.push_back(std::move(call));
      changed_->notify_one();
      return;
    }
  }
  call->answer_busy();
}

void StoreDesk::run() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_->wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const CallPtr call = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (!call->answered()) serve(call);
    lock.lock();
  }
}

void StoreDesk::serve(const CallPtr& call) {
  const auto found = ports_.store.find_order(call->ticket);
  if (!found) {
    base::log::warn("admission by database: {}", found.error().text());
    return call->answer_busy();
  }
  const AdmitRequest& request = call->request;
  if (*found) {
    if ((*found)->digest != request.digest) return call->answer(model::PurchaseAnswer::request_conflict);
    return call->answer({.answer = model::PurchaseAnswer::replayed, .ticket = view_of(**found), .own = {}});
  }
  // After the store was asked: what it said may have taken its time.
  const CopyPtr copy = call->item->copy();
  if (!copies_.fresh(*copy) || copy->lane(call->lane).state != store::LaneState::store) return call->answer_busy();
  const model::ItemTerms& terms = copy->terms;
  switch (model::phase_at(terms.state, terms.starts_at, terms.ends_at, ports_.clock.now_utc())) {
    case model::Phase::not_started: return call->answer(model::PurchaseAnswer::not_started);
    case model::Phase::ended:
    case model::Phase::paused:
      // He may have been told "queued, undecided" before, and his intent still wait for its landing: nobody here can
      // know, so he is delayed and not denied (P4). So is everybody else, for as long as the mode lasts.
      return call->answer_busy();
    case model::Phase::open: break;
  }
  if (request.units < 1) return call->answer(model::PurchaseAnswer::limit_reached);
  // As above: other content under a request id that is queued and undecided, or a limit lowered since, is no reason to
  // deny. What was always too much the gateway has refused already.
  if (request.units > terms.limit) return call->answer_busy();
  if (!within_rate()) return call->answer_busy();
  publish(call, *copy);
}

// A bucket of a tenth of a second: the database's own pace is what this mode lives on.
bool StoreDesk::within_rate() {
  const std::scoped_lock lock{mutex_};
  const std::chrono::nanoseconds now = ports_.threads.now();
  const std::int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(now - filled_at_).count();
  const std::int64_t full = std::max(config_.store_admissions_per_s * micro / 10, micro);
  if (us > 0) {
    filled_at_ += std::chrono::microseconds{us};
    tokens_micro_ = std::min(full, tokens_micro_ + std::min(us, micro) * config_.store_admissions_per_s);
  }
  if (tokens_micro_ < micro) return false;
  tokens_micro_ -= micro;
  return true;
}

void StoreDesk::publish(const CallPtr& call, const ItemCopy& copy) {
  SECKILL_ASSERT(call->place.has_value(), "P9: an intent is published on a place");
  const AdmitRequest& request = call->request;
  model::OrderIntent intent{.ticket = call->ticket,
                            .item = request.item,
                            .buyer = request.buyer,
                            .request_id = request.request_id,
                            .digest = request.digest,
                            .lane = call->lane,
                            .generation = copy.lane(call->lane).row.generation,
                            .units = request.units,
                            .price_minor = copy.terms.price_minor,
                            .currency = copy.terms.currency,
                            .limit = copy.terms.limit,
                            .pay_window_ms = copy.terms.pay_window_ms,
                            .admitted_at = ports_.clock.now_utc(),
                            .fields = request.fields};
  Places::Place place = std::move(*call->place);
  call->place.reset();
  call->ticket_possible.store(true, std::memory_order_release);
  const auto landed = [call](const Relayed& how) {
    if (!how.durable) return call->answer_busy();
    AdmitReply reply{.answer = model::PurchaseAnswer::admitted, .ticket = call->queued_view(), .own = {}};
    if (how.landed) {
      reply.ticket->state = model::ticket_state(how.landed->state);
      reply.ticket->live = !model::is_ended(how.landed->state);
      if (!reply.ticket->live) reply.answer = model::PurchaseAnswer::replayed;
    }
    call->answer(std::move(reply));
  };
  std::vector<Relay::Publication> one;
  one.push_back({.intent = std::move(intent), .place = std::move(place), .done = landed});
  relay_.publish(std::move(one));
}

}  // namespace seckill::admission::remote
