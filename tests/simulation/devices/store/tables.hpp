// The simulated database's content as plain structs: one member a table of src/store/migrations, and the indexes that
// a database would keep. Copying it is a backup; reading it needs no transaction, because the simulator is one thread.
//
// Rows never leave a deque, so references to them stay good. Only a Transaction writes.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/lane_authority.hpp"
#include "store/store.hpp"

namespace seckill::sim {

struct SaleRow {
  model::Sale sale;                // without its items
  std::vector<std::size_t> items;  // places in Tables::items, in the order they were created
};

// buyer_units: `cap` is the highest limit that any of the buyer's tickets was admitted under.
struct BuyerUnits {
  std::int64_t units = 0;
  std::int64_t cap = 0;
};

// sale_item with its lane_stock, buyer_units and pool_change rows.
struct ItemRow {
  model::ItemKey key;
  std::size_t place = 0;  // in Tables::items
  model::SaleItem terms;  // terms.total is the column `total`
  std::int64_t pool = 0;
  std::vector<store::LaneAuthorityRow> lanes;  // ascending; empty before preload
  store::LaneState wanted = store::LaneState::lane;
  std::map<model::BuyerId, BuyerUnits> buyers;
  std::map<std::string, std::int64_t> pool_changes;
  std::vector<std::int64_t> orders;  // order ids in the order of landing
};

// seckill_order. `order.pay_before` keeps the deadline that was; only Tables' readers hide it.
struct OrderRow {
  std::int64_t order_id = 0;  // 1, 2, … : the order of landing
  std::size_t item = 0;
  store::Order order;
};

// stock_journal, keyed 2 × order_id for the hold and + 1 for its end: the key allows one of each.
enum class JournalEffect : std::uint8_t { hold = 1, post = 2, void_ = 3 };
struct JournalRow {
  std::size_t item = 0;
  model::LaneIndex lane = 0;
  std::int64_t units = 0;
  JournalEffect effect = JournalEffect::hold;
  base::UtcMs made_at = 0;
};
[[nodiscard]] constexpr std::int64_t hold_entry(std::int64_t order_id) noexcept { return 2 * order_id; }
[[nodiscard]] constexpr std::int64_t end_entry(std::int64_t order_id) noexcept { return 2 * order_id + 1; }

struct TransferRow {
  store::LaneTransfer transfer;
  store::TransferState state = store::TransferState::closed;
  base::UtcMs made_at = 0;
};

struct PaymentRow {
  std::int64_t order_id = 0;
  std::int64_t amount_minor = 0;
  model::Currency currency;
  base::UtcMs received_at = 0;
};
using PaymentName = std::pair<std::string, std::string>;  // provider, transaction id

struct OutboxRow {
  std::int64_t order_id = 0;
  model::StockEffect effect = model::StockEffect::void_;
};

struct LeaseRow {
  std::string holder;
  store::Lease lease;
};

// uk(item, buyer, request_id)
struct RequestKey {
  std::size_t item = 0;
  model::BuyerId buyer;
  model::RequestId request_id;
  friend bool operator==(const RequestKey&, const RequestKey&) = default;
  friend auto operator<=>(const RequestKey&, const RequestKey&) = default;
};

struct Tables {
  std::deque<SaleRow> sales;
  std::deque<ItemRow> items;
  std::deque<OrderRow> orders;
  std::map<std::int64_t, JournalRow> journal;
  std::map<std::string, TransferRow> transfers;
  std::map<PaymentName, PaymentRow> payments;
  std::map<std::int64_t, OutboxRow> outbox;
  std::map<std::string, LeaseRow> leases;
  std::deque<store::AuditEntry> audit;  // id = place + 1
  std::int64_t last_event = 0;          // an acknowledged id never names a later event
  // Lanes live in another process: nothing tells them what a landing or a top-up did but the store's own rows. So an
  // order that is paid as it lands owes its lane a post by the outbox, and a transfer to a lane stays open until its
  // credit. An embedded store's lanes learn both in their process.
  bool remote_lanes = false;

  // Indexes.
  std::map<model::SaleId, std::size_t> sale_by_id;
  std::map<model::ItemKey, std::size_t> item_by_key;
  std::unordered_map<model::Ticket, std::int64_t, model::TicketHash> order_by_ticket;
  std::map<RequestKey, std::int64_t> order_by_request;
  std::set<std::pair<base::UtcMs, std::int64_t>> awaiting_payment;  // (pay_before, order id)

  [[nodiscard]] SaleRow* find(const model::SaleId& sale);
  [[nodiscard]] ItemRow* find(const model::ItemKey& item);
  [[nodiscard]] OrderRow* find(const model::Ticket& ticket);
  [[nodiscard]] const JournalRow* entry(std::int64_t entry_id) const;
  // The sale as it is read: with its items.
  [[nodiscard]] model::Sale whole(const SaleRow& row) const;
};

// P1 and P2 of one item, and every CHECK of its rows: the first that does not hold, in words; empty when all do.
[[nodiscard]] std::string broken_rows(const ItemRow& item);

}  // namespace seckill::sim
