// Delta debugging: from a plan that fails to a short one that still fails, by leaving out more and more of its steps.
// A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 28(2), 2002: ddmin.
#pragma once

#include <functional>

#include "simulation/runner/plan.hpp"

namespace seckill::sim {

// The shortest failing plan found within `trials_max` trials: leaving out any one of its steps makes it pass, unless
// the trials ran out. `fails` is asked about smaller and smaller plans. Requires: `plan` itself fails.
[[nodiscard]] Plan shrink(const Plan& plan, const std::function<bool(const Plan&)>& fails, std::size_t trials_max);

}  // namespace seckill::sim
