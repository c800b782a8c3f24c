// Deadlines of answers: rings once at a time. One thread; bounded; whoever finds it full answers busy at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/threads.hpp"

namespace seckill::admission::remote {

class Alarms {
 public:
  Alarms(base::Threads& threads, std::size_t alarms_max);
  ~Alarms() = default;  // Requires: stopped, or crashed with its threads
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

  void start();
  // Rings everything that is set, now, and ends. Blocks. Idempotent.
  void stop();

  // `ring` is called once at or after `when` (Threads::now), from the alarms' thread; it must be quick. False, and
  // never called, when full or stopped. Any thread.
  [[nodiscard]] bool try_set(std::chrono::nanoseconds when, std::move_only_function<void()> ring);

 private:
  struct Alarm {
    std::chrono::nanoseconds when{};
    std::uint64_t serial = 0;  // equal times ring in the order they were set
    std::move_only_function<void()> ring;
  };
  static bool later(const Alarm& a, const Alarm& b) noexcept {
    return a.when != b.when ? a.when > b.when : a.serial > b.serial;
  }
  void run();

  base::Threads& threads_;
  const std::size_t alarms_max_;
  const std::unique_ptr<base::Signal> changed_;

  std::mutex mutex_;
  std::vector<Alarm> heap_;  // earliest first (std::push_heap with later)
  std::uint64_t serials_ = 0;
  bool stopping_ = false;
  std::unique_ptr<base::Thread> thread_;  // owned by start() and stop()
};

}  // namespace seckill::admission::remote
