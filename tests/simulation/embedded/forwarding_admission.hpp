// An admission that passes every call on: what a wrapper does not care about.
#pragma once

#include "admission/admission.hpp"

namespace seckill::sim {

class ForwardingAdmission : public admission::Admission {
 public:
  explicit ForwardingAdmission(admission::Admission& inner) : inner_{inner} {}

  void admit(const admission::AdmitRequest& request, admission::AdmitDone done) override {
    inner_.admit(request, std::move(done));
  }
  [[nodiscard]] std::optional<model::PurchaseAnswer> early_answer(const model::ItemKey& item,
                                                                  std::optional<std::string_view> buyer,
                                                                  std::int64_t units_min) const noexcept override {
    return inner_.early_answer(item, buyer, units_min);
  }
  void find_ticket(const model::ItemKey& item, const model::BuyerId& buyer, const model::Ticket& ticket,
                   std::move_only_function<void(base::Result<std::optional<admission::TicketView>>)> done) override {
    inner_.find_ticket(item, buyer, ticket, std::move(done));
  }
  void buyer_tickets(const model::ItemKey& item, const model::BuyerId& buyer,
                     std::move_only_function<void(base::Result<std::vector<admission::TicketView>>)> done) override {
    inner_.buyer_tickets(item, buyer, std::move(done));
  }
  [[nodiscard]] std::optional<model::Ticket> ticket_of(const model::ItemKey& item, const model::BuyerId& buyer,
                                                       const model::RequestId& request_id) const override {
    return inner_.ticket_of(item, buyer, request_id);
  }
  void release(const model::ItemKey& item, const model::Ticket& ticket, admission::LaneDone done) override {
    inner_.release(item, ticket, std::move(done));
  }
  void post(const model::ItemKey& item, const model::Ticket& ticket, admission::LaneDone done) override {
    inner_.post(item, ticket, std::move(done));
  }
  base::Status install(const model::Sale& sale, const model::SaleItem& item, store::Store& store) override {
    return inner_.install(sale, item, store);
  }
  base::Status configure(const model::ItemKey& item, const model::ItemTerms& terms) override {
    return inner_.configure(item, terms);
  }
  base::Status credit(const model::StockTransfer& transfer) override { return inner_.credit(transfer); }
  base::Result<std::int64_t> debit_to_pool(const model::ItemKey& item, std::int64_t units,
                                           const std::string& id) override {
    return inner_.debit_to_pool(item, units, id);
  }
  base::Status retire(const model::ItemKey& item) override { return inner_.retire(item); }
  [[nodiscard]] admission::StockView stock(const model::ItemKey& item) const override { return inner_.stock(item); }
  [[nodiscard]] std::vector<admission::LaneView> lanes(const model::ItemKey& item) const override {
    return inner_.lanes(item);
  }
  void close_lanes(const model::ItemKey& item, std::string_view why) override { inner_.close_lanes(item, why); }

 protected:
  admission::Admission& inner_;
};

}  // namespace seckill::sim
