// How to compare servers on noisy shared cores: short windows, round robin over all contenders in one sitting, idle in
// between; windows in which the generator was held up are dropped; medians, and ratios to the first contender of the
// same sitting. CPU time a request is the steadiest figure: what other programs take away does not count in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "contender.hpp"

namespace seckill::bench {

struct RotationPlan {
  unsigned rounds = 60;
  unsigned connections = 64;
  std::chrono::milliseconds window{40};
  std::chrono::milliseconds pause{5};
  std::chrono::microseconds gap_max{1'200};
};

struct Measured {
  std::string name;
  double requests_per_s = 0;      // median over undisturbed windows
  double cpu_us_per_request = 0;  // likewise
  double rate_ratio = 0;          // median over rounds of this ÷ the first contender
  double cpu_ratio = 0;           // median over rounds of the first contender's CPU a request ÷ this one's
  unsigned windows = 0;           // undisturbed
  unsigned disturbed = 0;
};

// Runs on the calling thread. Throws as Load does. When fewer than a quarter of the windows were undisturbed, all
// windows count, because then the machine is the same for everybody.
[[nodiscard]] std::vector<Measured> rotate(const std::vector<Contender>& contenders, const RotationPlan& plan);

}  // namespace seckill::bench
