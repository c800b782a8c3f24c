// A lane as Redis keeps it, read whole and as it is, without the scripts; and lanes in words, so that what a script
// left and what its step left can be compared and their difference read.
#pragma once

#include <string>
#include <vector>

#include "admission/lane_steps_state.hpp"
#include "lanes/lanes_on_redis.hpp"

namespace seckill::admission::redis::test {

struct KeptLane {
  steps::LaneState state;
  std::vector<std::string> faults;  // what cannot be, whatever the steps say: keys that disagree, lives too short
};
[[nodiscard]] KeptLane kept_lane(LanesOnRedis& redis, const LaneKey& lane);

[[nodiscard]] std::string text(const KeptLane& lane);

// All that a lane is, but for the order of its marks and of its stream.
[[nodiscard]] std::string text(const steps::LaneState& lane);

[[nodiscard]] std::string text(LaneCode code);
[[nodiscard]] std::string text(const TicketView& ticket);
[[nodiscard]] std::string text(const model::OrderIntent& intent);
[[nodiscard]] std::string text(const LaneDecisions& decisions);
[[nodiscard]] std::string text(const LaneReading& reading);
[[nodiscard]] std::string text(const LaneScripts::FoundTickets& found);
[[nodiscard]] std::string text(const LaneScripts::HolderPage& page);
[[nodiscard]] std::string text(const LaneDebit& debit);
[[nodiscard]] std::string text(const AdoptReply& reply);
// Sorted.
[[nodiscard]] std::string text(const std::vector<model::OrderIntent>& intents);

}  // namespace seckill::admission::redis::test
