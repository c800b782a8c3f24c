// Hashes that are part of the design: XXH3-64 routes a buyer to a lane and feeds tables. Not for secrets or signatures.
#pragma once

#include <cstdint>
#include <string_view>

namespace seckill::base {

// XXH3-64, seed 0. The value is stored knowledge (lane routing): it must never change. Any thread.
[[nodiscard]] std::uint64_t xxh3_64(std::string_view bytes) noexcept;

// XXH3-64 with a seed, for tables whose keys an outsider chooses. Any thread.
[[nodiscard]] std::uint64_t xxh3_64_seeded(std::string_view bytes, std::uint64_t seed) noexcept;

// XXH3-128 with a seed, folded into two words: a table key for untrusted text. Any thread.
struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};
[[nodiscard]] Hash128 xxh3_128_seeded(std::string_view bytes, std::uint64_t seed) noexcept;

}  // namespace seckill::base
