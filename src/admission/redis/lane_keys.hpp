// The names of a lane's keys. All of them carry the lane's hash tag and so live in one slot (FS-20).
#pragma once

#include <string>
#include <vector>

#include "admission/lane_scripts.hpp"

namespace seckill::admission::redis {

// How many of a lane's keys a script is given; in the order of scripts/parts/lane.lua, the shorter ones first in it.
enum class LaneKeys : std::uint8_t {
  buying = 5,       // stock, marks, tickets, intents, ages
  transfers = 8,    // and transfers, spent, spent_at
  installing = 13,  // and the five of the lane beside
};

[[nodiscard]] std::vector<std::string> keys_of(const LaneKey& lane, LaneKeys which);
// The first of them, which decides where a call goes.
[[nodiscard]] std::string routing_key_of(const LaneKey& lane);

}  // namespace seckill::admission::redis
