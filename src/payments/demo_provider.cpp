#include "payments/demo_provider.hpp"

#include <utility>

namespace seckill::payments {

void DemoProvider::pay(const model::Ticket& ticket, const model::BuyerId& buyer, orders::EndDone done) {
  store::EndCommand command;
  command.ticket = ticket;
  command.event = model::OrderEvent::pay;
  command.buyer = buyer;
  command.payment_provider = demo_provider_name;
  command.payment_id = transaction_id(ticket);
  ends_.submit(std::move(command), std::move(done));
}

std::string DemoProvider::transaction_id(const model::Ticket& ticket) {
  return std::string{demo_provider_name} + ":" + ticket.str();
}

}  // namespace seckill::payments
