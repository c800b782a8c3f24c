// The cryptography of the providers' conventions, each one use of OpenSSL's EVP interface. What does not verify gives
// false or nothing, never a reason: a forger learns none.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/crypto.hpp"
#include "base/result.hpp"
#include "payments/secret.hpp"

namespace seckill::payments {

inline constexpr std::size_t key_text_bytes_max = 16 * 1024;
inline constexpr int rsa_bits_min = 2048;
inline constexpr int rsa_bits_max = 8192;  // a larger one would let a key's holder burn our processor

// HMAC with SHA-256 (RFC 2104). Any thread.
[[nodiscard]] base::Bytes32 hmac_sha_256(const Secret& key, std::string_view message);

// Base 64 of RFC 4648 §4, with padding. Reading is strict: one text for each value, no line breaks. Any thread.
[[nodiscard]] std::string to_base64(std::string_view bytes);
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

// AES-256-GCM (NIST SP 800-38D) with the 16-byte tag at the end, as WeChat Pay seals its resources. nullopt when it was
// not sealed with this key, nonce and associated data. Requires: a key of 32 bytes. Any thread.
[[nodiscard]] std::optional<std::string> open_aes_256_gcm(const Secret& key, std::string_view nonce,
                                                          std::string_view associated_data, std::string_view sealed);

struct FreeKey {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};
using OwnedKey = std::unique_ptr<EVP_PKEY, FreeKey>;

// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8.2), the only signature that both providers use. Constant after
// construction, any thread.
class RsaPublicKey {
 public:
  // A PEM text with a certificate or a public key, or the base 64 of the latter without frame as Alipay's console
  // shows it. Errc::invalid says what is wrong; its text holds nothing of the key.
  [[nodiscard]] static base::Result<RsaPublicKey> parse(std::string_view text);

  [[nodiscard]] bool verifies(std::string_view message, std::string_view signature) const noexcept;
  // Upper-case hexadecimal, as WeChat Pay names certificates; empty when a bare public key was read.
  [[nodiscard]] const std::string& certificate_serial() const noexcept { return serial_; }

 private:
  RsaPublicKey(OwnedKey key, std::string serial) : key_{std::move(key)}, serial_{std::move(serial)} {}
  OwnedKey key_;
  std::string serial_;
};

class RsaPrivateKey {
 public:
  // A PEM text (PKCS #8 or PKCS #1, without a pass phrase), or its base 64 without frame.
  [[nodiscard]] static base::Result<RsaPrivateKey> parse(const Secret& text);

  // The signature's bytes. Aborts when OpenSSL cannot sign with a key that it has read.
  [[nodiscard]] std::string sign(std::string_view message) const;

 private:
  explicit RsaPrivateKey(OwnedKey key) : key_{std::move(key)} {}
  OwnedKey key_;
};

}  // namespace seckill::payments
