// Landing: a batch of lane records becomes orders in one transaction (DESIGN §4.2), checks and errors in the order of
// the SQL engines; and on lanes whose row says `store`, the landing itself admits (DESIGN §4.6).
#include <fmt/format.h>

#include <algorithm>

#include "base/limits.hpp"
#include "simulation/devices/store/sim_database.hpp"
#include "simulation/devices/store/transaction.hpp"

namespace seckill::sim {
namespace {

using base::Errc;
using model::FailReason;
using model::OrderState;
using store::Landed;
using store::LandedAs;

// What a row that is there already means for a repeated intent.
Landed landed_before(const store::Order& order) noexcept {
  LandedAs as = LandedAs::already_ended;
  if (order.state == OrderState::failed) {
    as = LandedAs::failed;
  } else if (!model::is_ended(order.state)) {
    as = LandedAs::already_live;
  }
  const bool awaited = order.state == OrderState::awaiting_payment || order.state == OrderState::closing;
  return {.as = as, .state = order.state, .pay_before = awaited ? order.pay_before : 0};
}

// The columns of a new order that the intent does not say.
struct NewRow {
  OrderState state = OrderState::awaiting_payment;
  FailReason reason = FailReason::none;
  std::int64_t amount_minor = 0;
  base::UtcMs landed_at = 0;
  base::UtcMs pay_before = 0;
  base::UtcMs ended_at = 0;
};

// The CHECKs and keys of seckill_order; empty when the row fits.
std::string refused_by_keys(Tables& tables, const ItemRow& item, const model::OrderIntent& intent,
                            const model::RequestId& request_id, OrderState state) {
  if (intent.units < 1 && state != OrderState::failed) return "CHECK units of seckill_order";
  if (intent.price_minor < 0) return "CHECK price_minor of seckill_order";
  if (tables.find(intent.ticket) != nullptr) return "uk_seckill_order_ticket";
  if (tables.order_by_request.contains({.item = item.place, .buyer = intent.buyer, .request_id = request_id})) {
    return "uk_seckill_order_request";
  }
  return {};
}

// Requires: refused_by_keys is empty.
OrderRow& insert_order(Transaction& work, ItemRow& item, const model::OrderIntent& intent,
                       const model::RequestId& request_id, const NewRow& row) {
  Tables& tables = work.tables();
  const std::int64_t order_id = std::ssize(tables.orders) + 1;
  OrderRow& inserted = work.append(tables.orders, {.order_id = order_id,
                                                   .item = item.place,
                                                   .order = {.ticket = intent.ticket,
                                                             .item = intent.item,
                                                             .buyer = intent.buyer,
                                                             .request_id = request_id,
                                                             .digest = intent.digest,
                                                             .lane = intent.lane,
                                                             .units = intent.units,
                                                             .price_minor = intent.price_minor,
                                                             .amount_minor = row.amount_minor,
                                                             .currency = intent.currency,
                                                             .state = row.state,
                                                             .reason = row.reason,
                                                             .admitted_at = intent.admitted_at,
                                                             .landed_at = row.landed_at,
                                                             .pay_before = row.pay_before,
                                                             .ended_at = row.ended_at,
                                                             .fields = intent.fields ? *intent.fields : ""}});
  work.append(item.orders, order_id);
  work.insert(tables.order_by_ticket, intent.ticket, order_id);
  work.insert(tables.order_by_request, {.item = item.place, .buyer = intent.buyer, .request_id = request_id}, order_id);
  if (row.state == OrderState::awaiting_payment) work.add(tables.awaiting_payment, {row.pay_before, order_id});
  return inserted;
}

class Batch {
 public:
  Batch(Transaction& work, base::UtcMs now) : work_{work}, now_{now} {}

  base::Result<Landed> land(const model::OrderIntent& intent);
  base::Status move(const model::StockTransfer& transfer);
  // Moves the stock rows by all that was inserted. Call once, last.
  base::Status move_stock();

 private:
  struct Lane {
    ItemRow* item = nullptr;
    store::LaneAuthorityRow* authority = nullptr;
    std::int64_t held = 0;  // units that go from available to held
    std::int64_t sold = 0;  // and to sold at once
  };

  base::Result<ItemRow*> item_of(const model::ItemKey& key);
  Lane* lane_of(ItemRow& item, model::LaneIndex lane);
  // What admission by database answers; nullopt: it admits.
  std::optional<FailReason> refused_by_store(const Lane& lane, const model::OrderIntent& intent) const;
  base::Status write_rows(Lane& lane, const model::OrderIntent& intent, const NewRow& row);

  Transaction& work_;
  base::UtcMs now_;
  std::vector<Lane> lanes_;
};

base::Result<ItemRow*> Batch::item_of(const model::ItemKey& key) {
  ItemRow* item = work_.tables().find(key);
  if (item == nullptr) return work_.fail(Errc::constraint, "there is no item " + key.text());
  return item;
}

Batch::Lane* Batch::lane_of(ItemRow& item, model::LaneIndex lane) {
  store::LaneAuthorityRow* authority = sim::lane_of(item, lane);
  if (authority == nullptr) return nullptr;
  const auto known = std::ranges::find(lanes_, authority, &Lane::authority);
  if (known != lanes_.end()) return &*known;
  lanes_.push_back({.item = &item, .authority = authority});
  return &lanes_.back();
}

std::optional<FailReason> Batch::refused_by_store(const Lane& lane, const model::OrderIntent& intent) const {
  const auto bought = lane.item->buyers.find(intent.buyer);
  const std::int64_t units = bought == lane.item->buyers.end() ? 0 : bought->second.units;
  if (intent.units > intent.limit - units) return FailReason::limit_reached;
  // As a mark counts them: every ticket, ended ones too; but what was refused here never was a ticket of his.
  const Tables& tables = work_.tables();
  std::uint32_t tickets = 0;
  for (auto row = tables.order_by_request.lower_bound(
           {.item = lane.item->place, .buyer = intent.buyer, .request_id = model::RequestId{}});
       row != tables.order_by_request.end() && row->first.item == lane.item->place && row->first.buyer == intent.buyer;
       ++row) {
    const FailReason reason = tables.orders[static_cast<std::size_t>(row->second - 1)].order.reason;
    if (reason != FailReason::sold_out && reason != FailReason::limit_reached) ++tickets;
  }
  if (tickets >= std::min(lane.item->terms.tickets_max, base::limits::tickets_per_buyer_max)) {
    return FailReason::limit_reached;
  }
  const std::int64_t available = lane.authority->row.stock.available - lane.held - lane.sold;
  if (available < intent.units) return FailReason::sold_out;
  return std::nullopt;
}

base::Status Batch::write_rows(Lane& lane, const model::OrderIntent& intent, const NewRow& row) {
  Tables& tables = work_.tables();
  ItemRow& item = *lane.item;
  const std::int64_t order_id = insert_order(work_, item, intent, intent.request_id, row).order_id;
  const auto note = [&](std::int64_t entry, JournalEffect effect) {
    work_.insert(tables.journal, entry,
                 {.item = item.place, .lane = intent.lane, .units = intent.units, .effect = effect, .made_at = now_});
  };
  note(hold_entry(order_id), JournalEffect::hold);
  if (row.state == OrderState::paid) {
    note(end_entry(order_id), JournalEffect::post);
    if (tables.remote_lanes) write_outbox(work_, order_id, model::StockEffect::post);
  }
  // An upsert's CHECK judges the row to be inserted before the one it meets.
  if (intent.units > intent.limit) return work_.fail(Errc::constraint, "CHECK buyer_units_cap of buyer_units");
  if (!item.buyers.contains(intent.buyer)) work_.insert(item.buyers, intent.buyer, {.units = 0, .cap = intent.limit});
  BuyerUnits& buyer = item.buyers.find(intent.buyer)->second;
  work_.set(buyer.units, buyer.units + intent.units);
  work_.set(buyer.cap, std::max(buyer.cap, intent.limit));
  if (buyer.units > buyer.cap) return work_.fail(Errc::constraint, "CHECK buyer_units_cap of buyer_units");
  return {};
}

base::Result<Landed> Batch::land(const model::OrderIntent& intent) {
  const auto item = item_of(intent.item);
  if (!item) return std::unexpected(item.error());
  // A row of this ticket answers before the generation: what landed has landed, whatever was rebuilt since.
  if (const OrderRow* stored = work_.tables().find(intent.ticket)) return landed_before(stored->order);
  Lane* lane = lane_of(**item, intent.lane);
  if (lane == nullptr) return work_.fail(Errc::constraint, fmt::format("an item without lane {}", intent.lane));
  if (lane->authority->row.generation != intent.generation) {
    work_.set(lane->authority->strays, lane->authority->strays + 1);
    return Landed{.as = LandedAs::superseded};
  }

  const auto amount = model::amount_minor(intent.price_minor, intent.units);
  if (!amount) return work_.fail(Errc::constraint, "the amount of ticket " + intent.ticket.str() + " does not fit");
  const bool paid_at_once = intent.price_minor == 0;
  const NewRow row{.state = paid_at_once ? OrderState::paid : OrderState::awaiting_payment,
                   .amount_minor = *amount,
                   .landed_at = now_,
                   .pay_before = paid_at_once ? 0 : now_ + intent.pay_window_ms,
                   .ended_at = paid_at_once ? now_ : 0};
  std::string refused = refused_by_keys(work_.tables(), **item, intent, intent.request_id, row.state);
  if (!refused.empty()) return work_.fail(Errc::constraint, std::move(refused));
  if (lane->authority->state == store::LaneState::store) {
    if (const auto reason = refused_by_store(*lane, intent)) {
      // No lane holds anything for it, so no release is queued: the loser is only told.
      insert_order(work_, **item, intent, intent.request_id,
                   {.state = OrderState::failed, .reason = *reason, .landed_at = now_, .ended_at = now_});
      return Landed{.as = LandedAs::failed, .state = OrderState::failed};
    }
  }
  if (auto written = write_rows(*lane, intent, row); !written) return std::unexpected(written.error());
  (paid_at_once ? lane->sold : lane->held) += intent.units;
  return Landed{.as = LandedAs::ordered, .state = row.state, .pay_before = row.pay_before};
}

base::Status Batch::move(const model::StockTransfer& transfer) {
  const auto item = item_of(transfer.item);
  if (!item) return std::unexpected(item.error());
  // Holds before this record are taken first: in the lane's order they came before these units left.
  if (auto moved = move_stock(); !moved) return moved;
  const auto applied = apply_transfer(work_, **item, transfer);
  // Of an older generation: the rebuild has closed or abandoned it, and the lane was built without it.
  if (!applied && applied.error().code != Errc::stale) return std::unexpected(applied.error());
  return {};
}

base::Status Batch::move_stock() {
  for (Lane& lane : lanes_) {
    ledger::LaneStock& stock = lane.authority->row.stock;
    if (stock.available < lane.held + lane.sold) {
      return work_.fail(Errc::oversell_guard,
                        fmt::format("lane {} of {} has fewer than {} units for its holds", lane.authority->row.lane,
                                    lane.item->key.text(), lane.held + lane.sold));
    }
    work_.move(*lane.item, stock.available, -lane.held - lane.sold);
    work_.move(*lane.item, stock.held, lane.held);
    work_.move(*lane.item, stock.sold, lane.sold);
    lane.held = 0;
    lane.sold = 0;
  }
  return {};
}

}  // namespace

base::Result<std::vector<Landed>> SimDatabase::land(std::span<const model::LaneRecord> records, base::UtcMs now) {
  const std::scoped_lock lock{mutex_};
  Transaction work{tables_, "landing a batch"};
  Batch batch{work, now};
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
  work.commit();
  return results;
}

base::Status SimDatabase::fail_intent(const model::OrderIntent& intent, FailReason reason, base::UtcMs now) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = "failing ticket " + intent.ticket.str();
  Transaction work{tables_, doing};
  ItemRow* item = tables_.find(intent.item);
  if (item == nullptr) return work.fail(Errc::not_found, "there is no item " + intent.item.text());
  if (tables_.find(intent.ticket) != nullptr) return {};
  // What cannot land may hold any number; the row takes part in sums, so it keeps only what a sale could have.
  model::OrderIntent recorded = intent;
  if (recorded.units < 1 || recorded.units > base::limits::units_per_item_max) recorded.units = 0;
  recorded.price_minor = std::max<std::int64_t>(recorded.price_minor, 0);
  model::RequestId request_id = intent.request_id;
  if (!refused_by_keys(tables_, *item, recorded, request_id, OrderState::failed).empty()) {
    // Another ticket has this request id, which no derivation makes: a name that no request can have.
    request_id = model::RequestId::trusted("failed:" + intent.ticket.str());
  }
  std::string refused = refused_by_keys(tables_, *item, recorded, request_id, OrderState::failed);
  if (!refused.empty()) return work.fail(Errc::constraint, std::move(refused));
  const OrderRow& row =
      insert_order(work, *item, recorded, request_id,
                   {.state = OrderState::failed, .reason = reason, .landed_at = now, .ended_at = now});
  write_outbox(work, row.order_id, model::StockEffect::void_);
  work.commit();
  return {};
}

}  // namespace seckill::sim
