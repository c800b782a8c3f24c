#include "gateway/login/token_verifier.hpp"

#include <boost/json.hpp>
#include <vector>

#include "base/json.hpp"
#include "gateway/login/base64url.hpp"
#include "gateway/login/jose.hpp"
#include "gateway/login/key_files.hpp"

namespace seckill::gateway {
namespace {

namespace json = boost::json;

constexpr std::size_t secret_bytes_min = 32;
constexpr std::int64_t seconds_max =
    253'402'300'799;  // the last second of the year 9999: keeps milliseconds in 64 bits

std::optional<json::object> part_as_object(std::string_view part) {
  std::string decoded(part.size(), '\0');
  const auto size = decode_base64url(part, decoded);
  if (!size) return std::nullopt;
  decoded.resize(*size);
  base::Result<json::value> value = base::parse_json(decoded);
  if (!value || !value->is_object()) return std::nullopt;
  return std::move(value->get_object());
}

std::optional<std::string_view> text_of(const json::object& object, const char* key) {
  const json::value* found = object.if_contains(key);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  const json::string& text = found->get_string();
  return std::string_view{text.data(), text.size()};
}

// A NumericDate (RFC 7519 §2) in seconds: fractions are cut off, what lies beyond the year 9999 is that year's end.
std::optional<std::int64_t> date_of(const json::object& object, const char* key) {
  const json::value* found = object.if_contains(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_int64()) return std::clamp<std::int64_t>(found->get_int64(), -1, seconds_max);
  if (found->is_uint64()) return seconds_max;
  if (found->is_double()) {
    const double value = found->get_double();
    if (!(value >= 0)) return -1;
    return value >= static_cast<double>(seconds_max) ? seconds_max : static_cast<std::int64_t>(value);
  }
  return std::nullopt;
}

bool has_audience(const json::object& claims, std::string_view wanted) {
  const json::value* found = claims.if_contains("aud");
  if (found == nullptr) return false;
  if (found->is_string()) return std::string_view{found->get_string()} == wanted;
  if (!found->is_array()) return false;
  for (const json::value& entry : found->get_array()) {
    if (entry.is_string() && std::string_view{entry.get_string()} == wanted) return true;
  }
  return false;
}

std::expected<VerifiedToken, TokenFault> judge_claims(const json::object& claims, const LoginConfig& config,
                                                      base::UtcMs now) {
  const std::int64_t leeway_ms = std::chrono::milliseconds{config.leeway}.count();
  const std::optional<std::int64_t> expires = date_of(claims, "exp");
  // A token that never ends could not be taken back from a thief.
  if (!expires || *expires * 1'000 + leeway_ms <= now) return std::unexpected(TokenFault::expired);
  if (claims.contains("nbf")) {
    const std::optional<std::int64_t> not_before = date_of(claims, "nbf");
    if (!not_before) return std::unexpected(TokenFault::malformed);
    if (*not_before * 1'000 > now + leeway_ms) return std::unexpected(TokenFault::not_yet_valid);
  }
  if (!config.issuer.empty() && text_of(claims, "iss") != std::string_view{config.issuer}) {
    return std::unexpected(TokenFault::wrong_issuer);
  }
  if (!config.audience.empty() && !has_audience(claims, config.audience)) {
    return std::unexpected(TokenFault::wrong_audience);
  }
  const std::optional<std::string_view> subject = text_of(claims, "sub");
  if (!subject) return std::unexpected(TokenFault::bad_subject);
  const std::optional<model::BuyerId> buyer = model::BuyerId::parse(*subject);
  if (!buyer) return std::unexpected(TokenFault::bad_subject);
  return VerifiedToken{*buyer, *expires * 1'000 + leeway_ms};
}

}  // namespace

std::string_view name(JwtAlgorithm algorithm) noexcept {
  switch (algorithm) {
    case JwtAlgorithm::hs256: return "HS256";
    case JwtAlgorithm::rs256: return "RS256";
    case JwtAlgorithm::es256: return "ES256";
  }
  return "HS256";
}

std::optional<JwtAlgorithm> jwt_algorithm_from(std::string_view text) noexcept {
  for (const JwtAlgorithm algorithm : {JwtAlgorithm::hs256, JwtAlgorithm::rs256, JwtAlgorithm::es256}) {
    if (name(algorithm) == text) return algorithm;
  }
  return std::nullopt;
}

std::string_view name(TokenFault fault) noexcept {
  switch (fault) {
    case TokenFault::missing: return "missing";
    case TokenFault::malformed: return "malformed";
    case TokenFault::wrong_algorithm: return "wrong_algorithm";
    case TokenFault::unknown_key: return "unknown_key";
    case TokenFault::bad_signature: return "bad_signature";
    case TokenFault::expired: return "expired";
    case TokenFault::not_yet_valid: return "not_yet_valid";
    case TokenFault::wrong_issuer: return "wrong_issuer";
    case TokenFault::wrong_audience: return "wrong_audience";
    case TokenFault::bad_subject: return "bad_subject";
  }
  return "malformed";
}

struct TokenVerifier::Keys {
  std::vector<NamedKey> keys;

  // The key named `kid`; without a name, the only key there is. Trying all would let one bad token cost many checks.
  [[nodiscard]] const cjose_jwk_t* choose(std::optional<std::string_view> kid) const noexcept {
    if (keys.size() == 1 && (!kid || keys[0].kid.empty())) return keys[0].key.get();
    if (!kid) return nullptr;
    for (const NamedKey& candidate : keys) {
      if (candidate.kid == *kid) return candidate.key.get();
    }
    return nullptr;
  }
};

TokenVerifier::TokenVerifier(LoginConfig config, std::unique_ptr<Keys> keys)
    : config_{std::move(config)}, keys_{std::move(keys)} {}
TokenVerifier::~TokenVerifier() = default;

base::Result<std::unique_ptr<TokenVerifier>> TokenVerifier::make(const LoginConfig& config) {
  auto keys = std::make_unique<Keys>();
  if (config.algorithm == JwtAlgorithm::hs256) {
    if (config.hs256_secret.size() < secret_bytes_min) {
      return base::fail(base::Errc::invalid, "reading the login secret", "HS256 needs a secret of at least 32 bytes");
    }
    std::vector<std::uint8_t> secret{config.hs256_secret.begin(), config.hs256_secret.end()};
    keys->keys.push_back({{}, jose::Key{cjose_jwk_create_oct_spec(secret.data(), secret.size(), nullptr)}});
    if (!keys->keys[0].key) return base::fail(base::Errc::invalid, "reading the login secret", "it cannot be used");
  } else {
    if (config.pem_file.empty() == config.jwks_file.empty()) {
      return base::fail(base::Errc::invalid, "reading the login keys", "give either a PEM file or a JWKS file");
    }
    base::Result<std::vector<NamedKey>> read = config.pem_file.empty()
                                                   ? keys_from_jwks_file(config.jwks_file, config.algorithm)
                                                   : keys_from_pem_file(config.pem_file, config.algorithm);
    if (!read) return std::unexpected(read.error());
    keys->keys = std::move(*read);
  }
  return std::unique_ptr<TokenVerifier>{new TokenVerifier{config, std::move(keys)}};
}

std::expected<VerifiedToken, TokenFault> TokenVerifier::verify(std::string_view token, base::UtcMs now) const {
  if (token.size() > token_bytes_max) return std::unexpected(TokenFault::malformed);
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) {
    return std::unexpected(TokenFault::malformed);
  }
  const std::optional<json::object> header = part_as_object(token.substr(0, first));
  if (!header) return std::unexpected(TokenFault::malformed);
  if (text_of(*header, "alg") != name(config_.algorithm) || header->contains("crit") || header->contains("b64")) {
    return std::unexpected(TokenFault::wrong_algorithm);
  }
  const cjose_jwk_t* key = keys_->choose(text_of(*header, "kid"));
  if (key == nullptr) return std::unexpected(TokenFault::unknown_key);
  // The library reads a signature in several spellings (padding, spare bits); a token has one.
  std::string signature(token.size() - second, '\0');
  if (!decode_base64url(token.substr(second + 1), signature)) return std::unexpected(TokenFault::malformed);
  const jose::Jws jws{cjose_jws_import(token.data(), token.size(), nullptr)};
  if (!jws) return std::unexpected(TokenFault::malformed);
  if (!cjose_jws_verify(jws.get(), key, nullptr)) return std::unexpected(TokenFault::bad_signature);
  // Only now is the payload worth reading.
  const std::optional<json::object> claims = part_as_object(token.substr(first + 1, second - first - 1));
  if (!claims) return std::unexpected(TokenFault::malformed);
  return judge_claims(*claims, config_, now);
}

}  // namespace seckill::gateway
