// The demo's payment provider: says yes at once to whoever owns the ticket. Only made in demo mode; a real deployment
// never has one. Keeps P7: the payment row and the paid order are one transaction of the store, the amount is the
// order's own, and the transaction id is derived from the ticket, so paying twice is one payment.
#pragma once

#include <string>

#include "model/ids.hpp"
#include "model/ticket.hpp"
#include "orders/ticket_ends.hpp"

namespace seckill::payments {

inline constexpr std::string_view demo_provider_name = "demo";

class DemoProvider {
 public:
  // Borrows `ends` for its whole life.
  explicit DemoProvider(orders::TicketEnds& ends) noexcept : ends_{ends} {}

  // Pays the whole order of `ticket` if it is `buyer`'s; `done` as with TicketEnds::submit: done or already_there (paid
  // by this provider before), illegal (cancelled, expired, or price 0 and so paid at landing), too_late, not_found
  // (also another buyer's, FS-24). Any thread, does not block.
  void pay(const model::Ticket& ticket, const model::BuyerId& buyer, orders::EndDone done);

  // "demo:" + ticket: the same purchase is the same transaction for ever.
  [[nodiscard]] static std::string transaction_id(const model::Ticket& ticket);

 private:
  orders::TicketEnds& ends_;
};

}  // namespace seckill::payments
