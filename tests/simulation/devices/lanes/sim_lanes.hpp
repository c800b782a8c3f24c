// The simulated lanes: a model of a Redis Cluster whose scripts are lane_steps.hpp. Shards of a master and a replica;
// a lane lives in a slot, a slot on a shard. What the model knows of Redis (DESIGN §4.5):
//
//   failover       the replica becomes master with what had reached it: the tail is lost, unless it was waited for
//   split brain    a partitioned old master serves those connected to it until it is demoted; all that is lost
//   restart        another run id; with everything, or without up to the last second (AOF everysec, power lost)
//   flush          the lanes are gone, the run id stays
//   pause          calls that arrived meanwhile are executed afterwards, however old
//   slot move      the lane is on another shard, with its data
//   connections    a call is executed at most once and in the connection's order; its answer may be late or lost
//
// Faults that befall one call come from the kernel's dice; those that befall a shard are commands, so that a plan can
// order them. A command that does not fit the present state does nothing and answers false. One thread: the kernel's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/lane_scripts.hpp"
#include "simulation/devices/lanes/lane_process.hpp"
#include "simulation/kernel/kernel.hpp"

namespace seckill::sim {

using ShardIndex = std::uint32_t;

// What befalls single calls, in thousandths.
struct LaneCallFaults {
  std::uint32_t not_sent = 0;      // refused before it was sent: Errc::unavailable
  std::uint32_t request_lost = 0;  // the connection breaks before it arrives: Errc::timeout
  std::uint32_t reply_lost = 0;    // executed; the connection breaks before the answer
  std::uint32_t late = 0;          // on its way for up to late_max, and all that follows on its connection
  Time late_max = 3s;
  std::uint32_t lagging = 0;  // a write takes up to lag_max to the replica, and all that follow
  Time lag_max = 500ms;
};

struct SimLanesOptions {
  ShardIndex shards = 2;
  bool replicas = true;
  Time call_deadline = 1s;     // then Errc::timeout, or unavailable when it was never sent
  Time resync = 2s;            // until a demoted or restarted process is a replica again
  Time replica_max_lag = 10s;  // min-replicas-max-lag: a master without its replica refuses writes after this
  LaneCallFaults faults;
};

class SimLanes {
 public:
  // Requires: the kernel runs no event after this is gone.
  explicit SimLanes(Kernel& kernel, SimLanesOptions options = {});
  SimLanes(const SimLanes&) = delete;
  SimLanes& operator=(const SimLanes&) = delete;

  // --- what befalls a shard ---
  // The master is lost and its replica promoted.
  bool fail_over(ShardIndex shard);
  // The replica is promoted, but the old master does not know: connections stay with it (each with even odds, or all)
  // for `lasts`, then it is demoted and what was written there is lost.
  bool partition_old_master(ShardIndex shard, Time lasts, bool all_stay = false);
  // The process ends and another one starts on the same disk after `down`.
  bool restart(ShardIndex shard, Time down);
  // As restart(), but the power failed: up to one second of writes is lost.
  bool restart_rolled_back(ShardIndex shard, Time down);
  // FLUSHALL.
  bool flush(ShardIndex shard);
  // One lane's keys are evicted.
  bool evict(const admission::LaneKey& lane);
  // SIGSTOP: nothing is executed, connections stay.
  bool pause(ShardIndex shard, Time time);
  // Every call takes `each` from now on; 0 ends it.
  bool slow(ShardIndex shard, Time each);
  // The lane's slot, with every lane in it.
  bool move_slot(const admission::LaneKey& lane, ShardIndex to);
  void set_skew(ShardIndex shard, std::chrono::milliseconds skew);
  void set_faults(const LaneCallFaults& faults) { options_.faults = faults; }

  // --- the truth, for the oracle ---
  [[nodiscard]] ShardIndex shards() const noexcept { return static_cast<ShardIndex>(shards_.size()); }
  [[nodiscard]] ShardIndex shard_of(const admission::LaneKey& lane) const;
  // On the present master of its shard; nullptr when it is not there.
  [[nodiscard]] const admission::steps::LaneState* lane(const admission::LaneKey& lane) const;
  [[nodiscard]] std::vector<admission::LaneKey> lanes() const;
  // The present master's.
  [[nodiscard]] const admission::LaneServer& server(ShardIndex shard) const;
  [[nodiscard]] bool is_split(ShardIndex shard) const;  // an old master is still serving somebody
  [[nodiscard]] bool is_up(ShardIndex shard) const;
  [[nodiscard]] bool is_replicated(ShardIndex shard) const;

 private:
  friend class SimLanesClient;
  friend class LaneConnections;
  static constexpr std::uint32_t slots = 64;

  struct Shard {
    std::shared_ptr<LaneProcess> master;
    std::shared_ptr<LaneProcess> old_master;  // while split
    std::string replica_run_id;
    std::chrono::milliseconds skew{0};
    std::uint64_t changes = 0;  // of its master: a planned restart of an earlier one is off
  };

  [[nodiscard]] static std::uint32_t slot_of(const admission::LaneKey& lane);
  [[nodiscard]] std::string new_run_id();
  [[nodiscard]] admission::LaneServer new_identity(std::string run_id);
  [[nodiscard]] base::UtcMs clock_of(ShardIndex shard) const { return kernel_.utc() + shards_[shard].skew.count(); }
  [[nodiscard]] Time lag();
  void promote(ShardIndex shard);
  void resync_later(ShardIndex shard);
  bool restart_from(ShardIndex shard, Time down, bool rolled_back);
  void note(ShardIndex shard, std::string_view what);

  Kernel& kernel_;
  Random random_;
  SimLanesOptions options_;
  std::vector<Shard> shards_;
  std::vector<ShardIndex> owners_;  // of slots
  std::uint64_t run_ids_ = 0;
  std::uint64_t histories_ = 0;
};

}  // namespace seckill::sim
