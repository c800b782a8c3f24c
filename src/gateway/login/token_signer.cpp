#include "gateway/login/token_signer.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/text.hpp"
#include "gateway/login/jose.hpp"

namespace seckill::gateway {
namespace {

constexpr std::size_t secret_bytes_min = 32;

}  // namespace

struct TokenSigner::Impl {
  jose::Key key;
  std::string issuer;
  std::string audience;
};

TokenSigner::TokenSigner(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
TokenSigner::~TokenSigner() = default;

base::Result<std::unique_ptr<TokenSigner>> TokenSigner::make(std::string_view hs256_secret, std::string issuer,
                                                             std::string audience) {
  if (hs256_secret.size() < secret_bytes_min) {
    return base::fail(base::Errc::invalid, "reading the login secret", "HS256 needs a secret of at least 32 bytes");
  }
  std::vector<std::uint8_t> secret{hs256_secret.begin(), hs256_secret.end()};
  auto impl = std::make_unique<Impl>();
  impl->key.reset(cjose_jwk_create_oct_spec(secret.data(), secret.size(), nullptr));
  if (!impl->key) return base::fail(base::Errc::invalid, "reading the login secret", "it cannot be used");
  impl->issuer = std::move(issuer);
  impl->audience = std::move(audience);
  return std::unique_ptr<TokenSigner>{new TokenSigner{std::move(impl)}};
}

base::Result<std::string> TokenSigner::sign(const model::BuyerId& buyer, base::UtcMs now,
                                            std::chrono::seconds lifetime) const {
  std::string claims = "{\"sub\":";
  base::append_json_string(claims, buyer.view());
  for (const auto& [claim, value] :
       {std::pair{",\"iss\":", &impl_->issuer}, std::pair{",\"aud\":", &impl_->audience}}) {
    if (value->empty()) continue;
    claims += claim;
    base::append_json_string(claims, *value);
  }
  claims += fmt::format(",\"iat\":{},\"exp\":{}}}", now / 1'000, now / 1'000 + lifetime.count());
  const jose::Header header{cjose_header_new(nullptr)};
  if (!header || !cjose_header_set(header.get(), CJOSE_HDR_ALG, CJOSE_HDR_ALG_HS256, nullptr)) {
    return base::fail(base::Errc::unavailable, "signing a login token", "no memory");
  }
  const std::vector<std::uint8_t> payload{claims.begin(), claims.end()};
  const jose::Jws jws{cjose_jws_sign(impl_->key.get(), header.get(), payload.data(), payload.size(), nullptr)};
  const char* text = nullptr;
  if (!jws || !cjose_jws_export(jws.get(), &text, nullptr)) {
    return base::fail(base::Errc::unavailable, "signing a login token", "the library could not sign");
  }
  return std::string{text};
}

}  // namespace seckill::gateway
