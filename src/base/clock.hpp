// Time as a parameter. Rules take `now`; only the outermost layers hold a Clock, so tests advance time by hand.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace seckill::base {

// Milliseconds since 1970-01-01T00:00:00Z: the only wall-clock unit that is stored or sent.
using UtcMs = std::int64_t;

// Any thread. now_utc() may step with the system clock; steady_now() never goes back and is for durations only.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual UtcMs now_utc() const noexcept = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds steady_now() const noexcept = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] UtcMs now_utc() const noexcept override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  [[nodiscard]] std::chrono::nanoseconds steady_now() const noexcept override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

// A clock that moves only when told to. Any thread.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(UtcMs start = 1'700'000'000'000) : utc_{start} {}
  [[nodiscard]] UtcMs now_utc() const noexcept override { return utc_.load(); }
  [[nodiscard]] std::chrono::nanoseconds steady_now() const noexcept override {
    return std::chrono::nanoseconds{steady_ns_.load()};
  }
  // Moves both clocks forward.
  void advance(std::chrono::milliseconds by) noexcept {
    utc_ += by.count();
    steady_ns_ += std::chrono::nanoseconds{by}.count();
  }
  // Steps the wall clock only, as an operator or NTP might.
  void step_utc(std::chrono::milliseconds by) noexcept { utc_ += by.count(); }

 private:
  std::atomic<UtcMs> utc_;
  std::atomic<std::int64_t> steady_ns_{0};
};

}  // namespace seckill::base
