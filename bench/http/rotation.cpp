#include "rotation.hpp"

#include <algorithm>
#include <memory>
#include <thread>

#include "load.hpp"

namespace seckill::bench {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }
double rate(const Window& w) { return static_cast<double>(w.replies) / seconds(w.wall); }
double cpu_us(const Window& w) { return seconds(w.server_cpu) * 1e6 / static_cast<double>(w.replies); }

}  // namespace

std::vector<Measured> rotate(const std::vector<Contender>& contenders, const RotationPlan& plan) {
  std::vector<std::unique_ptr<Load>> loads;
  for (const Contender& contender : contenders) {
    loads.push_back(std::make_unique<Load>(contender, plan.connections));
    (void)loads.back()->run(plan.window);  // warms caches, branch predictors and allocators
  }
  std::vector<std::vector<Window>> windows(contenders.size());
  for (unsigned round = 0; round < plan.rounds; ++round) {
    for (std::size_t i = 0; i < loads.size(); ++i) {
      windows[i].push_back(loads[i]->run(plan.window));
      std::this_thread::sleep_for(plan.pause);
    }
  }
  std::vector<Measured> results;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    Measured measured;
    measured.name = contenders[i].name;
    const auto calm = [&](std::size_t who, unsigned round) { return windows[who][round].longest_gap <= plan.gap_max; };
    unsigned undisturbed = 0;
    for (unsigned round = 0; round < plan.rounds; ++round) {
      undisturbed += calm(i, round) ? 1 : 0;
    }
    measured.windows = undisturbed;
    measured.disturbed = plan.rounds - undisturbed;
    const bool all_count = undisturbed < plan.rounds / 4;
    std::vector<double> rates, cpus, rate_ratios, cpu_ratios;
    for (unsigned round = 0; round < plan.rounds; ++round) {
      if (!all_count && !calm(i, round)) {
        continue;
      }
      rates.push_back(rate(windows[i][round]));
      cpus.push_back(cpu_us(windows[i][round]));
      if (all_count || calm(0, round)) {
        rate_ratios.push_back(rate(windows[i][round]) / rate(windows[0][round]));
        cpu_ratios.push_back(cpu_us(windows[0][round]) / cpu_us(windows[i][round]));
      }
    }
    measured.requests_per_s = median(rates);
    measured.cpu_us_per_request = median(cpus);
    measured.rate_ratio = median(rate_ratios);
    measured.cpu_ratio = median(cpu_ratios);
    results.push_back(measured);
  }
  return results;
}

}  // namespace seckill::bench
