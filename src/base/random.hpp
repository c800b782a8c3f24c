// Chance as a parameter: what spreads retries and what makes ids unique across runs takes its numbers from here, so the
// simulator repeats a run from its seed. Secrets do not: they come from crypto.hpp.
#pragma once

#include <cstdint>

namespace seckill::base {

class Random {
 public:
  virtual ~Random() = default;
  // All 64 bits evenly spread.
  [[nodiscard]] virtual std::uint64_t next() noexcept = 0;

  // lowest … highest, both included. Requires: lowest ≤ highest.
  [[nodiscard]] std::int64_t between(std::int64_t lowest, std::int64_t highest) noexcept {
    const std::uint64_t span = static_cast<std::uint64_t>(highest) - static_cast<std::uint64_t>(lowest) + 1;
    // The bias of the remainder is far below what a jitter could show.
    const std::uint64_t step = span == 0 ? next() : next() % span;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(lowest) + step);
  }
};

// The operating system's. Constant, lives for ever. Any thread.
[[nodiscard]] Random& system_random() noexcept;

}  // namespace seckill::base
