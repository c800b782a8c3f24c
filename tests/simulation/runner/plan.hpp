// What a run will do, drawn from its seed beforehand: what buyers ask, what operators change, what breaks. Each step
// can be left out and the rest still makes sense, which is what a shrinker needs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seckill::sim {

struct Step {
  std::chrono::nanoseconds at{};      // virtual
  std::size_t number = 0;             // in the plan as drawn: its name on the command line
  std::string what;                   // "buy", "crash at c4", …: the world's words
  std::vector<std::int64_t> numbers;  // the world's meaning
};

struct Plan {
  std::uint64_t seed = 0;
  std::vector<Step> steps;  // in the order of their times, which is that of their numbers
};

// Sorts the steps by time and numbers them. Last in drawing a plan.
void settle(Plan& plan);
// The plan with these of its steps only. `numbers` ascending.
[[nodiscard]] Plan only(const Plan& plan, const std::vector<std::size_t>& numbers);

// "0,3-7,12" and back; an empty vector is "none". nullopt-like: an unreadable text throws std::invalid_argument.
[[nodiscard]] std::string numbers_text(const std::vector<std::size_t>& numbers);
[[nodiscard]] std::vector<std::size_t> parse_numbers(std::string_view text);

// One line a step: number, time, what and its numbers.
[[nodiscard]] std::string text(const Step& step);

}  // namespace seckill::sim
