#include "simulation/runner/seeds.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include "simulation/runner/shared_report.hpp"

namespace seckill::sim {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
constexpr std::chrono::seconds one_seed_longest{120};
constexpr std::chrono::milliseconds look_every{20};

struct Child {
  std::unique_ptr<SharedReport> report = std::make_unique<SharedReport>();
  pid_t pid = 0;
  bool running = false;
  int status = 0;
  std::uint64_t last_seed = 0;
  SteadyTime last_progress{};
};

void begin(Child& child, const std::function<void(SharedReport&)>& work) {
  std::fflush(nullptr);
  child.pid = ::fork();
  if (child.pid == 0) {
    work(*child.report);
    std::fflush(nullptr);
    ::_exit(0);
  }
  child.running = child.pid > 0;
  child.last_progress = std::chrono::steady_clock::now();
}

// Looks whether the child has ended; ends it when it has hung on one seed for too long.
void look_at(Child& child) {
  if (!child.running) return;
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t seeds = child.report->page().seeds;
  if (std::exchange(child.last_seed, seeds) != seeds) child.last_progress = now;
  if (now - child.last_progress > one_seed_longest) ::kill(child.pid, SIGKILL);
  if (::waitpid(child.pid, &child.status, WNOHANG) == child.pid) child.running = false;
}

// What a child that did not end by itself died of.
Violation death_of(const Child& child) {
  if (WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGKILL) {
    return {.promise = "end", .what = fmt::format("the run takes more than {} s", one_seed_longest.count())};
  }
  if (WIFSIGNALED(child.status)) {
    return {.promise = "assert", .what = fmt::format("the process died of signal {}", WTERMSIG(child.status))};
  }
  return {.promise = "assert", .what = fmt::format("the process ended with code {}", WEXITSTATUS(child.status))};
}

bool died(const Child& child) { return !child.running && !(WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0); }

void show(const World& world, const std::vector<Child>& children, SteadyTime began) {
  std::uint64_t seeds = 0;
  std::uint64_t purchases = 0;
  std::uint64_t virtual_ns = 0;
  for (const Child& child : children) {
    seeds += child.report->page().seeds;
    purchases += child.report->page().purchases;
    virtual_ns += child.report->page().virtual_ns;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print(stderr, "\r{}: {} seeds, {:.1f} virtual hours, {} purchases, {:.0f} seeds/s   ", world.name, seeds,
             static_cast<double>(virtual_ns) / 3.6e12, purchases, static_cast<double>(seeds) / took.count());
}

void add(Totals& totals, Child& child) {
  const SharedReport::Page& page = child.report->page();
  totals.seeds += page.seeds;
  totals.purchases += page.purchases;
  totals.requests += page.requests;
  totals.events += page.events;
  totals.virtual_time += std::chrono::nanoseconds{page.virtual_ns.load()};
  for (const SharedReport::Point& point : page.points) {
    if (point.name[0] == '\0') break;
    totals.passages[point.name] += point.passed;
    totals.crashed_at[point.name] += point.crashed;
  }
  if (!page.failed && !died(child)) return;
  ++totals.violations;
  if (totals.failed && totals.failed->seed <= page.seed) return;
  totals.failed = FailedSeed{.seed = page.seed, .violation = {}, .story = {}};
  if (page.failed) {
    std::tie(totals.failed->violation, totals.failed->story) = child.report->texts();
  } else {
    totals.failed->violation = death_of(child);
  }
}

}  // namespace

Totals run_seeds(const World& world, const SeedsWanted& wanted) {
  const SteadyTime began = std::chrono::steady_clock::now();
  const unsigned jobs = std::max(1U, wanted.jobs);
  std::vector<Child> children(jobs);
  for (unsigned job = 0; job < jobs; ++job) {
    begin(children[job], [&, job](SharedReport& report) {
      for (std::uint64_t i = job; i < wanted.count; i += jobs) {
        if (std::chrono::steady_clock::now() - began >= wanted.longest) return;
        report.page().seed = wanted.first + i;
        const RunResult result = world.run(world.draw(wanted.first + i));
        report.add(result);
        if (!result.violation) continue;
        report.keep_texts(result);
        return;
      }
    });
  }
  bool failed = false;
  for (int looks = 0;; ++looks) {
    bool running = false;
    for (Child& child : children) {
      look_at(child);
      running = running || child.running;
      failed = failed || child.report->page().failed || died(child);
    }
    if (wanted.progress && looks % 25 == 0) show(world, children, began);
    if (!running) break;
    if (failed) {
      for (const Child& child : children) {
        if (child.running) ::kill(child.pid, SIGTERM);
      }
    }
    std::this_thread::sleep_for(look_every);
  }
  if (wanted.progress) std::fputc('\n', stderr);
  Totals totals;
  for (Child& child : children) {
    if (WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM) child.status = 0;  // ended by us
    add(totals, child);
  }
  totals.wall_time = std::chrono::steady_clock::now() - began;
  return totals;
}

RunApart run_apart(const World& world, const Plan& plan) {
  Child child;
  begin(child, [&](SharedReport& report) {
    const RunResult result = world.run(plan);
    report.add(result);
    report.keep_texts(result);
  });
  while (child.running) {
    look_at(child);
    if (child.running) std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  RunApart apart;
  apart.died = died(child);
  if (apart.died) {
    apart.result.violation = death_of(child);
    return apart;
  }
  auto [violation, story] = child.report->texts();
  if (child.report->page().failed) apart.result.violation = violation;
  apart.result.story = std::move(story);
  apart.result.fingerprint = child.report->page().fingerprint;
  apart.result.purchases = child.report->page().purchases;
  apart.result.events = child.report->page().events;
  apart.result.virtual_time = std::chrono::nanoseconds{child.report->page().virtual_ns.load()};
  return apart;
}

}  // namespace seckill::sim
