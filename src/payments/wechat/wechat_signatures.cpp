#include "payments/wechat/wechat_signatures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "payments/wire.hpp"

namespace seckill::payments::wechat {
namespace {

constexpr std::string_view algorithm = "WECHATPAY2-SHA256-RSA2048";

}  // namespace

std::optional<NoticeFault> signature_fault(const std::vector<PlatformKey>& keys, std::span<const Header> headers,
                                           std::string_view body, base::UtcMs now) {
  const auto timestamp = header_of(headers, "Wechatpay-Timestamp");
  const auto nonce = header_of(headers, "Wechatpay-Nonce");
  const auto signature = header_of(headers, "Wechatpay-Signature");
  const auto serial = header_of(headers, "Wechatpay-Serial");
  if (!timestamp || !nonce || !signature || !serial) return NoticeFault::malformed;
  // A line break in the nonce would let bytes of the body pass for a part of it.
  if (!is_id(*nonce, notice_id_bytes_max)) return NoticeFault::malformed;
  const auto signed_at = parse_seconds(*timestamp);
  if (!signed_at) return NoticeFault::malformed;
  const auto type = header_of(headers, "Wechatpay-Signature-Type");
  if (type && *type != algorithm) return NoticeFault::unsupported;
  if (is_stale(*signed_at, now)) return NoticeFault::too_old;
  const auto key = std::ranges::find(keys, *serial, &PlatformKey::serial);
  if (key == keys.end()) return NoticeFault::unknown_key;
  const auto bytes = from_base64(*signature);
  if (!bytes) return NoticeFault::bad_signature;
  std::string message;
  message.reserve(timestamp->size() + nonce->size() + body.size() + 3);
  message.append(*timestamp).append("\n").append(*nonce).append("\n").append(body).append("\n");
  if (!key->key.verifies(message, *bytes)) return NoticeFault::bad_signature;
  return std::nullopt;
}

std::string authorization(const RsaPrivateKey& key, std::string_view merchant_id, std::string_view certificate_serial,
                          std::string_view method, std::string_view target, std::string_view body,
                          const CallStamp& stamp) {
  const std::int64_t seconds = stamp.now / 1'000;
  const std::string message = fmt::format("{}\n{}\n{}\n{}\n{}\n", method, target, seconds, stamp.nonce, body);
  return fmt::format(R"({} mchid="{}",nonce_str="{}",timestamp="{}",serial_no="{}",signature="{}")", algorithm,
                     merchant_id, stamp.nonce, seconds, certificate_serial, to_base64(key.sign(message)));
}

}  // namespace seckill::payments::wechat
