// The leader's look: each second, while this node leads, every item it is given is compared with its lanes, and the
// lanes that are not as they should be are rebuilt together (rebuild.hpp).
//
// clang-format off
//   store's row                   | lane                             | the look
//   ------------------------------|----------------------------------|-------------------------------------------------
//   closed                        | any                              | rebuild
//   other state than `wanted`     | any                              | rebuild to it (mode switch, DESIGN §4.6)
//   lane, never installed         | none                             | rebuild: how a preload reaches the lanes
//   lane g                        | open g on the row's server       | as it should be; undrained: are older intents gone?
//                                 |   with more units than the row   | did the broker lose intents (lost_intents.hpp)?
//   lane g                        | missing, closed, other than g    | rebuild (flush, eviction, an old leader's close)
//   lane g                        | server has another identity      | rebuild (restart, failover)
//   lane g                        | no answer                        | nothing: unknown is not lost; nodes answer busy
//   store                         | not asked                        | as it should be
//   any but closed, wanted closed | any                              | close and leave it: a person decides (P1)
// clang-format on
//
// A look and the rounds it starts are one thread's: while a round waits, what breaks meanwhile waits for the next look
// (nodes find it and report_lane() closes it in the store at once).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "admission/leading/leader_lease.hpp"
#include "admission/leading/lost_intents.hpp"
#include "admission/leading/rebuild.hpp"
#include "base/threads.hpp"

namespace seckill::admission::leading {

struct LeaderConfig {
  LeaderLeaseConfig lease;
  RebuildConfig rebuild;
  LostIntentsConfig lost;
  std::chrono::milliseconds look_every{1'000};
  std::size_t lanes_a_round = 256;  // more wait for the next look
};

// What the leader has done since the start. Any thread, each value by itself.
struct LeaderCounters {
  std::atomic<std::uint64_t> looks{0};
  std::atomic<std::uint64_t> lanes_wanting{0};  // found not to be as they should
  std::atomic<std::uint64_t> lanes_opened{0};
  std::atomic<std::uint64_t> lanes_waiting{0};  // a round left them closed
  std::atomic<std::uint64_t> rounds_fenced{0};  // another leader came
};

class Leader {
 public:
  // The items whose sales may have lanes, preloaded to not yet closed out. Called from the leader's thread; may block.
  using Items = std::function<base::Result<std::vector<model::ItemKey>>()>;

  // Borrows the ports for its whole life.
  Leader(RebuildPorts ports, Items items, LeaderConfig config);
  ~Leader();  // stops
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  void start();
  // Blocks until the step under way has ended: up to the barrier's time in the middle of a rebuild. What it leaves the
  // next leader redoes. Harmless to repeat.
  void stop();

  // One look and the rounds it asks for, now. Blocks. What the thread does each second; not while it runs.
  void look();

  [[nodiscard]] const LeaderLease& lease() const noexcept { return lease_; }
  [[nodiscard]] const LeaderCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] const LostIntents& lost_intents() const noexcept { return lost_; }

 private:
  // What an item's lanes want.
  struct Wants {
    std::vector<RebuildTask> rebuild;
    std::vector<RebuildTask> close;
    // Undrained lanes that are otherwise as they should be.
    std::map<model::ItemKey, std::vector<store::LaneAuthorityRow>> drain;
  };
  void run();
  [[nodiscard]] bool stopping() const;
  // What a look has read in the store, each sale once; empty: could not be read.
  using Authorities = std::map<model::SaleId, std::vector<store::ItemAuthority>>;
  [[nodiscard]] const store::ItemAuthority* find_authority(const model::ItemKey& item, Authorities& read);
  void look_at(const model::ItemKey& item, const store::ItemAuthority& authority, Wants& wants);
  void look_at_lanes(const model::ItemKey& item, const std::vector<store::LaneAuthorityRow>& rows, Wants& wants);
  void rebuild(std::span<const RebuildTask> tasks, LeaderToken token);

  RebuildPorts ports_;
  const Items items_;
  const LeaderConfig config_;
  LeaderCounters counters_;
  LeaderLease lease_;
  Rebuild rebuild_;
  LostIntents lost_;

  mutable std::mutex mutex_;
  std::unique_ptr<base::Signal> changed_;
  bool stopping_ = false;                 // under the mutex
  std::unique_ptr<base::Thread> thread_;  // of start() and stop()
};

// What a row alone says of its lane.
enum class RowWants : std::uint8_t { nothing, rebuild, close, look };
[[nodiscard]] RowWants judge_row(const store::LaneAuthorityRow& row, store::LaneState wanted) noexcept;

}  // namespace seckill::admission::leading
