#include "simulation/devices/lanes/sim_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace seckill::sim {

SimLanes::SimLanes(Kernel& kernel, SimLanesOptions options)
    : kernel_{kernel}, random_{kernel.random().fork("lanes")}, options_{options}, owners_(slots) {
  for (ShardIndex i = 0; i < options_.shards; ++i) {
    Shard& shard = shards_.emplace_back();
    shard.master = std::make_shared<LaneProcess>(new_identity(new_run_id()), LaneMap{}, kernel_.now());
    shard.replica_run_id = new_run_id();
    if (options_.replicas) shard.master->attach_replica(kernel_.now());
  }
  for (std::uint32_t slot = 0; slot < slots; ++slot) owners_[slot] = slot % options_.shards;
}

// --- commands ---

bool SimLanes::fail_over(ShardIndex index) {
  Shard& shard = shards_[index];
  if (!shard.master->has_replica()) return false;
  note(index, "fails over");
  const std::shared_ptr<LaneProcess> lost = shard.master;
  promote(index);
  shard.replica_run_id = new_run_id();
  lost->alive = false;
  return true;
}

bool SimLanes::partition_old_master(ShardIndex index, Time lasts, bool all_stay) {
  Shard& shard = shards_[index];
  if (!shard.master->has_replica() || !shard.master->alive || shard.old_master) return false;
  note(index, "is split: the old master serves on");
  shard.old_master = shard.master;
  promote(index);
  shard.replica_run_id = shard.old_master->identity.run_id;
  shard.old_master->detach_replica(kernel_.now());
  shard.old_master->isolated = true;
  shard.old_master->all_stay = all_stay;
  kernel_.after(lasts, [this, index, old = shard.old_master] {
    old->alive = false;
    if (shards_[index].old_master == old) shards_[index].old_master.reset();
    note(index, "is whole again: the old master was demoted");
  });
  return true;
}

bool SimLanes::restart(ShardIndex shard, Time down) { return restart_from(shard, down, false); }
bool SimLanes::restart_rolled_back(ShardIndex shard, Time down) { return restart_from(shard, down, true); }

bool SimLanes::restart_from(ShardIndex index, Time down, bool rolled_back) {
  Shard& shard = shards_[index];
  if (!shard.master->alive) return false;
  const Time now = kernel_.now();
  const Time cut = std::max(Time{0}, now - Time{random_.between(0, Time{1s}.count())});
  LaneMap kept = rolled_back ? shard.master->disk_lanes(cut) : shard.master->lanes;
  note(index, rolled_back ? fmt::format("restarts without its last {} ms", (now - cut) / 1ms) : "restarts");
  shard.master->alive = false;
  const std::uint64_t change = ++shard.changes;
  kernel_.after(down, [this, index, change, kept = std::move(kept)]() mutable {
    Shard& now_up = shards_[index];
    if (now_up.changes != change) return;
    now_up.master = std::make_shared<LaneProcess>(new_identity(new_run_id()), std::move(kept), kernel_.now());
    note(index, "is up again");
    resync_later(index);
  });
  return true;
}

bool SimLanes::flush(ShardIndex index) {
  LaneProcess& master = *shards_[index].master;
  if (!master.alive) return false;
  note(index, "is flushed");
  master.write([](LaneMap& lanes) { lanes.clear(); }, kernel_.now(), lag());
  return true;
}

bool SimLanes::evict(const admission::LaneKey& lane) {
  LaneProcess& master = *shards_[shard_of(lane)].master;
  if (!master.alive || !master.lanes.contains(lane)) return false;
  note(shard_of(lane), fmt::format("evicts lane {}", lane.lane));
  master.write([lane](LaneMap& lanes) { lanes.erase(lane); }, kernel_.now(), lag());
  return true;
}

bool SimLanes::pause(ShardIndex index, Time time) {
  LaneProcess& master = *shards_[index].master;
  if (!master.alive) return false;
  note(index, fmt::format("is paused for {} ms", time / 1ms));
  master.free_at = std::max(master.free_at, kernel_.now() + time);
  return true;
}

bool SimLanes::slow(ShardIndex index, Time each) {
  if (!shards_[index].master->alive) return false;
  note(index, fmt::format("takes {} us a call", each / 1us));
  shards_[index].master->slow_by = each;
  return true;
}

bool SimLanes::move_slot(const admission::LaneKey& lane, ShardIndex to) {
  const ShardIndex from = shard_of(lane);
  if (from == to || to >= shards() || !shards_[from].master->alive || !shards_[to].master->alive) return false;
  note(from, fmt::format("gives slot {} to shard {}", slot_of(lane), to));
  LaneMap moved;
  for (const auto& [key, state] : shards_[from].master->lanes) {
    if (slot_of(key) == slot_of(lane)) moved.emplace(key, state);
  }
  const auto keys = std::make_shared<const LaneMap>(std::move(moved));
  shards_[to].master->write([keys](LaneMap& lanes) { lanes.insert(keys->begin(), keys->end()); }, kernel_.now(), lag());
  shards_[from].master->write(
      [keys](LaneMap& lanes) {
        for (const auto& [key, state] : *keys) lanes.erase(key);
      },
      kernel_.now(), lag());
  owners_[slot_of(lane)] = to;
  return true;
}

void SimLanes::set_skew(ShardIndex shard, std::chrono::milliseconds skew) { shards_[shard].skew = skew; }

// --- the truth ---

ShardIndex SimLanes::shard_of(const admission::LaneKey& lane) const { return owners_[slot_of(lane)]; }

const admission::steps::LaneState* SimLanes::lane(const admission::LaneKey& lane) const {
  const LaneMap& lanes = shards_[shard_of(lane)].master->lanes;
  const auto found = lanes.find(lane);
  if (found == lanes.end() || found->second.phase == admission::steps::LanePhase::missing) return nullptr;
  return &found->second;
}

std::vector<admission::LaneKey> SimLanes::lanes() const {
  std::vector<admission::LaneKey> keys;
  for (const Shard& shard : shards_) {
    for (const auto& [key, state] : shard.master->lanes) {
      if (state.phase != admission::steps::LanePhase::missing) keys.push_back(key);
    }
  }
  std::ranges::sort(keys);
  return keys;
}

const admission::LaneServer& SimLanes::server(ShardIndex shard) const { return shards_[shard].master->identity; }
bool SimLanes::is_split(ShardIndex shard) const { return shards_[shard].old_master != nullptr; }
bool SimLanes::is_up(ShardIndex shard) const { return shards_[shard].master->alive; }
bool SimLanes::is_replicated(ShardIndex shard) const { return shards_[shard].master->has_replica(); }

// --- within ---

std::uint32_t SimLanes::slot_of(const admission::LaneKey& lane) {
  return static_cast<std::uint32_t>(base::xxh3_64(fmt::format("{}:{}", lane.item.text(), lane.lane)) % slots);
}

std::string SimLanes::new_run_id() { return fmt::format("run-{}", ++run_ids_); }

// A process keeps its run id for life; every promotion and start begins another history of what was written.
admission::LaneServer SimLanes::new_identity(std::string run_id) {
  return {.run_id = std::move(run_id), .replication_id = fmt::format("history-{}", ++histories_)};
}

Time SimLanes::lag() {
  if (random_.chance(options_.faults.lagging)) return Time{random_.between(0, options_.faults.lag_max.count())};
  return Time{random_.between(50'000, 1'000'000)};
}

void SimLanes::promote(ShardIndex index) {
  Shard& shard = shards_[index];
  ++shard.changes;
  shard.master =
      std::make_shared<LaneProcess>(new_identity(shard.replica_run_id), shard.master->replica_lanes(kernel_.now()),
                                    kernel_.now() - options_.replica_max_lag);
  resync_later(index);
}

void SimLanes::resync_later(ShardIndex index) {
  if (!options_.replicas) return;
  kernel_.after(options_.resync, [this, index, master = shards_[index].master] {
    // An old master that is still cut off cannot be anybody's replica.
    if (shards_[index].master != master || !master->alive) return;
    if (shards_[index].old_master) return resync_later(index);
    master->attach_replica(kernel_.now());
    note(index, "has a replica again");
  });
}

void SimLanes::note(ShardIndex shard, std::string_view what) {
  kernel_.note(fmt::format("lanes: shard {} {}", shard, what));
}

}  // namespace seckill::sim
