// `seckill migrate`: brings the database of a deployment up to this program's schema.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "app/cluster_engines.hpp"
#include "app/commands.hpp"
#include "app/config.hpp"

namespace seckill::app {
namespace {

int migrate(const std::string& file, bool demo) {
  ConfigOverrides overrides = overrides_from_environment();
  overrides.demo = demo;
  const auto config = load_config(file, overrides);
  if (!config) {
    for (const Problem& problem : config.error()) std::fprintf(stderr, "%s\n", problem.text().c_str());
    return exit_usage;
  }
  if (!config->cluster) {
    std::fprintf(stderr, "%s has no cluster block: embedded mode brings its data folder up to date when it starts\n",
                 file.c_str());
    return exit_usage;
  }
  const auto steps = store::mysql::migrate(mysql_config(*config->cluster));
  if (!steps) {
    std::fprintf(stderr, "seckill migrate: %s\n", steps.error().text().c_str());
    return exit_failed;
  }
  if (*steps == 0) {
    std::printf("the schema is up to date\n");
  } else {
    std::printf("the schema is up to date, after %d step%s\n", *steps, *steps == 1 ? "" : "s");
  }
  return exit_ok;
}

}  // namespace

void add_migrate(CLI::App& app, int& exit_code) {
  struct Options {
    std::string config;
    bool demo = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("migrate", "bring the deployment's database up to this program's schema");
  command->add_option("--config", options->config, "configuration file (examples/cluster.yaml)")->required();
  command->add_flag("--demo", options->demo, "judge the configuration as for demo mode");
  command->callback([options, &exit_code] { exit_code = migrate(options->config, options->demo); });
}

}  // namespace seckill::app
