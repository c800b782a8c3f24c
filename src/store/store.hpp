// The store: the authority on sales, orders, stock rows, journal and audit. One port, two engines (SQLite here;
// MySQL/MariaDB in cluster mode), one contract suite (tests/contract/store_*.cpp) written against this file alone.
//
// Every method is one transaction: on an Error nothing of it was written (Errc::timeout excepted: unknown). Every
// method blocks and may be called from any thread but never from an io thread. Writes are durable when they return.
// Keeps P1 (conditional updates, checked row counts, CHECKs), P2 (journal), P3 (buyer_units), P4 (unique keys),
// P6 (one end a ticket).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "ledger/lane_stock.hpp"
#include "model/order_state.hpp"
#include "model/purchase.hpp"
#include "model/sale.hpp"

namespace seckill::store {

// Who asked and why, written in the same transaction as the operator's change. `actor` "system" for the program's own.
struct AuditEntry {
  std::string actor;
  std::string action;  // "sale.create", "item.top_up"
  std::string detail;  // one JSON object
  base::UtcMs at = 0;
};

struct AuditRow {
  std::int64_t id = 0;
  AuditEntry entry;
};

// One lane's stock row.
struct LaneRow {
  model::LaneIndex lane = 0;
  model::Generation generation = 1;
  ledger::LaneStock stock;
};

// An item's units as the store has them: P2 says total = pool + Σ lanes.
struct ItemStock {
  std::int64_t total = 0;
  std::int64_t pool = 0;
  std::vector<LaneRow> lanes;  // ascending; empty before preload
};

// An order row: what became of a ticket that landed.
struct Order {
  model::Ticket ticket;
  model::ItemKey item;
  model::BuyerId buyer;
  model::RequestId request_id;
  std::uint64_t digest = 0;
  model::LaneIndex lane = 0;
  std::int64_t units = 0;
  std::int64_t price_minor = 0;
  std::int64_t amount_minor = 0;
  model::Currency currency;
  model::OrderState state = model::OrderState::awaiting_payment;
  model::FailReason reason = model::FailReason::none;
  base::UtcMs admitted_at = 0;
  base::UtcMs landed_at = 0;
  base::UtcMs pay_before = 0;  // 0 when no payment is awaited
  base::UtcMs ended_at = 0;    // when it left awaiting_payment; 0 before
  std::string fields;          // canonical JSON, empty when none
};

// What landing did with one intent.
enum class LandedAs : std::uint8_t {
  ordered,        // inserted now
  already_live,   // its row is there and live or sold: a harmless duplicate
  already_ended,  // its row has ended: the caller sends its release again
  failed,         // a row `failed(reason)` exists or was written; the caller sends its release
  superseded,     // of an older generation than the stock row's: not landed, the caller asks the lane to adopt it
};
struct Landed {
  LandedAs as = LandedAs::ordered;
  model::OrderState state = model::OrderState::awaiting_payment;
  base::UtcMs pay_before = 0;
};

// One requested move of one ticket.
struct EndCommand {
  model::Ticket ticket;
  model::OrderEvent event = model::OrderEvent::cancel;
  base::UtcMs now = 0;
  std::optional<model::BuyerId> buyer;  // set: only the order of this buyer (others see not_found, FS-24)
  std::string payment_provider;         // pay only
  std::string payment_id;               // pay only: the provider's transaction, unique with the provider
};
enum class EndResult : std::uint8_t {
  done,           // the move was made now; `effect` says what the lane must do
  already_there,  // the order was in the target state by this same event (and payment) before
  illegal,        // the transition table refuses: nothing changed; `state` is the present one
  too_late,       // pay after pay_before, or expire before it
  not_found,      // no such order, or another buyer's
};
struct Ended {
  EndResult result = EndResult::not_found;
  model::OrderState state = model::OrderState::failed;
  model::StockEffect effect = model::StockEffect::none;
  model::ItemKey item;  // set unless not_found, with lane and units: where the release goes
  std::int64_t units = 0;
};

// A ticket as a lane must know it after a restart or rebuild.
struct TicketRow {
  model::Ticket ticket;
  model::BuyerId buyer;
  model::RequestId request_id;
  std::uint64_t digest = 0;
  std::int64_t units = 0;
  model::OrderState state = model::OrderState::awaiting_payment;
  base::UtcMs admitted_at = 0;
};

// A release or post that a lane has not acknowledged yet (event_outbox).
struct PendingRelease {
  std::int64_t id = 0;
  model::Ticket ticket;
  model::ItemKey item;
  model::StockEffect effect = model::StockEffect::void_;
};

struct OrderQuery {
  std::optional<model::BuyerId> buyer;
  std::optional<model::SaleId> sale;
  std::optional<model::OrderState> state;
  std::int64_t before = 0;  // exclusive cursor: `next` of the page before; 0 = newest
  std::int64_t limit = 20;  // 1..1000
};
struct OrderPage {
  std::vector<Order> orders;  // newest first
  std::int64_t next = 0;      // 0: no more
};

// Counts that the verdict and the console read, of one consistent snapshot.
struct ItemAudit {
  model::ItemKey item;
  ItemStock stock;
  std::int64_t orders_held_units = 0;  // Σ units of orders in a held state
  std::int64_t orders_sold_units = 0;
  std::int64_t orders_by_state[9] = {};   // index = OrderState number
  std::int64_t buyers_over_cap = 0;       // buyer_units rows with units > cap: must be 0 (P3)
  std::int64_t buyer_units_mismatch = 0;  // buyers whose units differ from the sum of their live orders
  std::int64_t journal_mismatch = 0;  // orders without exactly one hold, or with other than the end their state says
  std::int64_t lane_mismatch = 0;     // lanes whose held or sold differs from their orders
  std::int64_t paid_without_payment = 0;   // paid orders with a price and no payment row (P7)
  std::int64_t payment_without_order = 0;  // payments whose order is not paid or refunded
  std::int64_t overdue = 0;                // awaiting_payment past pay_before by more than 5 s (P6)
};

class Store {
 public:
  virtual ~Store() = default;

  // --- sales ---
  // already_exists when the id is taken. Requires: problems_of(sale) is empty.
  virtual base::Status create_sale(const model::Sale& sale, const AuditEntry& audit) = 0;
  virtual base::Result<model::Sale> find_sale(const model::SaleId& sale) = 0;         // not_found
  virtual base::Result<std::vector<model::Sale>> list_sales(std::int64_t limit) = 0;  // newest first
  // Replaces title, times and item terms; Errc::stale unless the stored version is sale.version − 1.
  virtual base::Status update_sale(const model::Sale& sale, const AuditEntry& audit) = 0;
  // Sets the state and raises the version; Errc::stale unless the stored state is `from`.
  virtual base::Status set_sale_state(const model::SaleId& sale, model::SaleState from, model::SaleState to,
                                      const AuditEntry& audit) = 0;

  // --- stock ---
  // Moves each item's units (total − reserve) from the pool to its lanes by transfers with fixed ids, makes the lane
  // rows and fixes the number of lanes; repeating changes nothing (FS-03). The sale becomes `preloaded`.
  virtual base::Status preload(const model::SaleId& sale, base::UtcMs now, const AuditEntry& audit) = 0;
  virtual base::Result<ItemStock> item_stock(const model::ItemKey& item) = 0;
  // Adds new units to total and pool. `id` makes it idempotent: the same id again changes nothing.
  virtual base::Status add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                                   const AuditEntry& audit) = 0;
  // Takes units out of pool and total (a reduction). Errc::refused when the pool has fewer. Idempotent by id.
  virtual base::Status take_from_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                                      const AuditEntry& audit) = 0;
  // Moves pool units to a lane. Errc::refused when the pool has fewer. Idempotent by transfer id. Shapes and items of
  // all transfers are judged before any unit moves.
  virtual base::Status pool_to_lanes(std::span<const model::StockTransfer> transfers, const AuditEntry& audit) = 0;
  // The units that add_to_pool (positive) or take_from_pool (negative) moved under this id; nullopt: never.
  virtual base::Result<std::optional<std::int64_t>> pool_change(const model::ItemKey& item, const std::string& id) = 0;
  // The committed transfer of this id; nullopt: there is none.
  virtual base::Result<std::optional<model::StockTransfer>> find_transfer(const std::string& id) = 0;

  // --- landing ---
  // One transaction for all records, in their order: transfers move stock rows, intents become orders with journal
  // hold and buyer_units, price-0 intents are paid at once. One Landed for each intent, in order.
  // Errc::constraint: some intent violates a key or CHECK (nothing was written; land one by one to find it); `cause`
  // contains "buyer_units" when it is the purchase limit. Of several faults in one batch any may be named, of one
  // intent's always the same.
  // Errc::oversell_guard: a stock row is short for its holds (nothing was written).
  virtual base::Result<std::vector<Landed>> land(std::span<const model::LaneRecord> records, base::UtcMs now) = 0;
  // Writes the row `failed(reason)` of an intent that cannot land. Harmless when a row exists already.
  virtual base::Status fail_intent(const model::OrderIntent& intent, model::FailReason reason, base::UtcMs now) = 0;

  // --- how tickets end ---
  // All in one transaction, each by its own conditional update; one Ended for each command, in order. A move with an
  // effect also writes its outbox row.
  virtual base::Result<std::vector<Ended>> end_tickets(std::span<const EndCommand> commands) = 0;
  // Tickets awaiting payment whose pay_before < now, oldest first; read through the deadline index.
  virtual base::Result<std::vector<model::Ticket>> due_tickets(base::UtcMs now, std::int64_t limit) = 0;
  virtual base::Result<std::vector<PendingRelease>> pending_releases(std::int64_t limit) = 0;
  virtual base::Status acknowledge_releases(std::span<const std::int64_t> ids) = 0;
  // Releases of these tickets that the lanes have acknowledged (by ticket, the common case).
  virtual base::Status acknowledge_released(std::span<const model::Ticket> tickets) = 0;

  // --- reading ---
  virtual base::Result<std::optional<Order>> find_order(const model::Ticket& ticket) = 0;
  virtual base::Result<OrderPage> list_orders(const OrderQuery& query) = 0;
  // Every ticket of an item, streamed in no order: how lanes are built at start. The visitor must not call the store.
  virtual base::Status visit_tickets(const model::ItemKey& item,
                                     const std::function<void(const TicketRow&)>& visitor) = 0;
  virtual base::Result<ItemAudit> audit_item(const model::ItemKey& item, base::UtcMs now) = 0;
  virtual base::Result<std::vector<AuditRow>> audit_log(std::int64_t before_id, std::int64_t limit) = 0;

  // --- keeping ---
  virtual base::Status append_audit(const AuditEntry& audit) = 0;
  // A consistent copy of everything into a new file; the store goes on meanwhile. already_exists; disk_full.
  virtual base::Status backup(const std::string& path) = 0;
  // A trivial write: does the disk take writes again after disk_full?
  virtual base::Status probe() = 0;
};

}  // namespace seckill::store
