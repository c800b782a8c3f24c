// A simulated deployment, as the runner sees it: it draws a plan from a seed and plays it. A world of another shape
// (one process; several nodes, lanes and a broker) is another pair of these functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/runner/plan.hpp"

namespace seckill::sim {

// A promise that did not hold.
struct Violation {
  std::string promise;  // "P1" … "P9", "log" (an error line nobody allowed), "end" (the run does not come to rest)
  std::string what;     // the difference, in words and numbers
};

struct RunResult {
  std::optional<Violation> violation;  // the first
  std::vector<std::string> story;      // what happened last
  std::uint64_t fingerprint = 0;       // of the whole run
  std::chrono::nanoseconds virtual_time{};
  std::uint64_t purchases = 0;                                    // admitted and acknowledged
  std::uint64_t requests = 0;                                     // purchases asked for
  std::uint64_t events = 0;                                       // of the kernel
  std::vector<std::pair<std::string, std::uint64_t>> passages;    // crash points, how often they were passed
  std::vector<std::pair<std::string, std::uint64_t>> crashed_at;  // crash points, how often a node died there
};

struct World {
  std::string name;
  std::function<Plan(std::uint64_t seed)> draw;
  std::function<RunResult(const Plan&)> run;
};

}  // namespace seckill::sim
