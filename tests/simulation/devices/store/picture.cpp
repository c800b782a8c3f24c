#include "simulation/devices/store/picture.hpp"

#include "base/assert.hpp"
#include "simulation/devices/store/sim_database.hpp"

namespace seckill::sim {
namespace {

reconcile::JournalEffect effect_of(JournalEffect effect) {
  switch (effect) {
    case JournalEffect::hold: return reconcile::JournalEffect::hold;
    case JournalEffect::post: return reconcile::JournalEffect::post;
    case JournalEffect::void_: return reconcile::JournalEffect::void_;
  }
  return reconcile::JournalEffect::hold;
}

reconcile::MarkUnits units_of(admission::steps::LaneUnits units) {
  switch (units) {
    case admission::steps::LaneUnits::held: return reconcile::MarkUnits::held;
    case admission::steps::LaneUnits::sold: return reconcile::MarkUnits::sold;
    case admission::steps::LaneUnits::ended: return reconcile::MarkUnits::ended;
  }
  return reconcile::MarkUnits::ended;
}

void add_orders(const Tables& tables, const ItemRow& item, reconcile::StorePicture& picture) {
  for (const std::int64_t order_id : item.orders) {
    const OrderRow& row = tables.orders[static_cast<std::size_t>(order_id - 1)];
    picture.orders.push_back(order_read(row));
    for (const std::int64_t entry_id : {hold_entry(order_id), end_entry(order_id)}) {
      const JournalRow* entry = tables.entry(entry_id);
      if (entry == nullptr) continue;
      picture.journal.push_back(
          {.ticket = row.order.ticket, .lane = entry->lane, .units = entry->units, .effect = effect_of(entry->effect)});
    }
  }
}

}  // namespace

reconcile::StorePicture store_picture(const Tables& tables, const model::ItemKey& key) {
  const auto place = tables.item_by_key.find(key);
  SECKILL_ASSERT(place != tables.item_by_key.end(), "a picture is taken of an item that exists");
  const ItemRow& item = tables.items[place->second];
  reconcile::StorePicture picture;
  picture.total = item.terms.total;
  picture.pool = item.pool;
  for (const store::LaneAuthorityRow& lane : item.lanes)
    picture.lanes.push_back({.row = lane.row, .state = lane.state});
  add_orders(tables, item, picture);
  for (const auto& [buyer, units] : item.buyers) {
    picture.buyers.push_back({.buyer = buyer, .units = units.units, .cap = units.cap});
  }
  for (const auto& [id, row] : tables.transfers) {
    if (row.transfer.item == key) picture.transfers.push_back({.transfer = row.transfer, .state = row.state});
  }
  for (const auto& [id, event] : tables.outbox) {
    const OrderRow& row = tables.orders[static_cast<std::size_t>(event.order_id - 1)];
    if (row.item != item.place) continue;
    picture.releases.push_back({.id = id, .ticket = row.order.ticket, .item = key, .effect = event.effect});
  }
  for (const auto& [name, payment] : tables.payments) {
    const OrderRow& row = tables.orders[static_cast<std::size_t>(payment.order_id - 1)];
    if (row.item != item.place) continue;
    picture.payments.push_back({.provider = name.first,
                                .transaction_id = name.second,
                                .ticket = row.order.ticket,
                                .amount_minor = payment.amount_minor,
                                .currency = payment.currency,
                                .refunded = false});
  }
  return picture;
}

reconcile::LanePicture lane_picture(const admission::steps::LaneState& lane, bool on_its_server) {
  reconcile::LanePicture picture;
  picture.lane = lane.key.lane;
  picture.generation = lane.generation;
  picture.open = on_its_server && lane.phase == admission::steps::LanePhase::open;
  picture.stock = lane.stock;
  for (const admission::steps::LaneMark& mark : lane.marks) {
    for (const admission::steps::LaneTicket& ticket : mark.tickets) {
      picture.marks.push_back({.ticket = ticket.ticket,
                               .buyer = mark.buyer,
                               .units = ticket.units,
                               .state = units_of(ticket.units_state),
                               .published = ticket.published,
                               .admitted_at = ticket.admitted_at});
    }
  }
  for (const auto& [id, memory] : lane.transfers) {
    picture.transfers.push_back({.id = id, .debit = memory.record.debit, .units = memory.record.units});
  }
  return picture;
}

}  // namespace seckill::sim
