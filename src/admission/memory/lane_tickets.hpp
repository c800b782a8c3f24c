// What happens to one ticket inside its lane after it was admitted: its landing is told, its units are posted or go
// back. Every function requires the lane's lock. Keeps P2 and P6: a ticket's units end once, whoever says so first or
// again.
#pragma once

#include <optional>
#include <vector>

#include "admission/admission.hpp"
#include "admission/memory/item_lanes.hpp"
#include "store/store.hpp"

namespace seckill::admission::memory {

[[nodiscard]] TicketView view_of(const TicketRecord& record) noexcept;

// The buyer's live tickets that are known durable, oldest first: what an answer may rest on (P5).
[[nodiscard]] std::vector<TicketView> own_live_tickets(const Lane& lane, const MarkRecord& mark);

// The ticket's intent, as it was admitted. The ids are passed because who just admitted has them at hand;
// intent_again() unpacks them from the mark. Requires: the ticket is not published (its terms and fields are still
// kept).
[[nodiscard]] model::OrderIntent intent_of(const Item& item, const Lane& lane, const TicketRecord& record,
                                           const model::BuyerId& buyer, const model::RequestId& request_id);
[[nodiscard]] model::OrderIntent intent_again(const Item& item, const Lane& lane, const TicketRecord& record);

// The ticket's record is durable: the order fields are no longer needed.
void mark_published(Lane& lane, TicketRecord& record);

// Gives the units back; nothing when they ended before, or were sold.
void void_units(Item& item, Lane& lane, TicketRecord& record);

// Turns held units into a sale; nothing when they are not held.
void post_units(Lane& lane, TicketRecord& record);

// Takes over what the landing told (`landed` empty: a broker confirmed, nothing landed yet). False: the ticket is not
// settled (superseded), so nothing may be said of it yet.
[[nodiscard]] bool landed_in_lane(Item& item, Lane& lane, TicketRecord& record,
                                  const std::optional<store::Landed>& landed);

}  // namespace seckill::admission::memory
