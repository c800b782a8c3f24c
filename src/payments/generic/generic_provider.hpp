// A provider of no particular company: what a shop puts in front of a payment service that has no adapter here, or uses
// in tests. Everything either side says is JSON signed by the rules of standard_webhooks.hpp, and every call is one
// POST whose body says all, so nothing that matters stands outside the signature (FS-23). docs/payments.md has the
// formats.
//
//   notice  {"type":"payment.paid", "data":{"merchant_id","out_trade_no","transaction_id","amount_minor","currency",
//            "occurred_at"}}; payment.closed needs no transaction_id and amount_minor; refund.succeeded and
//            refund.failed carry refund_id and total_minor too
//   call    {"type":"payment.query", "data":{…}}, signed by us
//   answer  {"type":"payment.query.answer", "data":{…,"state":"paid"}}, signed by the provider under the call's own
//            webhook-id, so that an answer belongs to one call and cannot be replayed for another
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "payments/provider.hpp"
#include "payments/secret.hpp"

namespace seckill::payments::generic {

struct Config {
  std::string merchant_id;
  std::string url;              // https, where calls go
  std::vector<Secret> secrets;  // "whsec_…"; the first signs our calls, all of them verify
};

class GenericProvider final : public Provider {
 public:
  // Errc::invalid with what is wrong; a secret is named by its place, never shown.
  [[nodiscard]] static base::Result<std::unique_ptr<GenericProvider>> make(Config config);

  [[nodiscard]] std::string_view name() const noexcept override { return "generic"; }
  // A notice whose webhook-id was applied before is `repeated`; each attempt to send it has a new timestamp and
  // signature under the same id, as the specification says.
  [[nodiscard]] Judged judge(const NoticeRequest& request, base::UtcMs now,
                             const AppliedBefore& applied_before) const override;
  // 204 takes, 503 asks for another attempt, 400 refuses. Senders repeat whatever is not 2xx. 410, by which the
  // specification lets an endpoint unsubscribe, is never sent.
  [[nodiscard]] NoticeReply reply(Reception reception) const override;
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
  explicit GenericProvider(Config config) : config_{std::move(config)} {}
  [[nodiscard]] Call call(std::string_view type, std::string_view data, const CallStamp& stamp) const;

  Config config_;  // secrets decoded
};

}  // namespace seckill::payments::generic
