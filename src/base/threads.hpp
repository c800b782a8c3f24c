// Threads, waiting and the time waits are measured by, as one port: components that own a thread take it from here, so
// the very same loops run on the system's threads in production and as fibers under virtual time in the simulator.
//
// A component keeps its data under a std::mutex and waits with a Signal, never with a std::condition_variable, and
// never sleeps on its own. Rule that makes fibers possible: no lock is held across a call that can block, waits
// excepted.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace seckill::base {

// A condition variable over a std::mutex. Any thread of the same Threads.
class Signal {
 public:
  virtual ~Signal() = default;
  // Gives the lock up, waits to be notified, takes it again. May return early: callers loop over their condition.
  virtual void wait(std::unique_lock<std::mutex>& lock) = 0;
  // As wait(), but returns after `longest` at the latest; a negative or zero time only yields.
  virtual void wait_for(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds longest) = 0;
  virtual void notify_all() noexcept = 0;
  virtual void notify_one() noexcept = 0;

  template <typename Condition>
  void wait(std::unique_lock<std::mutex>& lock, Condition condition) {
    while (!condition()) wait(lock);
  }
};

class Thread {
 public:
  virtual ~Thread() = default;  // Requires: joined
  // Blocks until the body has returned. Once, not from the thread itself.
  virtual void join() = 0;
};

class Threads {
 public:
  virtual ~Threads() = default;
  // Runs `body` on a thread of its own. `name` is at most 15 characters (what the kernel keeps).
  [[nodiscard]] virtual std::unique_ptr<Thread> start(std::string name, std::move_only_function<void()> body) = 0;
  [[nodiscard]] virtual std::unique_ptr<Signal> make_signal() = 0;
  virtual void sleep_for(std::chrono::nanoseconds time) = 0;
  // The time by which its waits are measured; never goes back. Apart from the rules' Clock, which tests move by hand
  // while threads wait in real time.
  [[nodiscard]] virtual std::chrono::nanoseconds now() const noexcept = 0;

  // Waits until the condition holds or `longest` has passed; true when it holds.
  template <typename Condition>
  [[nodiscard]] bool wait_for(Signal& signal, std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds longest,
                              Condition condition) {
    const std::chrono::nanoseconds until = now() + longest;
    while (!condition()) {
      const std::chrono::nanoseconds left = until - now();
      if (left <= std::chrono::nanoseconds{0}) return false;
      signal.wait_for(lock, left);
    }
    return true;
  }
};

// The operating system's. Constant, lives for ever. Any thread.
[[nodiscard]] Threads& system_threads() noexcept;

}  // namespace seckill::base
