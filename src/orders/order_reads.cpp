#include "orders/order_reads.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/limits.hpp"

namespace seckill::orders {
namespace {

using SteadyClock = std::chrono::steady_clock;
using OutcomeDone = std::move_only_function<void(base::Result<Outcome>)>;

base::Error refusal(bool running, std::string doing) {
  return running ? base::Error{base::Errc::limit, std::move(doing), "too many questions are waiting"}
                 : base::Error{base::Errc::unavailable, std::move(doing), "stopping"};
}

base::Error too_late(std::string doing) {
  return base::Error{base::Errc::unavailable, std::move(doing), "the store is slow to answer; ask again"};
}

// What a reader does: the question, or, when it has waited too long, the answer that it was not asked.
struct Work {
  std::move_only_function<void(store::Store&)> ask;
  std::move_only_function<void()> late;  // empty: it is asked however long it waited
  SteadyClock::time_point since{};
};

struct Question {
  model::ItemKey item;
  model::BuyerId buyer;
  model::Ticket ticket;
  OutcomeDone done;
};

}  // namespace

Outcome outcome_of(const store::Order& order, const model::ItemKey& item, const model::BuyerId& buyer) {
  Outcome outcome;
  outcome.ticket = order.ticket;
  if (order.buyer != buyer || order.item != item) return outcome;
  outcome.found = true;
  outcome.state = model::ticket_state(order.state);
  outcome.units = order.units;
  outcome.order = order;
  return outcome;
}

struct OrderReads::Impl {
  Impl(store::Store& store_in, admission::Admission& admission_in, std::size_t threads_in,
       std::chrono::milliseconds wait_max_in)
      : store{store_in},
        admission{admission_in},
        thread_count{std::max<std::size_t>(1, threads_in)},
        wait_max{wait_max_in} {}

  // Constant after construction.
  store::Store& store;
  admission::Admission& admission;
  const std::size_t thread_count;
  const std::chrono::milliseconds wait_max;

  // Guarded by `mutex`.
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> queue;
  std::size_t at_the_lane = 0;  // outcomes whose lane has not answered yet: they keep their place

  // Any thread; written under the mutex.
  std::atomic<bool> running{false};
  std::atomic<std::size_t> unanswered{0};
  std::vector<std::thread> threads;

  bool push(Work& work);
  void resume(Work work);
  void read_loop();
  void look_up(Question question);
  void judge_mark(Question question, base::Result<std::optional<admission::TicketView>> mark);
};

// Leaves `work` untouched when it refuses.
bool OrderReads::Impl::push(Work& work) {
  const std::lock_guard lock{mutex};
  if (!running || queue.size() + at_the_lane >= base::limits::store_reads_waiting_max) return false;
  work.since = SteadyClock::now();
  queue.push_back(std::move(work));
  unanswered.fetch_add(1);
  changed.notify_one();
  return true;
}

// A question that comes back from its lane goes first: it has waited before.
void OrderReads::Impl::resume(Work work) {
  const std::lock_guard lock{mutex};
  --at_the_lane;
  work.since = SteadyClock::now();
  queue.push_front(std::move(work));
  unanswered.fetch_add(1);
  changed.notify_all();
}

void OrderReads::Impl::read_loop() {
  std::unique_lock lock{mutex};
  for (;;) {
    changed.wait(lock, [this] { return !queue.empty() || (!running && at_the_lane == 0); });
    if (queue.empty()) return;
    Work work = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    if (work.late && SteadyClock::now() - work.since > wait_max) {
      work.late();
    } else {
      work.ask(store);
    }
    work = {};
    unanswered.fetch_sub(1);
    lock.lock();
  }
}

void OrderReads::Impl::look_up(Question question) {
  const auto order = store.find_order(question.ticket);
  if (!order) return question.done(std::unexpected(order.error()));
  if (*order) return question.done(outcome_of(**order, question.item, question.buyer));
  {
    const std::lock_guard lock{mutex};
    ++at_the_lane;
  }
  const auto item = question.item;
  const auto buyer = question.buyer;
  const auto ticket = question.ticket;
  auto answered = [this,
                   question = std::move(question)](base::Result<std::optional<admission::TicketView>> mark) mutable {
    // The lane may answer on a thread that must not block, so the rest is a reader's again.
    const auto shared = std::make_shared<Question>(std::move(question));
    resume({.ask = [this, shared,
                    mark = std::move(mark)](store::Store&) mutable { judge_mark(std::move(*shared), std::move(mark)); },
            .late = [shared] { shared->done(std::unexpected(too_late("reading an outcome"))); }});
  };
  admission.find_ticket(item, buyer, ticket, std::move(answered));
}

void OrderReads::Impl::judge_mark(Question question, base::Result<std::optional<admission::TicketView>> mark) {
  if (!mark) return question.done(std::unexpected(mark.error()));
  Outcome outcome;
  outcome.ticket = question.ticket;
  // The mark is written before the row and never removed during a sale: neither one means there never was a purchase.
  if (!*mark) return question.done(std::move(outcome));
  const auto order = store.find_order(question.ticket);  // it may have landed between the two questions
  if (!order) return question.done(std::unexpected(order.error()));
  if (*order) return question.done(outcome_of(**order, question.item, question.buyer));
  const bool queued = (*mark)->state == model::TicketState::queued && (*mark)->live && (*mark)->durable;
  if ((*mark)->state == model::TicketState::failed || queued) {
    outcome.found = true;
    outcome.state = (*mark)->state;
    outcome.units = (*mark)->units;
    return question.done(std::move(outcome));
  }
  question.done(base::fail(base::Errc::unavailable, "reading an outcome", "not yet durable; ask again"));
}

OrderReads::OrderReads(store::Store& store, admission::Admission& admission, std::size_t threads,
                       std::chrono::milliseconds wait_max)
    : impl_{std::make_unique<Impl>(store, admission, threads, wait_max)} {}

OrderReads::~OrderReads() { stop(); }

void OrderReads::start() {
  SECKILL_ASSERT(impl_->threads.empty(), "OrderReads is started once");
  {
    const std::lock_guard lock{impl_->mutex};
    impl_->running = true;
  }
  for (std::size_t i = 0; i < impl_->thread_count; ++i) {
    impl_->threads.emplace_back([impl = impl_.get()] { impl->read_loop(); });
  }
}

void OrderReads::stop() {
  {
    const std::lock_guard lock{impl_->mutex};
    impl_->running = false;
  }
  impl_->changed.notify_all();
  for (auto& thread : impl_->threads) {
    if (thread.joinable()) thread.join();
  }
}

void OrderReads::outcome(const model::ItemKey& item, const model::BuyerId& buyer, const model::Ticket& ticket,
                         OutcomeDone done) {
  auto shared = std::make_shared<OutcomeDone>(std::move(done));
  if (run([impl = impl_.get(), item, buyer, ticket,
           shared](store::Store&) { impl->look_up({item, buyer, ticket, std::move(*shared)}); },
          [shared] { (*shared)(std::unexpected(too_late("reading an outcome"))); })) {
    return;
  }
  (*shared)(std::unexpected(refusal(impl_->running, "reading an outcome")));
}

void OrderReads::find(const model::Ticket& ticket,
                      std::move_only_function<void(base::Result<std::optional<store::Order>>)> done) {
  auto shared = std::make_shared<decltype(done)>(std::move(done));
  if (run([ticket, shared](store::Store& store) { (*shared)(store.find_order(ticket)); },
          [shared] { (*shared)(std::unexpected(too_late("reading an order"))); })) {
    return;
  }
  (*shared)(std::unexpected(refusal(impl_->running, "reading an order")));
}

void OrderReads::list(const store::OrderQuery& query,
                      std::move_only_function<void(base::Result<store::OrderPage>)> done) {
  auto shared = std::make_shared<decltype(done)>(std::move(done));
  if (run([query, shared](store::Store& store) { (*shared)(store.list_orders(query)); },
          [shared] { (*shared)(std::unexpected(too_late("listing orders"))); })) {
    return;
  }
  (*shared)(std::unexpected(refusal(impl_->running, "listing orders")));
}

bool OrderReads::run(std::move_only_function<void(store::Store&)> work, std::move_only_function<void()> late) {
  Work one{.ask = std::move(work), .late = std::move(late)};
  return impl_->push(one);
}

std::size_t OrderReads::waiting() const noexcept { return impl_->unanswered; }

}  // namespace seckill::orders
