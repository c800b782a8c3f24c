#include "gateway/login/login.hpp"

namespace seckill::gateway {

std::string_view bearer_token(std::string_view authorization) noexcept {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() <= scheme.size()) return {};
  for (std::size_t index = 0; index + 1 < scheme.size(); ++index) {
    if ((authorization[index] | 0x20) != scheme[index]) return {};
  }
  if (authorization[scheme.size() - 1] != ' ') return {};
  return authorization.substr(scheme.size());
}

Login::Login(std::unique_ptr<TokenVerifier> verifier, const LoginConfig& config, const base::Clock& clock,
             GatewayCounters& counters)
    : verifier_{std::move(verifier)},
      cache_{config.cache_entries, config.cache_bytes_max},
      clock_{clock},
      counters_{counters} {}

void Login::glance(std::string_view authorization, Glance& into) const noexcept {
  into.token = bearer_token(authorization);
  if (into.token.empty()) return;
  into.verified = cache_.find(into.token);
  if (into.verified) {
    if (clock_.now_utc() < into.verified->expires_at) {
      into.subject = into.verified->buyer.view();
      return;
    }
    into.verified.reset();  // confirm() says so; until then it claims what it claims
  }
  into.subject = peek_subject(into.token, into.buffer);
}

std::expected<model::BuyerId, TokenFault> Login::confirm(const Glance& glance) {
  if (glance.verified) {
    counters_.count(GatewayEvent::token_cache_hit);
    return glance.verified->buyer;
  }
  if (glance.token.empty()) return std::unexpected(TokenFault::missing);
  const std::expected<VerifiedToken, TokenFault> verified = verifier_->verify(glance.token, clock_.now_utc());
  if (!verified) {
    counters_.count(GatewayEvent::token_refused);
    return std::unexpected(verified.error());
  }
  counters_.count(GatewayEvent::token_verified);
  cache_.put(glance.token, *verified);
  return verified->buyer;
}

}  // namespace seckill::gateway
