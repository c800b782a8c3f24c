// A purchase request after the gateway, the closed list of its answers, and the order intent an admission leaves.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "model/ids.hpp"
#include "model/money.hpp"
#include "model/order_state.hpp"
#include "model/ticket.hpp"

namespace seckill::model {

// Every answer a purchase can get, in one place; the wire code is answer_code().
enum class PurchaseAnswer : std::uint8_t {
  admitted,            // 1: a new ticket
  replayed,            // 1: the ticket this request id already has
  sold_out,            // 0: no such quantity in the item's lanes
  limit_reached,       // -1: the buyer's units or tickets are used up
  request_conflict,    // -2: the request id was used with other content
  not_started,         // -3
  ended,               // -4
  paused,              // -5
  rate_limited,        // -6
  challenge_required,  // -7
  rejected_by_risk,    // -8
  busy,                // -9: undecided or not yet durable; ask again with the same request id
  bad_token,           // -10: the purchase token does not fit
};

inline constexpr std::array all_purchase_answers{PurchaseAnswer::admitted,
                                                 PurchaseAnswer::replayed,
                                                 PurchaseAnswer::sold_out,
                                                 PurchaseAnswer::limit_reached,
                                                 PurchaseAnswer::request_conflict,
                                                 PurchaseAnswer::not_started,
                                                 PurchaseAnswer::ended,
                                                 PurchaseAnswer::paused,
                                                 PurchaseAnswer::rate_limited,
                                                 PurchaseAnswer::challenge_required,
                                                 PurchaseAnswer::rejected_by_risk,
                                                 PurchaseAnswer::busy,
                                                 PurchaseAnswer::bad_token};

[[nodiscard]] std::string_view name(PurchaseAnswer answer) noexcept;
[[nodiscard]] int answer_code(PurchaseAnswer answer) noexcept;
// DESIGN §6: 202, 200, 409, 422, 429, 403, 503.
[[nodiscard]] int http_status(PurchaseAnswer answer) noexcept;

// The declared order fields of a purchase in canonical form ({"receiver":"…"}, keys sorted), shared because an intent
// passes from lane to queue to store unchanged. Null when the purchase carries none.
using OrderFields = std::shared_ptr<const std::string>;

// What the digest covers: quantity and declared order fields, never token, device or headers.
[[nodiscard]] std::uint64_t content_digest(std::int64_t units, const OrderFields& fields) noexcept;

// The durable record "this ticket is to become an order" (下单意图), written in the same step as the hold and the mark.
struct OrderIntent {
  Ticket ticket;
  ItemKey item;
  BuyerId buyer;
  RequestId request_id;
  std::uint64_t digest = 0;
  LaneIndex lane = 0;
  Generation generation = 1;
  std::int64_t units = 0;
  std::int64_t price_minor = 0;  // as admitted; an order keeps its own
  Currency currency;
  std::int64_t limit = 0;  // the limit it was admitted under
  std::int64_t pay_window_ms = 0;
  base::UtcMs admitted_at = 0;  // the lane's clock
  OrderFields fields;
};

// Units that move between pool and lanes (调拨); the only way they do. Written by the lanes in the order they happen.
struct StockTransfer {
  static constexpr std::int32_t pool = -1;
  std::string id;  // unique for ever: the store applies one id once
  ItemKey item;
  std::int32_t from = pool;  // a lane's index, or pool
  std::int32_t to = pool;
  std::int64_t units = 0;
  Generation generation = 1;
  base::UtcMs at = 0;
};

// What a lane hands to the queue, in the lane's own order: any durable prefix is a consistent state.
using LaneRecord = std::variant<OrderIntent, StockTransfer>;

}  // namespace seckill::model
