#include "base/crypto.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <memory>

#include "base/assert.hpp"

namespace seckill::base {
namespace {

struct MacFree {
  void operator()(EVP_MAC_CTX* context) const noexcept { EVP_MAC_CTX_free(context); }
};

// One context a thread: fetching the algorithm costs more than hashing a short input.
EVP_MAC_CTX* siphash_context() noexcept {
  thread_local const std::unique_ptr<EVP_MAC_CTX, MacFree> context = [] {
    EVP_MAC* mac = EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
    SECKILL_ASSERT(mac != nullptr, "OpenSSL offers SipHash");
    std::unique_ptr<EVP_MAC_CTX, MacFree> made{EVP_MAC_CTX_new(mac)};
    EVP_MAC_free(mac);
    SECKILL_ASSERT(made != nullptr, "a MAC context can be made");
    return made;
  }();
  return context.get();
}

constexpr char hex_digits[] = "0123456789abcdef";

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Bytes16 siphash_128(const Key128& key, std::string_view bytes) noexcept {
  EVP_MAC_CTX* context = siphash_context();
  Bytes16 out{};
  std::size_t size = out.size();
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t("size", &size), OSSL_PARAM_construct_end()};
  std::size_t written = 0;
  const bool done = EVP_MAC_init(context, key.data(), key.size(), params) == 1 &&
                    EVP_MAC_update(context, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) == 1 &&
                    EVP_MAC_final(context, out.data(), &written, out.size()) == 1;
  SECKILL_ASSERT(done && written == out.size(), "SipHash of a short input cannot fail");
  return out;
}

Bytes32 sha_256(std::string_view bytes) noexcept {
  Bytes32 out{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data());
  return out;
}

void random_bytes(std::span<std::uint8_t> out) noexcept {
  const bool done = RAND_bytes(out.data(), static_cast<int>(out.size())) == 1;
  SECKILL_ASSERT(done, "the system's random generator answers");
}

std::uint64_t random_u64() noexcept {
  std::array<std::uint8_t, 8> bytes{};
  random_bytes(bytes);
  std::uint64_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

bool constant_time_equal(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text.push_back(hex_digits[byte >> 4]);
    text.push_back(hex_digits[byte & 15]);
  }
  return text;
}

bool from_hex(std::string_view text, std::span<std::uint8_t> out) noexcept {
  if (text.size() != out.size() * 2) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = hex_value(text[2 * i]);
    const int low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

}  // namespace seckill::base
