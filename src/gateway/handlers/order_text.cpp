#include "gateway/handlers/order_text.hpp"

#include "gateway/json_text.hpp"

namespace seckill::gateway {
namespace {

constexpr std::int64_t poll_queued_ms = 1'000;
constexpr std::int64_t poll_parked_ms = 5'000;
constexpr std::int64_t poll_unpaid_ms = 3'000;

// How soon to ask again; 0: never, the state is final but for a refund.
std::int64_t poll_ms(const orders::Outcome& outcome) noexcept {
  if (!outcome.order) return poll_queued_ms;
  switch (outcome.order->state) {
    case model::OrderState::parked: return poll_parked_ms;
    case model::OrderState::awaiting_payment:
    case model::OrderState::closing: return poll_unpaid_ms;
    case model::OrderState::failed:
    case model::OrderState::paid:
    case model::OrderState::cancelled:
    case model::OrderState::expired:
    case model::OrderState::refunded: return 0;
  }
  return 0;
}

}  // namespace

void append_order(std::string& out, const store::Order& order) {
  out += '{';
  append_ticket(out, "ticket", order.ticket);
  append_word(out, "sale", order.item.sale.view());
  append_word(out, "sku", order.item.sku.view());
  append_member(out, "units", order.units);
  append_member(out, "price_minor", order.price_minor);
  append_member(out, "amount_minor", order.amount_minor);
  append_word(out, "currency", order.currency.view());
  append_word(out, "state", model::name(order.state));
  if (order.reason != model::FailReason::none) append_word(out, "reason", model::name(order.reason));
  append_member(out, "admitted_at", order.admitted_at);
  append_member(out, "landed_at", order.landed_at);
  append_member(out, "pay_before", order.pay_before);
  if (!order.fields.empty()) {
    append_key(out, "fields");
    out += order.fields;  // canonical JSON, made by canonical_fields()
  }
  out += '}';
}

std::string outcome_json(const orders::Outcome& outcome) {
  std::string out;
  out.reserve(256);
  out += '{';
  append_ticket(out, "ticket", outcome.ticket);
  append_word(out, "state", model::name(outcome.state));
  if (outcome.order) {
    append_word(out, "order_state", model::name(outcome.order->state));
    if (outcome.order->reason != model::FailReason::none) {
      append_word(out, "reason", model::name(outcome.order->reason));
    }
  }
  append_member(out, "units", outcome.units);
  if (outcome.order) {
    append_member(out, "amount_minor", outcome.order->amount_minor);
    append_word(out, "currency", outcome.order->currency.view());
    if (outcome.order->pay_before != 0) append_member(out, "pay_before", outcome.order->pay_before);
  }
  if (const std::int64_t again = poll_ms(outcome); again != 0) append_member(out, "poll_ms", again);
  out += '}';
  return out;
}

}  // namespace seckill::gateway
