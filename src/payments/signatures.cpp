#include "payments/signatures.hpp"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>

#include "base/assert.hpp"

namespace seckill::payments {
namespace {

using base::Errc;
using base::fail;

struct FreeOpenSsl {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
  void operator()(BIGNUM* number) const noexcept { BN_free(number); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
  void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;

constexpr std::size_t gcm_tag_bytes = 16;

const unsigned char* bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// OpenSSL leaves its complaints in a queue of the thread, where a later caller would take them for his own.
struct ForgetErrors {
  ~ForgetErrors() { ERR_clear_error(); }
};

// A key file must never make the process ask a terminal for a pass phrase.
int no_pass_phrase(char*, int, int, void*) noexcept { return -1; }

Owned<BIO> reader_of(std::string_view text) {
  return Owned<BIO>{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

std::string serial_of(const X509& certificate) {
  const Owned<BIGNUM> number{ASN1_INTEGER_to_BN(X509_get0_serialNumber(&certificate), nullptr)};
  if (!number) return {};
  char* text = BN_bn2hex(number.get());
  if (text == nullptr) return {};
  std::string serial{text};
  OPENSSL_free(text);
  return serial;
}

// Empty when the key may be used, else what is wrong with it.
std::string_view unfit(const EVP_PKEY* key) noexcept {
  if (key == nullptr) return "no RSA key was found in it";
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA) return "the key is not an RSA key";
  if (EVP_PKEY_get_bits(key) < rsa_bits_min) return "the RSA key is shorter than 2048 bits";
  if (EVP_PKEY_get_bits(key) > rsa_bits_max) return "the RSA key is longer than 8192 bits";
  return {};
}

std::string_view without_line_end(std::string_view text) noexcept {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

bool is_pem(std::string_view text) noexcept { return text.find("-----BEGIN ") != std::string_view::npos; }

}  // namespace

base::Bytes32 hmac_sha_256(const Secret& key, std::string_view message) {
  base::Bytes32 out{};
  std::size_t written = 0;
  const auto* done = EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key.bytes().data(), key.bytes().size(),
                               bytes_of(message), message.size(), out.data(), out.size(), &written);
  SECKILL_ASSERT(done != nullptr && written == out.size(), "HMAC of a bounded message cannot fail");
  return out;
}

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // EVP_EncodeBlock ends with a NUL
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes_of(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty()) return std::string{};
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()), bytes_of(text), static_cast<int>(text.size()));
  ERR_clear_error();
  if (size < 0 || static_cast<std::size_t>(size) != bytes.size()) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  // EVP_DecodeBlock forgives spaces around the text, padding inside it and bits after the last byte; we do not.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

std::optional<std::string> open_aes_256_gcm(const Secret& key, std::string_view nonce, std::string_view associated_data,
                                            std::string_view sealed) {
  SECKILL_ASSERT(key.bytes().size() == 32, "AES-256 takes a key of 32 bytes");
  if (nonce.empty() || sealed.size() < gcm_tag_bytes) return std::nullopt;
  const ForgetErrors forget;
  const std::string_view cipher_text = sealed.substr(0, sealed.size() - gcm_tag_bytes);
  std::string tag{sealed.substr(cipher_text.size())};
  std::string plain(cipher_text.size() + 1, '\0');
  auto* out = reinterpret_cast<unsigned char*>(plain.data());
  const Owned<EVP_CIPHER_CTX> context{EVP_CIPHER_CTX_new()};
  SECKILL_ASSERT(context != nullptr, "a cipher context can be made");
  int size = 0;
  int rest = 0;
  const bool opened =
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, nullptr, nullptr) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(nonce.size()), nullptr) == 1 &&
      EVP_DecryptInit_ex(context.get(), nullptr, nullptr, bytes_of(key.bytes()), bytes_of(nonce)) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &rest, bytes_of(associated_data),
                        static_cast<int>(associated_data.size())) == 1 &&
      EVP_DecryptUpdate(context.get(), out, &size, bytes_of(cipher_text), static_cast<int>(cipher_text.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()), tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), out + size, &rest) == 1;
  if (!opened) return std::nullopt;
  plain.resize(static_cast<std::size_t>(size + rest));
  return plain;
}

base::Result<RsaPublicKey> RsaPublicKey::parse(std::string_view text) {
  constexpr const char* doing = "reading a provider's public key";
  if (text.size() > key_text_bytes_max) return fail(Errc::invalid, doing, "it is larger than 16 KiB");
  const ForgetErrors forget;
  OwnedKey key;
  std::string serial;
  if (text.find("-----BEGIN CERTIFICATE-----") != std::string_view::npos) {
    const Owned<BIO> bio = reader_of(text);
    const Owned<X509> certificate{PEM_read_bio_X509(bio.get(), nullptr, no_pass_phrase, nullptr)};
    if (!certificate) return fail(Errc::invalid, doing, "the certificate cannot be read");
    key.reset(X509_get_pubkey(certificate.get()));
    serial = serial_of(*certificate);
  } else if (is_pem(text)) {
    const Owned<BIO> bio = reader_of(text);
    key.reset(PEM_read_bio_PUBKEY(bio.get(), nullptr, no_pass_phrase, nullptr));
  } else if (const auto der = from_base64(without_line_end(text))) {
    const unsigned char* at = bytes_of(*der);
    key.reset(d2i_PUBKEY(nullptr, &at, static_cast<long>(der->size())));
  }
  if (const std::string_view problem = unfit(key.get()); !problem.empty()) {
    return fail(Errc::invalid, doing, std::string{problem});
  }
  return RsaPublicKey{std::move(key), std::move(serial)};
}

bool RsaPublicKey::verifies(std::string_view message, std::string_view signature) const noexcept {
  const ForgetErrors forget;
  const Owned<EVP_MD_CTX> context{EVP_MD_CTX_new()};
  return context != nullptr && EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(message), message.size()) == 1;
}

base::Result<RsaPrivateKey> RsaPrivateKey::parse(const Secret& text) {
  constexpr const char* doing = "reading the shop's private key";
  if (text.bytes().size() > key_text_bytes_max) return fail(Errc::invalid, doing, "it is larger than 16 KiB");
  const ForgetErrors forget;
  OwnedKey key;
  if (is_pem(text.bytes())) {
    const Owned<BIO> bio = reader_of(text.bytes());
    key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_pass_phrase, nullptr));
  } else if (auto der = from_base64(without_line_end(text.bytes()))) {
    const Secret bytes{std::move(*der)};
    const unsigned char* at = bytes_of(bytes.bytes());
    key.reset(d2i_AutoPrivateKey(nullptr, &at, static_cast<long>(bytes.bytes().size())));
  }
  if (const std::string_view problem = unfit(key.get()); !problem.empty()) {
    return fail(Errc::invalid, doing, std::string{problem});
  }
  return RsaPrivateKey{std::move(key)};
}

std::string RsaPrivateKey::sign(std::string_view message) const {
  const Owned<EVP_MD_CTX> context{EVP_MD_CTX_new()};
  std::string signature(static_cast<std::size_t>(EVP_PKEY_get_size(key_.get())), '\0');
  std::size_t size = signature.size();
  const bool done = context != nullptr &&
                    EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
                    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                                   bytes_of(message), message.size()) == 1;
  SECKILL_ASSERT(done, "a private key that was read can sign");
  signature.resize(size);
  return signature;
}

}  // namespace seckill::payments
