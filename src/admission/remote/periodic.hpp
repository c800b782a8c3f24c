// A thread that does one thing every period, a little jittered so that nodes started together drift apart.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/random.hpp"
#include "base/threads.hpp"

namespace seckill::admission::remote {

class Periodic {
 public:
  Periodic(base::Threads& threads, base::Random& random)
      : threads_{threads}, random_{random}, changed_{threads.make_signal()} {}
  ~Periodic() = default;  // Requires: stopped, or crashed with its threads
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

  // Runs `round` at once and then every `period` (± an eighth) on a thread of its own. Once.
  void start(std::string name, std::chrono::milliseconds period, std::function<void()> round) {
    thread_ = threads_.start(std::move(name), [this, period, round = std::move(round)] { run(period, round); });
  }
  // Blocks until the round under way has ended. Idempotent; not from the round itself.
  void stop() {
    {
      const std::scoped_lock lock{mutex_};
      stopping_ = true;
    }
    changed_->notify_all();
    if (thread_ == nullptr) return;
    thread_->join();
    thread_ = nullptr;
  }
  // The next round begins now. Any thread.
  void wake() {
    {
      const std::scoped_lock lock{mutex_};
      woken_ = true;
    }
    changed_->notify_all();
  }
  // Rounds end early when this turns true. Any thread.
  [[nodiscard]] bool stopping() const {
    const std::scoped_lock lock{mutex_};
    return stopping_;
  }

 private:
  void run(std::chrono::milliseconds period, const std::function<void()>& round) {
    while (!stopping()) {
      round();
      const std::chrono::nanoseconds whole{period};
      const std::chrono::nanoseconds jitter{random_.between(0, whole.count() / 4)};
      std::unique_lock lock{mutex_};
      (void)threads_.wait_for(*changed_, lock, whole - whole / 8 + jitter, [&] { return stopping_ || woken_; });
      woken_ = false;
    }
  }

  // Constant after construction.
  base::Threads& threads_;
  base::Random& random_;
  const std::unique_ptr<base::Signal> changed_;

  mutable std::mutex mutex_;
  bool stopping_ = false;
  bool woken_ = false;
  std::unique_ptr<base::Thread> thread_;  // owned by start() and stop()
};

}  // namespace seckill::admission::remote
