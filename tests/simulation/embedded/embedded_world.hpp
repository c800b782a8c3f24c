// The embedded server under simulation: one process that crashes and comes back, its store, a crowd, an operator.
#pragma once

#include "simulation/embedded/server.hpp"
#include "simulation/runner/world.hpp"

namespace seckill::sim::embedded {

// The world "embedded". `breakage`: for tests that show that the oracle bites.
[[nodiscard]] World world(Breakage breakage = {});

}  // namespace seckill::sim::embedded
