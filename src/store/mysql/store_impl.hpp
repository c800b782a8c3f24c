// The class behind store::mysql::open(), private to this folder. Its methods stand in one file a topic: sales, stock,
// landing, ends, reads, audit, keeping; authority, leases, transfers, switches.
//
// pool.hpp has the transactions and the lock order, rows.hpp what is read from stored values.
#pragma once

#include "store/mysql/pool.hpp"
#include "store/mysql/rows.hpp"

namespace seckill::store::mysql {

class MysqlStoreImpl final : public MysqlStore {
 public:
  explicit MysqlStoreImpl(const MysqlConfig& config);

  // --- Store: sales ---
  base::Status create_sale(const model::Sale& sale, const AuditEntry& audit) override;
  base::Result<model::Sale> find_sale(const model::SaleId& sale) override;
  base::Result<std::vector<model::Sale>> list_sales(std::int64_t limit) override;
  base::Status update_sale(const model::Sale& sale, const AuditEntry& audit) override;
  base::Status set_sale_state(const model::SaleId& sale, model::SaleState from, model::SaleState to,
                              const AuditEntry& audit) override;
  // --- Store: stock ---
  base::Status preload(const model::SaleId& sale, base::UtcMs now, const AuditEntry& audit) override;
  base::Result<ItemStock> item_stock(const model::ItemKey& item) override;
  base::Status add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                           const AuditEntry& audit) override;
  base::Status take_from_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                              const AuditEntry& audit) override;
  base::Status pool_to_lanes(std::span<const model::StockTransfer> transfers, const AuditEntry& audit) override;
  base::Result<std::optional<std::int64_t>> pool_change(const model::ItemKey& item, const std::string& id) override;
  base::Result<std::optional<model::StockTransfer>> find_transfer(const std::string& id) override;
  // --- Store: landing ---
  base::Result<std::vector<Landed>> land(std::span<const model::LaneRecord> records, base::UtcMs now) override;
  base::Status fail_intent(const model::OrderIntent& intent, model::FailReason reason, base::UtcMs now) override;
  // --- Store: ends ---
  base::Result<std::vector<Ended>> end_tickets(std::span<const EndCommand> commands) override;
  base::Result<std::vector<model::Ticket>> due_tickets(base::UtcMs now, std::int64_t limit) override;
  base::Result<std::vector<PendingRelease>> pending_releases(std::int64_t limit) override;
  base::Status acknowledge_releases(std::span<const std::int64_t> ids) override;
  base::Status acknowledge_released(std::span<const model::Ticket> tickets) override;
  // --- Store: reads, audit ---
  base::Result<std::optional<Order>> find_order(const model::Ticket& ticket) override;
  base::Result<OrderPage> list_orders(const OrderQuery& query) override;
  base::Status visit_tickets(const model::ItemKey& item, const std::function<void(const TicketRow&)>& visitor) override;
  base::Result<ItemAudit> audit_item(const model::ItemKey& item, base::UtcMs now) override;
  base::Result<std::vector<AuditRow>> audit_log(std::int64_t before_id, std::int64_t limit) override;
  // --- Store: keeping ---
  base::Status append_audit(const AuditEntry& audit) override;
  base::Status backup(const std::string& path) override;
  base::Status probe() override;

  // --- LaneAuthority ---
  base::Result<ItemAuthority> item_authority(const model::ItemKey& item) override;
  base::Result<std::vector<ItemAuthority>> sale_authority(const model::SaleId& sale) override;
  base::Status want_state(const model::ItemKey& item, LaneState wanted, const AuditEntry& audit) override;
  base::Result<std::optional<Lease>> acquire_lease(const std::string& name, const std::string& holder,
                                                   std::chrono::milliseconds ttl) override;
  base::Status report_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                           const std::string& why) override;
  base::Status close_lane(const model::ItemKey& item, model::LaneIndex lane, std::uint64_t token) override;
  base::Result<RebuiltLane> rebuild_lane(const model::ItemKey& item, model::LaneIndex lane,
                                         std::uint64_t token) override;
  base::Status open_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation, LaneState to,
                         const std::string& run_id, const std::string& replication_id, std::uint64_t token) override;
  base::Status drain_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                          std::uint64_t strays, std::uint64_t token) override;
  base::Result<TransferResult> commit_transfer(const LaneTransfer& transfer) override;
  base::Result<TransferResult> abandon_transfer(const LaneTransfer& transfer) override;
  base::Status close_transfer(const std::string& id) override;
  base::Result<std::optional<TransferState>> transfer_state(const std::string& id) override;
  base::Result<std::vector<LaneTransfer>> open_transfers(const model::ItemKey& item) override;

  // --- SwitchBoard ---
  base::Result<std::vector<SwitchRow>> switches() override;
  base::Status set_switch(const std::string& name, const std::string& value, const AuditEntry& audit) override;
  base::Result<base::UtcMs> store_now() override;

  [[nodiscard]] MysqlCounters counters() const noexcept override;

 private:
  base::Status change_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                           const AuditEntry& audit, std::string_view doing);

  const MysqlConfig config_;
  PoolCounters counters_;
  Pool writes_;     // landing and ends
  Pool reads_;      // consistent readings; never writes
  Pool operating_;  // sales, stock changes, leases, authority, switches, outbox
  Pool rebuilds_;   // whole lanes, which take their time: nobody's lease waits behind them
};

}  // namespace seckill::store::mysql
