#include "simulation/runner/shrink.hpp"

#include <algorithm>

namespace seckill::sim {
namespace {

// The plan without the steps [from, to).
Plan without(const Plan& plan, std::size_t from, std::size_t to) {
  Plan rest{.seed = plan.seed, .steps = {}};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (i < from || i >= to) rest.steps.push_back(plan.steps[i]);
  }
  return rest;
}

}  // namespace

Plan shrink(const Plan& plan, const std::function<bool(const Plan&)>& fails, std::size_t trials_max) {
  Plan best = plan;
  std::size_t trials = 0;
  std::size_t parts = 2;
  while (!best.steps.empty()) {
    const std::size_t size = best.steps.size();
    parts = std::min(parts, size);
    bool shorter = false;
    for (std::size_t part = 0; part < parts && !shorter; ++part) {
      if (trials++ >= trials_max) return best;
      Plan candidate = without(best, size * part / parts, size * (part + 1) / parts);
      if (!fails(candidate)) continue;
      best = std::move(candidate);
      shorter = true;
    }
    if (shorter) {
      parts = std::max<std::size_t>(parts - 1, 2);
    } else if (parts == size) {
      return best;
    } else {
      parts *= 2;
    }
  }
  return best;
}

}  // namespace seckill::sim
