// Redis replies and scripts as values.
#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/assert.hpp"
#include "base/crypto.hpp"
#include "drivers/redis/redis.hpp"

namespace seckill::drivers::redis {

std::optional<std::int64_t> RedisReply::integer() const noexcept {
  switch (kind_) {
    case Kind::integer: return integer_;
    case Kind::text: {
      std::int64_t value = 0;
      const char* const end = text_.data() + text_.size();
      const auto [stopped, error] = std::from_chars(text_.data(), end, value);
      if (error != std::errc{} || stopped != end) return std::nullopt;
      return value;
    }
    case Kind::nil:
    case Kind::array:
    case Kind::error: return std::nullopt;
  }
  std::unreachable();
}

RedisScript::RedisScript(std::string text) : text_(std::move(text)) {
  // The name under which Redis itself keeps a script; no secret rests on SHA-1 here.
  std::array<std::uint8_t, 20> digest{};
  unsigned length = 0;
  const int done = EVP_Digest(text_.data(), text_.size(), digest.data(), &length, EVP_sha1(), nullptr);
  SECKILL_ASSERT(done == 1 && length == digest.size(), "SHA-1 names every script");
  sha1_ = base::to_hex(digest);
}

}  // namespace seckill::drivers::redis
