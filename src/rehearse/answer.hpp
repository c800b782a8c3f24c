// What a buyer reads out of one answer of the server, by the public API alone. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rehearse/wire.hpp"

namespace seckill::rehearse {

struct Answer {
  int status = 0;           // 0: no answer came
  std::string reason;       // "sold_out"; empty when the server gave none
  std::string ticket;       // empty: none
  std::string state;        // queued, ordered, parked, failed
  std::string order_state;  // once the ticket is an order: awaiting_payment, paid, cancelled, …
  std::int64_t amount_minor = 0;
  std::int64_t retry_after_ms = 0;
  std::size_t body_bytes = 0;

  // The server stands for this ticket: 202, or the 200 of a replay.
  [[nodiscard]] bool acknowledged() const noexcept { return (status == 200 || status == 202) && !ticket.empty(); }
  // "queued" until it is an order, then the order's state; "failed" when it came to nothing.
  [[nodiscard]] std::string_view progress() const noexcept {
    return order_state.empty() ? std::string_view{state} : std::string_view{order_state};
  }
};

// A body that is no JSON object gives an answer with its status alone.
[[nodiscard]] Answer read_answer(const Response& response);

// Nothing more will happen to a ticket in this state.
[[nodiscard]] bool is_final(std::string_view progress) noexcept;

}  // namespace seckill::rehearse
