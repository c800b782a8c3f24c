// One client's connection to the simulated database: both ports of src/store over the kernel's virtual time.
//
// Every call passes a point before it is sent and one after a commit was answered, travels, is executed by the database
// as an event of nobody, and travels back; StoreFaults decides what goes wrong. A call that is on its way when its node
// crashes is executed all the same (a commit by the dead), unless the store is in the client's process.
//
//   points: land c3 c4 · end_tickets c6 c7 · acknowledge c8 c9 · others "<name>.asked" "<name>.committed", where name
//   is fail, preload, sale, pool, lanes, audit, want, lease, report, close, rebuild, open, drain, transfer, abandon,
//   settle
#pragma once

#include <functional>

#include "simulation/devices/store/sim_database.hpp"
#include "simulation/devices/store/store_faults.hpp"
#include "simulation/kernel/kernel.hpp"

namespace seckill::sim {

// Belongs to one node's life, or to nobody (`node` nullptr: an operator, a test). Blocks whoever calls, by the kernel.
class SimStore final : public store::Store, public store::LaneAuthority {
 public:
  // All are borrowed. `kernel` nullptr: no time passes and nothing goes wrong.
  SimStore(Kernel* kernel, SimDatabase& database, Node* node, const StoreFaults& faults);

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
  base::Status probe() override;

  base::Result<store::ItemAuthority> item_authority(const model::ItemKey& item) override;
  base::Result<std::vector<store::ItemAuthority>> sale_authority(const model::SaleId& sale) override;
  base::Status want_state(const model::ItemKey& item, store::LaneState wanted, const store::AuditEntry& audit) override;
  base::Result<std::optional<store::Lease>> acquire_lease(const std::string& name, const std::string& holder,
                                                          std::chrono::milliseconds ttl) override;
  base::Status report_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                           const std::string& why) override;
  base::Status close_lane(const model::ItemKey& item, model::LaneIndex lane, std::uint64_t token) override;
  base::Result<store::RebuiltLane> rebuild_lane(const model::ItemKey& item, model::LaneIndex lane,
                                                std::uint64_t token) override;
  base::Status open_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                         store::LaneState to, const std::string& run_id, const std::string& replication_id,
                         std::uint64_t token) override;
  base::Status drain_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                          std::uint64_t strays, std::uint64_t token) override;
  base::Result<store::TransferResult> commit_transfer(const store::LaneTransfer& transfer) override;
  base::Result<store::TransferResult> abandon_transfer(const store::LaneTransfer& transfer) override;
  base::Status close_transfer(const std::string& id) override;
  base::Result<std::optional<store::TransferState>> transfer_state(const std::string& id) override;
  base::Result<std::vector<store::LaneTransfer>> open_transfers(const model::ItemKey& item) override;

 private:
  struct Call;
  struct Fate;
  template <typename T>
  struct Exchange;

  // What a call on its way still needs when its client is gone. Copied into its events.
  struct Link {
    Kernel* kernel;
    SimDatabase* database;
    Node* node;
    const StoreFaults* faults;

    // In the client's name: dropped when its node crashed meanwhile.
    void in_clients_name(Time delay, std::move_only_function<void()> event) const;
    template <typename T>
    void send(std::shared_ptr<Exchange<T>> exchange, const Fate& fate) const;
  };

  template <typename T>
  T call(const Call& what, std::move_only_function<T(SimDatabase&)> execute);
  // The next call's, always of the same number of dice: a fault that is switched off moves no other.
  Fate draw(const Call& what);
  // A planned crash at this point unwinds the caller here.
  void pass(const char* point);

  Link link_;
  Random random_;
};

}  // namespace seckill::sim
