#include "admission/lane_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.hpp"
#include "ledger/lane_stock.hpp"

namespace seckill::admission {
namespace {

using Readings = std::array<std::int64_t, base::limits::lanes_max>;

std::int64_t sum(std::span<const std::int64_t> available) noexcept {
  std::int64_t total = 0;
  for (const std::int64_t units : available) total += units;
  return total;
}

Readings copy(std::span<const std::int64_t> available) noexcept {
  SECKILL_ASSERT(!available.empty() && available.size() <= base::limits::lanes_max, "an item has 1..64 lanes");
  Readings left{};
  std::ranges::copy(available, left.begin());
  return left;
}

}  // namespace

Decision decide(const LaneFacts& lane, const model::ItemTerms& terms, const BuyerFacts& buyer, const Ask& ask,
                base::UtcMs now) noexcept {
  if (!lane.open) return Decision::busy;
  if (buyer.same_request_digest) {
    return *buyer.same_request_digest == ask.digest ? Decision::replay : Decision::request_conflict;
  }
  switch (model::phase_at(terms.state, terms.starts_at, terms.ends_at, now)) {
    case model::Phase::not_started: return Decision::not_started;
    case model::Phase::ended: return Decision::ended;
    case model::Phase::paused: return Decision::paused;
    case model::Phase::open: break;
  }
  // Written so that no sum can overflow, whatever the quantity (FS-17).
  if (ask.units < 1 || ask.units > terms.limit - buyer.live_units) return Decision::limit_reached;
  if (buyer.tickets >= std::min(terms.tickets_max, base::limits::tickets_per_buyer_max)) return Decision::limit_reached;
  return lane.available >= ask.units ? Decision::admit : Decision::short_of_stock;
}

bool may_adopt(std::int64_t available, const model::ItemTerms& terms, const BuyerFacts& buyer,
               const model::OrderIntent& intent) noexcept {
  // The one order of checks, in a phase that is open.
  model::ItemTerms as_admitted = terms;
  as_admitted.state = model::SaleState::preloaded;
  as_admitted.starts_at = intent.admitted_at;
  as_admitted.ends_at = intent.admitted_at + 1;
  as_admitted.limit = intent.limit;
  return decide({.open = true, .available = available}, as_admitted, buyer,
                {.units = intent.units, .digest = intent.digest}, intent.admitted_at) == Decision::admit;
}

StealPlan plan_steal(std::span<const std::int64_t> available, model::LaneIndex to, std::int64_t units) noexcept {
  SECKILL_ASSERT(to < available.size() && available[to] < units, "P8: only a lane that is short steals");
  StealPlan plan;
  plan.free_units = sum(available);
  if (plan.free_units < units) return plan;
  Readings left = copy(available);
  std::int64_t need = units - left[to];
  left[to] = 0;  // never its own source
  while (need > 0) {
    const auto richest = std::ranges::max_element(left);
    const std::int64_t moved = ledger::steal_amount(need, *richest);
    // A lane that gives less than the need gives all it has, so no lane is asked twice and 63 steps are enough.
    plan.steps[plan.count++] = {static_cast<model::LaneIndex>(richest - left.begin()), moved};
    *richest -= moved;
    need -= moved;
  }
  return plan;
}

StealPlan plan_debit(std::span<const std::int64_t> available, std::int64_t units) noexcept {
  StealPlan plan;
  plan.free_units = sum(available);
  Readings left = copy(available);
  std::int64_t need = std::min(units, plan.free_units);
  while (need > 0) {
    const auto richest = std::ranges::max_element(left);
    const std::int64_t moved = std::min(need, *richest);
    plan.steps[plan.count++] = {static_cast<model::LaneIndex>(richest - left.begin()), moved};
    *richest = 0;
    need -= moved;
  }
  return plan;
}

std::string reduction_transfer_id(const model::ItemKey& item, std::string_view id, model::LaneIndex lane) {
  return fmt::format("reduce:{}:{}:{}", item.text(), id, lane);
}

}  // namespace seckill::admission
