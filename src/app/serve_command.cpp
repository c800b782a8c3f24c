// `seckill serve`: the embedded product, or one node of a deployment, until a signal says stop. `seckill config check`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "app/cluster_server.hpp"
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
  std::optional<std::string> node;
  std::string role;  // empty: not given
};

Role role_named(const std::string& text) {
  for (const Role role : {Role::api, Role::worker}) {
    if (name(role) == text) return role;
  }
  return Role::all;
}

std::optional<Config> read_config(const ServeOptions& options) {
  ConfigOverrides overrides = overrides_from_environment();
  overrides.demo = options.demo;
  overrides.port = options.port;
  overrides.admin_port = options.admin_port;
  overrides.data_dir = options.data;
  overrides.cluster.node = options.node;
  auto config = load_config(options.config.empty() ? std::nullopt : std::optional{options.config}, overrides);
  if (config) return *std::move(config);
  std::fprintf(stderr, "the configuration has %zu problem%s:\n", config.error().size(),
               config.error().size() == 1 ? "" : "s");
  for (const Problem& problem : config.error()) std::fprintf(stderr, "  %s\n", problem.text().c_str());
  return std::nullopt;
}

// What a person at the terminal needs. Drawn secrets are printed here, once, and nowhere else.
void print_welcome(const Config& config, std::uint16_t buyer_port, std::uint16_t admin_port) {
  const auto shown = [](const std::string& address) {
    if (address == "0.0.0.0" || address == "::") return std::string{"127.0.0.1"};
    return address.find(':') == std::string::npos ? address : "[" + address + "]";
  };
  std::printf("seckill %s%s\n", version(),
              config.demo ? ", demo mode: anybody may log in as anybody and pay with nothing" : "");
  if (buyer_port != 0) std::printf("  buyers    http://%s:%u/\n", shown(config.buyer.address).c_str(), buyer_port);
  std::printf("  operator  http://%s:%u/\n", shown(config.admin.address).c_str(), admin_port);
  if (config.operator_token_drawn) {
    std::printf("  for this run:\n    export SECKILL_OPERATOR_TOKEN=%s\n", config.operator_token.reveal().c_str());
  }
  if (config.login_secret_drawn) std::printf("    export SECKILL_LOGIN_SECRET=%s\n", config.login.hs256_secret.c_str());
  std::fflush(stdout);
}

// Embedded or cluster, from the open door to the signal.
template <typename Server>
int run_server(Server& server, const Config& config, StopSignals& signals, const std::string& where) {
  if (const auto started = server.start(); !started) {
    log::error("{}", started.error().text());
    return exit_failed;
  }
  print_welcome(config, server.buyer_port(), server.admin_port());
  if (server.buyer_port() != 0) {
    log::info("serving: buyers on port {}, operator on port {}, {}", server.buyer_port(), server.admin_port(), where);
  } else {
    log::info("working: operator on port {}, {}", server.admin_port(), where);
  }
  const int signal = signals.wait();
  log::info("signal {}: stopping; a second signal ends at once", signal);
  server.stop();
  log::info("stopped: everything accepted is durable");
  return exit_ok;
}

int serve(const ServeOptions& options) {
  const auto config = read_config(options);
  if (!config) return exit_usage;
  if (!config->cluster && !(options.role.empty() || options.role == "all")) {
    std::fprintf(stderr, "--role %s needs a cluster block in the configuration (examples/cluster.yaml)\n",
                 options.role.c_str());
    return exit_usage;
  }
  if (config->cluster && (config->operator_token_drawn || config->login_secret_drawn)) {
    std::fprintf(stderr, "the nodes of a deployment share operator token and login secret: give both\n");
    return exit_usage;
  }
  StopSignals signals;  // before any other thread, the log's included
  log::start(config->log);
  for (const std::string& warning : config->warnings) log::warn("{}", warning);
  raise_descriptor_limit();
  int code = exit_ok;
  if (config->cluster) {
    const Role role = role_named(options.role);
    ClusterServer server{*config, role};
    code = run_server(server, *config, signals, fmt::format("node {}, role {}", config->cluster->node, name(role)));
  } else {
    EmbeddedServer server{*config};
    code = run_server(server, *config, signals, "data in " + config->data_dir);
  }
  log::stop();
  return code;
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
  command->add_option("--role", options->role, "of a node in a deployment: api, worker, or all (the default)")
      ->check(CLI::IsMember({"api", "worker", "all"}));
  command->add_option("--node", options->node, "the node's name, over the file");
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
