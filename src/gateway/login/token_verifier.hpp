// Who a login token (JWT, RFC 7519, signed in compact form) says the buyer is. The algorithm is the configuration's,
// never the token's: a header that names another one, or "none", is refused before any key is looked at (RFC 8725
// §3.1).
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "gateway/login/token_cache.hpp"

namespace seckill::gateway {

enum class JwtAlgorithm : std::uint8_t { hs256, rs256, es256 };
[[nodiscard]] std::string_view name(JwtAlgorithm algorithm) noexcept;  // "HS256"
[[nodiscard]] std::optional<JwtAlgorithm> jwt_algorithm_from(std::string_view name) noexcept;

struct LoginConfig {
  JwtAlgorithm algorithm = JwtAlgorithm::hs256;
  std::string hs256_secret;  // HS256: at least 32 bytes (RFC 7518 §3.2)
  std::string pem_file;      // RS256, ES256: one public key …
  std::string jwks_file;     // … or a JSON Web Key Set, chosen from by `kid`
  std::string issuer;        // when set, `iss` must equal it
  std::string audience;      // when set, `aud` must equal or contain it
  std::chrono::seconds leeway{30};
  std::size_t cache_entries = 262'144;
  std::size_t cache_bytes_max = std::size_t{96} << 20;
};

// Why a token is refused. All are 401; `expired` is told to the page so that it can log in again by itself.
enum class TokenFault : std::uint8_t {
  missing,          // no Authorization: Bearer
  malformed,        // not three parts, not JSON, too long
  wrong_algorithm,  // `alg` is not the configured one, or `crit` asks for what we do not know
  unknown_key,      // no key with its `kid`
  bad_signature,
  expired,        // `exp` has passed, or there is none
  not_yet_valid,  // `nbf` lies ahead
  wrong_issuer,
  wrong_audience,
  bad_subject,  // no `sub`, or none that can be a buyer
};
[[nodiscard]] std::string_view name(TokenFault fault) noexcept;

// Constant after construction; any thread.
class TokenVerifier {
 public:
  // Reads the key material. Errc::invalid with the file and what is wrong with it.
  [[nodiscard]] static base::Result<std::unique_ptr<TokenVerifier>> make(const LoginConfig& config);
  ~TokenVerifier();

  // Checks form, algorithm, signature, then times and claims. Tens of microseconds; does not block.
  [[nodiscard]] std::expected<VerifiedToken, TokenFault> verify(std::string_view token, base::UtcMs now) const;

  static constexpr std::size_t token_bytes_max = 4'096;

 private:
  struct Keys;
  TokenVerifier(LoginConfig config, std::unique_ptr<Keys> keys);

  LoginConfig config_;
  std::unique_ptr<Keys> keys_;
};

}  // namespace seckill::gateway
