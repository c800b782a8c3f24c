// The publisher's callers' side and its answering thread.
#include "queue/rabbit/publisher.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/assert.hpp"
#include "queue/rabbit/message.hpp"

namespace seckill::queue::rabbit {
namespace {

using base::Errc;

constexpr std::size_t bells_waiting_max = 64;
constexpr std::size_t barriers_max = 64;

}  // namespace

base::Result<std::unique_ptr<RabbitPublisher>> RabbitPublisher::start(RabbitConfig config) {
  auto dialer = Dialer::make(config);
  if (!dialer) return std::unexpected{std::move(dialer).error()};
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return base::fail(Errc::unavailable, "starting a publisher", std::strerror(errno));
  auto publisher = std::make_unique<Publisher>(std::move(config), *std::move(dialer), wake);
  publisher->start();
  return publisher;
}

Publisher::Publisher(RabbitConfig config, Dialer dialer, int wake_descriptor)
    : config_{std::move(config)}, wake_descriptor_{wake_descriptor}, dialer_{std::move(dialer)} {}

void Publisher::start() {
  answering_thread_ = threads_.start("rabbit-answers", [this] { run_answers(); });
  connection_thread_ = threads_.start("rabbit-publish", [this] { run_connection(); });
}

Publisher::~Publisher() {
  stop();
  {
    const std::scoped_lock lock{mutex_};
    ending_ = true;
  }
  answers_changed_->notify_all();
  if (answering_thread_) answering_thread_->join();
  (void)close(wake_descriptor_);
}

void Publisher::stop() {
  {
    const std::scoped_lock lock{mutex_};
    stopping_ = true;
  }
  open_ = false;
  wake();
  if (connection_thread_) connection_thread_->join();
  connection_thread_.reset();
  std::unique_lock lock{mutex_};
  outgoing_.clear();
  while (!pending_.empty()) answer(pending_.begin()->first, Published::unknown);
  barriers_changed_->notify_all();
  answers_changed_->wait(lock, [&] { return answers_.empty() && answering_ == 0; });
}

void Publisher::publish(Partition partition, std::vector<model::OrderIntent> intents, PublishDone done) {
  SECKILL_ASSERT(partition < config_.partitions && !intents.empty() && intents.size() <= message_intents_max,
                 "the port's bounds");
  {
    const std::scoped_lock lock{mutex_};
    counters_.messages.fetch_add(1, std::memory_order_relaxed);
    counters_.intents.fetch_add(intents.size(), std::memory_order_relaxed);
    if (stopping_ || !open_ || pending_.size() >= config_.unconfirmed_max) {
      counters_.refused.fetch_add(1, std::memory_order_relaxed);
      answers_.emplace_back(std::move(done), Published::refused);
      answers_changed_->notify_all();
      return;
    }
    const Id id = next_id_++;
    pending_.emplace(id, Pending{.done = std::move(done), .intents = intents.size()});
    under_way_ = pending_.size();
    deadlines_.emplace_back(threads_.now() + config_.confirm_longest, id);
    if (deadlines_.size() == 1) answers_changed_->notify_all();
    const bool asleep = outgoing_.empty();
    outgoing_.push_back({.id = id, .partition = partition, .intents = std::move(intents)});
    if (!asleep) return;
  }
  wake();
}

bool Publisher::accepting() const noexcept { return open_ && under_way_ < config_.unconfirmed_max; }

base::Status Publisher::barrier(Partition partition, std::chrono::milliseconds longest) {
  SECKILL_ASSERT(partition < config_.partitions, "the port's bounds");
  const std::string doing = "passing partition " + std::to_string(partition);
  std::unique_lock lock{mutex_};
  if (stopping_ || !open_) return base::fail(Errc::unavailable, doing, "the broker cannot be reached");
  if (barriers_.size() >= barriers_max) return base::fail(Errc::limit, doing, "too many barriers at one time");
  const Id id = next_id_++;
  Barrier& barrier = barriers_[id];  // stays where it is until erased below
  barrier.partition = partition;
  lock.unlock();
  wake();
  lock.lock();
  const bool ended =
      threads_.wait_for(*barriers_changed_, lock, longest, [&] { return barrier.ended.has_value() || stopping_; });
  base::Status status = barrier.ended ? std::move(*barrier.ended)
                        : ended       ? base::Status{base::fail(Errc::unavailable, doing, "stopping")}
                                : base::Status{base::fail(Errc::timeout, doing, "not everything before is handled")};
  barriers_.erase(id);
  return status;
}

void Publisher::ring_after(std::chrono::milliseconds pay_window) noexcept {
  if (pay_window <= std::chrono::milliseconds{0} || !open_) return;
  {
    const std::scoped_lock lock{mutex_};
    if (bells_.size() >= bells_waiting_max) return;
    if (!bells_.insert(pay_window).second) return;  // one ring after the last call stands for all of them
  }
  wake();
}

RabbitPublisherCounters Publisher::counters() const noexcept {
  return {.messages = counters_.messages,
          .intents = counters_.intents,
          .confirmed = counters_.confirmed,
          .refused = counters_.refused,
          .unknown = counters_.unknown,
          .returned = counters_.returned,
          .connects = counters_.connects,
          .blocked = counters_.blocked};
}

// The lock is held.
void Publisher::answer(Id id, Published how) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;  // its deadline was first
  switch (how) {
    case Published::confirmed: counters_.confirmed.fetch_add(1, std::memory_order_relaxed); break;
    case Published::refused: counters_.refused.fetch_add(1, std::memory_order_relaxed); break;
    case Published::unknown: counters_.unknown.fetch_add(1, std::memory_order_relaxed); break;
  }
  answers_.emplace_back(std::move(found->second.done), how);
  pending_.erase(found);
  under_way_ = pending_.size();
  answers_changed_->notify_all();
}

void Publisher::wake() noexcept {
  const std::uint64_t one = 1;
  // It fails only when it is full, and then the thread is awake already.
  (void)!::write(wake_descriptor_, &one, sizeof one);
}

void Publisher::run_answers() {
  std::unique_lock lock{mutex_};
  for (;;) {
    const Time now = threads_.now();
    while (!deadlines_.empty() && (deadlines_.front().first <= now || !pending_.contains(deadlines_.front().second))) {
      answer(deadlines_.front().second, Published::unknown);
      deadlines_.pop_front();
    }
    if (answers_.empty()) {
      if (ending_) return;
      if (deadlines_.empty()) {
        answers_changed_->wait(lock);
      } else {
        answers_changed_->wait_for(lock, deadlines_.front().first - now);
      }
      continue;
    }
    std::deque<std::pair<PublishDone, Published>> telling;
    telling.swap(answers_);
    answering_ = telling.size();
    lock.unlock();
    for (auto& [done, how] : telling) done(how);
    telling.clear();  // what they hold is given back outside the lock
    lock.lock();
    answering_ = 0;
    if (stopping_) answers_changed_->notify_all();
  }
}

}  // namespace seckill::queue::rabbit
