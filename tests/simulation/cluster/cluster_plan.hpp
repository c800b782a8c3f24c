// What a seed does to a cluster: drawn beforehand as a list of steps, each of which can be left out, so that a failing
// run can be cut down to the few steps that matter.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/devices/broker/sim_broker.hpp"
#include "simulation/devices/lanes/sim_lanes.hpp"
#include "simulation/devices/store/store_faults.hpp"
#include "simulation/kernel/kernel.hpp"

namespace seckill::sim {

enum class StepKind : std::uint8_t {
  // buyers: a = buyer, b = request number of his, c = units
  buy,
  cancel,   // his ticket of request b
  pay,      // his ticket of request b
  outcome,  // asks what became of request b
  // operator
  edit,  // a = limit, b = price factor
  pause,
  resume,
  top_up,          // a = units
  reduce,          // a = units
  by_database,     // admission by database on
  by_lanes,        // and off
  synchronous_on,  // synchronous ordering
  synchronous_off,
  // what breaks: a = which, b = milliseconds
  kill_node,
  fail_over,
  split_brain,
  roll_back,
  restart_lanes,
  flush,
  evict,
  pause_lanes,
  slow_lanes,
  move_slot,
  broker_crash,
  broker_alarm,
  broker_disconnect,
  broker_purge,
  store_down,
};
inline constexpr std::array all_step_kinds{StepKind::buy,
                                           StepKind::cancel,
                                           StepKind::pay,
                                           StepKind::outcome,
                                           StepKind::edit,
                                           StepKind::pause,
                                           StepKind::resume,
                                           StepKind::top_up,
                                           StepKind::reduce,
                                           StepKind::by_database,
                                           StepKind::by_lanes,
                                           StepKind::synchronous_on,
                                           StepKind::synchronous_off,
                                           StepKind::kill_node,
                                           StepKind::fail_over,
                                           StepKind::split_brain,
                                           StepKind::roll_back,
                                           StepKind::restart_lanes,
                                           StepKind::flush,
                                           StepKind::evict,
                                           StepKind::pause_lanes,
                                           StepKind::slow_lanes,
                                           StepKind::move_slot,
                                           StepKind::broker_crash,
                                           StepKind::broker_alarm,
                                           StepKind::broker_disconnect,
                                           StepKind::broker_purge,
                                           StepKind::store_down};
[[nodiscard]] std::string_view name(StepKind kind) noexcept;

struct ClusterStep {
  Time at{};
  StepKind kind = StepKind::buy;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;

  [[nodiscard]] std::string text() const;
};

// A crash at the nth passage of a named point.
struct PlannedPoint {
  std::string point;
  std::uint64_t nth = 1;
  Time down_for{};
};

struct ClusterPlan {
  std::uint64_t seed = 0;
  std::uint32_t api_nodes = 2;
  std::uint32_t workers = 2;
  std::uint32_t shards = 2;
  std::uint32_t partitions = 2;
  std::uint32_t lanes = 2;
  std::uint32_t buyers = 12;
  std::int64_t total = 16;
  std::int64_t reserve = 0;
  std::int64_t limit = 1;
  std::int64_t price_minor = 9'900;
  std::int64_t pay_window_ms = 8'000;
  Time sale_lasts = 40s;
  StoreFaults store_faults;
  LaneCallFaults lane_faults;
  BrokerFaults broker_faults;
  std::vector<std::int64_t> skews_ms;  // a node each
  std::vector<PlannedPoint> crashes;
  std::vector<ClusterStep> steps;  // ascending by time
};

// The same for one seed, always.
[[nodiscard]] ClusterPlan draw_cluster_plan(std::uint64_t seed);

}  // namespace seckill::sim
