// The simulator's dice: xoshiro256** from one seed. Everything that is random in a run comes from here, so a seed is a
// run. Not for secrets.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "base/assert.hpp"
#include "base/hash.hpp"

namespace seckill::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept {
    // splitmix64, as the generator's authors advise: no seed gives a bad state.
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15ULL;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  // 0 … n−1. Requires: n ≥ 1.
  std::uint64_t below(std::uint64_t n) noexcept {
    SECKILL_ASSERT(n >= 1, "a die has a side");
    return next() % n;  // the bias is far below what any scenario could notice
  }
  // lowest … highest, both included.
  std::int64_t between(std::int64_t lowest, std::int64_t highest) noexcept {
    return lowest + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(highest - lowest) + 1));
  }
  // True `permille` times of a thousand.
  bool chance(std::uint32_t permille) noexcept { return below(1000) < permille; }

  // A stream of its own: taking more numbers from one part does not change what another part sees, which is what lets
  // a shrinker drop one fault and keep the rest of the run.
  [[nodiscard]] Random fork(std::string_view part) noexcept { return Random{state_[0] ^ base::xxh3_64(part)}; }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace seckill::sim
