// When to try: the breaker that refuses calls to a server which keeps failing, and the growing pause between connects.
// Plain values; time and chance are given.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/random.hpp"
#include "drivers/redis/pending_call.hpp"

namespace seckill::drivers::redis {

//   closed ──failures in a row──► open ──breaker_open passed──► one call tries, the next after breaker_open again
//     ▲─────────────────────────────── any reply ─────────────────────────────┘
class Breaker {
 public:
  Breaker(std::uint32_t failures_max, std::chrono::milliseconds open_for)
      : failures_max_(std::max(failures_max, 1u)), open_for_(open_for) {}

  [[nodiscard]] bool is_open() const noexcept { return open_; }
  // May one more call go? While open, the call that may is the one that tries.
  [[nodiscard]] bool try_pass(TimePoint now) noexcept {
    if (!open_) return true;
    if (now < next_try_) return false;
    next_try_ = now + open_for_;
    return true;
  }
  void succeeded() noexcept {
    open_ = false;
    failures_ = 0;
  }
  // True when this one opened it.
  bool failed(TimePoint now) noexcept {
    if (open_ || ++failures_ < failures_max_) return false;
    open_ = true;
    next_try_ = now + open_for_;
    return true;
  }

 private:
  const std::uint32_t failures_max_;
  const std::chrono::milliseconds open_for_;
  bool open_ = false;
  std::uint32_t failures_ = 0;
  TimePoint next_try_;
};

// Doubles from `least` to `most`; each pause is drawn from its upper half, so that nodes do not come back in step.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds least, std::chrono::milliseconds most)
      : least_(std::max(least, std::chrono::milliseconds{1})), most_(std::max(most, least_)), next_(least_) {}

  [[nodiscard]] std::chrono::milliseconds next(base::Random& random) {
    const std::chrono::milliseconds whole = next_;
    next_ = std::min(next_ * 2, most_);
    return std::chrono::milliseconds{random.between((whole.count() + 1) / 2, whole.count())};
  }
  void reset() noexcept { next_ = least_; }

 private:
  const std::chrono::milliseconds least_;
  const std::chrono::milliseconds most_;
  std::chrono::milliseconds next_;
};

}  // namespace seckill::drivers::redis
