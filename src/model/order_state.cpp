#include "model/order_state.hpp"

namespace seckill::model {

std::optional<Transition> transition(OrderState from, OrderEvent event) noexcept {
  using enum OrderState;
  switch (event) {
    case OrderEvent::pay:
      // `closing` still accepts money that was on its way: the provider answered "already paid" to our close.
      if (from == awaiting_payment || from == closing) return Transition{paid, StockEffect::post};
      return std::nullopt;
    case OrderEvent::cancel:
      if (from == awaiting_payment || from == closing) return Transition{cancelled, StockEffect::void_};
      return std::nullopt;
    case OrderEvent::expire:
      if (from == awaiting_payment || from == closing) return Transition{expired, StockEffect::void_};
      return std::nullopt;
    case OrderEvent::close_begin:
      if (from == awaiting_payment) return Transition{closing, StockEffect::none};
      return std::nullopt;
    case OrderEvent::refund:
      if (from == paid) return Transition{refunded, StockEffect::none};
      return std::nullopt;
    case OrderEvent::replay:
      if (from == parked) return Transition{awaiting_payment, StockEffect::none};
      return std::nullopt;
    case OrderEvent::discard:
      if (from == parked) return Transition{failed, StockEffect::void_};
      return std::nullopt;
  }
  return std::nullopt;
}

std::string_view name(OrderState state) noexcept {
  switch (state) {
    case OrderState::parked: return "parked";
    case OrderState::failed: return "failed";
    case OrderState::awaiting_payment: return "awaiting_payment";
    case OrderState::closing: return "closing";
    case OrderState::paid: return "paid";
    case OrderState::cancelled: return "cancelled";
    case OrderState::expired: return "expired";
    case OrderState::refunded: return "refunded";
  }
  return "unknown";
}

std::string_view name(TicketState state) noexcept {
  switch (state) {
    case TicketState::queued: return "queued";
    case TicketState::ordered: return "ordered";
    case TicketState::parked: return "parked";
    case TicketState::failed: return "failed";
  }
  return "unknown";
}

std::string_view name(FailReason reason) noexcept {
  switch (reason) {
    case FailReason::none: return "none";
    case FailReason::limit_reached: return "limit_reached";
    case FailReason::sold_out: return "sold_out";
    case FailReason::superseded: return "superseded";
    case FailReason::discarded: return "discarded";
    case FailReason::oversell_guard: return "oversell_guard";
    case FailReason::unreadable: return "unreadable";
  }
  return "unknown";
}

std::string_view name(OrderEvent event) noexcept {
  switch (event) {
    case OrderEvent::pay: return "pay";
    case OrderEvent::cancel: return "cancel";
    case OrderEvent::expire: return "expire";
    case OrderEvent::close_begin: return "close_begin";
    case OrderEvent::refund: return "refund";
    case OrderEvent::replay: return "replay";
    case OrderEvent::discard: return "discard";
  }
  return "unknown";
}

std::optional<OrderState> order_state_from(std::int64_t stored) noexcept {
  if (stored < 1 || stored > 8) return std::nullopt;
  return static_cast<OrderState>(stored);
}

std::optional<FailReason> fail_reason_from(std::int64_t stored) noexcept {
  if (stored < 0 || stored > 6) return std::nullopt;
  return static_cast<FailReason>(stored);
}

}  // namespace seckill::model
