#include "simulation/devices/store/transaction.hpp"

#include <fmt/format.h>

#include "simulation/devices/store/sim_database.hpp"

namespace seckill::sim {

void Transaction::commit() {
  for (const ItemRow* item : touched_) {
    const std::string broken = broken_rows(*item);
    const std::string context = broken.empty() ? "" : fmt::format("{} would commit: {}", doing_, broken);
    SECKILL_ASSERT(broken.empty(), context.c_str());
  }
  committed_ = true;
}

void write_audit(Transaction& work, const store::AuditEntry& audit) { work.append(work.tables().audit, audit); }

store::LaneAuthorityRow* lane_of(ItemRow& item, std::int64_t lane) {
  if (lane < 0 || lane >= std::ssize(item.lanes)) return nullptr;
  return &item.lanes[static_cast<std::size_t>(lane)];
}

void write_outbox(Transaction& work, std::int64_t order_id, model::StockEffect effect) {
  Tables& tables = work.tables();
  work.set(tables.last_event, tables.last_event + 1);
  work.insert(tables.outbox, tables.last_event, {.order_id = order_id, .effect = effect});
}

}  // namespace seckill::sim
