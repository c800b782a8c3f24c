// Keys and tokens for the login tests: made fresh, written as PEM and JWKS, and used to sign whatever a test asks for.
#pragma once

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/login/jose.hpp"

namespace seckill::gateway::testing {

inline constexpr std::string_view secret = "a secret of more than thirty-two bytes!";

inline std::string base64url(std::string_view bytes) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  unsigned word = 0;
  int bits = 0;
  for (const char c : bytes) {
    word = word << 8 | static_cast<unsigned char>(c);
    bits += 8;
    while (bits >= 6) out += alphabet[word >> (bits -= 6) & 63U];
  }
  if (bits > 0) out += alphabet[word << (6 - bits) & 63U];
  return out;
}

// A compact token over exactly these claims, with cjose's own header for `alg`.
inline std::string sign_with(const cjose_jwk_t& key, const char* alg, std::string_view claims,
                             const char* kid = nullptr) {
  const jose::Header header{cjose_header_new(nullptr)};
  EXPECT_TRUE(cjose_header_set(header.get(), "alg", alg, nullptr));
  if (kid != nullptr) EXPECT_TRUE(cjose_header_set(header.get(), "kid", kid, nullptr));
  const std::vector<std::uint8_t> payload{claims.begin(), claims.end()};
  const jose::Jws jws{cjose_jws_sign(&key, header.get(), payload.data(), payload.size(), nullptr)};
  const char* text = nullptr;
  if (!jws || !cjose_jws_export(jws.get(), &text, nullptr)) {
    ADD_FAILURE() << "cannot sign with " << alg;
    return {};
  }
  return text;
}

inline jose::Key secret_key(std::string_view bytes = secret) {
  const std::vector<std::uint8_t> copy{bytes.begin(), bytes.end()};
  return jose::Key{cjose_jwk_create_oct_spec(copy.data(), copy.size(), nullptr)};
}

inline std::string sign_hs256(std::string_view claims) { return sign_with(*secret_key(), "HS256", claims); }

// HMAC over any header and payload text, for tokens that no decent signer makes.
inline std::string sign_raw(std::string_view header, std::string_view payload) {
  const std::string signed_text = base64url(header) + "." + base64url(payload);
  unsigned char mac[EVP_MAX_MD_SIZE];
  std::size_t size = 0;
  EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, secret.data(), secret.size(),
            reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(), mac, sizeof mac, &size);
  return signed_text + "." + base64url({reinterpret_cast<const char*>(mac), size});
}

class KeyFolder {
 public:
  KeyFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "seckill-keys-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~KeyFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  KeyFolder(const KeyFolder&) = delete;
  KeyFolder& operator=(const KeyFolder&) = delete;
  [[nodiscard]] std::string write(const std::string& name, std::string_view text) const {
    std::ofstream{path_ / name, std::ios::binary} << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

struct FreeKey {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeKey>;

inline PrivateKey new_rsa(unsigned bits = 2'048) { return PrivateKey{EVP_RSA_gen(bits)}; }
inline PrivateKey new_ec(const char* curve = "P-256") { return PrivateKey{EVP_EC_gen(curve)}; }

inline std::string public_pem(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(bio, key);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text{data, static_cast<std::size_t>(size)};
  BIO_free(bio);
  return text;
}

inline std::vector<std::uint8_t> key_part(const EVP_PKEY* key, const char* part, std::size_t size = 0) {
  BIGNUM* number = nullptr;
  EXPECT_EQ(EVP_PKEY_get_bn_param(key, part, &number), 1);
  std::vector<std::uint8_t> bytes(size != 0 ? size : static_cast<std::size_t>(BN_num_bytes(number)));
  BN_bn2binpad(number, bytes.data(), static_cast<int>(bytes.size()));
  BN_clear_free(number);
  return bytes;
}

// The private key for cjose, to sign with and to print as a JWK.
inline jose::Key jose_rsa(const EVP_PKEY* key) {
  auto n = key_part(key, OSSL_PKEY_PARAM_RSA_N);
  auto e = key_part(key, OSSL_PKEY_PARAM_RSA_E);
  auto d = key_part(key, OSSL_PKEY_PARAM_RSA_D);
  cjose_jwk_rsa_keyspec spec{};
  spec.n = n.data();
  spec.nlen = n.size();
  spec.e = e.data();
  spec.elen = e.size();
  spec.d = d.data();
  spec.dlen = d.size();
  return jose::Key{cjose_jwk_create_RSA_spec(&spec, nullptr)};
}
inline jose::Key jose_ec(const EVP_PKEY* key) {
  auto x = key_part(key, OSSL_PKEY_PARAM_EC_PUB_X, 32);
  auto y = key_part(key, OSSL_PKEY_PARAM_EC_PUB_Y, 32);
  auto d = key_part(key, OSSL_PKEY_PARAM_PRIV_KEY, 32);
  cjose_jwk_ec_keyspec spec{};
  spec.crv = CJOSE_JWK_EC_P_256;
  spec.x = x.data();
  spec.xlen = x.size();
  spec.y = y.data();
  spec.ylen = y.size();
  spec.d = d.data();
  spec.dlen = d.size();
  return jose::Key{cjose_jwk_create_EC_spec(&spec, nullptr)};
}

// {"kty":…,…,"kid":"…"}: the public half.
inline std::string public_jwk(const cjose_jwk_t& key, const std::string& kid) {
  char* raw = cjose_jwk_to_json(&key, false, nullptr);
  std::string text{raw};
  std::free(raw);
  text.pop_back();
  return text + ",\"kid\":\"" + kid + "\"}";
}

}  // namespace seckill::gateway::testing
