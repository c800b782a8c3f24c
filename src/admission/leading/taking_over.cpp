#include "admission/leading/taking_over.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace seckill::admission::leading {
namespace {

InstallTicket ticket_of(const model::OrderIntent& intent, model::OrderState state) {
  return {.row = {.ticket = intent.ticket,
                  .buyer = intent.buyer,
                  .request_id = intent.request_id,
                  .digest = intent.digest,
                  .units = intent.units,
                  .state = state,
                  .admitted_at = intent.admitted_at}};
}

}  // namespace

InstallTicket live_ticket(const model::OrderIntent& intent) {
  InstallTicket ticket = ticket_of(intent, model::OrderState::awaiting_payment);
  ticket.intent = intent;
  return ticket;
}

InstallTicket failed_ticket(const model::OrderIntent& intent) { return ticket_of(intent, model::OrderState::failed); }

TakenOver take_over(const store::RebuiltLane& rebuilt, std::vector<model::OrderIntent> marks,
                    const model::ItemTerms& terms) {
  TakenOver taken{.stock = rebuilt.stock, .tickets = {}, .refused = {}};
  std::map<model::BuyerId, BuyerFacts> buyers;
  std::set<model::Ticket> known;
  for (const store::TicketRow& row : rebuilt.tickets) {
    known.insert(row.ticket);
    BuyerFacts& buyer = buyers[row.buyer];
    ++buyer.tickets;
    if (!model::is_ended(row.state)) buyer.live_units += row.units;
    taken.tickets.push_back({.row = row});
  }
  std::ranges::sort(marks, {}, [](const model::OrderIntent& one) { return std::tuple{one.admitted_at, one.ticket}; });
  for (const model::OrderIntent& mark : marks) {
    if (!known.insert(mark.ticket).second) continue;
    BuyerFacts& buyer = buyers[mark.buyer];
    if (may_adopt(taken.stock.available, terms, buyer, mark)) {
      ledger::hold(taken.stock, mark.units);
      buyer.live_units += mark.units;
      taken.tickets.push_back(live_ticket(mark));
    } else {
      taken.refused.push_back(mark);
    }
    ++buyer.tickets;
  }
  return taken;
}

}  // namespace seckill::admission::leading
