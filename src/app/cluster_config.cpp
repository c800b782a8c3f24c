#include "app/cluster_config.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "app/yaml_reader.hpp"

namespace seckill::app {
namespace {

constexpr std::size_t servers_max = 32;
constexpr std::size_t node_bytes_max = 48;  // with role and a start's number it names a lease holder

// "host:port" with a port from 1 to 65535; IPv6 in brackets.
bool is_server(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return false;
  const std::string_view host = text.substr(0, colon);
  if (!host.starts_with('[') && host.find(':') != std::string_view::npos) return false;
  if (host.starts_with('[') && !host.ends_with(']')) return false;
  std::uint32_t port = 0;
  const auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65'535;
}

bool is_node_name(std::string_view text) {
  return !text.empty() && text.size() <= node_bytes_max && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

std::string machine_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || !is_node_name(name.data())) return "node";
  return name.data();
}

void read_servers(YamlSection& section, std::vector<std::string>& into) {
  section.text_list("servers", into, servers_max);
  if (into.empty()) section.problem("servers", "is missing: give a list like [127.0.0.1:6379]");
  for (const std::string& server : into) {
    if (!is_server(server)) section.problem("servers", server + " is not host:port, with a port from 1 to 65535");
  }
}

// Reads one block. A class only to keep what the steps share.
class ClusterReader {
 public:
  ClusterReader(const ClusterOverrides& overrides, bool demo, std::vector<std::string>& warnings)
      : overrides_{overrides}, demo_{demo}, warnings_{warnings} {}

  ClusterConfig read(YamlSection& section) {
    read_node(section);
    read_redis(section.section("redis"));
    read_rabbitmq(section.section("rabbitmq"));
    read_mysql(section.section("mysql"));
    auto worker = section.section("worker");
    std::int64_t threads = config_.worker_threads;
    worker.integer("threads", threads, 1, 64);
    config_.worker_threads = static_cast<std::uint32_t>(threads);
    worker.finish();
    section.finish();
    return std::move(config_);
  }

 private:
  void read_node(YamlSection& section) {
    section.text("node", config_.node, 256);
    if (overrides_.node) config_.node = *overrides_.node;
    if (config_.node.empty()) config_.node = machine_name();
    if (!is_node_name(config_.node)) {
      section.problem("node",
                      fmt::format("{} is no node name: 1 to {} of A–Z a–z 0–9 . _ -", config_.node, node_bytes_max));
    }
  }

  Secret password(YamlSection& section, std::string_view variable, const std::optional<std::string>& environment,
                  bool required) {
    const SecretSource source{.key = "password",
                              .variable = variable,
                              .environment = environment,
                              .weakness = password_weakness,
                              .demo = demo_};
    Secret read = read_secret(section, source, warnings_);
    if (read.empty() && required && !demo_ && !section.has("password_file")) {
      section.problem("password", fmt::format("is missing: give password, password_file or {}", variable));
    }
    return read;
  }

  void read_redis(YamlSection section) {
    ClusterConfig::Redis& redis = config_.redis;
    read_servers(section, redis.servers);
    section.boolean("cluster", redis.cluster);
    section.text("user", redis.user, 128);
    redis.password = password(section, "SECKILL_REDIS_PASSWORD", overrides_.redis_password, false);
    std::int64_t replicas = redis.replicas;
    section.integer("replicas", replicas, 0, 8);
    redis.replicas = static_cast<std::uint32_t>(replicas);
    section.finish();
  }

  void read_rabbitmq(YamlSection section) {
    ClusterConfig::RabbitMq& rabbit = config_.rabbitmq;
    read_servers(section, rabbit.servers);
    section.text("virtual_host", rabbit.virtual_host, 128);
    section.text("user", rabbit.user, 128);
    rabbit.password = password(section, "SECKILL_RABBITMQ_PASSWORD", overrides_.rabbitmq_password, true);
    std::int64_t partitions = rabbit.partitions;
    section.integer("partitions", partitions, 1, 256);
    rabbit.partitions = static_cast<std::uint32_t>(partitions);
    section.finish();
  }

  void read_mysql(YamlSection section) {
    ClusterConfig::MySql& mysql = config_.mysql;
    section.text("host", mysql.host, 256);
    std::int64_t port = mysql.port;
    section.integer("port", port, 1, 65'535);
    mysql.port = static_cast<std::uint16_t>(port);
    section.text("socket", mysql.socket);
    section.text("user", mysql.user, 128);
    mysql.password = password(section, "SECKILL_MYSQL_PASSWORD", overrides_.mysql_password, true);
    section.text("database", mysql.database, 64);
    if (mysql.database.empty()) section.problem("database", "must not be empty");
    const auto connections = [&](std::string_view key, std::size_t& into) {
      auto count = static_cast<std::int64_t>(into);
      section.integer(key, count, 1, 256);
      into = static_cast<std::size_t>(count);
    };
    connections("write_connections", mysql.write_connections);
    connections("read_connections", mysql.read_connections);
    section.finish();
  }

  const ClusterOverrides& overrides_;
  const bool demo_;
  std::vector<std::string>& warnings_;
  ClusterConfig config_;
};

}  // namespace

std::string_view name(Role role) noexcept {
  switch (role) {
    case Role::api: return "api";
    case Role::worker: return "worker";
    case Role::all: return "all";
  }
  return "";
}

ClusterConfig read_cluster(YamlSection& section, const ClusterOverrides& overrides, bool demo,
                           std::vector<std::string>& warnings) {
  return ClusterReader{overrides, demo, warnings}.read(section);
}

}  // namespace seckill::app
