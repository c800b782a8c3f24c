// The simulated database server: an engine of both ports of src/store over plain tables, one transaction a call, with
// the semantics of the SQL engines (the contract suite of tests/contract runs on it). It has no delays and no faults:
// those belong to a client's connection (sim_store.hpp).
//
// The tables outlive it, as files outlive a server. Its clock is the store's own: leases run by it, nothing else reads
// it. Any thread; calls exclude each other.
#pragma once

#include <mutex>

#include "simulation/devices/store/tables.hpp"

namespace seckill::sim {

class Transaction;

class SimDatabase final : public store::Store, public store::LaneAuthority {
 public:
  // Both are borrowed. `files` keeps what backup() wrote, by path; nullptr: no backups.
  using Files = std::map<std::string, Tables>;
  SimDatabase(Tables& tables, const base::Clock& clock, Files* files = nullptr)
      : tables_{tables}, clock_{clock}, files_{files} {}

  [[nodiscard]] const Tables& tables() const noexcept { return tables_; }

  // --- store::Store ---
  base::Status create_sale(const model::Sale& sale, const store::AuditEntry& audit) override;
  base::Result<model::Sale> find_sale(const model::SaleId& sale) override;
  base::Result<std::vector<model::Sale>> list_sales(std::int64_t limit) override;
  base::Status update_sale(const model::Sale& sale, const store::AuditEntry& audit) override;
  base::Status set_sale_state(const model::SaleId& sale, model::SaleState from, model::SaleState to,
                              const store::AuditEntry& audit) override;

  base::Status preload(const model::SaleId& sale, base::UtcMs now, const store::AuditEntry& audit) override;
  base::Result<store::ItemStock> item_stock(const model::ItemKey& item) override;
  base::Status add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                           const store::AuditEntry& audit) override;
  base::Status take_from_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                              const store::AuditEntry& audit) override;
  base::Status pool_to_lanes(std::span<const model::StockTransfer> transfers, const store::AuditEntry& audit) override;
  base::Result<std::optional<std::int64_t>> pool_change(const model::ItemKey& item, const std::string& id) override;
  base::Result<std::optional<model::StockTransfer>> find_transfer(const std::string& id) override;

  base::Result<std::vector<store::Landed>> land(std::span<const model::LaneRecord> records, base::UtcMs now) override;
  base::Status fail_intent(const model::OrderIntent& intent, model::FailReason reason, base::UtcMs now) override;

  base::Result<std::vector<store::Ended>> end_tickets(std::span<const store::EndCommand> commands) override;
  base::Result<std::vector<model::Ticket>> due_tickets(base::UtcMs now, std::int64_t limit) override;
  base::Result<std::vector<store::PendingRelease>> pending_releases(std::int64_t limit) override;
  base::Status acknowledge_releases(std::span<const std::int64_t> ids) override;
  base::Status acknowledge_released(std::span<const model::Ticket> tickets) override;

  base::Result<std::optional<store::Order>> find_order(const model::Ticket& ticket) override;
  base::Result<store::OrderPage> list_orders(const store::OrderQuery& query) override;
  base::Status visit_tickets(const model::ItemKey& item,
                             const std::function<void(const store::TicketRow&)>& visitor) override;
  base::Result<store::ItemAudit> audit_item(const model::ItemKey& item, base::UtcMs now) override;
  base::Result<std::vector<store::AuditRow>> audit_log(std::int64_t before_id, std::int64_t limit) override;

  base::Status append_audit(const store::AuditEntry& audit) override;
  base::Status backup(const std::string& path) override;
  base::Status probe() override { return {}; }

  // --- store::LaneAuthority ---
  base::Result<store::ItemAuthority> item_authority(const model::ItemKey& item) override;
  base::Result<std::vector<store::ItemAuthority>> sale_authority(const model::SaleId& sale) override;
  base::Status want_state(const model::ItemKey& item, store::LaneState wanted, const store::AuditEntry& audit) override;
  base::Result<std::optional<store::Lease>> acquire_lease(const std::string& name, const std::string& holder,
                                                          std::chrono::milliseconds ttl) override;
  base::Status report_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                           const std::string& why) override;
  base::Status close_lane(const model::ItemKey& item, model::LaneIndex lane, std::uint64_t token) override;
  base::Status drain_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                          std::uint64_t strays, std::uint64_t token) override;
  base::Result<store::RebuiltLane> rebuild_lane(const model::ItemKey& item, model::LaneIndex lane,
                                                std::uint64_t token) override;
  base::Status open_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                         store::LaneState to, const std::string& run_id, const std::string& replication_id,
                         std::uint64_t token) override;
  base::Result<store::TransferResult> commit_transfer(const store::LaneTransfer& transfer) override;
  base::Result<store::TransferResult> abandon_transfer(const store::LaneTransfer& transfer) override;
  base::Status close_transfer(const std::string& id) override;
  base::Result<std::optional<store::TransferState>> transfer_state(const std::string& id) override;
  base::Result<std::vector<store::LaneTransfer>> open_transfers(const model::ItemKey& item) override;

 private:
  base::Status change_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                           const store::AuditEntry& audit, std::string_view doing);

  std::mutex mutex_;
  Tables& tables_;  // guarded by mutex_
  const base::Clock& clock_;
  Files* files_;
};

// --- pieces that several topics share ---

// Writes the operator's entry in the transaction of his change.
void write_audit(Transaction& work, const store::AuditEntry& audit);
// nullptr: no such lane.
[[nodiscard]] store::LaneAuthorityRow* lane_of(ItemRow& item, std::int64_t lane);
// Applies a StockTransfer to pool and lanes and writes its row `closed`; an id that is known already changes nothing
// and returns false. Errors and their order as the SQL engines': constraint (no such lane), stale, oversell_guard (the
// source is short), constraint (a CHECK).
[[nodiscard]] base::Result<bool> apply_transfer(Transaction& work, ItemRow& item, const model::StockTransfer& transfer);
// The row as lanes must know it.
[[nodiscard]] store::TicketRow ticket_row(const store::Order& order);
// The order as it is read: a deadline only while a payment is awaited.
[[nodiscard]] store::Order order_read(const OrderRow& row);
[[nodiscard]] store::ItemStock stock_of(const ItemRow& item);
// Queues a release or post for the order's lane.
void write_outbox(Transaction& work, std::int64_t order_id, model::StockEffect effect);

}  // namespace seckill::sim
