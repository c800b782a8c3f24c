// `seckill demo`: a stranger's first minute. Exit code 0 only when every promise held, 1 when one did not or the demo
// could not run, 2 for a wrong command line, 128 + the signal when it was interrupted before the verdict.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "app/commands.hpp"
#include "app/demo_run.hpp"
#include "app/demo_sale.hpp"
#include "app/sale_file.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"

namespace seckill::app {
namespace {

namespace fs = std::filesystem;

// The samples stand beside the sources, or where a package puts them.
std::optional<std::string> find_sample(const std::string& name) {
  std::error_code error;
  std::vector<fs::path> places{"examples"};
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* up : {"../examples", "../../examples", "../share/seckill/examples"}) places.push_back(program / up);
  for (const fs::path& place : places) {
    if (fs::is_regular_file(place / name, error)) return (place / name).lexically_normal().string();
  }
  return std::nullopt;
}

std::optional<boost::json::object> read_sample(const DemoOptions& options) {
  std::string file = options.sale_file;
  if (file.empty()) {
    const auto found = find_sample("goods.yaml");
    if (!found) {
      std::fprintf(stderr, "seckill demo: examples/goods.yaml is not found from here; give a sale with --sale FILE\n");
      return std::nullopt;
    }
    file = *found;
  }
  auto sample = load_sale_file(file, base::SystemClock{}.now_utc());
  if (!sample) {
    for (const Problem& problem : sample.error()) std::fprintf(stderr, "seckill demo: %s\n", problem.text().c_str());
    return std::nullopt;
  }
  DemoFit fit;
  fit.units = options.units;
  if (const auto fits = fit_sale(*sample, fit); !fits) {
    std::fprintf(stderr, "seckill demo: %s: %s\n", file.c_str(), fits.error().cause.c_str());
    return std::nullopt;
  }
  return *std::move(sample);
}

int failed(const base::Error& error, const StopSignals& signals) {
  if (signals.received() != 0) {
    std::fprintf(stderr, "\nseckill demo: interrupted; the server stopped cleanly\n");
    return 128 + signals.received();
  }
  std::fprintf(stderr, "\nseckill demo: %s\n", error.text().c_str());
  return exit_failed;
}

// Here so that the server is stopped and the temporary folder gone before the exit code is told.
int run_demo(const DemoOptions& options, const boost::json::object& sample, StopSignals& signals) {
  std::printf("seckill demo\n");
  DemoRun demo{options, sample, signals};
  if (const auto started = demo.start(); !started) return failed(started.error(), signals);
  const auto held = demo.rehearse();
  if (!held) return failed(held.error(), signals);
  if (!options.exit && options.running.empty()) {
    if (const auto another = demo.put_on_another(); !another) return failed(another.error(), signals);
    demo.print_addresses();
    signals.wait();
    std::printf("\nstopping\n");
  }
  return *held ? exit_ok : exit_failed;
}

int demo_command(const DemoOptions& options) {
  const auto sample = read_sample(options);
  if (!sample) return exit_usage;
  StopSignals signals;            // before any other thread
  std::signal(SIGPIPE, SIG_IGN);  // `| head` must not leave a folder behind
  base::log::start({.level = base::log::Level::warn});
  const int code = run_demo(options, *sample, signals);
  base::log::stop();
  return code;
}

}  // namespace

void add_demo(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* command = app.add_subcommand("demo", "watch a flash sale sell exactly its stock to a simulated crowd");
  command->add_option("--sale", options->sale_file, "a sale in YAML or JSON (default: examples/goods.yaml)");
  command->add_option("--buyers", options->buyers, "simulated buyers")
      ->check(CLI::Range(1, 500'000))
      ->capture_default_str();
  command->add_option("--units", options->units, "units on sale")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--port", options->port, "the buyers' port (default: 8080, or a free one)")
      ->check(CLI::Range(0, 65'535));
  command->add_option("--admin-port", options->admin_port, "the operator's port (default: 8081, or a free one)")
      ->check(CLI::Range(0, 65'535));
  command->add_option("--data", options->data, "a data folder that stays (default: a temporary one)");
  command->add_option("--running", options->running, "go to servers that run already, as this configuration file says");
  command->add_option("--seed", options->seed, "draws another crowd")->capture_default_str();
  command->add_flag("--exit", options->exit, "end after the verdict (also: DEMO_EXIT=1)");
  command->callback([options, &exit_code] {
    const char* asked = std::getenv("DEMO_EXIT");  // NOLINT(concurrency-mt-unsafe): no other thread yet
    options->exit = options->exit || (asked != nullptr && std::string_view{asked} == "1");
    exit_code = demo_command(*options);
  });
}

}  // namespace seckill::app
