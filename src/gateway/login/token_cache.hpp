// Tokens that were verified, so that a buyer's signature is checked once and not with every click. Only tokens whose
// signature held get in; a hit compares the whole token, so no hash collision can lend one buyer another's login.
// Keeps P9: a fixed number of entries and a bound on the bytes of their tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "model/ids.hpp"

namespace seckill::gateway {

struct VerifiedToken {
  model::BuyerId buyer;
  base::UtcMs expires_at = 0;  // leeway included: the token is good before this instant
};

// Any thread.
class TokenCache {
 public:
  // About `entries` tokens (rounded up to whole sets) of at most `bytes_max` bytes together.
  explicit TokenCache(std::size_t entries = 262'144, std::size_t bytes_max = std::size_t{96} << 20);
  ~TokenCache();
  TokenCache(const TokenCache&) = delete;
  TokenCache& operator=(const TokenCache&) = delete;

  // What was put in for exactly this token, expired or not; the caller looks at expires_at. No allocation.
  [[nodiscard]] std::optional<VerifiedToken> find(std::string_view token) const noexcept;

  // Keeps the token; in a full set, or over the byte bound, others give way, those that expire first first. A token
  // that is longer than token_bytes_max is not kept.
  void put(std::string_view token, const VerifiedToken& verified);

  [[nodiscard]] std::size_t bytes() const noexcept;  // of the tokens kept; approximate

  static constexpr std::size_t token_bytes_max = 2'048;

 private:
  static constexpr std::size_t shards = 64;
  static constexpr std::size_t ways = 4;  // places a token may stand in
  struct Entry;
  struct Shard;

  std::size_t sets_per_shard_;
  std::size_t bytes_per_shard_max_;
  std::uint64_t seed_;  // random, so that nobody can choose tokens that meet in one set
  std::unique_ptr<Shard[]> shards_;
};

}  // namespace seckill::gateway
