// What a lane decides, as pure functions of what it knows: no locks, no clock, no I/O. Memory lanes, the simulator's
// oracle and the equivalence tests of the Redis scripts all judge by these same rules (DESIGN §4.1.3).
//
//   lane open? → same ticket? → phase? → limit (units, then tickets)? → stock? → admit
//
// Keeps P1 (admit only what is available), P3 (limit before stock), P4 (a known request id is judged first and always).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "model/ids.hpp"
#include "model/purchase.hpp"
#include "model/sale.hpp"

namespace seckill::admission {

// What the lane knows about itself.
struct LaneFacts {
  bool open = false;
  std::int64_t available = 0;
};

// What the buyer's mark says; all zero when there is none.
struct BuyerFacts {
  std::int64_t live_units = 0;                       // of tickets that hold or own units
  std::uint32_t tickets = 0;                         // ever, ended ones included
  std::optional<std::uint64_t> same_request_digest;  // set: this request id already has a ticket, of this content
};

struct Ask {
  std::int64_t units = 1;
  std::uint64_t digest = 0;
};

enum class Decision : std::uint8_t {
  busy,              // the lane is closed
  replay,            // the request id's own ticket, whatever became of it
  request_conflict,  // the request id's ticket was for other content
  not_started,
  ended,
  paused,
  limit_reached,
  short_of_stock,  // this lane has too few units; only a reading of all lanes may say sold_out
  admit,
};

// Judges one request in the one order of checks. Every request gets exactly one decision; nothing is written.
// units < 1 is limit_reached: a caller should have refused it, and it must never add stock (FS-17).
[[nodiscard]] Decision decide(const LaneFacts& lane, const model::ItemTerms& terms, const BuyerFacts& buyer,
                              const Ask& ask, base::UtcMs now) noexcept;

// Whether a lane that has not admitted this intent may take it over: its limit is the intent's own, how many tickets a
// buyer has is the lane's; its phase was judged when it was admitted.
[[nodiscard]] bool may_adopt(std::int64_t available, const model::ItemTerms& terms, const BuyerFacts& buyer,
                             const model::OrderIntent& intent) noexcept;

// One move of units into the lane in need.
struct StealStep {
  model::LaneIndex from = 0;
  std::int64_t units = 0;
};
struct StealPlan {
  std::array<StealStep, base::limits::lanes_max> steps;
  std::size_t count = 0;
  std::int64_t free_units = 0;  // of all lanes; less than the need: no step is planned, the item is sold out for it

  [[nodiscard]] std::span<const StealStep> moves() const noexcept { return {steps.data(), count}; }
};

// How lane `to` gets `units` available: from the richest lanes first, each asked by ledger::steal_amount, so that what
// is left spreads in few moves. `available` is an exact reading of all lanes. Requires: available[to] < units.
[[nodiscard]] StealPlan plan_steal(std::span<const std::int64_t> available, model::LaneIndex to,
                                   std::int64_t units) noexcept;

// How a reduction takes up to `units` free units: from the fullest lanes, each giving what it can before the next is
// asked, so that few moves are written. It takes what there is when there is less.
[[nodiscard]] StealPlan plan_debit(std::span<const std::int64_t> available, std::int64_t units) noexcept;

// The id of the transfer by which this reduction takes units from that lane: the store applies it once, and tells
// whoever asks again after a crash.
[[nodiscard]] std::string reduction_transfer_id(const model::ItemKey& item, std::string_view id, model::LaneIndex lane);

}  // namespace seckill::admission
