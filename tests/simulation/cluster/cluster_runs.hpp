// The cluster as a world of the runner: its plan as steps that can each be left out, its outcome as a result.
#pragma once

#include "simulation/runner/world.hpp"

namespace seckill::sim::cluster {

// The world "cluster".
[[nodiscard]] World world();

}  // namespace seckill::sim::cluster
