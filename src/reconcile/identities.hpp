// The identities of DESIGN §9 as a pure check: a picture of one item, its lanes and its store rows, comes in; every
// difference goes out, with the repair its kind allows. No I/O, no clock. The simulator checks with it at every step,
// reconcile with the same function in production.
//
// A picture whose parts are of one instant may have a grace of 0 for what the protocols never leave open (sums, keys,
// journal); marks and rows meet by messages, so what they owe each other is judged only once it is older than the
// grace. Production pictures are not of one instant: lanes are read before the store, and what differs is read again.
//
// A lane takes part only while it is read, open, and of its stock row's generation in state `lane`: whatever else it
// is, a rebuild is on its way and will make it from the rows (§4.5). The store's own identities always hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "ledger/lane_stock.hpp"
#include "model/order_state.hpp"
#include "model/sale.hpp"
#include "store/lane_authority.hpp"
#include "store/store.hpp"

namespace seckill::reconcile {

// --- what is compared ---

// What a mark says of a ticket's units.
enum class MarkUnits : std::uint8_t { held, sold, ended };

// One ticket of one mark.
struct Mark {
  model::Ticket ticket;
  model::BuyerId buyer;
  std::int64_t units = 0;
  MarkUnits state = MarkUnits::held;
  bool published = false;
  base::UtcMs admitted_at = 0;

  [[nodiscard]] bool live() const noexcept { return state != MarkUnits::ended; }
};

// A transfer as a lane remembers it. Memory lanes remember none; theirs are those still on their way to the landing,
// `queued`, given to both of their lanes.
struct LaneRecord {
  std::string id;
  bool debit = false;  // else a credit
  std::int64_t units = 0;
  bool queued = false;  // both lanes have applied it, the store will
};

struct LanePicture {
  model::LaneIndex lane = 0;
  model::Generation generation = 0;
  bool open = false;  // also false when the lane was not read, or is on another server than its stock row names
  ledger::LaneStock stock;
  std::vector<Mark> marks;
  std::vector<LaneRecord> transfers;
};

struct LaneRowPicture {
  store::LaneRow row;
  store::LaneState state = store::LaneState::lane;
};

enum class JournalEffect : std::uint8_t { hold, post, void_ };
struct JournalEntry {
  model::Ticket ticket;
  model::LaneIndex lane = 0;
  std::int64_t units = 0;
  JournalEffect effect = JournalEffect::hold;
};

struct BuyerUnits {
  model::BuyerId buyer;
  std::int64_t units = 0;
  std::int64_t cap = 0;
};

struct Transfer {
  store::LaneTransfer transfer;
  store::TransferState state = store::TransferState::open;
};

struct Payment {
  std::string provider;
  std::string transaction_id;
  model::Ticket ticket;  // of the order it was booked to
  std::int64_t amount_minor = 0;
  model::Currency currency;
  bool refunded = false;  // it has a refund, or a record that one is due
};

// The item's rows, of one snapshot.
struct StorePicture {
  std::int64_t total = 0;
  std::int64_t pool = 0;
  std::vector<LaneRowPicture> lanes;
  std::vector<store::Order> orders;  // every row, ended ones too
  std::vector<JournalEntry> journal;
  std::vector<BuyerUnits> buyers;
  std::vector<Transfer> transfers;  // committed and abandoned
  std::vector<store::PendingRelease> releases;
  std::vector<Payment> payments;
};

struct ItemPicture {
  model::ItemKey item;
  StorePicture store;
  std::vector<LanePicture> lanes;  // those that could be read
  base::UtcMs now = 0;
  std::int64_t grace_ms = 0;
};

// --- what differs ---

enum class Repair : std::uint8_t {
  republish,       // the mark's intent goes to the queue again
  resend_release,  // the row's end goes to the lane again
  rebuild_lane,    // the lane is made from the store's rows
  person,          // nothing is done by itself; oversell closes the item's lanes
};

// Closed list; the comments say which rule is broken, and of what `expected` and `found` are numbers.
enum class DifferenceKind : std::uint8_t {
  oversell,           // P1: held + sold > total. expected: total; found: held + sold of the store's rows
  store_sum,          // P2: total = pool + Σ lanes (available + held + sold). expected: total; found: the sum
  lane_row_sum,       // a stock row's held and sold are its orders'. Numbers: held + sold, of orders; of the row
  lane_sum,           // P2: a lane has its row's units but those in transit. Numbers: units that should be there; are
  lane_marks,         // a lane's held and sold are its marks'. Numbers: held + sold, of marks; of the lane
  lane_over_store,    // store available ≥ lane available. expected: the row's; found: the lane's
  mark_without_row,   // P5, P6: a live mark older than the grace has a row. Numbers: units of the mark; 0
  row_without_mark,   // a live row has its live mark. Numbers: units of the row; 0
  mark_row_mismatch,  // mark and row of a ticket agree on buyer and units, and a mark is not sold before its row
  mark_of_ended_row,  // P8: no live mark has a row that ended. Numbers: 0; units of the mark
  mark_not_posted,    // a sold row's mark is sold. Numbers: units sold by the row; 0
  journal_hold,       // an order has one hold, of its lane and units. expected: 1 (failed: 0); found: how many fit
  journal_end,        // an order has the one end its state says. expected: 1 or 0; found: how many fit
  journal_without_order,  // an entry is of an order. Numbers: 0; its units
  buyer_units,            // buyer_units is the sum of the buyer's live orders. Numbers: that sum; the row's
  buyer_over_cap,         // P3: units ≤ cap. expected: cap; found: units
  release_without_end,    // a pending release is of an ended row, a pending post of a sold one
  paid_without_payment,   // P7: a sold order with a price has a payment. Numbers: its amount; 0
  payment_without_order,  // P7: a payment is of a sold order, or has its refund. Numbers: 0; its amount
  payment_of_free_order,  // a price-0 order has no payment. Numbers: 0; the payment's amount
  payment_amount,         // P7: a payment is of its order's amount and currency. Numbers: the order's; the payment's
};

[[nodiscard]] std::string_view name(DifferenceKind kind) noexcept;
[[nodiscard]] std::string_view name(Repair repair) noexcept;
[[nodiscard]] Repair repair_of(DifferenceKind kind) noexcept;

inline constexpr std::int32_t no_lane = -1;

struct Difference {
  DifferenceKind kind = DifferenceKind::oversell;
  std::int32_t lane = no_lane;
  model::BuyerId buyer;  // empty when it is not of one buyer
  model::Ticket ticket;  // none when it is not of one ticket
  std::int64_t expected = 0;
  std::int64_t found = 0;
  std::string text;  // one sentence with all of it
};

// Every difference of the picture, the store's own first, each list in the picture's order; empty when all identities
// hold. Pure; O(n log n) in the picture's rows.
[[nodiscard]] std::vector<Difference> differences(const ItemPicture& picture);

}  // namespace seckill::reconcile
