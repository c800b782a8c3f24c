// One server process of the simulated lanes: what it holds in memory, the log of its writes, and the two copies of it
// that lag behind: its replica's and its disk's. Copies are prefixes of the log, replayed from the same steps; so a
// failover or a rollback loses exactly a tail.
//
// A restart is another process: this one is dead for good then, and so are the connections to it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "admission/lane_steps.hpp"
#include "simulation/kernel/kernel.hpp"

namespace seckill::sim {

using LaneMap = std::map<admission::LaneKey, admission::steps::LaneState>;
using LaneWrite = std::function<void(LaneMap&)>;

// The lane's state in the map, as missing when it is not there.
[[nodiscard]] admission::steps::LaneState& lane_in(LaneMap& lanes, const admission::LaneKey& lane);

class LaneProcess {
 public:
  LaneProcess(admission::LaneServer identity, LaneMap lanes, Time now);

  // Constant.
  const admission::LaneServer identity;

  bool alive = true;
  bool isolated = false;  // another has been promoted in its place; only old connections still reach it
  bool all_stay = false;  // isolated: every connection, else each with even odds
  Time free_at{0};        // runs nothing before (paused, slow)
  Time slow_by{0};        // what each call takes
  LaneMap lanes;

  // Runs a write and logs it; it reaches the replica after `lag`. Returns its number.
  std::uint64_t write(LaneWrite step, Time now, Time lag);

  // --- the replica ---
  void attach_replica(Time now);  // full synchronisation: it has everything from now on
  void detach_replica(Time now);
  [[nodiscard]] bool has_replica() const noexcept { return replica_.has_value(); }
  [[nodiscard]] std::uint64_t attachment() const noexcept { return attachments_; }  // told apart by number
  // When the write reaches the replica; nullopt: there is none.
  [[nodiscard]] std::optional<Time> replicated_at(std::uint64_t number, Time now) const;
  // What the replica has now. Requires: has_replica().
  [[nodiscard]] LaneMap replica_lanes(Time now);
  // min-replicas-to-write: no replica, and that for longer than `max_lag`.
  [[nodiscard]] bool refuses_writes(Time now, Time max_lag) const noexcept;

  // --- the disk ---
  // What is read back when everything written after `cut` is lost. Requires: cut is at most one second ago.
  [[nodiscard]] LaneMap disk_lanes(Time cut);

  [[nodiscard]] std::uint64_t writes() const noexcept { return end_; }

 private:
  struct Entry {
    Time at;
    Time replicated_at;
    LaneWrite step;
  };
  struct Copy {
    LaneMap lanes;
    std::uint64_t applied = 0;  // entries numbered below are in it
  };
  void catch_up(Copy& copy, const std::function<bool(const Entry&)>& has);
  void trim();

  std::deque<Entry> log_;
  std::uint64_t begin_ = 0;  // number of log_'s first entry
  std::uint64_t end_ = 0;
  Time last_replicated_at_{0};
  Time replica_seen_;
  std::uint64_t attachments_ = 0;
  std::optional<Copy> replica_;
  Copy disk_;
};

}  // namespace seckill::sim
