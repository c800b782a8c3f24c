// A store on a device that can fail: every rule is the real store's behind it; only the environment is made up. An
// error is given before the real store is asked (nothing happened) or, as `lost`, after it (happened, but nobody was
// told).
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "store/store.hpp"

namespace seckill::test {

class FaultyStore final : public store::Store {
 public:
  explicit FaultyStore(store::Store& real) : real_{&real} {}

  // The next `times` calls of `method` fail with `code`, after `after` calls that pass. Any thread.
  void fail(const std::string& method, base::Errc code, int times = 1, int after = 0) {
    const std::lock_guard lock{mutex_};
    faults_[method] = {code, times, after, false};
  }
  // As fail(), but the call is carried out and only its answer is lost: Errc::timeout.
  void lose_answer(const std::string& method, int times = 1) {
    const std::lock_guard lock{mutex_};
    faults_[method] = {base::Errc::timeout, times, 0, true};
  }
  void heal() {
    const std::lock_guard lock{mutex_};
    faults_.clear();
  }
  [[nodiscard]] int calls(const std::string& method) {
    const std::lock_guard lock{mutex_};
    return calls_[method];
  }

  base::Status create_sale(const model::Sale& sale, const store::AuditEntry& audit) override {
    return real_->create_sale(sale, audit);
  }
  base::Result<model::Sale> find_sale(const model::SaleId& sale) override { return real_->find_sale(sale); }
  base::Result<std::vector<model::Sale>> list_sales(std::int64_t limit) override { return real_->list_sales(limit); }
  base::Status update_sale(const model::Sale& sale, const store::AuditEntry& audit) override {
    return real_->update_sale(sale, audit);
  }
  base::Status set_sale_state(const model::SaleId& sale, model::SaleState from, model::SaleState to,
                              const store::AuditEntry& audit) override {
    return real_->set_sale_state(sale, from, to, audit);
  }
  base::Status preload(const model::SaleId& sale, base::UtcMs now, const store::AuditEntry& audit) override {
    return real_->preload(sale, now, audit);
  }
  base::Result<store::ItemStock> item_stock(const model::ItemKey& item) override { return real_->item_stock(item); }
  base::Result<std::optional<std::int64_t>> pool_change(const model::ItemKey& item, const std::string& id) override {
    return real_->pool_change(item, id);
  }
  base::Result<std::optional<model::StockTransfer>> find_transfer(const std::string& id) override {
    return real_->find_transfer(id);
  }
  base::Status add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                           const store::AuditEntry& audit) override {
    return real_->add_to_pool(item, units, id, audit);
  }
  base::Status take_from_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                              const store::AuditEntry& audit) override {
    return faulty("take_from_pool", [&] { return real_->take_from_pool(item, units, id, audit); });
  }
  base::Status pool_to_lanes(std::span<const model::StockTransfer> transfers, const store::AuditEntry& audit) override {
    return faulty("pool_to_lanes", [&] { return real_->pool_to_lanes(transfers, audit); });
  }
  base::Result<std::vector<store::Landed>> land(std::span<const model::LaneRecord> records, base::UtcMs now) override {
    return faulty("land", [&] { return real_->land(records, now); });
  }
  base::Status fail_intent(const model::OrderIntent& intent, model::FailReason reason, base::UtcMs now) override {
    return faulty("fail_intent", [&] { return real_->fail_intent(intent, reason, now); });
  }
  base::Result<std::vector<store::Ended>> end_tickets(std::span<const store::EndCommand> commands) override {
    return faulty("end_tickets", [&] { return real_->end_tickets(commands); });
  }
  base::Result<std::vector<model::Ticket>> due_tickets(base::UtcMs now, std::int64_t limit) override {
    return faulty("due_tickets", [&] { return real_->due_tickets(now, limit); });
  }
  base::Result<std::vector<store::PendingRelease>> pending_releases(std::int64_t limit) override {
    return faulty("pending_releases", [&] { return real_->pending_releases(limit); });
  }
  base::Status acknowledge_releases(std::span<const std::int64_t> ids) override {
    return faulty("acknowledge_releases", [&] { return real_->acknowledge_releases(ids); });
  }
  base::Status acknowledge_released(std::span<const model::Ticket> tickets) override {
    return faulty("acknowledge_released", [&] { return real_->acknowledge_released(tickets); });
  }
  base::Result<std::optional<store::Order>> find_order(const model::Ticket& ticket) override {
    return faulty("find_order", [&] { return real_->find_order(ticket); });
  }
  base::Result<store::OrderPage> list_orders(const store::OrderQuery& query) override {
    return faulty("list_orders", [&] { return real_->list_orders(query); });
  }
  base::Status visit_tickets(const model::ItemKey& item,
                             const std::function<void(const store::TicketRow&)>& visitor) override {
    return real_->visit_tickets(item, visitor);
  }
  base::Result<store::ItemAudit> audit_item(const model::ItemKey& item, base::UtcMs now) override {
    return faulty("audit_item", [&] { return real_->audit_item(item, now); });
  }
  base::Result<std::vector<store::AuditRow>> audit_log(std::int64_t before_id, std::int64_t limit) override {
    return real_->audit_log(before_id, limit);
  }
  base::Status append_audit(const store::AuditEntry& audit) override { return real_->append_audit(audit); }
  base::Status backup(const std::string& path) override { return real_->backup(path); }
  base::Status probe() override { return real_->probe(); }

 private:
  struct Fault {
    base::Errc code = base::Errc::unavailable;
    int times = 0;
    int after = 0;
    bool carried_out = false;
  };

  std::optional<Fault> next_fault(const std::string& method) {
    const std::lock_guard lock{mutex_};
    ++calls_[method];
    const auto found = faults_.find(method);
    if (found == faults_.end() || found->second.times == 0) return std::nullopt;
    if (found->second.after > 0) {
      --found->second.after;
      return std::nullopt;
    }
    --found->second.times;
    return found->second;
  }

  template <typename Call>
  auto faulty(const std::string& method, Call call) -> decltype(call()) {
    const auto fault = next_fault(method);
    if (!fault) return call();
    if (fault->carried_out) (void)call();
    return base::fail(fault->code, method, "made up by the test");
  }

  store::Store* real_;
  std::mutex mutex_;
  std::map<std::string, Fault> faults_;
  std::map<std::string, int> calls_;
};

}  // namespace seckill::test
