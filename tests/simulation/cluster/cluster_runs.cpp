#include "simulation/cluster/cluster_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/assert.hpp"
#include "simulation/cluster/cluster_world.hpp"

namespace seckill::sim::cluster {
namespace {

constexpr std::string_view crash_prefix = "crash at ";

// A rate of faults, by the name it has in a plan.
struct Rate {
  std::string_view name;
  std::uint32_t& (*of)(ClusterPlan&);
};
constexpr std::array rates{
    Rate{"store.unavailable", [](ClusterPlan& p) -> std::uint32_t& { return p.store_faults.unavailable; }},
    Rate{"store.lost_request", [](ClusterPlan& p) -> std::uint32_t& { return p.store_faults.lost_request; }},
    Rate{"store.lost_reply", [](ClusterPlan& p) -> std::uint32_t& { return p.store_faults.lost_reply; }},
    Rate{"store.late", [](ClusterPlan& p) -> std::uint32_t& { return p.store_faults.late; }},
    Rate{"store.slow", [](ClusterPlan& p) -> std::uint32_t& { return p.store_faults.slow; }},
    Rate{"lanes.not_sent", [](ClusterPlan& p) -> std::uint32_t& { return p.lane_faults.not_sent; }},
    Rate{"lanes.request_lost", [](ClusterPlan& p) -> std::uint32_t& { return p.lane_faults.request_lost; }},
    Rate{"lanes.reply_lost", [](ClusterPlan& p) -> std::uint32_t& { return p.lane_faults.reply_lost; }},
    Rate{"lanes.late", [](ClusterPlan& p) -> std::uint32_t& { return p.lane_faults.late; }},
    Rate{"lanes.lagging", [](ClusterPlan& p) -> std::uint32_t& { return p.lane_faults.lagging; }},
    Rate{"broker.lose_publish", [](ClusterPlan& p) -> std::uint32_t& { return p.broker_faults.lose_publish; }},
    Rate{"broker.lose_confirm", [](ClusterPlan& p) -> std::uint32_t& { return p.broker_faults.lose_confirm; }},
    Rate{"broker.refuse", [](ClusterPlan& p) -> std::uint32_t& { return p.broker_faults.refuse; }},
    Rate{"broker.duplicate", [](ClusterPlan& p) -> std::uint32_t& { return p.broker_faults.duplicate; }},
    Rate{"broker.late", [](ClusterPlan& p) -> std::uint32_t& { return p.broker_faults.late; }},
    Rate{"broker.requeue_last", [](ClusterPlan& p) -> std::uint32_t& { return p.broker_faults.requeue_last; }},
    Rate{"broker.lose_connection", [](ClusterPlan& p) -> std::uint32_t& { return p.broker_faults.lose_connection; }},
};

Plan draw(std::uint64_t seed) {
  ClusterPlan drawn = draw_cluster_plan(seed);
  Plan plan{.seed = seed, .steps = {}};
  for (const Rate& rate : rates) {
    if (rate.of(drawn) > 0) plan.steps.push_back({.what = std::string{rate.name}, .numbers = {rate.of(drawn)}});
  }
  for (std::size_t i = 0; i < drawn.skews_ms.size(); ++i) {
    if (drawn.skews_ms[i] == 0) continue;
    plan.steps.push_back({.what = "skew", .numbers = {static_cast<std::int64_t>(i), drawn.skews_ms[i]}});
  }
  for (const PlannedPoint& point : drawn.crashes) {
    plan.steps.push_back({.what = std::string{crash_prefix} + point.point,
                          .numbers = {static_cast<std::int64_t>(point.nth), point.down_for / 1ms}});
  }
  for (const ClusterStep& step : drawn.steps) {
    plan.steps.push_back({.at = step.at, .what = std::string{name(step.kind)}, .numbers = {step.a, step.b, step.c}});
  }
  settle(plan);
  return plan;
}

// Puts one step of the runner's plan back into the world's.
void put(const Step& step, ClusterPlan& plan) {
  const auto rate = std::ranges::find(rates, std::string_view{step.what}, &Rate::name);
  if (rate != rates.end()) {
    rate->of(plan) = static_cast<std::uint32_t>(step.numbers.at(0));
    return;
  }
  if (step.what == "skew") {
    plan.skews_ms.at(static_cast<std::size_t>(step.numbers.at(0))) = step.numbers.at(1);
    return;
  }
  if (step.what.starts_with(crash_prefix)) {
    plan.crashes.push_back({.point = step.what.substr(crash_prefix.size()),
                            .nth = static_cast<std::uint64_t>(step.numbers.at(0)),
                            .down_for = step.numbers.at(1) * 1ms});
    return;
  }
  const auto number = [&](std::size_t i) { return static_cast<std::uint32_t>(step.numbers.at(i)); };
  const auto kind = std::ranges::find(all_step_kinds, std::string_view{step.what}, [](StepKind k) { return name(k); });
  SECKILL_ASSERT(kind != all_step_kinds.end(), "a plan names steps that there are");
  plan.steps.push_back({.at = step.at, .kind = *kind, .a = number(0), .b = number(1), .c = number(2)});
}

Violation violation_of(const std::string& text) {
  const std::size_t colon = text.find(": ");
  if (colon == 2 && text.front() == 'P') return {.promise = text.substr(0, colon), .what = text.substr(colon + 2)};
  return {.promise = "log", .what = text};
}

RunResult run(const Plan& plan, ClusterBreakage breakage) {
  // The deployment's shape is the seed's; everything that happens to it is the plan's.
  ClusterPlan shape = draw_cluster_plan(plan.seed);
  shape.steps.clear();
  shape.crashes.clear();
  for (const Rate& rate : rates) rate.of(shape) = 0;
  std::ranges::fill(shape.skews_ms, 0);
  for (const Step& step : plan.steps) put(step, shape);
  ClusterWorld world{shape, breakage};
  ClusterOutcome outcome = world.run();
  RunResult result;
  if (!outcome.violation.empty()) result.violation = violation_of(outcome.violation);
  result.story = std::move(outcome.story);
  result.fingerprint = outcome.fingerprint;
  result.virtual_time = outcome.virtual_time;
  result.purchases = outcome.acknowledged;
  result.requests = outcome.requests;
  result.events = outcome.events;
  result.passages = std::move(outcome.passages);
  result.crashed_at = std::move(outcome.crashed_at);
  return result;
}

}  // namespace

World world(ClusterBreakage breakage) {
  return {.name = "cluster", .draw = draw, .run = [breakage](const Plan& plan) { return run(plan, breakage); }};
}

}  // namespace seckill::sim::cluster
