#include "orders/ticket_ends.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "orders/landing.hpp"

namespace seckill::orders {
namespace {

constexpr std::size_t batch_max = 256;          // moves in one transaction: a few ms, so a cancel never waits long
constexpr std::size_t acknowledge_max = 1'024;  // tickets in one acknowledgement when there is no idle moment for it
constexpr std::int64_t outbox_page_min = 1'000;
constexpr std::int64_t outbox_page_max = 65'536;
constexpr std::chrono::milliseconds backoff_min{5};
constexpr std::chrono::milliseconds backoff_max{250};

static_assert(batch_max * 8 <= base::limits::ends_waiting_max, "the thread finds a full batch under load");

// Unlike a landing, an end that meets one damaged row must not stop the ends of all others: it is answered by itself.
bool blames_command(base::Errc code) noexcept { return code == base::Errc::corrupt || blames_content(code); }

void add(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.fetch_add(by, std::memory_order_relaxed);
}

// What lanes have answered. Shared with the callbacks given to them, which may come late and from any thread.
class LaneAnswers {
 public:
  explicit LaneAnswers(base::Threads& threads) : threads_{threads}, none_open_{threads.make_signal()} {}

  void open() {
    const std::lock_guard lock{mutex_};
    ++open_;
  }
  // `outbox_id` 0: known by its ticket only.
  void answered(const model::Ticket& ticket, std::int64_t outbox_id, admission::LaneAck ack) {
    const std::lock_guard lock{mutex_};
    --open_;
    switch (ack) {
      case admission::LaneAck::applied:
        if (outbox_id == 0) {
          tickets_.push_back(ticket);
        } else {
          ids_.push_back(outbox_id);
        }
        break;
      case admission::LaneAck::closed: ++closed_; break;
    }
    if (open_ == 0) none_open_->notify_all();
  }
  void wait(std::chrono::milliseconds longest) {
    std::unique_lock lock{mutex_};
    (void)threads_.wait_for(*none_open_, lock, longest, [this] { return open_ == 0; });
  }
  [[nodiscard]] std::size_t tickets_waiting() {
    const std::lock_guard lock{mutex_};
    return tickets_.size();
  }
  [[nodiscard]] bool any_open() {
    const std::lock_guard lock{mutex_};
    return open_ != 0;
  }
  struct Taken {
    std::vector<model::Ticket> tickets;
    std::vector<std::int64_t> ids;
    std::size_t closed = 0;
  };
  [[nodiscard]] Taken take() {
    const std::lock_guard lock{mutex_};
    return {std::exchange(tickets_, {}), std::exchange(ids_, {}), std::exchange(closed_, 0)};
  }

 private:
  base::Threads& threads_;
  std::mutex mutex_;
  const std::unique_ptr<base::Signal> none_open_;
  std::size_t open_ = 0;
  std::size_t closed_ = 0;
  std::vector<model::Ticket> tickets_;
  std::vector<std::int64_t> ids_;
};

struct Waiting {
  store::EndCommand command;
  EndDone done;
};

}  // namespace

struct TicketEnds::Impl {
  using SteadyTime = std::chrono::nanoseconds;  // as base::Threads tells it

  Impl(store::Store& store_in, admission::Admission& admission_in, const base::Clock& clock_in, EndsTiming timing_in,
       base::Threads& threads_in)
      : store{store_in}, admission{admission_in}, clock{clock_in}, timing{timing_in}, threads{threads_in} {}

  // Constant after construction.
  store::Store& store;
  admission::Admission& admission;
  const base::Clock& clock;
  const EndsTiming timing;
  base::Threads& threads;
  const std::shared_ptr<LaneAnswers> lanes = std::make_shared<LaneAnswers>(threads);

  // Guarded by `mutex`.
  std::mutex mutex;
  const std::unique_ptr<base::Signal> changed = threads.make_signal();
  std::deque<Waiting> queue;
  bool stopping = false;

  // Any thread.
  EndsCounters counters;
  std::atomic<std::size_t> unanswered{0};
  std::atomic<bool> owes{false};

  // Owned by the thread.
  bool outbox_due = true;    // something is known, or after a start suspected, to be left there
  SteadyTime outbox_next{};  // it is read now and then anyway: a failed landing's release comes by this way too
  std::int64_t outbox_page = outbox_page_min;
  std::optional<SteadyTime> failing_since;
  std::unique_ptr<base::Thread> thread;  // set and reset by whoever starts and stops

  void run();
  std::vector<Waiting> gather();
  void end(std::vector<Waiting> batch);
  void ask(std::span<const store::EndCommand> commands, std::vector<base::Result<store::Ended>>& out);
  base::Result<std::vector<store::Ended>> ask_patiently(std::span<const store::EndCommand> commands);
  void tell_lane(const model::ItemKey& item, const model::Ticket& ticket, model::StockEffect effect,
                 std::int64_t outbox_id);
  void acknowledge();
  void send_outbox();
  bool pause(std::chrono::milliseconds longest);
  void store_failed(const base::Error& error, std::string_view doing);
  void store_answered();
};

void TicketEnds::Impl::run() {
  for (;;) {
    auto batch = gather();
    const bool last = batch.empty() && [this] {
      const std::lock_guard lock{mutex};
      return stopping && queue.empty();
    }();
    const bool idle = batch.size() < batch_max;
    if (!batch.empty()) end(std::move(batch));
    // Acknowledging late only means that a restart sends a release twice, which is harmless; so under load it is
    // gathered, and it never delays an answer.
    if (idle || lanes->tickets_waiting() >= acknowledge_max) acknowledge();
    if (threads.now() >= outbox_next) send_outbox();
    owes = outbox_due || lanes->any_open() || lanes->tickets_waiting() > 0;
    if (last) return;
  }
}

std::vector<Waiting> TicketEnds::Impl::gather() {
  std::unique_lock lock{mutex};
  const auto something = [this] { return stopping || !queue.empty(); };
  const auto wake_at = lanes->any_open() ? std::min(outbox_next, threads.now() + timing.lane_wait) : outbox_next;
  (void)threads.wait_for(*changed, lock, wake_at - threads.now(), something);
  std::vector<Waiting> batch;
  const auto size = std::min(queue.size(), batch_max);
  batch.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    batch.push_back(std::move(queue.front()));
    queue.pop_front();
  }
  return batch;
}

void TicketEnds::Impl::end(std::vector<Waiting> batch) {
  std::vector<store::EndCommand> commands;
  commands.reserve(batch.size());
  const auto now = clock.now_utc();
  for (auto& one : batch) {
    commands.push_back(std::move(one.command));
    commands.back().now = now;
  }
  std::vector<base::Result<store::Ended>> results;
  results.reserve(batch.size());
  ask(commands, results);
  SECKILL_ASSERT(results.size() == batch.size(), "P6: every move gets one answer");

  bool lane_called = false;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!results[i] || results[i]->result != store::EndResult::done) continue;
    if (results[i]->effect == model::StockEffect::none) continue;
    owes = true;
    lane_called = true;
    tell_lane(results[i]->item, commands[i].ticket, results[i]->effect, 0);
  }
  if (lane_called) lanes->wait(timing.lane_wait);

  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!results[i]) {
      add(counters.given_up);
    } else {
      add(counters.commands);
      if (results[i]->result == store::EndResult::done) add(counters.done);
      if (results[i]->result == store::EndResult::illegal) add(counters.illegal);
    }
    batch[i].done(std::move(results[i]));
    unanswered.fetch_sub(1);
  }
}

// One refused command must not take the others of its transaction along: halves, down to the one that is to blame.
void TicketEnds::Impl::ask(std::span<const store::EndCommand> commands, std::vector<base::Result<store::Ended>>& out) {
  auto ended = ask_patiently(commands);
  if (ended) {
    SECKILL_ASSERT(ended->size() == commands.size(), "P6: every move gets one answer");
    for (auto& one : *ended) out.emplace_back(std::move(one));
    return;
  }
  if (commands.size() > 1 && blames_command(ended.error().code)) {
    const auto middle = commands.size() / 2;
    ask(commands.first(middle), out);
    ask(commands.subspan(middle), out);
    return;
  }
  for (std::size_t i = 0; i < commands.size(); ++i) out.emplace_back(std::unexpected(ended.error()));
}

base::Result<std::vector<store::Ended>> TicketEnds::Impl::ask_patiently(std::span<const store::EndCommand> commands) {
  auto backoff = backoff_min;
  for (;;) {
    auto ended = store.end_tickets(commands);
    if (ended) {
      add(counters.batches);
      store_answered();
      return ended;
    }
    if (blames_command(ended.error().code)) return ended;
    store_failed(ended.error(), "ending tickets");
    // A timed-out transaction may have committed: repeating it then finds "already there", and only the outbox still
    // knows that the lane must be told.
    if (ended.error().code == base::Errc::timeout) {
      outbox_due = true;
      owes = true;
    }
    // Counted from the first failure, not from this batch, so that a dead store answers all who wait in about the
    // stated time and each later batch after one attempt.
    if (threads.now() + backoff - *failing_since >= timing.store_retry_for) return ended;
    if (!pause(backoff)) return ended;
    backoff = std::min(backoff * 2, backoff_max);
  }
}

void TicketEnds::Impl::tell_lane(const model::ItemKey& item, const model::Ticket& ticket, model::StockEffect effect,
                                 std::int64_t outbox_id) {
  auto done = [answers = lanes, ticket, outbox_id](admission::LaneAck ack) {
    answers->answered(ticket, outbox_id, ack);
  };
  switch (effect) {
    case model::StockEffect::none: return;
    case model::StockEffect::post:
      lanes->open();
      admission.post(item, ticket, std::move(done));
      return;
    case model::StockEffect::void_:
      lanes->open();
      admission.release(item, ticket, std::move(done));
      return;
  }
}

void TicketEnds::Impl::acknowledge() {
  const auto taken = lanes->take();
  if (taken.closed > 0) {
    add(counters.lane_closed, taken.closed);
    outbox_due = true;
  }
  add(counters.lane_told, taken.tickets.size() + taken.ids.size());
  const auto check = [this](const base::Status& status) {
    if (status) return store_answered();
    // They stay in the outbox: sent and acknowledged once more, later.
    store_failed(status.error(), "acknowledging releases");
    outbox_due = true;
  };
  if (!taken.tickets.empty()) check(store.acknowledge_released(taken.tickets));
  if (!taken.ids.empty()) check(store.acknowledge_releases(taken.ids));
}

void TicketEnds::Impl::send_outbox() {
  outbox_next = threads.now() + timing.outbox_every;
  acknowledge();
  const auto pending = store.pending_releases(outbox_page);
  if (!pending) {
    store_failed(pending.error(), "reading the outbox");
    return;
  }
  store_answered();
  outbox_due = false;  // acknowledge() sets it again when a lane is closed or the store fails
  if (pending->empty()) return;
  for (const auto& one : *pending) tell_lane(one.item, one.ticket, one.effect, one.id);
  lanes->wait(timing.lane_wait);
  add(counters.outbox_resent, pending->size());
  const auto closed_before = counters.lane_closed.load();
  acknowledge();
  const bool full = std::ssize(*pending) >= outbox_page;
  if (!full) {
    outbox_page = outbox_page_min;
    return;
  }
  // More may stand behind this page. When all of it belongs to closed lanes, only a longer page gets past them.
  const auto put_off = counters.lane_closed.load() - closed_before;
  if (put_off == pending->size()) {
    outbox_page = std::min(outbox_page * 2, outbox_page_max);
  } else if (!outbox_due) {
    outbox_next = {};
  }
  outbox_due = true;
}

// False when stopping: then nobody waits any longer for the store.
bool TicketEnds::Impl::pause(std::chrono::milliseconds longest) {
  std::unique_lock lock{mutex};
  return !threads.wait_for(*changed, lock, longest, [this] { return stopping; });
}

void TicketEnds::Impl::store_failed(const base::Error& error, std::string_view doing) {
  add(counters.store_errors);
  if (failing_since) return;  // said once, not at every attempt
  failing_since = threads.now();
  base::log::warn("ticket ends: {} fails and is tried again: {}", doing, error.text());
}

void TicketEnds::Impl::store_answered() {
  if (!failing_since) return;
  failing_since.reset();
  base::log::info("ticket ends: the store answers again");
}

TicketEnds::TicketEnds(store::Store& store, admission::Admission& admission, const base::Clock& clock,
                       EndsTiming timing, base::Threads& threads)
    : impl_{std::make_unique<Impl>(store, admission, clock, timing, threads)} {}

TicketEnds::~TicketEnds() { stop(); }

void TicketEnds::start() {
  SECKILL_ASSERT(!impl_->thread, "TicketEnds is started once");
  impl_->owes = true;
  impl_->thread = impl_->threads.start("ticket-ends", [impl = impl_.get()] { impl->run(); });
}

void TicketEnds::stop() {
  std::deque<Waiting> never_started;
  {
    const std::lock_guard lock{impl_->mutex};
    impl_->stopping = true;
    if (!impl_->thread) never_started.swap(impl_->queue);
  }
  impl_->changed->notify_all();
  if (const auto thread = std::exchange(impl_->thread, nullptr)) thread->join();
  for (auto& one : never_started) {
    one.done(base::fail(base::Errc::unavailable, "ending a ticket", "stopping"));
    impl_->unanswered.fetch_sub(1);
  }
}

void TicketEnds::submit(store::EndCommand command, EndDone done) {
  auto refusal = base::Errc::unavailable;
  {
    const std::lock_guard lock{impl_->mutex};
    const bool full = impl_->queue.size() >= base::limits::ends_waiting_max;
    if (!impl_->stopping && !full) {
      impl_->unanswered.fetch_add(1);
      impl_->queue.push_back({std::move(command), std::move(done)});
      impl_->changed->notify_all();
      return;
    }
    if (!impl_->stopping) refusal = base::Errc::limit;
  }
  if (refusal == base::Errc::limit) add(impl_->counters.refused_full);
  done(base::fail(refusal, "ending a ticket",
                  refusal == base::Errc::limit ? "too many cancels and payments are waiting" : "stopping"));
}

std::size_t TicketEnds::waiting() const noexcept { return impl_->unanswered; }

bool TicketEnds::quiet() const noexcept { return impl_->unanswered == 0 && !impl_->owes; }

const EndsCounters& TicketEnds::counters() const noexcept { return impl_->counters; }

}  // namespace seckill::orders
