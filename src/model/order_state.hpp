// What can become of a ticket: its states, its order's states, and the one table of moves between them.
//
//   queued ──landing──► awaiting_payment ──pay──────────────► paid ──refund──► refunded
//      │                  │    │    └─close_begin─► closing ──pay──► paid
//      │                  │    │                      └─────cancel / expire──► cancelled / expired
//      │                  │    └─cancel / expire (no payment was ever attempted)─► cancelled / expired
//      ├──park──► parked ──replay──► awaiting_payment
//      │            └─────discard──► failed
//      └──fail──► failed
//
// queued has no row in the store: the ticket's mark and intent stand for it. Every other state is a stored row.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace seckill::model {

// The number is what the database stores: never change or reuse one.
enum class OrderState : std::uint8_t {
  parked = 1,
  failed = 2,
  awaiting_payment = 3,
  closing = 4,
  paid = 5,
  cancelled = 6,
  expired = 7,
  refunded = 8,
};

// The buyer's view of a ticket.
enum class TicketState : std::uint8_t { queued, ordered, parked, failed };

// Why a ticket failed; stored by number.
enum class FailReason : std::uint8_t {
  none = 0,
  limit_reached = 1,   // the store's limit refused what the lane had admitted
  sold_out = 2,        // admission by database only
  superseded = 3,      // refused by the lane of a newer generation
  discarded = 4,       // parked, and given up by the desk or the deadline
  oversell_guard = 5,  // the stock row was short: must never happen
  unreadable = 6,      // the store refuses its content every time
};

enum class OrderEvent : std::uint8_t { pay, cancel, expire, close_begin, refund, replay, discard };

// What a move does to the ticket's units.
enum class StockEffect : std::uint8_t { none, post, void_ };

struct Transition {
  OrderState to;
  StockEffect effect;
};

// The only table of moves. nullopt: the move is illegal from that state and changes nothing (FS-06, FS-18).
[[nodiscard]] std::optional<Transition> transition(OrderState from, OrderEvent event) noexcept;

// Units are frozen for the ticket.
[[nodiscard]] constexpr bool is_held(OrderState state) noexcept {
  return state == OrderState::parked || state == OrderState::awaiting_payment || state == OrderState::closing;
}
// Units are sold; a refund returns none by itself.
[[nodiscard]] constexpr bool is_sold(OrderState state) noexcept {
  return state == OrderState::paid || state == OrderState::refunded;
}
// The ticket ended and its units went back.
[[nodiscard]] constexpr bool is_ended(OrderState state) noexcept { return !is_held(state) && !is_sold(state); }

[[nodiscard]] constexpr TicketState ticket_state(OrderState state) noexcept {
  if (state == OrderState::parked) return TicketState::parked;
  return state == OrderState::failed ? TicketState::failed : TicketState::ordered;
}

[[nodiscard]] std::string_view name(OrderState state) noexcept;
[[nodiscard]] std::string_view name(TicketState state) noexcept;
[[nodiscard]] std::string_view name(FailReason reason) noexcept;
[[nodiscard]] std::string_view name(OrderEvent event) noexcept;
// For values read back from storage; nullopt is corruption.
[[nodiscard]] std::optional<OrderState> order_state_from(std::int64_t stored) noexcept;
[[nodiscard]] std::optional<FailReason> fail_reason_from(std::int64_t stored) noexcept;

}  // namespace seckill::model
