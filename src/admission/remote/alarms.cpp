#include "admission/remote/alarms.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

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

bool Alarms::try_add(std::chrono::nanoseconds after, Look look) {
  bool first = false;
  {
    const std::scoped_lock lock{mutex_};
    if (stopping_ || set_ >= alarms_max_) return false;
    // Read under the lock: a line stays ascending whoever sets.
    line_of(after).alarms.push_back({.when = threads_.now() + after, .look = std::move(look)});
    first = set_++ == 0;
  }
  if (first) changed_->notify_all();
  return true;
}

Alarms::Line& Alarms::line_of(std::chrono::nanoseconds length) {
  const auto found = std::ranges::find(lines_, length, &Line::length);
  if (found != lines_.end()) return *found;
  SECKILL_ASSERT(lines_.size() < lengths_max, "P9: lengths of deadlines come from the configuration");
  return lines_.emplace_back(Line{.length = length, .alarms = {}});
}

void Alarms::take(std::chrono::nanoseconds now, std::vector<Alarm>& taken) {
  for (Line& line : lines_) {
    while (!line.alarms.empty()) {
      Alarm& front = line.alarms.front();
      front.due = stopping_ || front.when <= now;
      if (!front.due && !front.look(false)) break;
      taken.push_back(std::move(front));
      line.alarms.pop_front();
      --set_;
    }
  }
}

void Alarms::run() {
  std::vector<Alarm> taken;
  std::unique_lock lock{mutex_};
  while (!stopping_ || set_ > 0) {
    if (set_ == 0) {
      changed_->wait(lock);
      continue;
    }
    if (!stopping_) changed_->wait_for(lock, tick);
    take(threads_.now(), taken);
    lock.unlock();
    for (Alarm& alarm : taken) {
      if (alarm.due) (void)alarm.look(true);
    }
    taken.clear();  // what they hold is let go outside the lock
    lock.lock();
  }
}

}  // namespace seckill::admission::remote
