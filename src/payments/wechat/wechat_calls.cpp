// The calls to WeChat Pay and how their answers are read. An answer counts only with its signature, errors too: a
// stranger who could say "no such order" would have an order voided that was paid.
#include <algorithm>
#include <array>

#include "payments/form.hpp"
#include "payments/wechat/wechat_content.hpp"
#include "payments/wechat/wechat_provider.hpp"
#include "payments/wire.hpp"

namespace seckill::payments::wechat {
namespace {

// The same fault is spelled in two ways across the product's pages.
bool is_no_such_order(std::string_view code) noexcept { return code == "ORDER_NOT_EXIST" || code == "ORDERNOTEXIST"; }

// Errors after which the same refund, asked for again, can only fail again. All others are unknown.
constexpr std::array<std::string_view, 6> final_refund_codes{"USER_ACCOUNT_ABNORMAL", "NO_AUTH",
                                                             "MCH_NOT_EXISTS",        "RESOURCE_NOT_EXISTS",
                                                             "PARAM_ERROR",           "APPID_MCHID_NOT_MATCH"};

// Status and content of an answer that WeChat Pay signed.
struct Genuine {
  int status = 0;
  std::optional<Fields> content;  // none for an empty body
  [[nodiscard]] std::string code() const { return content ? short_code(content->text("code")) : std::string{}; }
};

std::optional<Genuine> genuine(const std::vector<PlatformKey>& keys, const CallAnswer& answer, base::UtcMs now) {
  if (!within_bounds(answer) || signature_fault(keys, answer.headers, answer.body, now)) return std::nullopt;
  Genuine read{answer.status, std::nullopt};
  if (answer.body.empty()) return read;
  read.content = Fields::parse(answer.body);
  if (!read.content) return std::nullopt;
  return read;
}

RefundAnswer state_of(const Fields& content, const Refund& refund) {
  const auto amount = content.object("amount");
  if (content.text("out_refund_no") != refund.refund_id || content.text("transaction_id") != refund.transaction_id) {
    return {};
  }
  // A refund of another amount under our id is not the one that we asked for.
  if (!amount || amount->amount("refund") != refund.amount_minor) return {RefundState::unknown, "other_amount"};
  const std::string_view status = content.text("status");
  if (status == "SUCCESS") return {RefundState::refunded, {}};
  if (status == "PROCESSING") return {RefundState::pending, {}};
  // Closed: not done. Abnormal: the buyer's bank sent it back, and the merchant's console decides what then.
  if (status == "CLOSED" || status == "ABNORMAL") return {RefundState::refused, std::string{status}};
  return {};
}

}  // namespace

Call WechatProvider::call(std::string_view method, std::string_view target, std::string body,
                          const CallStamp& stamp) const {
  Call call{std::string{method}, config_.url + std::string{target}, {}, std::move(body)};
  call.headers.push_back({"Authorization", authorization(key_, config_.merchant_id, config_.certificate_serial, method,
                                                         target, call.body, stamp)});
  call.headers.push_back({"Accept", "application/json"});
  if (!call.body.empty()) call.headers.push_back({"Content-Type", "application/json"});
  // With this WeChat Pay signs its answer with the public key rather than with a certificate.
  const std::string& serial = platform_keys_.front().serial;
  if (serial.starts_with("PUB_KEY_ID_")) call.headers.push_back({"Wechatpay-Serial", serial});
  return call;
}

Call WechatProvider::query(std::string_view out_trade_no, const CallStamp& stamp) const {
  return call("GET",
              "/v3/pay/transactions/out-trade-no/" + percent_encode(out_trade_no) +
                  "?mchid=" + percent_encode(config_.merchant_id),
              {}, stamp);
}

QueryAnswer WechatProvider::read_query(std::string_view out_trade_no, const CallStamp&, const CallAnswer& answer,
                                       base::UtcMs now) const {
  const auto read = genuine(platform_keys_, answer, now);
  if (!read || !read->content) return {};
  if (read->status == 404 && is_no_such_order(read->code())) return {QueryState::no_such_order, std::nullopt, {}};
  if (read->status != 200) return {QueryState::unknown, std::nullopt, read->code()};
  const Fields& content = *read->content;
  if (content.text("out_trade_no") != out_trade_no || content.text("mchid") != config_.merchant_id) return {};
  const std::string_view state = content.text("trade_state");
  // A payment that failed (PAYERROR) may be tried again by the buyer as long as the order is open.
  if (state == "NOTPAY" || state == "USERPAYING" || state == "PAYERROR")
    return {QueryState::not_paid, std::nullopt, {}};
  if (state == "CLOSED" || state == "REVOKED") return {QueryState::closed, std::nullopt, {}};
  if (state != "SUCCESS" && state != "REFUND") return {};
  auto notice = paid_transaction(content);
  if (!notice) return {};
  return {state == "SUCCESS" ? QueryState::paid : QueryState::refunded, std::move(notice), {}};
}

Call WechatProvider::close(std::string_view out_trade_no, const CallStamp& stamp) const {
  return call("POST", "/v3/pay/transactions/out-trade-no/" + percent_encode(out_trade_no) + "/close",
              JsonText{}.text("mchid", config_.merchant_id).str(), stamp);
}

CloseAnswer WechatProvider::read_close(std::string_view, const CallStamp&, const CallAnswer& answer,
                                       base::UtcMs now) const {
  const auto read = genuine(platform_keys_, answer, now);
  if (!read) return {};
  if (read->status == 204) return {CloseState::closed, {}};
  const std::string code = read->code();
  if (read->status < 400 || read->status > 499) return {CloseState::unknown, code};
  if (code == "ORDER_CLOSED" || code == "ORDERCLOSED") return {CloseState::closed, code};
  if (code == "ORDERPAID" || code == "ORDER_PAID") return {CloseState::paid, code};
  if (is_no_such_order(code)) return {CloseState::no_such_order, code};
  return {CloseState::unknown, code};
}

Call WechatProvider::refund(const Refund& refund, const CallStamp& stamp) const {
  const std::string amount = JsonText{}
                                 .number("refund", refund.amount_minor)
                                 .number("total", refund.total_minor)
                                 .text("currency", refund.currency.view())
                                 .str();
  JsonText body;
  body.text("transaction_id", refund.transaction_id).text("out_refund_no", refund.refund_id);
  if (!refund.reason.empty()) body.text("reason", refund.reason);
  if (!config_.refund_notify_url.empty()) body.text("notify_url", config_.refund_notify_url);
  body.raw("amount", amount);
  return call("POST", "/v3/refund/domestic/refunds", body.str(), stamp);
}

RefundAnswer WechatProvider::read_refund(const Refund& refund, const CallStamp&, const CallAnswer& answer,
                                         base::UtcMs now) const {
  const auto read = genuine(platform_keys_, answer, now);
  if (!read || !read->content) return {};
  if (read->status == 200) return state_of(*read->content, refund);
  const std::string code = read->code();
  if (read->status < 400 || read->status > 499) return {RefundState::unknown, code};
  if (code == "NOT_ENOUGH") return {RefundState::insufficient_funds, code};
  const auto* final_code = std::ranges::find(final_refund_codes, code);
  if (final_code != final_refund_codes.end()) return {RefundState::refused, code};
  return {RefundState::unknown, code};
}

Call WechatProvider::refund_query(const Refund& refund, const CallStamp& stamp) const {
  return call("GET", "/v3/refund/domestic/refunds/" + percent_encode(refund.refund_id), {}, stamp);
}

RefundAnswer WechatProvider::read_refund_query(const Refund& refund, const CallStamp&, const CallAnswer& answer,
                                               base::UtcMs now) const {
  const auto read = genuine(platform_keys_, answer, now);
  if (!read || !read->content) return {};
  if (read->status == 200) return state_of(*read->content, refund);
  const std::string code = read->code();
  if (read->status == 404 && code == "RESOURCE_NOT_EXISTS") return {RefundState::no_such_refund, code};
  return {RefundState::unknown, code};
}

}  // namespace seckill::payments::wechat
