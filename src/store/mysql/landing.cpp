// Landing: a batch of lane records becomes orders in one transaction (DESIGN §4.2), and on lanes whose row says `store`
// the landing itself admits (DESIGN §4.6).
//
// What 500 intents cost is round trips and trees, so a batch is judged in memory between few statements: lock the stock
// rows (ascending), read which tickets exist, decide each intent in its order, then write all rows of a kind at once,
// without IGNORE: a broken key or CHECK rolls the whole batch back. Under the locks nobody else writes a ticket of
// these lanes, so what was read stays true until the commit. Keeps P1 (a short row refuses the batch), P2, P3 (CHECK of
// buyer_units), P4 (unique keys).
#include <fmt/format.h>

#include "store/mysql/landing_batch.hpp"
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;
using model::FailReason;
using model::OrderIntent;
using model::OrderState;

// Intents between two transfers. A transfer sees the holds before it taken, so the rows up to it are written first.
base::Status land_intents(LandingBatch& batch, std::span<const model::LaneRecord> records,
                          std::vector<Landed>& results) {
  for (const model::LaneRecord& record : records) {
    const auto landed = batch.decide(std::get<OrderIntent>(record));
    if (!landed) return std::unexpected(landed.error());
    results.push_back(*landed);
  }
  return batch.write();
}

base::Result<std::vector<Landed>> land_records(Work& work, std::span<const model::LaneRecord> records,
                                               base::UtcMs now) {
  LandingBatch batch{work, now};
  if (auto ready = batch.prepare(records); !ready) return std::unexpected(ready.error());
  std::vector<Landed> results;
  results.reserve(records.size());
  const auto is_transfer = [](const model::LaneRecord& record) {
    return std::holds_alternative<model::StockTransfer>(record);
  };
  while (!records.empty()) {
    const auto intents = std::ranges::find_if(records, is_transfer) - records.begin();
    const auto landed = land_intents(batch, records.first(static_cast<std::size_t>(intents)), results);
    if (!landed) return std::unexpected(landed.error());
    records = records.subspan(static_cast<std::size_t>(intents));
    if (records.empty()) break;
    if (auto moved = batch.move(std::get<model::StockTransfer>(records.front())); !moved) {
      return std::unexpected(moved.error());
    }
    records = records.subspan(1);
  }
  return results;
}

}  // namespace

base::Result<std::vector<Landed>> MysqlStoreImpl::land(std::span<const model::LaneRecord> records, base::UtcMs now) {
  if (records.empty()) return std::vector<Landed>{};
  return writes_.transaction("landing a batch", [&](Work& work) { return land_records(work, records, now); });
}

base::Status MysqlStoreImpl::fail_intent(const OrderIntent& intent, FailReason reason, base::UtcMs now) {
  const std::string doing = "failing ticket " + intent.ticket.str();
  return writes_.transaction(doing, [&](Work& work) -> base::Status {
    const auto item = find_item(work, intent.item);
    if (!item) return std::unexpected(item.error());
    const std::int64_t lane = intent.lane;
    if (const auto locked = lock_lanes(work, item->item_id, {&lane, 1}); !locked)
      return std::unexpected(locked.error());
    const auto stored =
        work.first([](const Row&) {}, "SELECT 1 FROM seckill_order WHERE ticket = ?", bytes_of(intent.ticket));
    if (!stored) return std::unexpected(stored.error());
    if (*stored) return {};
    // What cannot land may hold any number; the row takes part in sums, so it keeps only what a sale could have.
    OrderIntent recorded = intent;
    if (recorded.units < 1 || recorded.units > base::limits::units_per_item_max) recorded.units = 0;
    recorded.price_minor = std::max<std::int64_t>(recorded.price_minor, 0);
    // Another ticket may have this request id, which no derivation makes. The intent must still end: its row gets a
    // name that no request can have.
    const auto taken =
        work.first([](const Row&) {}, "SELECT 1 FROM seckill_order WHERE buyer = ? AND item_id = ? AND request_id = ?",
                   intent.buyer.view(), item->item_id, intent.request_id.view());
    if (!taken) return std::unexpected(taken.error());
    const std::string request_id = *taken ? "failed:" + intent.ticket.str() : intent.request_id.str();
    const NewOrder row{.intent = &recorded,
                       .item_id = item->item_id,
                       .state = OrderState::failed,
                       .reason = reason,
                       .landed_at = now,
                       .ended_at = now};
    std::vector<Value> values;
    append_values(values, row, request_id);
    const auto inserted = work.run_values(insert_order_sql, values);
    if (!inserted) return std::unexpected(inserted.error());
    const auto queued = work.run(
        "INSERT INTO event_outbox (order_id, effect, made_at) SELECT order_id, ?, ? FROM seckill_order "
        "WHERE ticket = ?",
        effect_void, now, bytes_of(intent.ticket));
    if (!queued) return std::unexpected(queued.error());
    return {};
  });
}

}  // namespace seckill::store::mysql
