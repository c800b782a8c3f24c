// The simulator's command line: many seeds of a world, one seed with its story, or a failing seed made short.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "simulation/cluster/cluster_runs.hpp"
#include "simulation/embedded/embedded_world.hpp"
#include "simulation/runner/report.hpp"
#include "simulation/runner/seeds.hpp"
#include "simulation/runner/shrink.hpp"

namespace seckill::sim {
namespace {

constexpr std::size_t story_lines_shown = 40;
constexpr std::size_t trials_max = 2'000;

struct Arguments {
  std::string world = "embedded";
  std::uint64_t first = 1;
  std::uint64_t seeds = 0;
  std::int64_t minutes = 0;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> shrink;
  std::string keep;
  unsigned jobs = 1;
  bool story = false;
  std::string report = "build/simulation/report.json";
  std::string record;
};

std::vector<World> worlds() { return {embedded::world(), cluster::world()}; }

std::string repeat_with(const World& world, const Plan& plan, const Plan& whole) {
  std::string command = fmt::format("simulate --world {} --seed {} --story", world.name, plan.seed);
  if (plan.steps.size() == whole.steps.size()) return command;
  std::vector<std::size_t> numbers;
  for (const Step& step : plan.steps) numbers.push_back(step.number);
  return command + " --keep " + numbers_text(numbers);
}

void print_story(const std::vector<std::string>& story, std::size_t lines) {
  for (std::size_t i = story.size() - std::min(story.size(), lines); i < story.size(); ++i)
    fmt::print("{}\n", story[i]);
}

void print_plan(const Plan& plan) {
  for (const Step& step : plan.steps) fmt::print("{}\n", text(step));
}

int play_one(const World& world, const Arguments& arguments) {
  const Plan whole = world.draw(*arguments.seed);
  const Plan plan = arguments.keep.empty() ? whole : only(whole, parse_numbers(arguments.keep));
  const RunResult result = world.run(plan);
  if (arguments.story) {
    fmt::print("the plan:\n");
    print_plan(plan);
    fmt::print("what happened:\n");
    print_story(result.story, result.story.size());
  }
  fmt::print("seed {}: {} events, {:.1f} virtual s, {} purchases, fingerprint {:016x}\n", plan.seed, result.events,
             std::chrono::duration<double>{result.virtual_time}.count(), result.purchases, result.fingerprint);
  if (!result.violation) return 0;
  fmt::print("{} BROKEN: {}\n", result.violation->promise, result.violation->what);
  return 1;
}

int shrink_one(const World& world, std::uint64_t seed) {
  const Plan whole = world.draw(seed);
  const RunApart first = run_apart(world, whole);
  if (!first.result.violation) {
    fmt::print("seed {} breaks nothing\n", seed);
    return 0;
  }
  const std::string promise = first.result.violation->promise;
  std::size_t trials = 0;
  const Plan small = shrink(
      whole,
      [&](const Plan& candidate) {
        fmt::print(stderr, "\r{} trials, {} steps   ", ++trials, candidate.steps.size());
        const RunApart run = run_apart(world, candidate);
        return run.result.violation && run.result.violation->promise == promise;
      },
      trials_max);
  const RunApart last = run_apart(world, small);
  fmt::print("\nseed {}: {} of {} steps are enough to break {}:\n", seed, small.steps.size(), whole.steps.size(),
             promise);
  print_plan(small);
  fmt::print("what happened last:\n");
  print_story(last.result.story, story_lines_shown);
  if (last.result.violation) fmt::print("{} BROKEN: {}\n", promise, last.result.violation->what);
  fmt::print("repeat with: {}\n", repeat_with(world, small, whole));
  return 1;
}

void print_totals(const World& world, const Totals& totals) {
  const double wall_s = std::max(1e-9, std::chrono::duration<double>{totals.wall_time}.count());
  fmt::print("{}: {} seeds, {} violations, {:.2f} virtual hours, {} requests, {} purchases ({:.0f}/s), {:.1f} s\n",
             world.name, totals.seeds, totals.violations,
             std::chrono::duration<double, std::ratio<3600>>{totals.virtual_time}.count(), totals.requests,
             totals.purchases, static_cast<double>(totals.purchases) / wall_s, wall_s);
  fmt::print("crash points (passed / crashed there):");
  for (const auto& [point, passed] : totals.passages) {
    const auto crashed = totals.crashed_at.find(point);
    fmt::print(" {} {}/{}", point, passed, crashed == totals.crashed_at.end() ? 0 : crashed->second);
  }
  fmt::print("\n");
}

int play_many(const World& world, const Arguments& arguments) {
  SeedsWanted wanted{.first = arguments.first,
                     .count = 100,
                     .longest = std::chrono::hours{24 * 365},
                     .jobs = arguments.jobs,
                     .progress = ::isatty(STDERR_FILENO) == 1};
  if (arguments.minutes > 0) {
    wanted.longest = std::chrono::minutes{arguments.minutes};
    wanted.count = UINT64_MAX / 2;
  }
  if (arguments.seeds > 0) wanted.count = arguments.seeds;
  const Totals totals = run_seeds(world, wanted);
  print_totals(world, totals);
  if (!write_report(arguments.report, world, totals)) fmt::print(stderr, "cannot write {}\n", arguments.report);
  if (!arguments.record.empty() && !add_to_record(arguments.record, world, totals)) {
    fmt::print(stderr, "cannot add to {}\n", arguments.record);
  }
  if (!totals.failed) return 0;
  const FailedSeed& failed = *totals.failed;
  fmt::print("what happened last:\n");
  print_story(failed.story, story_lines_shown);
  fmt::print("seed {}: {} BROKEN: {}\n", failed.seed, failed.violation.promise, failed.violation.what);
  fmt::print("repeat with: simulate --world {0} --seed {1} --story\nshorten with: simulate --world {0} --shrink {1}\n",
             world.name, failed.seed);
  return 1;
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "Runs the product's protocol code under virtual time, from one seed, with everything that can go wrong."};
  app.add_option("--world", arguments.world, "embedded or cluster")->capture_default_str();
  app.add_option("--seeds", arguments.seeds, "how many seeds (100 unless --minutes is given)");
  app.add_option("--first", arguments.first, "the first seed")->capture_default_str();
  app.add_option("--minutes", arguments.minutes, "go on for this long");
  app.add_option("--jobs", arguments.jobs, "processes at once")->capture_default_str();
  app.add_option("--seed", arguments.seed, "play this one seed");
  app.add_flag("--story", arguments.story, "with --seed: print the plan and all that happened");
  app.add_option("--keep", arguments.keep, "with --seed: only these steps of the plan, like 0,3-7");
  app.add_option("--shrink", arguments.shrink, "make this failing seed's plan short");
  app.add_option("--report", arguments.report, "where the last run's figures go")->capture_default_str();
  app.add_option("--record", arguments.record, "a file to add the figures to");
  CLI11_PARSE(app, argc, argv);
  for (const World& world : worlds()) {
    if (world.name != arguments.world) continue;
    if (arguments.shrink) return shrink_one(world, *arguments.shrink);
    if (arguments.seed) return play_one(world, arguments);
    return play_many(world, arguments);
  }
  fmt::print(stderr, "there is no world {}\n", arguments.world);
  return 2;
}

}  // namespace
}  // namespace seckill::sim

int main(int argc, char** argv) {
  try {
    return seckill::sim::run(argc, argv);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 2;
  }
}
