// The configuration: one YAML file with strict keys, every problem reported at once (examples/seckill.yaml documents
// each key). Only secrets may also come from the environment. Outside demo mode nothing secret has a default, and weak
// or published secrets are refused; in demo mode what is missing is drawn at random for this start.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/cluster_config.hpp"
#include "app/problems.hpp"
#include "app/secret.hpp"
#include "base/log.hpp"
#include "gateway/login/token_verifier.hpp"

namespace seckill::app {

struct ListenerConfig {
  std::string address;
  std::uint16_t port = 0;
  unsigned threads = 0;                         // 0: one a core
  std::size_t connections_max = 0;              // a thread
  std::size_t connections_per_address_max = 0;  // 0: no cap
  std::vector<std::string> trusted_proxies;
  std::chrono::milliseconds header_timeout{5'000};
  std::chrono::milliseconds body_timeout{5'000};
  std::chrono::milliseconds idle_timeout{30'000};
};

struct LimitsConfig {
  // A buyer's purchases: `capacity` at once, `per_s` more each second. Capacity 0 lets none through.
  std::int64_t buyer_bucket_capacity = 5;
  double buyer_bucket_per_s = 1;
  // The same for everything else he asks with a login: outcomes, orders, cancels, payments.
  std::int64_t buyer_calls_capacity = 40;
  double buyer_calls_per_s = 10;
};

struct Config {
  std::string data_dir = "data";
  bool demo = false;
  std::chrono::milliseconds drain_delay{500};
  std::chrono::milliseconds drain_limit{10'000};
  std::chrono::milliseconds lanes_after_end{60'000};  // beyond the longest payment window
  ListenerConfig buyer{.address = "0.0.0.0",
                       .port = 8080,
                       .threads = 0,
                       .connections_max = 20'000,
                       .connections_per_address_max = 1'024,
                       .trusted_proxies = {}};
  ListenerConfig admin{.address = "127.0.0.1",
                       .port = 8081,
                       .threads = 1,
                       .connections_max = 256,
                       .connections_per_address_max = 0,
                       .trusted_proxies = {}};
  Secret operator_token;
  gateway::LoginConfig login;  // hs256_secret is a secret: never logged
  LimitsConfig limits;
  base::log::Settings log;
  std::optional<ClusterConfig> cluster;  // unset: embedded, a deployment by itself

  // Drawn at random for this start (demo mode), so the operator must be told once.
  bool operator_token_drawn = false;
  bool login_secret_drawn = false;
  // Sentences about what demo mode let pass; for the log.
  std::vector<std::string> warnings;
};

// What the command line and the environment say over the file.
struct ConfigOverrides {
  bool demo = false;  // true: demo mode whatever the file says
  std::optional<std::int64_t> port;
  std::optional<std::int64_t> admin_port;
  std::optional<std::string> data_dir;
  std::optional<std::string> operator_token;  // SECKILL_OPERATOR_TOKEN
  std::optional<std::string> login_secret;    // SECKILL_LOGIN_SECRET
  ClusterOverrides cluster;
};

// What SECKILL_OPERATOR_TOKEN, SECKILL_LOGIN_SECRET and SECKILL_{REDIS,RABBITMQ,MYSQL}_PASSWORD say.
[[nodiscard]] ConfigOverrides overrides_from_environment();

// The whole configuration, or every problem found. Reads the file (nullopt: defaults only) and the files it names for
// secrets and keys, which are looked up from the working directory. Not for hot paths.
[[nodiscard]] std::expected<Config, Problems> load_config(const std::optional<std::string>& path,
                                                          const ConfigOverrides& overrides);
// As load_config, on a text; `name` stands for the file in problems.
[[nodiscard]] std::expected<Config, Problems> parse_config(const std::string& text, const std::string& name,
                                                           const ConfigOverrides& overrides);

}  // namespace seckill::app
