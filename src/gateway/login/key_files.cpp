#include "gateway/login/key_files.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <boost/json.hpp>
#include <fstream>

#include "base/json.hpp"

namespace seckill::gateway {
namespace {

using base::Errc;
using base::fail;

struct FreeOpenSsl {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  void operator()(BIGNUM* number) const noexcept { BN_free(number); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;

base::Result<std::string> read_file(const std::string& path, const std::string& doing) {
  std::ifstream file{path, std::ios::binary};
  if (!file) return fail(Errc::invalid, doing, "the file cannot be opened");
  std::string text(key_file_bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > key_file_bytes_max) return fail(Errc::invalid, doing, "the file is larger than 64 KiB");
  return text;
}

// Big-endian, left-padded to `size` bytes when that is given; empty when the key has no such part.
std::vector<std::uint8_t> number_of(const EVP_PKEY* key, const char* part, std::size_t size = 0) {
  BIGNUM* raw = nullptr;
  if (EVP_PKEY_get_bn_param(key, part, &raw) != 1) return {};
  const Owned<BIGNUM> number{raw};
  std::vector<std::uint8_t> bytes(size != 0 ? size : static_cast<std::size_t>(BN_num_bytes(number.get())));
  if (BN_bn2binpad(number.get(), bytes.data(), static_cast<int>(bytes.size())) < 0) return {};
  return bytes;
}

jose::Key rsa_key(const EVP_PKEY* key) {
  std::vector<std::uint8_t> modulus = number_of(key, OSSL_PKEY_PARAM_RSA_N);
  std::vector<std::uint8_t> exponent = number_of(key, OSSL_PKEY_PARAM_RSA_E);
  if (modulus.empty() || exponent.empty()) return nullptr;
  cjose_jwk_rsa_keyspec spec{};
  spec.n = modulus.data();
  spec.nlen = modulus.size();
  spec.e = exponent.data();
  spec.elen = exponent.size();
  return jose::Key{cjose_jwk_create_RSA_spec(&spec, nullptr)};
}

jose::Key p256_key(const EVP_PKEY* key) {
  std::vector<std::uint8_t> x = number_of(key, OSSL_PKEY_PARAM_EC_PUB_X, 32);
  std::vector<std::uint8_t> y = number_of(key, OSSL_PKEY_PARAM_EC_PUB_Y, 32);
  if (x.empty() || y.empty()) return nullptr;
  cjose_jwk_ec_keyspec spec{};
  spec.crv = CJOSE_JWK_EC_P_256;
  spec.x = x.data();
  spec.xlen = x.size();
  spec.y = y.data();
  spec.ylen = y.size();
  return jose::Key{cjose_jwk_create_EC_spec(&spec, nullptr)};
}

// Empty when the key is good for the algorithm, else what is wrong with it.
std::string unfit(const cjose_jwk_t& key, JwtAlgorithm algorithm) {
  const cjose_jwk_kty_t kind = cjose_jwk_get_kty(&key, nullptr);
  if (algorithm == JwtAlgorithm::rs256) {
    if (kind != CJOSE_JWK_KTY_RSA) return "RS256 needs an RSA key";
    if (cjose_jwk_get_keysize(&key, nullptr) < rsa_bits_min) return "RS256 needs an RSA key of at least 2048 bits";
    return {};
  }
  if (kind != CJOSE_JWK_KTY_EC || cjose_jwk_EC_get_curve(&key, nullptr) != CJOSE_JWK_EC_P_256) {
    return "ES256 needs an EC key on the curve P-256";
  }
  return {};
}

std::string_view text_of(const boost::json::object& object, const char* key) {
  const boost::json::value* found = object.if_contains(key);
  if (found == nullptr || !found->is_string()) return {};
  const boost::json::string& text = found->get_string();
  return {text.data(), text.size()};
}

// Null when the key is meant for something else or cannot be read.
jose::Key key_of_set(const boost::json::value& entry, JwtAlgorithm algorithm) {
  if (!entry.is_object()) return nullptr;
  const boost::json::object& object = entry.get_object();
  const std::string_view use = text_of(object, "use");
  if (!use.empty() && use != "sig") return nullptr;
  const std::string_view alg = text_of(object, "alg");
  if (!alg.empty() && alg != name(algorithm)) return nullptr;
  const std::string text = boost::json::serialize(entry);
  jose::Key key{cjose_jwk_import(text.data(), text.size(), nullptr)};
  if (!key || !unfit(*key, algorithm).empty()) return nullptr;
  return key;
}

}  // namespace

base::Result<std::vector<NamedKey>> keys_from_pem_file(const std::string& path, JwtAlgorithm algorithm) {
  const std::string doing = fmt::format("reading the login key {}", path);
  const base::Result<std::string> text = read_file(path, doing);
  if (!text) return std::unexpected(text.error());
  const Owned<BIO> bio{BIO_new_mem_buf(text->data(), static_cast<int>(text->size()))};
  const Owned<EVP_PKEY> parsed{PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr)};
  if (!parsed) return fail(Errc::invalid, doing, "no public key in PEM form (-----BEGIN PUBLIC KEY-----) was found");
  const bool rsa = EVP_PKEY_get_base_id(parsed.get()) == EVP_PKEY_RSA;
  const bool p256 = EVP_PKEY_get_base_id(parsed.get()) == EVP_PKEY_EC && EVP_PKEY_get_bits(parsed.get()) == 256;
  NamedKey key;
  if (rsa) key.key = rsa_key(parsed.get());
  if (p256) key.key = p256_key(parsed.get());
  if (!key.key) return fail(Errc::invalid, doing, "the key is neither RSA nor EC on the curve P-256");
  if (const std::string problem = unfit(*key.key, algorithm); !problem.empty())
    return fail(Errc::invalid, doing, problem);
  std::vector<NamedKey> keys;
  keys.push_back(std::move(key));
  return keys;
}

base::Result<std::vector<NamedKey>> keys_from_jwks_file(const std::string& path, JwtAlgorithm algorithm) {
  const std::string doing = fmt::format("reading the login key set {}", path);
  const base::Result<std::string> text = read_file(path, doing);
  if (!text) return std::unexpected(text.error());
  const base::Result<boost::json::value> parsed = base::parse_json(*text);
  if (!parsed) return fail(Errc::invalid, doing, parsed.error().cause);
  const boost::json::value* set = parsed->is_object() ? parsed->get_object().if_contains("keys") : nullptr;
  if (set == nullptr || !set->is_array())
    return fail(Errc::invalid, doing, "a key set is an object with an array \"keys\"");
  if (set->get_array().size() > keys_max) return fail(Errc::invalid, doing, "a key set has at most 32 keys");
  std::vector<NamedKey> keys;
  for (const boost::json::value& entry : set->get_array()) {
    if (jose::Key key = key_of_set(entry, algorithm)) {
      keys.push_back(NamedKey{std::string{text_of(entry.get_object(), "kid")}, std::move(key)});
    }
  }
  if (keys.empty()) return fail(Errc::invalid, doing, fmt::format("none of its keys is for {}", name(algorithm)));
  return keys;
}

}  // namespace seckill::gateway
