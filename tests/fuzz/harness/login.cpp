// Login tokens. The input is header, payload and a rest, a line each; the harness signs them with the secret the
// verifier has, so that what lies behind the signature is reached. What is verified is what the claims say to a second
// JSON library, nothing verifies without its signature, the unverified peek never names another buyer than the verified
// token (FS-24), and base64url knows one text for each value.
#include "gateway/login/login.hpp"

#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/property.hpp"
#include "gateway/login/base64url.hpp"
#include "gateway/login/subject_peek.hpp"
#include "gateway/login/token_verifier.hpp"

namespace seckill::fuzz {
namespace {

using gateway::TokenVerifier;

constexpr std::string_view secret = "the secret of this harness, which signs";
constexpr base::UtcMs now = 1'800'000'000'000;

std::string encode(std::string_view bytes) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  std::uint32_t pending = 0;
  int bits = 0;
  for (const char c : bytes) {
    pending = pending << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) text += alphabet[pending >> (bits - 6) & 63U];
  }
  if (bits > 0) text += alphabet[pending << (6 - bits) & 63U];
  return text;
}

std::string sign(std::string_view signed_text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(), mac.data(), &size);
  return {reinterpret_cast<const char*>(mac.data()), size};
}

const TokenVerifier& verifier_of(bool strict) {
  static const auto make = [](bool with_names) {
    gateway::LoginConfig config;
    config.hs256_secret = secret;
    if (with_names) {
      config.issuer = "shop";
      config.audience = "sale";
    }
    auto made = TokenVerifier::make(config);
    require(made.has_value(), "the harness's own configuration is sound");
    return std::move(*made);
  };
  static const auto lenient_one = make(false);
  static const auto strict_one = make(true);
  return strict ? *strict_one : *lenient_one;
}

void check_base64(std::string_view text) {
  std::vector<char> out(text.size());
  if (const auto size = gateway::decode_base64url(text, out)) {
    require(*size <= out.size() && encode({out.data(), *size}) == text, "a value has one text in base64url", text);
  }
  const std::string encoded = encode(text);
  std::vector<char> exact(text.size());  // exactly as long as needed
  const auto back = gateway::decode_base64url(encoded, exact);
  require(back == text.size() && std::string_view{exact.data(), exact.size()} == text, "and each value has one", text);
  if (text.empty()) return;
  exact.pop_back();
  require(!gateway::decode_base64url(encoded, exact), "what does not fit is refused", text);
}

void check_verified(const std::string& token, std::string_view payload, const gateway::VerifiedToken& verified,
                    bool strict) {
  require(verified.expires_at > now, "a verified token has not expired", payload);
  json_error_t error{};
  const std::unique_ptr<json_t, decltype(&json_decref)> claims{
      json_loadb(payload.data(), payload.size(), JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error), &json_decref};
  if (claims == nullptr) {  // it refuses what we take only for its own bounds
    const auto code = json_error_code(&error);
    require(code == json_error_numeric_overflow || code == json_error_null_byte_in_key,
            "claims that verify are JSON to others", payload);
    return;
  }
  const auto claim = [&](const char* name) {
    const json_t* value = json_object_get(claims.get(), name);
    return value == nullptr || !json_is_string(value)
               ? std::string{}
               : std::string{json_string_value(value), json_string_length(value)};
  };
  require(claim("sub") == verified.buyer.view(), "the buyer is the token's sub (FS-15)", payload);
  if (strict) require(claim("iss") == "shop", "the issuer is the one configured", payload);
  gateway::PeekBuffer buffer;
  const auto peeked = gateway::peek_subject(token, buffer);
  require(!peeked || *peeked == verified.buyer.view(), "a peek never names another buyer than the login", payload);
}

void check_signed(std::string_view header, std::string_view payload) {
  const std::string signed_text = encode(header) + "." + encode(payload);
  const std::string mac = sign(signed_text);
  const std::string token = signed_text + "." + encode(mac);
  for (const bool strict : {false, true}) {
    const auto verified = verifier_of(strict).verify(token, now);
    if (!verified) continue;
    check_verified(token, payload, *verified, strict);
    std::string other = mac;
    other[payload.size() % other.size()] ^= 1;
    const auto forged = verifier_of(strict).verify(signed_text + "." + encode(other), now);
    require(!forged && forged.error() == gateway::TokenFault::bad_signature, "a changed signature is refused", token);
    require(!verifier_of(strict).verify(signed_text + ".", now), "and so is none", token);
    require(!verifier_of(strict).verify(token + "=", now), "and so is another spelling", token);
  }
}

}  // namespace
}  // namespace seckill::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seckill::fuzz;
  namespace gateway = seckill::gateway;
  const std::string_view input = text_of(data, size);
  Taker taker{input};
  const std::string_view header = taker.until('\n');
  const std::string_view payload = taker.until('\n');
  check_signed(header, payload);
  check_signed(R"({"alg":"HS256"})", payload);  // so that every payload is looked at behind a good header
  check_base64(header);
  (void)gateway::flat_subject(payload);
  // The input as it stands: a token that nobody signed, and an Authorization header.
  require(!verifier_of(false).verify(input, now), "nothing verifies without the secret", input);
  const std::string_view bearer = gateway::bearer_token(input);
  require(bearer.empty() || input.ends_with(bearer), "a bearer token is the header's end", input);
  gateway::PeekBuffer buffer;
  if (const auto peeked = gateway::peek_subject(input, buffer)) {
    require(peeked->size() <= buffer.size() && peeked->find('\\') == std::string_view::npos,
            "a peeked subject is read as it stands", input);
  }
  return 0;
}
