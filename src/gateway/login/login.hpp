// From an Authorization header to a buyer. Identity comes from the verified token's `sub` alone: never from a body,
// query, header or cookie (FS-15). Two steps, so that the first filter can ask cheaply: glance() trusts nothing,
// confirm() does the checking that glance() did not find done in the cache.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "gateway/counters.hpp"
#include "gateway/login/subject_peek.hpp"
#include "gateway/login/token_cache.hpp"
#include "gateway/login/token_verifier.hpp"

namespace seckill::gateway {

// The token of "Bearer <token>", empty when there is none of that form (RFC 6750 §2.1; the scheme in any case).
[[nodiscard]] std::string_view bearer_token(std::string_view authorization) noexcept;

// What can be said of a request's login without checking a signature. Lives on the handler's stack.
struct Glance {
  std::string_view token;                   // views the request
  std::optional<VerifiedToken> verified;    // set: the cache knows it, and it has not expired
  std::optional<std::string_view> subject;  // who it claims to be; views `verified` or `buffer`
  PeekBuffer buffer;

  Glance() = default;  // to be written `Glance glance;`: zeroing the buffer (`{}`) would cost more than the look
  Glance(const Glance&) = delete;
  Glance& operator=(const Glance&) = delete;
};

// Any thread.
class Login {
 public:
  // Borrows clock and counters.
  Login(std::unique_ptr<TokenVerifier> verifier, const LoginConfig& config, const base::Clock& clock,
        GatewayCounters& counters);

  // Fills `into`. No allocation, no signature check.
  void glance(std::string_view authorization, Glance& into) const noexcept;

  // The buyer whose token was glanced at.
  [[nodiscard]] std::expected<model::BuyerId, TokenFault> confirm(const Glance& glance);

 private:
  std::unique_ptr<TokenVerifier> verifier_;
  TokenCache cache_;
  const base::Clock& clock_;
  GatewayCounters& counters_;
};

}  // namespace seckill::gateway
