// Deadlines of answers: rings once at a time. One thread; bounded; whoever finds it full answers busy at once.
//
// There are few lengths of deadlines, and of one length what is set later rings later: each length has a line, and
// nothing is sorted. The thread looks at the lines' fronts every `tick` and lets go what nobody needs any more: nearly
// every answer comes long before its deadline, and what it held should not stay a second longer.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/threads.hpp"

namespace seckill::admission::remote {

class Alarms {
 public:
  // How much later than asked for an alarm may ring.
  static constexpr std::chrono::milliseconds tick{5};

  Alarms(base::Threads& threads, std::size_t alarms_max);
  ~Alarms() = default;  // Requires: stopped, or crashed with its threads
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

  void start();
  // Rings everything that is set, now, and ends. Blocks. Idempotent.
  void stop();

  // What an alarm is for. `over()`: nobody needs it any more; asked now and then, takes no lock. `ring()`: at most
  // once, from the alarms' thread, `after` from now or up to a tick later; quick.
  template <typename What>
  static constexpr bool is_alarm = requires(What what) {
    { what.over() } -> std::same_as<bool>;
    what.ring();
  };
  // False, and never rung, when full or stopped. Requires: at most lengths_max different lengths in all. Any thread.
  template <typename What>
    requires is_alarm<What>
  [[nodiscard]] bool try_set(std::chrono::nanoseconds after, What what) {
    return try_add(after, [what = std::move(what)](bool due) mutable {
      if (!due) return what.over();
      what.ring();
      return true;
    });
  }
  static constexpr std::size_t lengths_max = 8;

 private:
  using Look = std::move_only_function<bool(bool due)>;  // true: let it go
  struct Alarm {
    std::chrono::nanoseconds when{};  // Threads::now
    Look look;
    bool due = false;
  };
  struct Line {
    std::chrono::nanoseconds length{};
    std::deque<Alarm> alarms;  // ascending
  };
  [[nodiscard]] Line& line_of(std::chrono::nanoseconds length);
  [[nodiscard]] bool try_add(std::chrono::nanoseconds after, Look look);
  // From the fronts of the lines: what is due, and what nobody needs any more.
  void take(std::chrono::nanoseconds now, std::vector<Alarm>& taken);
  void run();

  base::Threads& threads_;
  const std::size_t alarms_max_;
  const std::unique_ptr<base::Signal> changed_;

  std::mutex mutex_;
  std::deque<Line> lines_;  // few; stays where it is
  std::size_t set_ = 0;     // in all lines
  bool stopping_ = false;
  std::unique_ptr<base::Thread> thread_;  // owned by start() and stop()
};

}  // namespace seckill::admission::remote
