// What left a lane before it was rebuilt: a debit's record is gone with the old lane, so as long as its units are on
// their way nobody may read the new one (P8, docs/decisions/transfers-leave-traces.md).
#include "admission/leading/answers.hpp"
#include "admission/leading/rebuild.hpp"

namespace seckill::admission::leading {

// Credits every committed transfer out of the lane, once an id; row and record are closed by a node's recovery.
// `stale`: the target was rebuilt since, from a row that has the units.
base::Status Rebuild::finish_outgoing(const LaneKey& key) {
  const auto fail = [](std::string why) {
    return base::fail(base::Errc::unavailable, "finishing a transfer", std::move(why));
  };
  const auto open = ports_.authority.open_transfers(key.item);
  if (!open) return std::unexpected(open.error());
  const auto item = ports_.authority.item_authority(key.item);
  if (!item) return std::unexpected(item.error());
  for (const auto& transfer : *open) {
    if (transfer.from != static_cast<std::int32_t>(key.lane) || transfer.to < 0) continue;
    const auto target = static_cast<model::LaneIndex>(transfer.to);
    if (target >= item->lanes.size()) continue;
    const auto& row = item->lanes[target];
    if (row.state != store::LaneState::lane) return fail("the target of " + transfer.id + " is not open");
    const LaneServer server{.run_id = row.run_id, .replication_id = row.replication_id};
    const LaneTransferRecord record{.id = transfer.id,
                                    .debit = false,
                                    .units = transfer.units,
                                    .other = transfer.from,
                                    .other_generation = transfer.from_generation,
                                    .at = 0};
    const auto credited = ask_lane<LaneCode>(ports_.threads, config_.call_longest, [&](auto answer) {
      ports_.scripts.credit({.item = key.item, .lane = target}, server, transfer.to_generation, record,
                            std::move(answer));
    });
    if (!credited) return std::unexpected(credited.error());
    if (*credited != LaneCode::done && *credited != LaneCode::stale) {
      return fail("the target of " + transfer.id + " does not take it");
    }
  }
  return {};
}

}  // namespace seckill::admission::leading
