#include "base/hash.hpp"

#include <xxhash.h>

namespace seckill::base {

std::uint64_t xxh3_64(std::string_view bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t xxh3_64_seeded(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hash128 xxh3_128_seeded(std::string_view bytes, std::uint64_t seed) noexcept {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.low64, hash.high64};
}

}  // namespace seckill::base
