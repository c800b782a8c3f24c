// The calls to Alipay's gateway and how their answers are read. An answer counts only with its signature over the exact
// bytes of its node; the gateway's own errors come without one and are unknown.
#include <algorithm>
#include <array>

#include "payments/alipay/alipay_provider.hpp"
#include "payments/wire.hpp"
#include "payments/yuan.hpp"

namespace seckill::payments::alipay {
namespace {

constexpr std::string_view success = "10000";
constexpr std::string_view business_failed = "40004";  // sub_code says why; 20000 (unavailable) and others are unknown

// Errors after which the same refund, asked for again, can only fail again. All others are unknown.
constexpr std::array<std::string_view, 8> final_refund_codes{
    "ACQ.TRADE_HAS_FINISHED",          "ACQ.TRADE_NOT_EXIST",
    "ACQ.TRADE_NOT_ALLOW_REFUND",      "ACQ.REFUND_FEE_ERROR",
    "ACQ.REASON_TRADE_REFUND_FEE_ERR", "ACQ.REFUND_AMT_NOT_EQUAL_TOTAL",
    "ACQ.DISCORDANT_REPEAT_REQUEST",   "ACQ.INVALID_PARAMETER"};

// "alipay.trade.query" answers in "alipay_trade_query_response".
std::string node_of(std::string_view method) {
  std::string node{method};
  std::ranges::replace(node, '.', '_');
  return node + "_response";
}

// Alipay's own libraries try a second time with "\/" read as "/", since some of its gateways escape slashes after
// they have signed. Both texts are the same JSON value, so nothing is believed that was not signed.
std::string without_escaped_slashes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      if (text[i + 1] != '/') out += text[i];
      out += text[++i];
    } else {
      out += text[i];
    }
  }
  return out;
}

std::optional<Fields> answered(const std::vector<RsaPublicKey>& keys, std::string_view method,
                               const CallAnswer& answer) {
  if (answer.status != 200 || !within_bounds(answer)) return std::nullopt;
  const auto whole = Fields::parse(answer.body);
  if (!whole) return std::nullopt;
  const auto raw = raw_member(answer.body, node_of(method));
  const std::string_view signature = whole->text("sign");
  if (!raw || signature.empty()) return std::nullopt;
  if (!signed_by_any(keys, *raw, signature)) {
    const std::string plain = without_escaped_slashes(*raw);
    if (plain == *raw || !signed_by_any(keys, plain, signature)) return std::nullopt;
  }
  return Fields::parse(*raw);
}

std::string sub_code_of(const Fields& node) {
  const std::string_view sub_code = node.text("sub_code");
  return short_code(sub_code.empty() ? node.text("code") : sub_code);
}

std::optional<Notice> payment_of(const Fields& node, std::string_view seller_id) {
  const auto order = node.id("out_trade_no");
  const auto number = node.id("trade_no");
  const auto total = parse_yuan(node.text("total_amount"));
  const auto currency = node.has("trans_currency") ? node.currency("trans_currency") : model::Currency{};
  if (!order || !number || !total || !currency) return std::nullopt;
  Notice notice;
  notice.event = NoticeEvent::paid;
  notice.out_trade_no = *order;
  notice.ticket = model::Ticket::parse(*order);
  notice.transaction_id = *number;
  notice.amount_minor = *total;
  notice.total_minor = *total;
  notice.currency = *currency;
  notice.merchant_id = std::string{seller_id};
  notice.occurred_at = parse_china_time(node.text("send_pay_date")).value_or(0);
  return notice;
}

}  // namespace

Call AlipayProvider::call(std::string_view method, std::string content, const CallStamp& stamp) const {
  std::vector<FormField> fields{{"app_id", config_.app_id}, {"charset", "utf-8"},
                                {"format", "JSON"},         {"method", std::string{method}},
                                {"sign_type", "RSA2"},      {"timestamp", format_china_time(stamp.now)},
                                {"version", "1.0"},         {"biz_content", std::move(content)}};
  const std::string signature = to_base64(key_.sign(text_of_call(fields)));
  const std::string body = format_form({fields.back()});
  fields.back() = {"sign", signature};
  // charset must stand in the URL: the gateway reads it before it can decode a body.
  Call call{"POST", config_.gateway + "?" + format_form(fields), {}, body};
  call.headers.push_back({"Content-Type", "application/x-www-form-urlencoded;charset=utf-8"});
  return call;
}

Call AlipayProvider::query(std::string_view out_trade_no, const CallStamp& stamp) const {
  return call("alipay.trade.query", JsonText{}.text("out_trade_no", out_trade_no).str(), stamp);
}

QueryAnswer AlipayProvider::read_query(std::string_view out_trade_no, const CallStamp&, const CallAnswer& answer,
                                       base::UtcMs) const {
  const auto node = answered(alipay_keys_, "alipay.trade.query", answer);
  if (!node) return {};
  if (node->text("code") == business_failed && node->text("sub_code") == "ACQ.TRADE_NOT_EXIST") {
    return {QueryState::no_such_order, std::nullopt, {}};
  }
  if (node->text("code") != success) return {QueryState::unknown, std::nullopt, sub_code_of(*node)};
  if (node->text("out_trade_no") != out_trade_no) return {};
  const std::string_view status = node->text("trade_status");
  if (status == "WAIT_BUYER_PAY") return {QueryState::not_paid, std::nullopt, {}};
  // A closed trade that was paid before was refunded in full.
  const bool closed = status == "TRADE_CLOSED";
  if (closed && !node->has("send_pay_date")) return {QueryState::closed, std::nullopt, {}};
  if (!closed && status != "TRADE_SUCCESS" && status != "TRADE_FINISHED") return {};
  auto notice = payment_of(*node, config_.seller_id);
  if (!notice) return {};
  return {closed ? QueryState::refunded : QueryState::paid, std::move(notice), {}};
}

Call AlipayProvider::close(std::string_view out_trade_no, const CallStamp& stamp) const {
  return call("alipay.trade.close", JsonText{}.text("out_trade_no", out_trade_no).str(), stamp);
}

CloseAnswer AlipayProvider::read_close(std::string_view out_trade_no, const CallStamp&, const CallAnswer& answer,
                                       base::UtcMs) const {
  const auto node = answered(alipay_keys_, "alipay.trade.close", answer);
  if (!node) return {};
  if (node->text("code") == success) {
    // The order's number is documented as optional here.
    if (node->has("out_trade_no") && node->text("out_trade_no") != out_trade_no) return {};
    return {CloseState::closed, {}};
  }
  const std::string code = sub_code_of(*node);
  if (node->text("code") != business_failed) return {CloseState::unknown, code};
  if (code == "ACQ.TRADE_NOT_EXIST") return {CloseState::no_such_order, code};
  if (code == "ACQ.TRADE_HAS_SUCCESS") return {CloseState::paid, code};
  // "Only a trade that waits for its buyer can be closed" is said of paid and of closed ones: the query decides.
  return {CloseState::unknown, code};
}

Call AlipayProvider::refund(const Refund& refund, const CallStamp& stamp) const {
  JsonText content;
  content.text("trade_no", refund.transaction_id)
      .text("refund_amount", format_yuan(refund.amount_minor))
      .text("out_request_no", refund.refund_id);
  if (!refund.reason.empty()) content.text("refund_reason", refund.reason);
  return call("alipay.trade.refund", content.str(), stamp);
}

RefundAnswer AlipayProvider::read_refund(const Refund& refund, const CallStamp&, const CallAnswer& answer,
                                         base::UtcMs) const {
  const auto node = answered(alipay_keys_, "alipay.trade.refund", answer);
  if (!node) return {};
  if (node->text("code") == success) {
    if (node->text("trade_no") != refund.transaction_id) return {};
    // fund_change N is said when a request is repeated and when nothing moved: the refund query decides. refund_fee
    // counts all refunds of the trade, so it is at least this one.
    const auto refunded = parse_yuan(node->text("refund_fee"));
    if (node->text("fund_change") != "Y" || !refunded || *refunded < refund.amount_minor) {
      return {RefundState::unknown, "no_fund_change"};
    }
    return {RefundState::refunded, {}};
  }
  const std::string code = sub_code_of(*node);
  if (node->text("code") != business_failed) return {RefundState::unknown, code};
  if (code == "ACQ.SELLER_BALANCE_NOT_ENOUGH") return {RefundState::insufficient_funds, code};
  const auto* final_code = std::ranges::find(final_refund_codes, code);
  if (final_code != final_refund_codes.end()) return {RefundState::refused, code};
  return {RefundState::unknown, code};
}

Call AlipayProvider::refund_query(const Refund& refund, const CallStamp& stamp) const {
  const std::string content =
      JsonText{}.text("trade_no", refund.transaction_id).text("out_request_no", refund.refund_id).str();
  return call("alipay.trade.fastpay.refund.query", content, stamp);
}

RefundAnswer AlipayProvider::read_refund_query(const Refund& refund, const CallStamp&, const CallAnswer& answer,
                                               base::UtcMs) const {
  const auto node = answered(alipay_keys_, "alipay.trade.fastpay.refund.query", answer);
  if (!node) return {};
  if (node->text("code") != success) return {RefundState::unknown, sub_code_of(*node)};
  // Without a status the request was never received or failed, and the answer may hold no more than its code.
  if (!node->has("refund_status") && !node->has("refund_amount")) return {RefundState::no_such_refund, {}};
  if (node->text("out_request_no") != refund.refund_id || node->text("trade_no") != refund.transaction_id) return {};
  if (parse_yuan(node->text("refund_amount")) != refund.amount_minor) return {RefundState::unknown, "other_amount"};
  if (node->text("refund_status") != "REFUND_SUCCESS") return {RefundState::unknown, {}};
  return {RefundState::refunded, {}};
}

}  // namespace seckill::payments::alipay
