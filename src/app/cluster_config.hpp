// The `cluster` block of the configuration: the engines that every node of a deployment shares (examples/cluster.yaml
// documents each key). Without the block a server is a deployment by itself, as embedded.hpp says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/secret.hpp"

namespace seckill::app {

// What a node does. `all`: both, for a deployment of few machines.
enum class Role : std::uint8_t { api, worker, all };
[[nodiscard]] std::string_view name(Role role) noexcept;

struct ClusterConfig {
  struct Redis {
    std::vector<std::string> servers;  // host:port
    bool cluster = true;
    std::string user;
    Secret password;
    std::uint32_t replicas = 1;  // of each master; what a slow broker is made up for with
  };
  struct RabbitMq {
    std::vector<std::string> servers;  // host:port
    std::string virtual_host = "/";
    std::string user = "seckill";
    Secret password;
    std::uint32_t partitions = 16;
  };
  struct MySql {
    std::string host = "127.0.0.1";
    std::uint16_t port = 3306;
    std::string socket;  // given: instead of host and port
    std::string user = "seckill";
    Secret password;
    std::string database = "seckill";
    std::size_t write_connections = 4;
    std::size_t read_connections = 2;
  };
  std::string node;  // unique in the deployment; the machine's name unless given
  Redis redis;
  RabbitMq rabbitmq;
  MySql mysql;
  std::uint32_t worker_threads = 2;  // order workers of this node
};

// What the environment says over the file.
struct ClusterOverrides {
  std::optional<std::string> node;  // --node
  std::optional<std::string> redis_password;
  std::optional<std::string> rabbitmq_password;
  std::optional<std::string> mysql_password;
};

// The section's configuration; its problems go to the section. Outside demo mode the passwords of RabbitMQ and of the
// database are required.
[[nodiscard]] ClusterConfig read_cluster(YamlSection& section, const ClusterOverrides& overrides, bool demo,
                                         std::vector<std::string>& warnings);

}  // namespace seckill::app
