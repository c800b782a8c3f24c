#include "admission/remote/transfer_recovery.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace seckill::admission::remote {
namespace {

// What a lane's record says of the whole transfer. The lane's own generation is the one it is read at: a rebuild would
// have taken the record away.
store::LaneTransfer transfer_of(const RemoteItem& item, model::LaneIndex lane, model::Generation generation,
                                const LaneTransferRecord& record) {
  const auto here = static_cast<std::int32_t>(lane);
  return {.id = record.id,
          .item = item.key,
          .from = record.debit ? here : record.other,
          .to = record.debit ? record.other : here,
          .units = record.units,
          .from_generation = record.debit ? generation : record.other_generation,
          .to_generation = record.debit ? record.other_generation : generation};
}

}  // namespace

TransferRecovery::TransferRecovery(const Ports& ports, const Config& config, const ItemCopies& copies,
                                   const LaneCalls& calls, TransferSteps& transfers, RemoteItems& items)
    : ports_{ports},
      config_{config},
      copies_{copies},
      calls_{calls},
      transfers_{transfers},
      items_{items},
      thread_{ports.threads, ports.random} {}

void TransferRecovery::start() {
  thread_.start("transfers", config_.recovery_period, [this] { round(); });
}

void TransferRecovery::stop() { thread_.stop(); }

void TransferRecovery::round() {
  ++rounds_;
  for (const ItemPtr& item : items_.all()) {
    if (thread_.stopping()) return;
    recover(item);
  }
  std::erase_if(seen_, [&](const auto& entry) { return entry.second.round != rounds_; });
}

void TransferRecovery::recover(const ItemPtr& item) {
  const CopyPtr copy = item->copy();
  if (!copies_.fresh(*copy)) return;
  for (const auto& [id, transfer] : standing(*item, *copy)) {
    if (thread_.stopping()) return;
    if (!is_old(id)) continue;
    // Each step asks lanes and store anew, and may take its time: never on an old copy.
    const CopyPtr latest = item->copy();
    if (!copies_.fresh(*latest)) return;
    if (transfers_.settle(*item, *latest, transfer)) seen_.erase(id);
  }
}

std::map<std::string, store::LaneTransfer> TransferRecovery::standing(const RemoteItem& item, const ItemCopy& copy) {
  std::map<std::string, store::LaneTransfer> found;
  // The store's row says more than a record does: it comes first.
  if (const auto rows = ports_.authority.open_transfers(item.key)) {
    for (const store::LaneTransfer& row : *rows) found.try_emplace(row.id, row);
  }
  const auto readings = calls_.read_all(item, copy);
  for (model::LaneIndex lane = 0; lane < item.lane_count; ++lane) {
    if (copy.lane(lane).state != store::LaneState::lane || !readings[lane] || !readings[lane]->open) continue;
    for (const LaneTransferRecord& record : readings[lane]->transfers) {
      store::LaneTransfer transfer = transfer_of(item, lane, readings[lane]->generation, record);
      const auto [entry, added] = found.try_emplace(record.id, transfer);
      // A debit knows how much was taken; so do a credit and the row, which are of the same units.
      if (!added && entry->second.units == 0) entry->second = std::move(transfer);
    }
  }
  return found;
}

bool TransferRecovery::is_old(const std::string& id) {
  const std::chrono::nanoseconds now = ports_.clock.steady_now();
  if (!seen_.contains(id)) {
    if (seen_.size() < config_.recovery_seen_max) seen_.emplace(id, Seen{.first = now, .round = rounds_});
    return false;
  }
  Seen& seen = seen_.at(id);
  seen.round = rounds_;
  return now - seen.first >= config_.recovery_age;
}

}  // namespace seckill::admission::remote
