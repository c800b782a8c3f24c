#include "simulation/runner/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace seckill::sim {

void settle(Plan& plan) {
  const auto number = [&] {
    for (std::size_t i = 0; i < plan.steps.size(); ++i) plan.steps[i].number = i;
  };
  number();  // of one instant, the order in which they were drawn
  std::ranges::sort(plan.steps, {}, [](const Step& step) { return std::pair{step.at, step.number}; });
  number();
}

Plan only(const Plan& plan, const std::vector<std::size_t>& numbers) {
  Plan kept{.seed = plan.seed, .steps = {}};
  for (const Step& step : plan.steps) {
    if (std::ranges::binary_search(numbers, step.number)) kept.steps.push_back(step);
  }
  return kept;
}

std::string numbers_text(const std::vector<std::size_t>& numbers) {
  if (numbers.empty()) return "none";
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return out;
}

std::vector<std::size_t> parse_numbers(std::string_view text) {
  std::vector<std::size_t> numbers;
  if (text == "none") return numbers;
  const auto number = [&] {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value > 1'000'000) throw std::invalid_argument{"step numbers look like 0,3-7,12"};
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
  };
  const auto skip = [&](char expected) {
    if (text.empty() || text.front() != expected) return false;
    text.remove_prefix(1);
    return true;
  };
  do {
    const std::size_t first = number();
    const std::size_t last = skip('-') ? number() : first;
    for (std::size_t i = first; i <= last; ++i) numbers.push_back(i);
  } while (skip(','));
  if (!text.empty()) throw std::invalid_argument{"step numbers look like 0,3-7,12"};
  std::ranges::sort(numbers);
  return numbers;
}

std::string text(const Step& step) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(step.at).count();
  return fmt::format("{:4}  {:3}.{:03} s  {} {}", step.number, ms / 1'000, ms % 1'000, step.what,
                     fmt::join(step.numbers, " "));
}

}  // namespace seckill::sim
