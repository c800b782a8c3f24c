#include "app/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "app/yaml_reader.hpp"
#include "base/crypto.hpp"
#include "gateway/login/token_verifier.hpp"

namespace seckill::app {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::array<std::string_view, 3> alg_names{"HS256", "RS256", "ES256"};
constexpr std::array<std::string_view, 4> level_names{"debug", "info", "warn", "error"};
constexpr std::array<std::string_view, 2> format_names{"text", "json"};

std::string random_secret() {
  base::Bytes32 bytes{};
  base::random_bytes(bytes);
  return base::to_hex(bytes);
}

// Reads one configuration. A class only to keep what the steps share.
class ConfigReader {
 public:
  ConfigReader(const YAML::Node& document, const std::string& file, const ConfigOverrides& overrides)
      : top_{document, file, "", problems_}, overrides_{overrides} {}

  std::expected<Config, Problems> read() {
    top_.boolean("demo", config_.demo);
    config_.demo = config_.demo || overrides_.demo;
    // A demo hands out logins to everybody, so unless told otherwise only this machine may ask for one.
    if (config_.demo) config_.buyer.address = "127.0.0.1";
    top_.text("data_dir", config_.data_dir);
    top_.duration("drain_delay", config_.drain_delay, 0ms, 5min);
    top_.duration("drain_limit", config_.drain_limit, 100ms, 10min);
    read_buyer(top_.section("buyer"));
    read_admin(top_.section("admin"));
    read_login(top_.section("login"));
    read_limits(top_.section("limits"));
    read_keeping(top_.section("keeping"));
    read_log(top_.section("log"));
    const bool clustered = top_.has("cluster");
    YamlSection cluster = top_.section("cluster");
    if (clustered) config_.cluster = read_cluster(cluster, overrides_.cluster, config_.demo, config_.warnings);
    top_.finish();
    apply_overrides();
    if (config_.buyer.port != 0 && config_.buyer.port == config_.admin.port) {
      top_.problem("admin", fmt::format("buyer.port and admin.port are both {}; they must differ", config_.admin.port));
    }
    if (!problems_.empty()) return std::unexpected(std::move(problems_));
    return std::move(config_);
  }

 private:
  void read_listener(YamlSection& section, ListenerConfig& into) {
    std::int64_t port = into.port;
    auto threads = static_cast<std::int64_t>(into.threads);
    auto connections = static_cast<std::int64_t>(into.connections_max);
    section.text("address", into.address, 64);
    section.integer("port", port, 0, 65'535);
    section.integer("threads", threads, 0, 256);
    section.integer("connections_max", connections, 1, 1'000'000);
    section.duration("header_timeout", into.header_timeout, 100ms, 10min);
    section.duration("body_timeout", into.body_timeout, 100ms, 10min);
    section.duration("idle_timeout", into.idle_timeout, 100ms, 1h);
    into.port = static_cast<std::uint16_t>(port);
    into.threads = static_cast<unsigned>(threads);
    into.connections_max = static_cast<std::size_t>(connections);
  }

  void read_buyer(YamlSection section) {
    read_listener(section, config_.buyer);
    auto per_address = static_cast<std::int64_t>(config_.buyer.connections_per_address_max);
    section.integer("connections_per_address_max", per_address, 0, 1'000'000);
    config_.buyer.connections_per_address_max = static_cast<std::size_t>(per_address);
    section.text_list("trusted_proxies", config_.buyer.trusted_proxies, 64);
    section.finish();
  }

  Secret secret(YamlSection& section, std::string_view key, const std::optional<std::string>& environment,
                std::string_view variable) {
    const SecretSource source{.key = key, .variable = variable, .environment = environment, .demo = config_.demo};
    return read_secret(section, source, config_.warnings);
  }

  void read_admin(YamlSection section) {
    read_listener(section, config_.admin);
    config_.operator_token = secret(section, "operator_token", overrides_.operator_token, "SECKILL_OPERATOR_TOKEN");
    if (config_.operator_token.empty()) {
      if (config_.demo) {
        config_.operator_token = Secret{random_secret()};
        config_.operator_token_drawn = true;
      } else if (!section.has("operator_token_file")) {
        section.problem("operator_token",
                        "is missing: give operator_token, operator_token_file or SECKILL_OPERATOR_TOKEN (make one "
                        "with: openssl rand -hex 32), or start with --demo");
      }
    }
    section.finish();
  }

  void read_login(YamlSection section) {
    gateway::LoginConfig& login = config_.login;
    std::size_t alg = 0;
    section.choice("alg", alg, alg_names);
    login.algorithm = static_cast<gateway::JwtAlgorithm>(alg);
    login.hs256_secret = secret(section, "secret", overrides_.login_secret, "SECKILL_LOGIN_SECRET").reveal();
    section.text("pem_file", login.pem_file);
    section.text("jwks_file", login.jwks_file);
    section.text("issuer", login.issuer, 256);
    section.text("audience", login.audience, 256);
    if (login.algorithm == gateway::JwtAlgorithm::hs256) {
      check_hs256(section);
    } else {
      check_public_key(section);
    }
    section.finish();
  }

  void check_hs256(YamlSection& section) {
    gateway::LoginConfig& login = config_.login;
    if (!login.pem_file.empty())
      section.problem("pem_file", "is for RS256 and ES256; HS256 takes secret or secret_file");
    if (!login.jwks_file.empty())
      section.problem("jwks_file", "is for RS256 and ES256; HS256 takes secret or secret_file");
    if (!login.hs256_secret.empty() || section.has("secret_file")) return;
    if (config_.demo) {
      login.hs256_secret = random_secret();
      config_.login_secret_drawn = true;
      return;
    }
    section.problem("secret",
                    "is missing: HS256 takes secret, secret_file or SECKILL_LOGIN_SECRET, the key your login service "
                    "signs with; or choose alg RS256 or ES256 with pem_file or jwks_file");
  }

  void check_public_key(YamlSection& section) {
    gateway::LoginConfig& login = config_.login;
    const std::string_view alg = gateway::name(login.algorithm);
    // A public key taken for an HMAC secret is the classical forgery, so the two never stand side by side.
    if (!login.hs256_secret.empty())
      section.problem("secret", fmt::format("is for HS256; {} takes pem_file or jwks_file", alg));
    if (login.pem_file.empty() == login.jwks_file.empty()) {
      section.problem("pem_file", fmt::format("{}: {} takes either pem_file or jwks_file",
                                              login.pem_file.empty() ? "is missing" : "stands beside jwks_file", alg));
      return;
    }
    const auto verifier = gateway::TokenVerifier::make(login);
    if (!verifier) section.problem(login.pem_file.empty() ? "jwks_file" : "pem_file", verifier.error().cause);
  }

  void read_limits(YamlSection section) {
    section.integer("buyer_bucket_capacity", config_.limits.buyer_bucket_capacity, 0, 1'000'000);
    section.decimal("buyer_bucket_per_s", config_.limits.buyer_bucket_per_s, 0.001, 1'000'000);
    section.integer("buyer_calls_capacity", config_.limits.buyer_calls_capacity, 0, 1'000'000);
    section.decimal("buyer_calls_per_s", config_.limits.buyer_calls_per_s, 0.001, 1'000'000);
    section.finish();
  }

  void read_keeping(YamlSection section) {
    section.duration("lanes_after_end", config_.lanes_after_end, 0ms, 24h);
    section.finish();
  }

  void read_log(YamlSection section) {
    auto level = static_cast<std::size_t>(config_.log.level);
    auto format = static_cast<std::size_t>(config_.log.format);
    section.choice("level", level, level_names);
    section.choice("format", format, format_names);
    config_.log.level = static_cast<base::log::Level>(level);
    config_.log.format = static_cast<base::log::Format>(format);
    section.finish();
  }

  void apply_overrides() {
    const auto port = [&](const std::optional<std::int64_t>& given, std::string_view flag, std::uint16_t& into) {
      if (!given) return;
      if (*given < 0 || *given > 65'535) {
        problems_.push_back({"", 0, std::string{flag}, fmt::format("{} is not a port; 0 to 65535", *given)});
        return;
      }
      into = static_cast<std::uint16_t>(*given);
    };
    port(overrides_.port, "--port", config_.buyer.port);
    port(overrides_.admin_port, "--admin-port", config_.admin.port);
    if (overrides_.data_dir) config_.data_dir = *overrides_.data_dir;
  }

  Problems problems_;
  YamlSection top_;
  const ConfigOverrides& overrides_;
  Config config_;
};

}  // namespace

ConfigOverrides overrides_from_environment() {
  ConfigOverrides overrides;
  const auto read = [](const char* name, std::optional<std::string>& into) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') into = value;
  };
  read("SECKILL_OPERATOR_TOKEN", overrides.operator_token);
  read("SECKILL_LOGIN_SECRET", overrides.login_secret);
  read("SECKILL_REDIS_PASSWORD", overrides.cluster.redis_password);
  read("SECKILL_RABBITMQ_PASSWORD", overrides.cluster.rabbitmq_password);
  read("SECKILL_MYSQL_PASSWORD", overrides.cluster.mysql_password);
  return overrides;
}

std::expected<Config, Problems> load_config(const std::optional<std::string>& path, const ConfigOverrides& overrides) {
  if (!path) return ConfigReader{YAML::Node{}, "", overrides}.read();
  auto document = load_yaml(*path);
  if (!document) return std::unexpected(Problems{document.error()});
  return ConfigReader{*document, *path, overrides}.read();
}

std::expected<Config, Problems> parse_config(const std::string& text, const std::string& name,
                                             const ConfigOverrides& overrides) {
  auto document = parse_yaml(text, name);
  if (!document) return std::unexpected(Problems{document.error()});
  return ConfigReader{*document, name, overrides}.read();
}

}  // namespace seckill::app
