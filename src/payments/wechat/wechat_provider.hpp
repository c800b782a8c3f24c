// WeChat Pay (微信支付), APIv3, for a merchant of its own (普通商户). Rules:
// https://pay.weixin.qq.com/doc/v3/merchant/, pages "支付成功回调通知", "退款结果回调通知", "商户订单号查询订单",
// "关闭订单", "退款申请", "查询单笔退款".
//
// A notice is signed (wechat_signatures.hpp), and what it tells is sealed inside with AES-256-GCM under the merchant's
// APIv3 key. It wants its answer within five seconds, and else comes again after 15 s, 15 s, 30 s, 3 min, 10 min, 20
// min, 30 min × 3, 1 h, 3 h × 3, 6 h × 2: for a day, and then never, so an order that nothing was heard of is queried.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "payments/provider.hpp"
#include "payments/secret.hpp"
#include "payments/wechat/wechat_signatures.hpp"

namespace seckill::payments::wechat {

struct Config {
  struct Key {
    std::string serial;  // PUB_KEY_ID_… of a public key; of a certificate it may be empty
    std::string pem;
  };
  std::string merchant_id;                           // mchid
  std::vector<std::string> app_ids;                  // those that this shop sells in; empty: any of the merchant's
  std::string certificate_serial;                    // of the merchant's own certificate
  Secret private_key;                                // of the merchant's own certificate, PEM
  Secret api_v3_key;                                 // 32 bytes
  std::vector<Key> platform_keys;                    // the first public key is asked to sign answers
  std::string url{"https://api.mch.weixin.qq.com"};  // or https://api2.mch.weixin.qq.com; no path
  std::string refund_notify_url;                     // empty: as set in the merchant's console
};

class WechatProvider final : public Provider {
 public:
  // Errc::invalid with what is wrong, by the key's name; never with a secret's content.
  [[nodiscard]] static base::Result<std::unique_ptr<WechatProvider>> make(Config config);

  [[nodiscard]] std::string_view name() const noexcept override { return "wechat"; }
  [[nodiscard]] Judged judge(const NoticeRequest& request, base::UtcMs now,
                             const AppliedBefore& applied_before) const override;
  // 204 takes; else {"code":"FAIL","message":…} with 503 (again later) or 401 (refused), which its probes expect.
  [[nodiscard]] NoticeReply reply(Reception reception) const override;
  // Its order is made by our own call, before there is anything that could be paid.
  [[nodiscard]] bool forgets_unopened_orders() const noexcept override { return false; }

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
  WechatProvider(Config config, RsaPrivateKey key, std::vector<PlatformKey> platform_keys);
  [[nodiscard]] Call call(std::string_view method, std::string_view target, std::string body,
                          const CallStamp& stamp) const;

  Config config_;  // without the private key and the platform's keys, which are parsed below
  RsaPrivateKey key_;
  std::vector<PlatformKey> platform_keys_;
};

}  // namespace seckill::payments::wechat
