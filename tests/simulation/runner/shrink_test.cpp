// Plans on the command line, and how a failing one becomes short.
#include "simulation/runner/shrink.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace seckill::sim {
namespace {

Plan plan_of(std::size_t steps) {
  Plan plan{.seed = 7, .steps = {}};
  for (std::size_t i = 0; i < steps; ++i) {
    plan.steps.push_back({.at = std::chrono::milliseconds{i}, .number = 0, .what = "buy", .numbers = {}});
  }
  settle(plan);
  return plan;
}

std::vector<std::size_t> numbers_of(const Plan& plan) {
  std::vector<std::size_t> numbers;
  for (const Step& step : plan.steps) numbers.push_back(step.number);
  return numbers;
}

bool has(const Plan& plan, std::size_t number) { return std::ranges::count(numbers_of(plan), number) > 0; }

TEST(Shrink, FindsTheFewStepsThatMatterAmongMany) {
  std::size_t trials = 0;
  const Plan small = shrink(
      plan_of(300),
      [&](const Plan& plan) {
        ++trials;
        return has(plan, 17) && has(plan, 18) && has(plan, 250);
      },
      1'000);
  EXPECT_EQ(numbers_of(small), (std::vector<std::size_t>{17, 18, 250}));
  EXPECT_LT(trials, 200U);
  EXPECT_EQ(small.seed, 7U);
}

TEST(Shrink, APlanThatFailsByItselfShrinksToNothing) {
  EXPECT_TRUE(shrink(plan_of(50), [](const Plan&) { return true; }, 100).steps.empty());
}

TEST(Shrink, StopsWhenTheTrialsRunOut) {
  std::size_t trials = 0;
  const Plan small = shrink(
      plan_of(100),
      [&](const Plan& plan) {
        ++trials;
        return has(plan, 1) && has(plan, 99);
      },
      5);
  EXPECT_EQ(trials, 5U);
  EXPECT_TRUE(has(small, 1) && has(small, 99));
}

TEST(Plan, StepNumbersAreReadAsTheyAreWritten) {
  const std::vector<std::size_t> numbers{0, 3, 4, 5, 9, 10};
  EXPECT_EQ(numbers_text(numbers), "0,3-5,9-10");
  EXPECT_EQ(parse_numbers("0,3-5,9-10"), numbers);
  EXPECT_EQ(numbers_text({}), "none");
  EXPECT_TRUE(parse_numbers("none").empty());
  for (const char* bad : {"", "a", "1,", "1-", "1;2", "-3"})
    EXPECT_THROW((void)parse_numbers(bad), std::invalid_argument) << bad;
  EXPECT_EQ(numbers_of(only(plan_of(12), numbers)), numbers);
}

}  // namespace
}  // namespace seckill::sim
