// Promises broken on purpose, to show that the cluster's oracle bites. Each is a wrapper around one port of every node:
// the product's own code is as it is.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "admission/lane_scripts.hpp"
#include "queue/intent_broker.hpp"
#include "simulation/devices/lanes/sim_lanes.hpp"

namespace seckill::sim {

enum class ClusterBreakage : std::uint8_t {
  none,
  confirms_what_it_drops,       // P5: the publisher says confirmed and sends nothing
  acknowledges_before_landing,  // P5: a message is forgotten as soon as it is received
  swallows_releases,            // P6: a lane is said to have released, and was not told
  credits_twice,                // P1: a transfer's units arrive twice
  reads_every_lane_as_empty,    // P8: sold_out although units are free
  forgets_the_limit,            // P3: lanes know no purchase limit
  believes_any_server,          // P1: no fence by run id: a promoted or restarted server is taken for the old one
  sees_no_other_content,        // P4: what a request asks for is not compared
};
inline constexpr ClusterBreakage all_cluster_breakages[] = {
    ClusterBreakage::confirms_what_it_drops,    ClusterBreakage::acknowledges_before_landing,
    ClusterBreakage::swallows_releases,         ClusterBreakage::credits_twice,
    ClusterBreakage::reads_every_lane_as_empty, ClusterBreakage::forgets_the_limit,
    ClusterBreakage::believes_any_server,       ClusterBreakage::sees_no_other_content};
[[nodiscard]] std::string_view name(ClusterBreakage breakage) noexcept;

// What the node is to use instead; the given port itself when this breakage is of another one.
[[nodiscard]] std::unique_ptr<admission::LaneScripts> break_lanes(ClusterBreakage breakage, SimLanes& cluster,
                                                                  std::unique_ptr<admission::LaneScripts> lanes);
[[nodiscard]] std::unique_ptr<queue::IntentPublisher> break_publisher(
    ClusterBreakage breakage, Kernel& kernel, Node& node, std::unique_ptr<queue::IntentPublisher> publisher);
[[nodiscard]] std::unique_ptr<queue::IntentSource> break_source(ClusterBreakage breakage,
                                                                std::unique_ptr<queue::IntentSource> source);

}  // namespace seckill::sim
