#include "payments/wechat/wechat_content.hpp"

namespace seckill::payments::wechat {
namespace {

// Domestic amounts are fen, and the currency may be left out; one that is there must be one.
std::optional<model::Currency> currency_of(const Fields& amount) {
  if (!amount.has("currency")) return model::Currency{};
  return amount.currency("currency");
}

}  // namespace

std::optional<Notice> paid_transaction(const Fields& transaction) {
  const auto merchant = transaction.id("mchid");
  const auto order = transaction.id("out_trade_no");
  const auto number = transaction.id("transaction_id");
  const auto paid_at = transaction.instant("success_time");
  const auto amount = transaction.object("amount");
  if (!merchant || !order || !number || !paid_at || !amount) return std::nullopt;
  // total is what we asked for; payer_total, less when WeChat Pay gave a coupon, is between it and the buyer.
  const auto total = amount->amount("total");
  const auto currency = currency_of(*amount);
  if (!total || !currency) return std::nullopt;
  Notice notice;
  notice.event = NoticeEvent::paid;
  notice.merchant_id = *merchant;
  notice.out_trade_no = *order;
  notice.ticket = model::Ticket::parse(*order);
  notice.transaction_id = *number;
  notice.amount_minor = *total;
  notice.total_minor = *total;
  notice.currency = *currency;
  notice.occurred_at = *paid_at;
  return notice;
}

std::optional<Notice> refund_of_notice(const Fields& refund, NoticeEvent event, base::UtcMs notice_time) {
  const auto merchant = refund.id("mchid");
  const auto order = refund.id("out_trade_no");
  const auto number = refund.id("transaction_id");
  const auto id = refund.id("out_refund_no");
  const auto amount = refund.object("amount");
  if (!merchant || !order || !number || !id || !amount) return std::nullopt;
  const auto refunded = amount->amount("refund");
  const auto total = amount->amount("total");
  const auto currency = currency_of(*amount);
  if (!refunded || !total || !currency || *refunded > *total) return std::nullopt;
  Notice notice;
  notice.event = event;
  notice.merchant_id = *merchant;
  notice.out_trade_no = *order;
  notice.ticket = model::Ticket::parse(*order);
  notice.transaction_id = *number;
  notice.refund_id = *id;
  notice.amount_minor = *refunded;
  notice.total_minor = *total;
  notice.currency = *currency;
  notice.occurred_at = refund.instant("success_time").value_or(notice_time);
  return notice;
}

}  // namespace seckill::payments::wechat
