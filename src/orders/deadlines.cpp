#include "orders/deadlines.hpp"

#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"

namespace seckill::orders {
namespace {

constexpr std::size_t page = 1'000;  // tickets a sweep submits at most, and the most that are in flight
constexpr std::chrono::milliseconds bells_gather{50};

static_assert(page * 4 <= base::limits::ends_waiting_max, "expiries leave room for buyers' cancels and payments");

// Shared with the answers of TicketEnds, which may come after stop().
struct InFlight {
  explicit InFlight(base::Threads& threads) : changed{threads.make_signal()} {}

  std::mutex mutex;
  const std::unique_ptr<base::Signal> changed;
  std::unordered_set<model::Ticket, model::TicketHash> tickets;
  std::unordered_set<model::Ticket, model::TicketHash> left_meanwhile;  // since the sweep began: two pages at most
  bool stopping = false;
  bool bell_rung = false;
  DeadlineCounters counters;

  // Called before the store is asked what is due: an answer may name tickets that end while it is being read.
  void begin_sweep() {
    const std::lock_guard lock{mutex};
    left_meanwhile.clear();
  }

  // False when the ticket is in flight, or was when the sweep began.
  bool enter(const model::Ticket& ticket) {
    const std::lock_guard lock{mutex};
    if (tickets.size() >= page || left_meanwhile.contains(ticket)) return false;
    if (!tickets.insert(ticket).second) return false;
    counters.in_flight = tickets.size();
    return true;
  }

  void leave(const model::Ticket& ticket, const base::Result<store::Ended>& ended) {
    if (ended && ended->result == store::EndResult::done) {
      counters.expired.fetch_add(1, std::memory_order_relaxed);
    } else if (ended) {
      counters.overtaken.fetch_add(1, std::memory_order_relaxed);
    }  // else: the next sweep finds it again
    const std::lock_guard lock{mutex};
    tickets.erase(ticket);
    left_meanwhile.insert(ticket);
    counters.in_flight = tickets.size();
    if (tickets.empty()) changed->notify_all();
  }
};

}  // namespace

struct Deadlines::Impl {
  Impl(store::Store& store_in, TicketEnds& ends_in, const base::Clock& clock_in, std::chrono::milliseconds every_in,
       base::Threads& threads_in)
      : store{store_in}, ends{ends_in}, clock{clock_in}, every{every_in}, threads{threads_in} {}

  store::Store& store;
  TicketEnds& ends;
  const base::Clock& clock;
  const std::chrono::milliseconds every;
  base::Threads& threads;
  const std::shared_ptr<InFlight> flight = std::make_shared<InFlight>(threads);
  std::mutex sweeping;         // one sweep at a time; guards the one below
  bool store_failing = false;  // said once
  std::unique_ptr<base::Thread> thread;

  // What one sweep found; returned, not kept: others may sweep meanwhile.
  struct Swept {
    std::size_t submitted = 0;
    bool full_page = false;
  };
  void run();
  Swept sweep();
  void measure_lag(const model::Ticket& oldest, base::UtcMs now);
};

void Deadlines::Impl::run() {
  for (;;) {
    const bool full_page = sweep().full_page;
    std::unique_lock lock{flight->mutex};
    const auto stop = [this] { return flight->stopping; };
    if (full_page) {
      // More is overdue than one page: go on as soon as this one has ended, but not faster than the store ends them.
      (void)threads.wait_for(*flight->changed, lock, every, [&] { return stop() || flight->tickets.empty(); });
    } else {
      (void)threads.wait_for(*flight->changed, lock, every, [&] { return stop() || flight->bell_rung; });
    }
    // Bells come one a landed batch; those that come together are one sweep.
    if (flight->bell_rung) (void)threads.wait_for(*flight->changed, lock, bells_gather, stop);
    flight->bell_rung = false;
    if (stop()) return;
  }
}

Deadlines::Impl::Swept Deadlines::Impl::sweep() {
  const std::lock_guard one_at_a_time{sweeping};
  auto& counters = flight->counters;
  flight->begin_sweep();
  const auto now = clock.now_utc();
  const auto due = store.due_tickets(now, static_cast<std::int64_t>(page));
  counters.sweeps.fetch_add(1, std::memory_order_relaxed);
  if (!due) {
    counters.store_errors.fetch_add(1, std::memory_order_relaxed);
    if (!store_failing) base::log::warn("deadlines: the sweep fails and is tried again: {}", due.error().text());
    store_failing = true;
    return {};
  }
  if (store_failing) base::log::info("deadlines: the sweep works again");
  store_failing = false;
  if (due->empty()) {
    counters.oldest_overdue_ms = 0;
    return {};
  }
  measure_lag(due->front(), now);
  Swept swept{.submitted = 0, .full_page = due->size() >= page};
  for (const auto& ticket : *due) {
    if (!flight->enter(ticket)) continue;
    ++swept.submitted;
    counters.submitted.fetch_add(1, std::memory_order_relaxed);
    store::EndCommand command;
    command.ticket = ticket;
    command.event = model::OrderEvent::expire;
    ends.submit(std::move(command),
                [shared = flight, ticket](const base::Result<store::Ended>& ended) { shared->leave(ticket, ended); });
  }
  return swept;
}

// One read a sweep, and only while something is overdue.
void Deadlines::Impl::measure_lag(const model::Ticket& oldest, base::UtcMs now) {
  const auto order = store.find_order(oldest);
  if (!order || !*order || (*order)->pay_before == 0) return;
  flight->counters.oldest_overdue_ms = std::max<std::int64_t>(0, now - (*order)->pay_before);
}

Deadlines::Deadlines(store::Store& store, TicketEnds& ends, const base::Clock& clock, std::chrono::milliseconds every,
                     base::Threads& threads)
    : impl_{std::make_unique<Impl>(store, ends, clock, every, threads)} {}

Deadlines::~Deadlines() { stop(); }

void Deadlines::start() {
  SECKILL_ASSERT(!impl_->thread, "Deadlines is started once");
  impl_->thread = impl_->threads.start("deadlines", [impl = impl_.get()] { impl->run(); });
}

void Deadlines::stop() {
  {
    const std::lock_guard lock{impl_->flight->mutex};
    impl_->flight->stopping = true;
  }
  impl_->flight->changed->notify_all();
  if (const auto thread = std::exchange(impl_->thread, nullptr)) thread->join();
}

void Deadlines::sweep_soon() {
  {
    const std::lock_guard lock{impl_->flight->mutex};
    impl_->flight->bell_rung = true;
  }
  impl_->flight->changed->notify_all();
}

std::size_t Deadlines::sweep() { return impl_->sweep().submitted; }

const DeadlineCounters& Deadlines::counters() const noexcept { return impl_->flight->counters; }

}  // namespace seckill::orders
