// Sales that ended and whose lanes are no longer in memory (given back, or not built at the last start): what a buyer
// had there is read from the store. Keeps P4: his request still gets its ticket; to everybody else the sale has ended.
// Private to the handlers.
#pragma once

#include <vector>

#include "admission/admission.hpp"
#include "gateway/handlers/context.hpp"

namespace seckill::gateway {

// A ticket as an order's row knows it.
[[nodiscard]] admission::TicketView ticket_view_of(const store::Order& order) noexcept;

// True when the sale has ended and this process has no lanes for the item: admission could only say busy, for ever.
[[nodiscard]] bool ended_without_lanes(const BuyerContext& context, const SaleView& view,
                                       const admission::AdmitRequest& request);

// replayed, request_conflict or ended by the store's row; busy when the store cannot be asked. `done` once, any thread.
void answer_from_store(BuyerContext& context, const SaleView& view, const model::SaleItem& item,
                       const admission::AdmitRequest& request, admission::AdmitDone done);

}  // namespace seckill::gateway
