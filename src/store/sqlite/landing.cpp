// Landing: a batch of lane records becomes orders in one transaction (DESIGN §4.2).
//
// The store's clock and rows decide; the intent says what its lane admitted. Rows are inserted without IGNORE, so a
// broken key or CHECK rolls the whole batch back. Stock rows move once a batch by what was really inserted,
// conditionally. Keeps P1 (a short row refuses the batch), P2, P3 (CHECK of buyer_units), P4 (unique keys).
#include <fmt/format.h>

#include <algorithm>

#include "base/limits.hpp"
#include "store/sqlite/store_impl.hpp"

namespace seckill::store::sqlite {
namespace {

using base::Errc;
using model::OrderState;

struct StoredTicket {
  OrderState state = OrderState::failed;
  base::UtcMs pay_before = 0;
};

base::Result<std::optional<StoredTicket>> find_ticket(WriteWork& work, const model::Ticket& ticket) {
  auto cursor = work.query("SELECT state, pay_before FROM seckill_order WHERE ticket = ?", blob_of(ticket));
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::optional<StoredTicket>{};
  const auto state = model::order_state_from(cursor->integer(0));
  if (!state) return corrupt_row(work.doing(), "the state of ticket " + ticket.str());
  return StoredTicket{.state = *state, .pay_before = cursor->integer(1)};
}

// What a row that is there already means for a repeated intent.
Landed landed_before(const StoredTicket& stored) noexcept {
  LandedAs as = LandedAs::already_ended;
  if (stored.state == OrderState::failed) {
    as = LandedAs::failed;
  } else if (!model::is_ended(stored.state)) {
    as = LandedAs::already_live;
  }
  const bool awaited = stored.state == OrderState::awaiting_payment || stored.state == OrderState::closing;
  return {.as = as, .state = stored.state, .pay_before = awaited ? stored.pay_before : 0};
}

// The row of a new order in every column but its key.
struct NewRow {
  OrderState state = OrderState::awaiting_payment;
  model::FailReason reason = model::FailReason::none;
  std::int64_t amount_minor = 0;
  base::UtcMs landed_at = 0;
  base::UtcMs pay_before = 0;
  base::UtcMs ended_at = 0;
};

base::Result<std::int64_t> insert_order(WriteWork& work, std::int64_t item_id, const model::OrderIntent& intent,
                                        std::string_view request_id, const NewRow& row) {
  return work.run(
      "INSERT INTO seckill_order (ticket, item_id, buyer, request_id, digest, lane, units, price_minor, amount_minor, "
      "currency, state, reason, admitted_at, landed_at, pay_before, ended_at, fields) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      blob_of(intent.ticket), item_id, intent.buyer.view(), request_id, static_cast<std::int64_t>(intent.digest),
      std::int64_t{intent.lane}, intent.units, intent.price_minor, row.amount_minor, intent.currency.view(),
      static_cast<std::int64_t>(row.state), static_cast<std::int64_t>(row.reason), intent.admitted_at, row.landed_at,
      row.pay_before, row.ended_at, intent.fields ? std::string_view{*intent.fields} : std::string_view{});
}

class LandingBatch {
 public:
  LandingBatch(WriteWork& work, base::UtcMs now) : work_{work}, now_{now} {}

  base::Result<Landed> land(const model::OrderIntent& intent);
  base::Status move(const model::StockTransfer& transfer);
  // Moves the stock rows by all that was inserted. Call once, last.
  base::Status move_stock();

 private:
  struct Lane {
    std::int64_t item_id = 0;
    std::int64_t lane = 0;
    std::int64_t generation = 0;
    std::int64_t held = 0;  // units that go from available to held
    std::int64_t sold = 0;  // and to sold at once
  };

  base::Result<std::int64_t> item_id(const model::ItemKey& item);
  // Reads the stock row at its first use: under the write lock it stays as read. Errc::constraint: no such lane.
  base::Result<Lane*> lane_of(std::int64_t item_id, model::LaneIndex lane);
  base::Status write_rows(Lane& lane, const model::OrderIntent& intent, const NewRow& row);

  WriteWork& work_;
  base::UtcMs now_;
  std::vector<std::pair<model::ItemKey, std::int64_t>> items_;  // few a batch: a search in line beats a table
  std::vector<Lane> lanes_;
};

base::Result<std::int64_t> LandingBatch::item_id(const model::ItemKey& item) {
  const auto known = std::ranges::find(items_, item, &std::pair<model::ItemKey, std::int64_t>::first);
  if (known != items_.end()) return known->second;
  auto row = find_item(work_, item);
  if (!row) {
    // To the landing an unknown item is a poison message, not a missing page.
    if (row.error().code == Errc::not_found) row.error().code = Errc::constraint;
    return std::unexpected(std::move(row.error()));
  }
  items_.emplace_back(item, row->item_id);
  return row->item_id;
}

base::Result<LandingBatch::Lane*> LandingBatch::lane_of(std::int64_t item_id, model::LaneIndex lane) {
  const auto known =
      std::ranges::find_if(lanes_, [&](const Lane& l) { return l.lane == lane && l.item_id == item_id; });
  if (known != lanes_.end()) return &*known;
  auto cursor =
      work_.query("SELECT generation FROM lane_stock WHERE item_id = ? AND lane = ?", item_id, std::int64_t{lane});
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return work_.fail(Errc::constraint, fmt::format("an item without lane {}", lane));
  lanes_.push_back({.item_id = item_id, .lane = lane, .generation = cursor->integer(0)});
  return &lanes_.back();
}

base::Status LandingBatch::write_rows(Lane& lane, const model::OrderIntent& intent, const NewRow& row) {
  const auto inserted = insert_order(work_, lane.item_id, intent, intent.request_id.view(), row);
  if (!inserted) return std::unexpected(inserted.error());
  const std::int64_t order_id = work_.last_insert_id();
  constexpr std::string_view journal =
      "INSERT INTO stock_journal (entry_id, item_id, lane, units, effect, made_at) VALUES (?, ?, ?, ?, ?, ?)";
  const auto held = work_.run(journal, hold_entry(order_id), lane.item_id, lane.lane, intent.units, effect_hold, now_);
  if (!held) return std::unexpected(held.error());
  if (row.state == OrderState::paid) {
    const auto posted =
        work_.run(journal, end_entry(order_id), lane.item_id, lane.lane, intent.units, effect_post, now_);
    if (!posted) return std::unexpected(posted.error());
  }
  const auto counted = work_.run(
      "INSERT INTO buyer_units (item_id, buyer, units, cap) VALUES (?, ?, ?, ?) ON CONFLICT (item_id, buyer) "
      "DO UPDATE SET units = units + excluded.units, cap = max(cap, excluded.cap)",
      lane.item_id, intent.buyer.view(), intent.units, intent.limit);
  if (!counted) return std::unexpected(counted.error());
  return {};
}

base::Result<Landed> LandingBatch::land(const model::OrderIntent& intent) {
  const auto id = item_id(intent.item);
  if (!id) return std::unexpected(id.error());
  // A row of this ticket answers before the generation: what landed has landed, whatever was rebuilt since.
  const auto stored = find_ticket(work_, intent.ticket);
  if (!stored) return std::unexpected(stored.error());
  if (*stored) return landed_before(**stored);
  const auto lane = lane_of(*id, intent.lane);
  if (!lane) return std::unexpected(lane.error());
  if ((*lane)->generation != intent.generation) return Landed{.as = LandedAs::superseded};

  const auto amount = model::amount_minor(intent.price_minor, intent.units);
  if (!amount) return work_.fail(Errc::constraint, "the amount of ticket " + intent.ticket.str() + " does not fit");
  const bool paid_at_once = intent.price_minor == 0;
  const NewRow row{.state = paid_at_once ? OrderState::paid : OrderState::awaiting_payment,
                   .amount_minor = *amount,
                   .landed_at = now_,
                   .pay_before = paid_at_once ? 0 : now_ + intent.pay_window_ms,
                   .ended_at = paid_at_once ? now_ : 0};
  if (auto written = write_rows(**lane, intent, row); !written) return std::unexpected(written.error());
  (paid_at_once ? (*lane)->sold : (*lane)->held) += intent.units;
  return Landed{.as = LandedAs::ordered, .state = row.state, .pay_before = row.pay_before};
}

base::Status LandingBatch::move(const model::StockTransfer& transfer) {
  const auto id = item_id(transfer.item);
  if (!id) return std::unexpected(id.error());
  // Holds before this record are taken first: in the lane's order they came before these units left.
  if (auto moved = move_stock(); !moved) return moved;
  const auto applied = apply_transfer(work_, *id, transfer);
  // Of an older generation: the rebuild has closed or abandoned it, and the lane was built without it.
  if (!applied && applied.error().code != Errc::stale) return std::unexpected(applied.error());
  return {};
}

base::Status LandingBatch::move_stock() {
  for (Lane& lane : lanes_) {
    if (lane.held == 0 && lane.sold == 0) continue;
    const auto moved = work_.run(
        "UPDATE lane_stock SET available = available - ?1 - ?2, held = held + ?1, sold = sold + ?2, "
        "version = version + 1 WHERE item_id = ?3 AND lane = ?4 AND generation = ?5 AND available - ?1 - ?2 >= 0",
        lane.held, lane.sold, lane.item_id, lane.lane, lane.generation);
    if (!moved) return std::unexpected(moved.error());
    if (*moved != 1) {
      return work_.fail(Errc::oversell_guard, fmt::format("lane {} of item {} has fewer than {} units for its holds",
                                                          lane.lane, lane.item_id, lane.held + lane.sold));
    }
    lane.held = 0;
    lane.sold = 0;
  }
  return {};
}

}  // namespace

base::Result<std::vector<Landed>> SqliteStore::land(std::span<const model::LaneRecord> records, base::UtcMs now) {
  auto work = begin_write("landing a batch");
  if (!work) return std::unexpected(work.error());
  LandingBatch batch{*work, now};
  std::vector<Landed> results;
  results.reserve(records.size());
  for (const model::LaneRecord& record : records) {
    if (const auto* intent = std::get_if<model::OrderIntent>(&record)) {
      const auto landed = batch.land(*intent);
      if (!landed) return std::unexpected(landed.error());
      results.push_back(*landed);
    } else if (auto moved = batch.move(std::get<model::StockTransfer>(record)); !moved) {
      return std::unexpected(moved.error());
    }
  }
  if (auto moved = batch.move_stock(); !moved) return std::unexpected(moved.error());
  if (auto committed = work->commit(); !committed) return std::unexpected(committed.error());
  return results;
}

base::Status SqliteStore::fail_intent(const model::OrderIntent& intent, model::FailReason reason, base::UtcMs now) {
  const std::string doing = "failing ticket " + intent.ticket.str();
  auto work = begin_write(doing);
  if (!work) return std::unexpected(work.error());
  const auto item = find_item(*work, intent.item);
  if (!item) return std::unexpected(item.error());
  const auto stored = find_ticket(*work, intent.ticket);
  if (!stored) return std::unexpected(stored.error());
  if (*stored) return {};
  // What cannot land may hold any number; the row takes part in sums, so it keeps only what a sale could have.
  model::OrderIntent recorded = intent;
  if (recorded.units < 1 || recorded.units > base::limits::units_per_item_max) recorded.units = 0;
  recorded.price_minor = std::max<std::int64_t>(recorded.price_minor, 0);
  const NewRow row{.state = OrderState::failed, .reason = reason, .landed_at = now, .ended_at = now};
  auto inserted = insert_order(*work, item->item_id, recorded, recorded.request_id.view(), row);
  if (!inserted && inserted.error().code == Errc::constraint) {
    // Another ticket has this request id, which no derivation makes. The intent must still end: its row gets a name
    // that no request can have.
    inserted = insert_order(*work, item->item_id, recorded, "failed:" + intent.ticket.str(), row);
  }
  if (!inserted) return std::unexpected(inserted.error());
  const auto queued = work->run("INSERT INTO event_outbox (order_id, effect, made_at) VALUES (?, ?, ?)",
                                work->last_insert_id(), effect_void, now);
  if (!queued) return std::unexpected(queued.error());
  return work->commit();
}

}  // namespace seckill::store::sqlite
