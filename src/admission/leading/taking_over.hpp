// What a rebuild installs: the store's rows, and what only the closed lane knew. A live mark without a row may be all
// there is of an acknowledged intent (P5), so it is taken over like an adoption: within limit and stock, as the rows
// leave them.
#pragma once

#include <vector>

#include "admission/lane_scripts.hpp"
#include "store/lane_authority.hpp"

namespace seckill::admission::leading {

struct TakenOver {
  ledger::LaneStock stock;             // the row's, with the holds that are taken over
  std::vector<InstallTicket> tickets;  // all that is handed to the lane, but the refused
  std::vector<model::OrderIntent> refused;
};

// `marks` in any order; those that have a row by now are what their row says. Earlier admitted ones first. Pure.
[[nodiscard]] TakenOver take_over(store::RebuiltLane rebuilt, std::vector<model::OrderIntent> marks,
                                  const model::ItemTerms& terms);

// A ticket that holds units in the lane and has no row; one that was refused and has its row.
[[nodiscard]] InstallTicket live_ticket(const model::OrderIntent& intent);
[[nodiscard]] InstallTicket failed_ticket(const model::OrderIntent& intent);

}  // namespace seckill::admission::leading
