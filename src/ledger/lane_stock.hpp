// The stock rules of one lane: the only arithmetic on units in the system. Pure: no I/O, clock or threads; memory
// lanes, the store's landing and the checks all call these same functions.
//
//   pool ──transfer──► available ──hold──► held ──post──► sold
//                          ▲                 └───void──► available
//
// Keeps P1 (held + sold ≤ total, nothing negative) and P2 (every move is one of these functions).
#pragma once

#include <cstdint>

namespace seckill::ledger {

struct LaneStock {
  std::int64_t available = 0;
  std::int64_t held = 0;
  std::int64_t sold = 0;

  [[nodiscard]] std::int64_t total() const noexcept { return available + held + sold; }
  friend bool operator==(const LaneStock&, const LaneStock&) = default;
};

// True when `units` can be held: the only question whose answer may be no. Requires: units ≥ 1.
[[nodiscard]] bool can_hold(const LaneStock& stock, std::int64_t units) noexcept;

// Takes units for a ticket. Requires: can_hold.
void hold(LaneStock& stock, std::int64_t units) noexcept;

// Turns held units into a sale. Requires: units are held.
void post(LaneStock& stock, std::int64_t units) noexcept;

// Gives held units back to available. Requires: units are held.
void void_hold(LaneStock& stock, std::int64_t units) noexcept;

// Moves free units out of, or into, the lane. Requires for debit: units ≤ available.
void debit(LaneStock& stock, std::int64_t units) noexcept;
void credit(LaneStock& stock, std::int64_t units) noexcept;

// How much a lane in need asks of the richest: max(need, half of it), bounded by what it has. Half spreads what is
// left in a logarithmic number of transfers instead of one unit at a time.
[[nodiscard]] std::int64_t steal_amount(std::int64_t need, std::int64_t richest_available) noexcept;

// The share of `units` that lane `index` of `lanes` gets at preload: as even as whole units allow, first lanes first.
[[nodiscard]] std::int64_t preload_share(std::int64_t units, std::uint32_t lanes, std::uint32_t index) noexcept;

}  // namespace seckill::ledger
