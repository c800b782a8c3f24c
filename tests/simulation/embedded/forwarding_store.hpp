// A store that passes every call on: what a wrapper does not care about. For stores that misbehave in one way.
#pragma once

#include "store/store.hpp"

namespace seckill::sim {

class ForwardingStore : public store::Store {
 public:
  explicit ForwardingStore(store::Store& inner) : inner_{inner} {}

  base::Status create_sale(const model::Sale& sale, const store::AuditEntry& audit) override {
    return inner_.create_sale(sale, audit);
  }
  base::Result<model::Sale> find_sale(const model::SaleId& sale) override { return inner_.find_sale(sale); }
  base::Result<std::vector<model::Sale>> list_sales(std::int64_t limit) override { return inner_.list_sales(limit); }
  base::Status update_sale(const model::Sale& sale, const store::AuditEntry& audit) override {
    return inner_.update_sale(sale, audit);
  }
  base::Status set_sale_state(const model::SaleId& sale, model::SaleState from, model::SaleState to,
                              const store::AuditEntry& audit) override {
    return inner_.set_sale_state(sale, from, to, audit);
  }
  base::Status preload(const model::SaleId& sale, base::UtcMs now, const store::AuditEntry& audit) override {
    return inner_.preload(sale, now, audit);
  }
  base::Result<store::ItemStock> item_stock(const model::ItemKey& item) override { return inner_.item_stock(item); }
  base::Status add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                           const store::AuditEntry& audit) override {
    return inner_.add_to_pool(item, units, id, audit);
  }
  base::Status take_from_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                              const store::AuditEntry& audit) override {
    return inner_.take_from_pool(item, units, id, audit);
  }
  base::Status pool_to_lanes(std::span<const model::StockTransfer> transfers, const store::AuditEntry& audit) override {
    return inner_.pool_to_lanes(transfers, audit);
  }
  base::Result<std::optional<std::int64_t>> pool_change(const model::ItemKey& item, const std::string& id) override {
    return inner_.pool_change(item, id);
  }
  base::Result<std::optional<model::StockTransfer>> find_transfer(const std::string& id) override {
    return inner_.find_transfer(id);
  }
  base::Result<std::vector<store::Landed>> land(std::span<const model::LaneRecord> records, base::UtcMs now) override {
    return inner_.land(records, now);
  }
  base::Status fail_intent(const model::OrderIntent& intent, model::FailReason reason, base::UtcMs now) override {
    return inner_.fail_intent(intent, reason, now);
  }
  base::Result<std::vector<store::Ended>> end_tickets(std::span<const store::EndCommand> commands) override {
    return inner_.end_tickets(commands);
  }
  base::Result<std::vector<model::Ticket>> due_tickets(base::UtcMs now, std::int64_t limit) override {
    return inner_.due_tickets(now, limit);
  }
  base::Result<std::vector<store::PendingRelease>> pending_releases(std::int64_t limit) override {
    return inner_.pending_releases(limit);
  }
  base::Status acknowledge_releases(std::span<const std::int64_t> ids) override {
    return inner_.acknowledge_releases(ids);
  }
  base::Status acknowledge_released(std::span<const model::Ticket> tickets) override {
    return inner_.acknowledge_released(tickets);
  }
  base::Result<std::optional<store::Order>> find_order(const model::Ticket& ticket) override {
    return inner_.find_order(ticket);
  }
  base::Result<store::OrderPage> list_orders(const store::OrderQuery& query) override {
    return inner_.list_orders(query);
  }
  base::Status visit_tickets(const model::ItemKey& item,
                             const std::function<void(const store::TicketRow&)>& visitor) override {
    return inner_.visit_tickets(item, visitor);
  }
  base::Result<store::ItemAudit> audit_item(const model::ItemKey& item, base::UtcMs now) override {
    return inner_.audit_item(item, now);
  }
  base::Result<std::vector<store::AuditRow>> audit_log(std::int64_t before_id, std::int64_t limit) override {
    return inner_.audit_log(before_id, limit);
  }
  base::Status append_audit(const store::AuditEntry& audit) override { return inner_.append_audit(audit); }
  base::Status backup(const std::string& path) override { return inner_.backup(path); }
  base::Status probe() override { return inner_.probe(); }

 protected:
  store::Store& inner_;
};

}  // namespace seckill::sim
