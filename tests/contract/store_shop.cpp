// What the suites ask of a store after everything they did: the books must balance.
#include <fmt/format.h>

#include "store_contract.hpp"

namespace seckill::store::contract {

std::string Shop::broken(base::UtcMs now) const {
  const auto result = store_.audit_item(key_, now);
  if (!result) return result.error().text();
  const ItemAudit& audit = *result;
  std::string text;
  const auto expect = [&](std::string_view what, std::int64_t value, std::int64_t wanted) {
    if (value != wanted) text += fmt::format("{} is {}, not {}; ", what, value, wanted);
  };
  std::int64_t in_lanes = 0;
  for (const LaneRow& lane : audit.stock.lanes) in_lanes += lane.stock.total();
  const ledger::LaneStock sum = sums();
  expect("P2: pool + lanes", audit.stock.pool + in_lanes, audit.stock.total);
  expect("held units of orders", audit.orders_held_units, sum.held);
  expect("sold units of orders", audit.orders_sold_units, sum.sold);
  expect("P3: buyers over cap", audit.buyers_over_cap, 0);
  expect("buyer_units mismatch", audit.buyer_units_mismatch, 0);
  expect("journal mismatch", audit.journal_mismatch, 0);
  expect("lane mismatch", audit.lane_mismatch, 0);
  expect("P7: paid without payment", audit.paid_without_payment, 0);
  expect("P7: payment without order", audit.payment_without_order, 0);
  expect("P6: overdue", audit.overdue, 0);
  return text;
}

}  // namespace seckill::store::contract
