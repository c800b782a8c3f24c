#include "ledger/lane_stock.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace seckill::ledger {
namespace {

void check(const LaneStock& stock) noexcept {
  SECKILL_ASSERT(stock.available >= 0, "P1: a lane's available units are never negative");
  SECKILL_ASSERT(stock.held >= 0 && stock.sold >= 0, "P2: held and sold units are never negative");
}

}  // namespace

bool can_hold(const LaneStock& stock, std::int64_t units) noexcept {
  SECKILL_ASSERT(units >= 1, "a hold takes at least one unit");
  return stock.available >= units;
}

void hold(LaneStock& stock, std::int64_t units) noexcept {
  SECKILL_ASSERT(can_hold(stock, units), "P1: a hold never exceeds what is available");
  stock.available -= units;
  stock.held += units;
  check(stock);
}

void post(LaneStock& stock, std::int64_t units) noexcept {
  SECKILL_ASSERT(units >= 1 && units <= stock.held, "P2: only held units are posted");
  stock.held -= units;
  stock.sold += units;
  check(stock);
}

void void_hold(LaneStock& stock, std::int64_t units) noexcept {
  SECKILL_ASSERT(units >= 1 && units <= stock.held, "P2: only held units are voided");
  stock.held -= units;
  stock.available += units;
  check(stock);
}

void debit(LaneStock& stock, std::int64_t units) noexcept {
  SECKILL_ASSERT(units >= 1 && units <= stock.available, "P1: only free units leave a lane");
  stock.available -= units;
  check(stock);
}

void credit(LaneStock& stock, std::int64_t units) noexcept {
  SECKILL_ASSERT(units >= 1, "a credit brings at least one unit");
  stock.available += units;
  check(stock);
}

std::int64_t steal_amount(std::int64_t need, std::int64_t richest_available) noexcept {
  SECKILL_ASSERT(need >= 1, "a steal is asked for at least one unit");
  return std::min(richest_available, std::max(need, richest_available / 2));
}

std::int64_t preload_share(std::int64_t units, std::uint32_t lanes, std::uint32_t index) noexcept {
  SECKILL_ASSERT(units >= 0 && lanes >= 1 && index < lanes, "a share is asked for an existing lane");
  return units / lanes + (static_cast<std::int64_t>(index) < units % lanes ? 1 : 0);
}

}  // namespace seckill::ledger
