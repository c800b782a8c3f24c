// The steps of transfers: each acts once an id, and an id stays spent a while after its record was closed, because a
// call that timed out may be executed after the transfer it belongs to has been finished by somebody else.
#include "admission/lane_steps.hpp"
#include "base/assert.hpp"

namespace seckill::admission::steps {
namespace {

void forget_old(LaneState& lane, base::UtcMs now) {
  std::erase_if(lane.transfers, [&](const auto& entry) {
    const base::UtcMs closed_at = entry.second.closed_at;
    return closed_at != 0 && now - closed_at > transfer_memory_ms;
  });
}

void remember(LaneState& lane, LaneTransferRecord record, bool debit, std::int64_t units, base::UtcMs now) {
  record.debit = debit;
  record.units = units;
  record.at = now;
  const std::string id = record.id;
  lane.transfers.emplace(id, TransferMemory{.record = std::move(record)});
}

}  // namespace

LaneDebit debit(LaneState& lane, model::Generation generation, const LaneTransferRecord& transfer, base::UtcMs now) {
  SECKILL_ASSERT(transfer.units >= 1, "P2: a debit asks for at least one unit");
  if (lane.phase != LanePhase::open) return {.code = LaneCode::closed, .units = 0};
  if (lane.generation != generation) return {.code = LaneCode::stale, .units = 0};
  const auto known = lane.transfers.find(transfer.id);
  if (known != lane.transfers.end()) {
    if (!known->second.record.debit) return {.code = LaneCode::refused, .units = 0};  // an id names one direction
    return {.code = LaneCode::done, .units = known->second.record.units};
  }
  const std::int64_t units = std::min(transfer.units, lane.stock.available);
  if (units == 0) return {.code = LaneCode::refused, .units = 0};
  // Nothing below may fail.
  forget_old(lane, now);
  ledger::debit(lane.stock, units);
  remember(lane, transfer, true, units, now);
  return {.code = LaneCode::done, .units = units};
}

LaneCode undo_debit(LaneState& lane, const std::string& id, base::UtcMs now) {
  if (lane.phase != LanePhase::open) return LaneCode::closed;
  const auto known = lane.transfers.find(id);
  if (known != lane.transfers.end() && !known->second.record.debit) return LaneCode::refused;
  // Nothing below may fail.
  if (known == lane.transfers.end()) {
    LaneTransferRecord spent;
    spent.id = id;
    remember(lane, std::move(spent), true, 0, now);
    return LaneCode::done;
  }
  std::int64_t& units = known->second.record.units;
  if (units > 0) {
    ledger::credit(lane.stock, units);
    ++lane.epoch;
  }
  units = 0;
  return LaneCode::done;
}

LaneCode credit(LaneState& lane, model::Generation generation, const LaneTransferRecord& transfer, base::UtcMs now) {
  SECKILL_ASSERT(transfer.units >= 1, "P2: a credit brings at least one unit");
  if (lane.phase != LanePhase::open) return LaneCode::closed;
  if (lane.generation != generation) return LaneCode::stale;
  const auto known = lane.transfers.find(transfer.id);
  if (known != lane.transfers.end()) return known->second.record.debit ? LaneCode::refused : LaneCode::done;
  // Nothing below may fail.
  forget_old(lane, now);
  ledger::credit(lane.stock, transfer.units);
  ++lane.epoch;
  remember(lane, transfer, false, transfer.units, now);
  return LaneCode::done;
}

LaneCode close_transfer(LaneState& lane, const std::string& id, base::UtcMs now) {
  if (lane.phase != LanePhase::open) return LaneCode::closed;
  // Nothing below may fail.
  forget_old(lane, now);
  const auto known = lane.transfers.find(id);
  if (known != lane.transfers.end() && known->second.closed_at == 0) known->second.closed_at = now;
  return LaneCode::done;
}

}  // namespace seckill::admission::steps
