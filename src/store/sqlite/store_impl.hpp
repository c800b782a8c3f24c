// The class behind store::sqlite::open(), private to this folder. Its methods stand in one file a topic: sales, stock,
// landing, ends, reads, audit, keeping.
//
// Every write method takes the write connection for one BEGIN IMMEDIATE … COMMIT; every read method borrows a read
// connection. Work inside a transaction returns a Status or Result; the transaction rolls back unless it was committed.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "drivers/sqlite.hpp"
#include "store/sqlite/checkpointer.hpp"
#include "store/sqlite/data_folder.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace seckill::store::sqlite {

using drivers::sqlite::Blob;
using drivers::sqlite::Connection;
using drivers::sqlite::Cursor;
using drivers::sqlite::Transaction;

// Read connections lent to one thread each. Any thread.
class ReaderPool {
 public:
  class Lease {
   public:
    Lease(ReaderPool& pool, std::unique_ptr<Connection> connection) noexcept
        : pool_{&pool}, connection_{std::move(connection)} {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (connection_) pool_->give_back(std::move(connection_));
    }
    Connection& operator*() const noexcept { return *connection_; }
    Connection* operator->() const noexcept { return connection_.get(); }

   private:
    ReaderPool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  void add(Connection connection);
  // Waits until a connection is free. The number of waiting threads is the callers' bound (store_reads_waiting_max).
  [[nodiscard]] Lease borrow();

 private:
  void give_back(std::unique_ptr<Connection> connection);
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> free_;  // guarded by mutex_
};

// The write lock, the write connection and an open transaction of one write method.
class WriteWork {
 public:
  WriteWork(std::unique_lock<std::mutex> lock, Connection& connection, Transaction transaction, std::string_view doing)
      : lock_{std::move(lock)}, connection_{connection}, transaction_{std::move(transaction)}, doing_{doing} {}

  template <typename... Args>
  [[nodiscard]] base::Result<std::int64_t> run(std::string_view sql, const Args&... args) {
    return connection_.run(doing_, sql, args...);
  }
  template <typename... Args>
  [[nodiscard]] base::Result<Cursor> query(std::string_view sql, const Args&... args) {
    return connection_.query(doing_, sql, args...);
  }
  [[nodiscard]] std::int64_t last_insert_id() const noexcept { return connection_.last_insert_id(); }
  [[nodiscard]] std::string_view doing() const noexcept { return doing_; }
  [[nodiscard]] std::unexpected<base::Error> fail(base::Errc code, std::string cause) const {
    return base::fail(code, std::string{doing_}, std::move(cause));
  }
  // Durable when it returns a value. Aborts the process when the outcome is unknown (see sqlite_store.hpp).
  [[nodiscard]] base::Status commit();

 private:
  std::unique_lock<std::mutex> lock_;  // first member, released last: the transaction ends under it
  Connection& connection_;
  Transaction transaction_;
  std::string_view doing_;
};

// An item as the write methods need it.
struct ItemRow {
  std::int64_t item_id = 0;
  std::int64_t total = 0;
  std::int64_t pool = 0;
  std::int64_t reserve = 0;
  std::int64_t lanes = 0;
  std::int64_t pay_window_ms = 0;
};

// The units of stock_transfer, pool_change and stock_journal rows are moved by these numbers.
inline constexpr std::int64_t effect_hold = 1;
inline constexpr std::int64_t effect_post = 2;
inline constexpr std::int64_t effect_void = 3;
// Keys of stock_journal: the key itself allows one hold and one end a ticket.
[[nodiscard]] constexpr std::int64_t hold_entry(std::int64_t order_id) noexcept { return 2 * order_id; }
[[nodiscard]] constexpr std::int64_t end_entry(std::int64_t order_id) noexcept { return 2 * order_id + 1; }

inline constexpr std::int64_t lane_state_lane = 1;
inline constexpr std::int64_t transfer_closed = 2;
inline constexpr std::int64_t payment_applied = 2;

class SqliteStore final : public Store {
 public:
  SqliteStore(DataFolder folder, Connection writer) : folder_{std::move(folder)}, writer_{std::move(writer)} {}
  ~SqliteStore() override;

  base::Status create_sale(const model::Sale& sale, const AuditEntry& audit) override;
  base::Result<model::Sale> find_sale(const model::SaleId& sale) override;
  base::Result<std::vector<model::Sale>> list_sales(std::int64_t limit) override;
  base::Status update_sale(const model::Sale& sale, const AuditEntry& audit) override;
  base::Status set_sale_state(const model::SaleId& sale, model::SaleState from, model::SaleState to,
                              const AuditEntry& audit) override;

  base::Status preload(const model::SaleId& sale, base::UtcMs now, const AuditEntry& audit) override;
  base::Result<ItemStock> item_stock(const model::ItemKey& item) override;
  base::Status add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                           const AuditEntry& audit) override;
  base::Status take_from_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                              const AuditEntry& audit) override;
  base::Status pool_to_lanes(std::span<const model::StockTransfer> transfers, const AuditEntry& audit) override;
  base::Result<std::optional<std::int64_t>> pool_change(const model::ItemKey& item, const std::string& id) override;
  base::Result<std::optional<model::StockTransfer>> find_transfer(const std::string& id) override;

  base::Result<std::vector<Landed>> land(std::span<const model::LaneRecord> records, base::UtcMs now) override;
  base::Status fail_intent(const model::OrderIntent& intent, model::FailReason reason, base::UtcMs now) override;

  base::Result<std::vector<Ended>> end_tickets(std::span<const EndCommand> commands) override;
  base::Result<std::vector<model::Ticket>> due_tickets(base::UtcMs now, std::int64_t limit) override;
  base::Result<std::vector<PendingRelease>> pending_releases(std::int64_t limit) override;
  base::Status acknowledge_releases(std::span<const std::int64_t> ids) override;
  base::Status acknowledge_released(std::span<const model::Ticket> tickets) override;

  base::Result<std::optional<Order>> find_order(const model::Ticket& ticket) override;
  base::Result<OrderPage> list_orders(const OrderQuery& query) override;
  base::Status visit_tickets(const model::ItemKey& item, const std::function<void(const TicketRow&)>& visitor) override;
  base::Result<ItemAudit> audit_item(const model::ItemKey& item, base::UtcMs now) override;
  base::Result<std::vector<AuditRow>> audit_log(std::int64_t before_id, std::int64_t limit) override;

  base::Status append_audit(const AuditEntry& audit) override;
  base::Status backup(const std::string& path) override;
  base::Status probe() override;

  // Set-up by open(), before any other thread knows the store.
  ReaderPool& readers() noexcept { return readers_; }
  void start_checkpoints(Connection connection);

 private:
  // Waits for the write connection and begins; `doing` must outlive the work.
  base::Result<WriteWork> begin_write(std::string_view doing);
  base::Status change_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                           const AuditEntry& audit, std::string_view doing);

  DataFolder folder_;
  std::mutex write_mutex_;
  Connection writer_;  // guarded by write_mutex_
  ReaderPool readers_;
  std::unique_ptr<Checkpointer> checkpointer_;  // constant after open(); last: it borrows the writer and its mutex
};

// --- pieces that several topics share ---

// Writes the operator's entry in the transaction of his change.
[[nodiscard]] base::Status write_audit(WriteWork& work, const AuditEntry& audit);
// Errc::not_found when the item does not exist.
[[nodiscard]] base::Result<ItemRow> find_item(WriteWork& work, const model::ItemKey& item);
[[nodiscard]] base::Result<std::int64_t> find_item_id(Connection& connection, std::string_view doing,
                                                      const model::ItemKey& item);
// Requires: a snapshot is open when the numbers must belong together.
[[nodiscard]] base::Result<ItemStock> read_stock(Connection& connection, std::string_view doing,
                                                 const model::ItemKey& item);
// Applies one transfer to pool and lanes by conditional updates and writes its row; an id that is known already changes
// nothing and returns false. Errc::oversell_guard: the source is short. stale: of another generation. constraint: no
// such lane. `item_id` belongs to transfer.item.
[[nodiscard]] base::Result<bool> apply_transfer(WriteWork& work, std::int64_t item_id,
                                                const model::StockTransfer& transfer);

[[nodiscard]] inline Blob blob_of(const model::Ticket& ticket) noexcept { return {ticket.bytes()}; }
// What a read makes of a value that no CHECK of the schema would have let in, which a damaged file can hold all the
// same: nullopt, and the caller answers Errc::corrupt.
[[nodiscard]] inline std::optional<model::LaneIndex> lane_from(std::int64_t stored) noexcept {
  if (stored < 0 || stored >= std::int64_t{base::limits::lanes_max}) return std::nullopt;
  return static_cast<model::LaneIndex>(stored);
}
[[nodiscard]] inline std::optional<model::Generation> generation_from(std::int64_t stored) noexcept {
  if (stored < 1 || stored > std::int64_t{UINT32_MAX}) return std::nullopt;
  return static_cast<model::Generation>(stored);
}
[[nodiscard]] inline std::optional<model::ItemKey> item_from(std::string_view sale, std::string_view sku) noexcept {
  const auto sale_id = model::SaleId::parse(sale);
  const auto sku_id = model::Sku::parse(sku);
  if (!sale_id || !sku_id) return std::nullopt;
  return model::ItemKey{.sale = *sale_id, .sku = *sku_id};
}
// Counts of units that sums over an item's lanes can be made of.
[[nodiscard]] inline bool are_units(std::initializer_list<std::int64_t> counts) noexcept {
  constexpr std::int64_t most = INT64_MAX / 4 / std::int64_t{base::limits::lanes_max};
  return std::ranges::all_of(counts, [](std::int64_t count) { return count >= 0 && count <= most; });
}
// Errc::corrupt when the stored bytes are not a ticket.
[[nodiscard]] base::Result<model::Ticket> ticket_from(std::span<const std::uint8_t> bytes, std::string_view doing);
[[nodiscard]] inline std::unexpected<base::Error> corrupt_row(std::string_view doing, std::string_view what) {
  return base::fail(base::Errc::corrupt, std::string{doing},
                    "a stored row cannot be what was written: " + std::string{what});
}

}  // namespace seckill::store::sqlite
