// `seckill serve`: the embedded product until a signal says stop. `seckill config check`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "app/commands.hpp"
#include "app/config.hpp"
#include "app/embedded.hpp"
#include "app/signals.hpp"
#include "base/log.hpp"

namespace seckill::app {
namespace {

namespace log = base::log;

struct ServeOptions {
  std::string config;
  bool demo = false;
  std::optional<std::int64_t> port;
  std::optional<std::int64_t> admin_port;
  std::optional<std::string> data;
};

std::optional<Config> read_config(const ServeOptions& options) {
  ConfigOverrides overrides = overrides_from_environment();
  overrides.demo = options.demo;
  overrides.port = options.port;
  overrides.admin_port = options.admin_port;
  overrides.data_dir = options.data;
  auto config = load_config(options.config.empty() ? std::nullopt : std::optional{options.config}, overrides);
  if (config) return *std::move(config);
  std::fprintf(stderr, "the configuration has %zu problem%s:\n", config.error().size(),
               config.error().size() == 1 ? "" : "s");
  for (const Problem& problem : config.error()) std::fprintf(stderr, "  %s\n", problem.text().c_str());
  return std::nullopt;
}

// What a person at the terminal needs. Drawn secrets are printed here, once, and nowhere else.
void print_welcome(const Config& config, const EmbeddedServer& server) {
  const auto shown = [](const std::string& address) {
    if (address == "0.0.0.0" || address == "::") return std::string{"127.0.0.1"};
    return address.find(':') == std::string::npos ? address : "[" + address + "]";
  };
  std::printf("seckill %s%s\n", version(),
              config.demo ? ", demo mode: anybody may log in as anybody and pay with nothing" : "");
  std::printf("  buyers    http://%s:%u/\n", shown(config.buyer.address).c_str(), server.buyer_port());
  std::printf("  operator  http://%s:%u/\n", shown(config.admin.address).c_str(), server.admin_port());
  if (config.operator_token_drawn) {
    std::printf("  for this run:\n    export SECKILL_OPERATOR_TOKEN=%s\n", config.operator_token.reveal().c_str());
  }
  if (config.login_secret_drawn) std::printf("    export SECKILL_LOGIN_SECRET=%s\n", config.login.hs256_secret.c_str());
  std::fflush(stdout);
}

int serve(const ServeOptions& options) {
  auto config = read_config(options);
  if (!config) return exit_usage;
  StopSignals signals;  // before any other thread, the log's included
  log::start(config->log);
  for (const std::string& warning : config->warnings) log::warn("{}", warning);
  raise_descriptor_limit();
  EmbeddedServer server{*config};
  if (const auto started = server.start(); !started) {
    log::error("{}", started.error().text());
    log::stop();
    return exit_failed;
  }
  print_welcome(*config, server);
  log::info("ready: buyers on port {}, operator on port {}, data in {}", server.buyer_port(), server.admin_port(),
            config->data_dir);
  const int signal = signals.wait();
  log::info("signal {}: stopping; a second signal ends at once", signal);
  server.stop();
  log::info("stopped: everything accepted is in the store");
  log::stop();
  return exit_ok;
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "serve buyers and the operator until a signal says stop");
  command->add_option("--config", options->config, "configuration file (examples/seckill.yaml explains every key)");
  command->add_flag("--demo", options->demo, "demo mode: test logins, a provider that takes no money, random secrets");
  command->add_option("--port", options->port, "the buyers' port, over the file");
  command->add_option("--admin-port", options->admin_port, "the operator's port, over the file");
  command->add_option("--data", options->data, "the data folder, over the file");
  command->callback([options, &exit_code] { exit_code = serve(*options); });
}

void add_config(CLI::App& app, int& exit_code) {
  CLI::App* group = app.add_subcommand("config", "work with the configuration file");
  group->require_subcommand(1);
  auto options = std::make_shared<ServeOptions>();
  CLI::App* check = group->add_subcommand("check", "report every problem of a configuration file");
  check->add_option("--config,file", options->config, "configuration file")->required();
  check->add_flag("--demo", options->demo, "judge it as for demo mode");
  check->callback([options, &exit_code] {
    const auto config = read_config(*options);
    if (config) {
      for (const std::string& warning : config->warnings) std::printf("note: %s\n", warning.c_str());
      std::printf("%s is in order\n", options->config.c_str());
    }
    exit_code = config ? exit_ok : exit_usage;
  });
}

}  // namespace seckill::app
