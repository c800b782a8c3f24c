// Plays many seeds of a world, each in a process of its own making, so that an assertion that ends the process, a crash
// or an endless loop is a failed seed like any other.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "simulation/runner/world.hpp"

namespace seckill::sim {

struct SeedsWanted {
  std::uint64_t first = 1;
  std::uint64_t count = 100;  // the bound that is met first ends it
  std::chrono::seconds longest{std::chrono::hours{24 * 365}};
  unsigned jobs = 1;
  bool progress = false;  // one line that is rewritten, on standard error
};

struct FailedSeed {
  std::uint64_t seed = 0;
  Violation violation;
  std::vector<std::string> story;
};

struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t violations = 0;
  std::uint64_t purchases = 0;
  std::uint64_t requests = 0;
  std::uint64_t events = 0;
  std::chrono::nanoseconds virtual_time{};
  std::chrono::nanoseconds wall_time{};
  std::map<std::string, std::uint64_t> passages;    // crash points, how often they were passed
  std::map<std::string, std::uint64_t> crashed_at;  // and how often a node died there
  std::optional<FailedSeed> failed;                 // the first that failed; no more are begun after it
};

[[nodiscard]] Totals run_seeds(const World& world, const SeedsWanted& wanted);

// One plan, in a process of its own. `story` also for a run that passed.
struct RunApart {
  RunResult result;  // without counts when the process died
  bool died = false;
};
[[nodiscard]] RunApart run_apart(const World& world, const Plan& plan);

}  // namespace seckill::sim
