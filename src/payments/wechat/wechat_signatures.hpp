// WeChat Pay APIv3's signatures (https://pay.weixin.qq.com/doc/v3/merchant/4012365342 and the pages below it): what it
// sends, notices and answers alike, is signed with its own key over "timestamp\nnonce\nbody\n"; what we send is signed
// with ours over "METHOD\npath?query\ntimestamp\nnonce\nbody\n".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "payments/provider.hpp"
#include "payments/signatures.hpp"

namespace seckill::payments::wechat {

inline constexpr std::size_t platform_keys_max = 8;

// One of WeChat Pay's keys. Several live at once while it renews its certificates, or while a merchant moves from
// certificates to the public key.
struct PlatformKey {
  std::string serial;  // the certificate's serial number, or PUB_KEY_ID_…
  RsaPublicKey key;
};

// Nothing when `headers` sign `body` with one of `keys`. Faults, in this order: malformed (a header is missing or
// twice), unsupported (another algorithm), too_old, unknown_key, bad_signature. WeChat Pay probes its merchants with
// signatures that begin WECHATPAY/SIGNTEST/; they are bad ones and get no treatment of their own. Any thread.
[[nodiscard]] std::optional<NoticeFault> signature_fault(const std::vector<PlatformKey>& keys,
                                                         std::span<const Header> headers, std::string_view body,
                                                         base::UtcMs now);

// The Authorization header's value, scheme WECHATPAY2-SHA256-RSA2048. `target` is the path with its query as it is
// sent. Any thread.
[[nodiscard]] std::string authorization(const RsaPrivateKey& key, std::string_view merchant_id,
                                        std::string_view certificate_serial, std::string_view method,
                                        std::string_view target, std::string_view body, const CallStamp& stamp);

}  // namespace seckill::payments::wechat
