#include "simulation/devices/store/tables.hpp"

#include <fmt/format.h>

namespace seckill::sim {

SaleRow* Tables::find(const model::SaleId& sale) {
  const auto found = sale_by_id.find(sale);
  return found == sale_by_id.end() ? nullptr : &sales[found->second];
}

ItemRow* Tables::find(const model::ItemKey& item) {
  const auto found = item_by_key.find(item);
  return found == item_by_key.end() ? nullptr : &items[found->second];
}

OrderRow* Tables::find(const model::Ticket& ticket) {
  const auto found = order_by_ticket.find(ticket);
  return found == order_by_ticket.end() ? nullptr : &orders[static_cast<std::size_t>(found->second - 1)];
}

const JournalRow* Tables::entry(std::int64_t entry_id) const {
  const auto found = journal.find(entry_id);
  return found == journal.end() ? nullptr : &found->second;
}

model::Sale Tables::whole(const SaleRow& row) const {
  model::Sale sale = row.sale;
  for (const std::size_t place : row.items) sale.items.push_back(items[place].terms);
  return sale;
}

std::string broken_rows(const ItemRow& item) {
  std::int64_t in_lanes = 0;
  std::int64_t taken = 0;
  for (const store::LaneAuthorityRow& lane : item.lanes) {
    const ledger::LaneStock& stock = lane.row.stock;
    if (stock.available < 0 || stock.held < 0 || stock.sold < 0) {
      return fmt::format("P1: lane {} of {} has {} available, {} held, {} sold", lane.row.lane, item.key.text(),
                         stock.available, stock.held, stock.sold);
    }
    in_lanes += stock.total();
    taken += stock.held + stock.sold;
  }
  if (item.pool < 0) return fmt::format("P1: the pool of {} has {} units", item.key.text(), item.pool);
  if (taken > item.terms.total) {
    return fmt::format("P1: {} of the {} units of {} are held or sold", taken, item.terms.total, item.key.text());
  }
  if (in_lanes + item.pool != item.terms.total) {
    return fmt::format("P2: {} has {} units, {} in lanes and {} in the pool", item.key.text(), item.terms.total,
                       in_lanes, item.pool);
  }
  return {};
}

}  // namespace seckill::sim
