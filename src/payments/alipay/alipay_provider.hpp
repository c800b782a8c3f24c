// Alipay (支付宝), the open platform's gateway in public-key mode, for a merchant of its own. Rules:
// https://opendocs.alipay.com/open/270/105902 (notices) and the pages of alipay.trade.query, alipay.trade.close,
// alipay.trade.refund and alipay.trade.fastpay.refund.query.
//
// A notice is a signed form (alipay_signatures.hpp) and its answer the seven bytes "success"; anything else, or
// nothing, and it comes again after 4 min, 10 min, 10 min, 1 h, 2 h, 6 h and 15 h. A notice has no age of its own that
// was meant for checking: sent again a day later it is the same text with the same signature. So replays are not told
// by time but by notify_id, and they state facts that are applied once (P7).
//
// Amounts are decimal yuan and read exactly (yuan.hpp). A refund has no kind of notice of its own: it is a trade's
// notice with refund_fee, which counts all refunds of the trade so far.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "payments/alipay/alipay_signatures.hpp"
#include "payments/provider.hpp"
#include "payments/secret.hpp"

namespace seckill::payments::alipay {

struct Config {
  std::string app_id;
  std::string seller_id;                 // 2088…, the account that is paid
  Secret private_key;                    // the app's, PEM or bare base 64
  std::vector<std::string> alipay_keys;  // Alipay's public keys, PEM or bare base 64; never the app's own
  std::string gateway{"https://openapi.alipay.com/gateway.do"};
};

class AlipayProvider final : public Provider {
 public:
  // Errc::invalid with what is wrong, by the key's name; never with a secret's content.
  [[nodiscard]] static base::Result<std::unique_ptr<AlipayProvider>> make(Config config);

  [[nodiscard]] std::string_view name() const noexcept override { return "alipay"; }
  // Never too_old, unknown_key or undecipherable: see above.
  [[nodiscard]] Judged judge(const NoticeRequest& request, base::UtcMs now,
                             const AppliedBefore& applied_before) const override;
  // 200 with "success" or "fail"; Alipay reads nothing else, and knows no difference between later and never.
  [[nodiscard]] NoticeReply reply(Reception reception) const override;
  // The trade is made when the buyer opens the pay page. Until then a close finds nothing to close.
  [[nodiscard]] bool forgets_unopened_orders() const noexcept override { return true; }

  [[nodiscard]] Call query(std::string_view out_trade_no, const CallStamp& stamp) const override;
  [[nodiscard]] QueryAnswer read_query(std::string_view out_trade_no, const CallStamp& stamp, const CallAnswer& answer,
                                       base::UtcMs now) const override;
  [[nodiscard]] Call close(std::string_view out_trade_no, const CallStamp& stamp) const override;
  [[nodiscard]] CloseAnswer read_close(std::string_view out_trade_no, const CallStamp& stamp, const CallAnswer& answer,
                                       base::UtcMs now) const override;
  [[nodiscard]] Call refund(const Refund& refund, const CallStamp& stamp) const override;
  [[nodiscard]] RefundAnswer read_refund(const Refund& refund, const CallStamp& stamp, const CallAnswer& answer,
                                         base::UtcMs now) const override;
  [[nodiscard]] Call refund_query(const Refund& refund, const CallStamp& stamp) const override;
  [[nodiscard]] RefundAnswer read_refund_query(const Refund& refund, const CallStamp& stamp, const CallAnswer& answer,
                                               base::UtcMs now) const override;

 private:
  AlipayProvider(Config config, RsaPrivateKey key, std::vector<RsaPublicKey> alipay_keys);
  [[nodiscard]] Call call(std::string_view method, std::string content, const CallStamp& stamp) const;

  Config config_;  // without the keys, which are parsed below
  RsaPrivateKey key_;
  std::vector<RsaPublicKey> alipay_keys_;
};

// "2026-11-11 10:00:00", with or without a fraction, in China's time (UTC+8 all year round). Any thread.
[[nodiscard]] std::optional<base::UtcMs> parse_china_time(std::string_view text);
[[nodiscard]] std::string format_china_time(base::UtcMs at);

}  // namespace seckill::payments::alipay
