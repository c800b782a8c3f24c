#include "gateway/login/token_cache.hpp"

#include <cstring>

#include "base/crypto.hpp"
#include "base/hash.hpp"

namespace seckill::gateway {

struct TokenCache::Entry {
  std::uint64_t tag = 0;  // 64 more bits of the hash: a token is compared only when they agree
  std::unique_ptr<char[]> token;
  std::size_t size = 0;
  VerifiedToken verified;

  [[nodiscard]] bool holds(std::uint64_t other_tag, std::string_view other) const noexcept {
    return token != nullptr && tag == other_tag && size == other.size() &&
           std::memcmp(token.get(), other.data(), size) == 0;
  }
};

struct alignas(64) TokenCache::Shard {
  mutable std::mutex mutex;
  std::vector<Entry> entries;  // sets of `ways` neighbours
  std::size_t bytes = 0;
  std::size_t hand = 0;  // where making room for bytes goes on

  void drop(Entry& entry) noexcept {
    bytes -= entry.size;
    entry.token.reset();
    entry.size = 0;
  }
  void make_room(std::size_t wanted, std::size_t bytes_max) noexcept {
    for (std::size_t looked = 0; looked < entries.size() && bytes + wanted > bytes_max; ++looked) {
      drop(entries[hand]);
      hand = (hand + 1) % entries.size();
    }
  }
};

TokenCache::TokenCache(std::size_t entries, std::size_t bytes_max)
    : sets_per_shard_{(entries + shards * ways - 1) / (shards * ways)},
      bytes_per_shard_max_{bytes_max / shards},
      seed_{base::random_u64()},
      shards_{std::make_unique<Shard[]>(shards)} {
  if (sets_per_shard_ == 0) sets_per_shard_ = 1;
  for (std::size_t index = 0; index < shards; ++index) shards_[index].entries.resize(sets_per_shard_ * ways);
}

TokenCache::~TokenCache() = default;

std::optional<VerifiedToken> TokenCache::find(std::string_view token) const noexcept {
  const base::Hash128 hash = base::xxh3_128_seeded(token, seed_);
  const Shard& shard = shards_[hash.low % shards];
  const std::size_t set = (hash.low / shards) % sets_per_shard_ * ways;
  const std::lock_guard lock{shard.mutex};
  for (std::size_t way = 0; way < ways; ++way) {
    const Entry& entry = shard.entries[set + way];
    if (entry.holds(hash.high, token)) return entry.verified;
  }
  return std::nullopt;
}

void TokenCache::put(std::string_view token, const VerifiedToken& verified) {
  if (token.size() > token_bytes_max) return;
  const base::Hash128 hash = base::xxh3_128_seeded(token, seed_);
  auto copy = std::make_unique<char[]>(token.size());
  std::memcpy(copy.get(), token.data(), token.size());
  Shard& shard = shards_[hash.low % shards];
  const std::size_t set = (hash.low / shards) % sets_per_shard_ * ways;
  const std::lock_guard lock{shard.mutex};
  Entry* place = nullptr;
  for (std::size_t way = 0; way < ways; ++way) {
    Entry& entry = shard.entries[set + way];
    if (entry.holds(hash.high, token)) {
      entry.verified = verified;
      return;
    }
    const bool better =
        place == nullptr ||
        (place->token != nullptr && (entry.token == nullptr || entry.verified.expires_at < place->verified.expires_at));
    if (better) place = &entry;
  }
  shard.drop(*place);
  shard.make_room(token.size(), bytes_per_shard_max_);
  if (shard.bytes + token.size() > bytes_per_shard_max_) return;
  place->tag = hash.high;
  place->token = std::move(copy);
  place->size = token.size();
  place->verified = verified;
  shard.bytes += token.size();
}

std::size_t TokenCache::bytes() const noexcept {
  std::size_t total = 0;
  for (std::size_t index = 0; index < shards; ++index) {
    const std::lock_guard lock{shards_[index].mutex};
    total += shards_[index].bytes;
  }
  return total;
}

}  // namespace seckill::gateway
