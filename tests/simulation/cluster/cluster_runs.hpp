// The cluster as a world of the runner: its plan as steps that can each be left out, its outcome as a result.
#pragma once

#include "simulation/cluster/breakage.hpp"
#include "simulation/runner/world.hpp"

namespace seckill::sim::cluster {

// The world "cluster". `breakage`: for tests that show that the oracle bites.
[[nodiscard]] World world(ClusterBreakage breakage = ClusterBreakage::none);

}  // namespace seckill::sim::cluster
