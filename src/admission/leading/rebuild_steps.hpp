// What the parts of a rebuild say alike; of this folder alone.
#pragma once

#include <string>

#include "admission/lane_scripts.hpp"
#include "base/result.hpp"

namespace seckill::admission::leading {

inline std::string name_of(const LaneKey& key) { return key.item.text() + " lane " + std::to_string(key.lane); }

// What a lane's answer to an install step means for this attempt.
inline base::Status done_or_why(const base::Result<LaneCode>& answer, std::string doing) {
  if (!answer) return std::unexpected(answer.error());
  switch (*answer) {
    case LaneCode::done: return {};
    case LaneCode::closed: return base::fail(base::Errc::unavailable, std::move(doing), "the lane is closed");
    case LaneCode::stale: return base::fail(base::Errc::stale, std::move(doing), "the lane is of a higher generation");
    case LaneCode::foreign: return base::fail(base::Errc::unavailable, std::move(doing), "the server has changed");
    case LaneCode::refused: return base::fail(base::Errc::refused, std::move(doing), "tickets are missing");
  }
  return base::fail(base::Errc::corrupt, std::move(doing), "an answer that does not exist");
}

}  // namespace seckill::admission::leading
