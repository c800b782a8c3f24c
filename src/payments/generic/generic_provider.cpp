#include "payments/generic/generic_provider.hpp"

#include "base/text.hpp"
#include "payments/generic/standard_webhooks.hpp"
#include "payments/wire.hpp"

namespace seckill::payments::generic {
namespace {

using base::Errc;
using base::fail;

std::string call_id(const CallStamp& stamp) { return "call_" + stamp.nonce; }

std::optional<NoticeEvent> event_of(std::string_view type) noexcept {
  if (type == "payment.paid") return NoticeEvent::paid;
  if (type == "payment.closed") return NoticeEvent::closed;
  if (type == "refund.succeeded") return NoticeEvent::refunded;
  if (type == "refund.failed") return NoticeEvent::refund_failed;
  return std::nullopt;
}

bool is_refund(NoticeEvent event) noexcept {
  return event == NoticeEvent::refunded || event == NoticeEvent::refund_failed;
}

// Everything but event and notice_id; nullopt when a member that the event needs is missing or malformed.
std::optional<Notice> notice_of(NoticeEvent event, const Fields& data) {
  const auto merchant = data.id("merchant_id");
  const auto order = data.id("out_trade_no");
  const auto transaction = data.id("transaction_id");
  const auto occurred_at = data.instant("occurred_at");
  if (!merchant || !order || !occurred_at) return std::nullopt;
  Notice notice;
  notice.event = event;
  notice.merchant_id = *merchant;
  notice.out_trade_no = *order;
  notice.ticket = model::Ticket::parse(*order);
  notice.transaction_id = transaction.value_or(std::string{});
  notice.occurred_at = *occurred_at;
  if (event == NoticeEvent::closed) return notice;
  const auto amount = data.amount("amount_minor");
  const auto currency = data.currency("currency");
  if (!transaction || !amount || !currency) return std::nullopt;
  notice.amount_minor = *amount;
  notice.total_minor = *amount;
  notice.currency = *currency;
  if (!is_refund(event)) return notice;
  const auto refund = data.id("refund_id");
  const auto total = data.amount("total_minor");
  if (!refund || !total || *amount > *total) return std::nullopt;
  notice.refund_id = *refund;
  notice.total_minor = *total;
  return notice;
}

std::string data_of(const Refund& refund, std::string_view merchant_id) {
  JsonText data;
  data.text("merchant_id", merchant_id)
      .text("out_trade_no", refund.out_trade_no)
      .text("transaction_id", refund.transaction_id)
      .text("refund_id", refund.refund_id)
      .number("amount_minor", refund.amount_minor)
      .number("total_minor", refund.total_minor)
      .text("currency", refund.currency.view());
  if (!refund.reason.empty()) data.text("reason", refund.reason);
  return data.str();
}

// The data of an answer to the call of that type and stamp, if the provider said so.
std::optional<Fields> answered(const Config& config, std::string_view type, const CallStamp& stamp,
                               const CallAnswer& answer, base::UtcMs now) {
  if (answer.status != 200 || !within_bounds(answer)) return std::nullopt;
  const auto message = verify(config.secrets, answer.headers, answer.body, now);
  if (!message || message->id != call_id(stamp)) return std::nullopt;
  const auto body = Fields::parse(answer.body);
  if (!body || body->text("type") != std::string{type} + ".answer") return std::nullopt;
  auto data = body->object("data");
  if (!data || data->text("merchant_id") != config.merchant_id) return std::nullopt;
  return data;
}

std::string code_of(const Fields& data) { return short_code(data.text("code")); }

RefundAnswer refund_answer(const std::optional<Fields>& data, const Refund& refund, bool asked_only) {
  if (!data || data->text("out_trade_no") != refund.out_trade_no || data->text("refund_id") != refund.refund_id) {
    return {};
  }
  const std::string_view state = data->text("state");
  const auto amount = data->amount("amount_minor");
  if (state == "refunded" || state == "pending") {
    // A refund of another amount under our id is not the one that we asked for.
    if (amount != refund.amount_minor) return {RefundState::unknown, "other_amount"};
    return {state == "refunded" ? RefundState::refunded : RefundState::pending, {}};
  }
  if (state == "insufficient_funds") return {RefundState::insufficient_funds, code_of(*data)};
  if (state == "refused") return {RefundState::refused, code_of(*data)};
  if (asked_only && state == "no_such_refund") return {RefundState::no_such_refund, {}};
  return {};
}

}  // namespace

base::Result<std::unique_ptr<GenericProvider>> GenericProvider::make(Config config) {
  constexpr const char* doing = "setting up the generic payment provider";
  if (!is_id(config.merchant_id)) {
    return fail(Errc::invalid, doing, "merchant_id must be 1 to 64 visible ASCII characters");
  }
  if (!config.url.starts_with("https://")) return fail(Errc::invalid, doing, "url must begin with https://");
  if (config.secrets.empty() || config.secrets.size() > secrets_max) {
    return fail(Errc::invalid, doing, "there must be 1 to 4 secrets");
  }
  for (std::size_t i = 0; i < config.secrets.size(); ++i) {
    auto secret = parse_secret(config.secrets[i]);
    if (!secret) {
      return fail(Errc::invalid, doing,
                  "secret " + std::to_string(i + 1) + " is not whsec_ and the base 64 of 24 to 64 bytes");
    }
    config.secrets[i] = std::move(*secret);
  }
  return std::unique_ptr<GenericProvider>{new GenericProvider{std::move(config)}};
}

Judged GenericProvider::judge(const NoticeRequest& request, base::UtcMs now,
                              const AppliedBefore& applied_before) const {
  if (const auto fault = beyond_bounds(request)) return std::unexpected{*fault};
  const auto message = verify(config_.secrets, request.headers, request.body, now);
  if (!message) return std::unexpected{message.error()};
  const auto body = Fields::parse(request.body);
  if (!body) return std::unexpected{NoticeFault::malformed};
  const auto event = event_of(body->text("type"));
  if (!event) {
    return std::unexpected{is_id(body->text("type")) ? NoticeFault::nothing_to_do : NoticeFault::malformed};
  }
  const auto data = body->object("data");
  auto notice = data ? notice_of(*event, *data) : std::nullopt;
  if (!notice) return std::unexpected{NoticeFault::malformed};
  if (notice->merchant_id != config_.merchant_id) return std::unexpected{NoticeFault::wrong_merchant};
  notice->notice_id = std::string{message->id};
  if (applied_before && applied_before(notice->notice_id)) return std::unexpected{NoticeFault::repeated};
  return std::move(*notice);
}

NoticeReply GenericProvider::reply(Reception reception) const {
  switch (reception) {
    case Reception::taken: return {204, {}, {}};
    case Reception::again_later: return {503, "application/json", R"({"code":"again_later"})"};
    case Reception::refused: return {400, "application/json", R"({"code":"refused"})"};
  }
  std::unreachable();
}

Call GenericProvider::call(std::string_view type, std::string_view data, const CallStamp& stamp) const {
  Call call{"POST", config_.url, {}, {}};
  call.body = JsonText{}.text("type", type).text("timestamp", base::format_instant(stamp.now)).raw("data", data).str();
  call.headers = sign(config_.secrets.front(), call_id(stamp), stamp.now, call.body);
  call.headers.push_back({"Content-Type", "application/json"});
  return call;
}

Call GenericProvider::query(std::string_view out_trade_no, const CallStamp& stamp) const {
  const std::string data = JsonText{}.text("merchant_id", config_.merchant_id).text("out_trade_no", out_trade_no).str();
  return call("payment.query", data, stamp);
}

QueryAnswer GenericProvider::read_query(std::string_view out_trade_no, const CallStamp& stamp, const CallAnswer& answer,
                                        base::UtcMs now) const {
  const auto data = answered(config_, "payment.query", stamp, answer, now);
  if (!data || data->text("out_trade_no") != out_trade_no) return {};
  const std::string_view state = data->text("state");
  if (state == "not_paid") return {QueryState::not_paid, std::nullopt, {}};
  if (state == "closed") return {QueryState::closed, std::nullopt, {}};
  if (state == "no_such_order") return {QueryState::no_such_order, std::nullopt, {}};
  if (state != "paid" && state != "refunded") return {};
  auto notice = notice_of(NoticeEvent::paid, *data);
  if (!notice) return {};
  return {state == "paid" ? QueryState::paid : QueryState::refunded, std::move(notice), {}};
}

Call GenericProvider::close(std::string_view out_trade_no, const CallStamp& stamp) const {
  const std::string data = JsonText{}.text("merchant_id", config_.merchant_id).text("out_trade_no", out_trade_no).str();
  return call("payment.close", data, stamp);
}

CloseAnswer GenericProvider::read_close(std::string_view out_trade_no, const CallStamp& stamp, const CallAnswer& answer,
                                        base::UtcMs now) const {
  const auto data = answered(config_, "payment.close", stamp, answer, now);
  if (!data || data->text("out_trade_no") != out_trade_no) return {};
  const std::string_view state = data->text("state");
  if (state == "closed") return {CloseState::closed, {}};
  if (state == "paid") return {CloseState::paid, {}};
  if (state == "no_such_order") return {CloseState::no_such_order, {}};
  return {CloseState::unknown, code_of(*data)};
}

Call GenericProvider::refund(const Refund& refund, const CallStamp& stamp) const {
  return call("refund.create", data_of(refund, config_.merchant_id), stamp);
}

RefundAnswer GenericProvider::read_refund(const Refund& refund, const CallStamp& stamp, const CallAnswer& answer,
                                          base::UtcMs now) const {
  return refund_answer(answered(config_, "refund.create", stamp, answer, now), refund, false);
}

Call GenericProvider::refund_query(const Refund& refund, const CallStamp& stamp) const {
  return call("refund.query", data_of(refund, config_.merchant_id), stamp);
}

RefundAnswer GenericProvider::read_refund_query(const Refund& refund, const CallStamp& stamp, const CallAnswer& answer,
                                                base::UtcMs now) const {
  return refund_answer(answered(config_, "refund.query", stamp, answer, now), refund, true);
}

}  // namespace seckill::payments::generic
