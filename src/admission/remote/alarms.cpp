#include "admission/remote/alarms.hpp"

#include <algorithm>
#include <utility>

namespace seckill::admission::remote {

Alarms::Alarms(base::Threads& threads, std::size_t alarms_max)
    : threads_{threads}, alarms_max_{alarms_max}, changed_{threads.make_signal()} {}

void Alarms::start() {
  thread_ = threads_.start("answers", [this] { run(); });
}

void Alarms::stop() {
  {
    const std::scoped_lock lock{mutex_};
    stopping_ = true;
  }
  changed_->notify_all();
  if (thread_ == nullptr) return;
  thread_->join();
  thread_ = nullptr;
}

bool Alarms::try_set(std::chrono::nanoseconds when, std::move_only_function<void()> ring) {
  bool earliest = false;
  {
    const std::scoped_lock lock{mutex_};
    if (stopping_ || heap_.size() >= alarms_max_) return false;
    earliest = heap_.empty() || when < heap_.front().when;
    heap_.push_back({when, ++serials_, std::move(ring)});
    std::ranges::push_heap(heap_, later);
  }
  if (earliest) changed_->notify_all();
  return true;
}

void Alarms::run() {
  std::unique_lock lock{mutex_};
  while (!stopping_ || !heap_.empty()) {
    if (heap_.empty()) {
      changed_->wait(lock);
      continue;
    }
    const std::chrono::nanoseconds left = heap_.front().when - threads_.now();
    if (!stopping_ && left > std::chrono::nanoseconds{0}) {
      changed_->wait_for(lock, left);
      continue;
    }
    std::ranges::pop_heap(heap_, later);
    Alarm due = std::move(heap_.back());
    heap_.pop_back();
    lock.unlock();
    due.ring();
    due.ring = nullptr;  // what it holds is let go outside the lock
    lock.lock();
  }
}

}  // namespace seckill::admission::remote
