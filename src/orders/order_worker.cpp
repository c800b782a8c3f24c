#include "orders/order_worker.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/log.hpp"

namespace seckill::orders {
namespace {

void add(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace

OrderWorker::OrderWorker(queue::IntentSource& source, ClusterLanding& landing, base::Threads& threads, Dice dice,
                         OrderWorkerConfig config)
    : source_{source},
      landing_{landing},
      threads_{threads},
      dice_{std::move(dice)},
      config_{std::move(config)},
      backoff_{config_.backoff_min},
      changed_{threads.make_signal()} {
  SECKILL_ASSERT(config_.batch_max >= 1 && config_.batch_max <= base::limits::landing_batch_max,
                 "one landing takes the batch");
}

OrderWorker::~OrderWorker() { stop(); }

void OrderWorker::start() {
  SECKILL_ASSERT(thread_ == nullptr, "OrderWorker is started once");
  thread_ = threads_.start(config_.name, [this] { run(); });
}

void OrderWorker::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  changed_->notify_all();
  if (thread_) thread_->join();
  thread_.reset();
}

void OrderWorker::run() {
  for (;;) {
    {
      const std::lock_guard lock{mutex_};
      if (stopping_) return;
    }
    turn();
  }
}

void OrderWorker::turn() {
  auto deliveries = gather();
  if (!deliveries.empty()) settle(std::move(deliveries));
}

std::vector<queue::Delivery> OrderWorker::gather() {
  auto received = source_.receive(config_.batch_max, config_.idle);
  if (!received) {
    add(counters_.disconnected);
    (void)pause(jittered(backoff_));
    backoff_ = std::min(backoff_ * 2, config_.backoff_max);
    return {};
  }
  std::vector<queue::Delivery> deliveries = std::move(*received);
  std::size_t intents = 0;
  for (const auto& one : deliveries) intents += one.intents.size();
  const auto until = threads_.now() + config_.gather;
  while (!deliveries.empty() && intents < config_.batch_max) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - threads_.now());
    if (left <= std::chrono::milliseconds{0}) break;
    auto more = source_.receive(config_.batch_max - intents, left);
    if (!more) {
      // The connection is gone and with it the right to acknowledge: all of it is delivered again.
      add(counters_.disconnected);
      return {};
    }
    for (auto& one : *more) {
      intents += one.intents.size();
      deliveries.push_back(std::move(one));
    }
  }
  add(counters_.messages, deliveries.size());
  add(counters_.redelivered,
      static_cast<std::uint64_t>(std::ranges::count(deliveries, true, &queue::Delivery::redelivered)));
  return deliveries;
}

void OrderWorker::settle(std::vector<queue::Delivery> deliveries) {
  std::vector<model::OrderIntent> intents;
  for (const auto& one : deliveries) intents.insert(intents.end(), one.intents.begin(), one.intents.end());
  for (;;) {
    const auto settled = landing_.settle(intents);
    if (settled) {
      backoff_ = config_.backoff_min;
      std::size_t from = 0;
      for (auto& one : deliveries) {
        answer(one, std::span{*settled}.subspan(from, one.intents.size()));
        from += one.intents.size();
      }
      return;
    }
    add(counters_.not_now);
    if (backoff_ == config_.backoff_min) base::log::warn("order worker: not now: {}", settled.error().text());
    if (!pause(jittered(backoff_))) return;  // not acknowledged: another worker gets them
    backoff_ = std::min(backoff_ * 2, config_.backoff_max);
  }
}

void OrderWorker::answer(queue::Delivery& delivery, std::span<const Settled> settled) {
  std::vector<model::OrderIntent> later;
  for (std::size_t i = 0; i < settled.size(); ++i) {
    if (settled[i].as == SettledAs::later) later.push_back(std::move(delivery.intents[i]));
  }
  const bool put_off = !later.empty();
  // An Error only means that it comes again: what was settled is a duplicate then.
  const auto told = put_off ? source_.retry_later(delivery.tag, std::move(later), jittered(config_.retry_delay))
                            : source_.acknowledge(delivery.tag);
  if (!told) {
    add(counters_.disconnected);
  } else {
    add(put_off ? counters_.put_off : counters_.acknowledged);
  }
}

// Between `wait` and twice as long, so that workers that failed together do not come back together.
std::chrono::milliseconds OrderWorker::jittered(std::chrono::milliseconds wait) {
  return wait + std::chrono::milliseconds{dice_(static_cast<std::uint64_t>(wait.count()) + 1)};
}

bool OrderWorker::pause(std::chrono::milliseconds longest) {
  std::unique_lock lock{mutex_};
  return !threads_.wait_for(*changed_, lock, longest, [this] { return stopping_; });
}

}  // namespace seckill::orders
