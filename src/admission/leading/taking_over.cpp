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

TakenOver take_over(store::RebuiltLane rebuilt, std::vector<model::OrderIntent> marks, const model::ItemTerms& terms) {
  TakenOver taken{.stock = rebuilt.stock, .tickets = {}, .refused = {}};
  // Marks without a row are few among many rows, and only their buyers are judged.
  std::map<model::BuyerId, BuyerFacts> buyers;
  std::set<model::Ticket> without_row;
  for (const model::OrderIntent& mark : marks) {
    buyers.try_emplace(mark.buyer);
    without_row.insert(mark.ticket);
  }
  taken.tickets.reserve(rebuilt.tickets.size() + marks.size());
  for (store::TicketRow& row : rebuilt.tickets) {
    without_row.erase(row.ticket);
    if (const auto buyer = buyers.find(row.buyer); buyer != buyers.end()) {
      ++buyer->second.tickets;
      if (!model::is_ended(row.state)) buyer->second.live_units += row.units;
    }
    taken.tickets.push_back({.row = std::move(row)});
  }
  std::ranges::sort(marks, {}, [](const model::OrderIntent& one) { return std::tuple{one.admitted_at, one.ticket}; });
  for (const model::OrderIntent& mark : marks) {
    if (without_row.erase(mark.ticket) == 0) continue;
    BuyerFacts& buyer = buyers.at(mark.buyer);
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
