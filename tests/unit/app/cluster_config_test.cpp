// The cluster block: its sample is sound and repeats the defaults, each wrong key has its sentence, and no published or
// missing password passes outside demo mode.
#include "app/cluster_config.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "app/cluster_health.hpp"
#include "app/config.hpp"

namespace seckill::app {
namespace {

constexpr const char* token = "an-operator-token-of-enough-bytes-0123456789";
constexpr const char* secret = "a-login-secret-of-quite-enough-bytes-0123456789";

ConfigOverrides with_secrets() {
  ConfigOverrides overrides;
  overrides.operator_token = token;
  overrides.login_secret = secret;
  overrides.cluster.rabbitmq_password = "a-broker-password";
  overrides.cluster.mysql_password = "a-database-password";
  return overrides;
}

std::string all_of(const Problems& problems) {
  std::string out;
  for (const Problem& one : problems) out += one.text() + "\n";
  return out;
}

std::string problems_of(const std::string& block, const ConfigOverrides& overrides) {
  const auto config = parse_config("cluster:\n" + block, "c.yaml", overrides);
  return config ? std::string{} : all_of(config.error());
}

constexpr const char* servers =
    "  redis:\n    servers: [\"r1:6379\"]\n  rabbitmq:\n    servers: [\"[::1]:5672\", \"q2:5672\"]\n";

TEST(ClusterConfig, TheSampleFileIsSoundAndRepeatsTheDefaults) {
  const auto config = load_config(std::string{SECKILL_SOURCE_DIR} + "/examples/cluster.yaml", with_secrets());
  ASSERT_TRUE(config) << all_of(config.error());
  ASSERT_TRUE(config->cluster);
  const ClusterConfig& read = *config->cluster;
  const ClusterConfig usual;
  EXPECT_EQ(read.node, "api-1");
  EXPECT_EQ(read.redis.cluster, usual.redis.cluster);
  EXPECT_EQ(read.redis.replicas, usual.redis.replicas);
  EXPECT_EQ(read.redis.user, usual.redis.user);
  EXPECT_EQ(read.rabbitmq.virtual_host, usual.rabbitmq.virtual_host);
  EXPECT_EQ(read.rabbitmq.user, usual.rabbitmq.user);
  EXPECT_EQ(read.rabbitmq.partitions, usual.rabbitmq.partitions);
  EXPECT_EQ(read.mysql.host, usual.mysql.host);
  EXPECT_EQ(read.mysql.port, usual.mysql.port);
  EXPECT_EQ(read.mysql.user, usual.mysql.user);
  EXPECT_EQ(read.mysql.database, usual.mysql.database);
  EXPECT_EQ(read.mysql.write_connections, usual.mysql.write_connections);
  EXPECT_EQ(read.mysql.read_connections, usual.mysql.read_connections);
  EXPECT_EQ(read.worker_threads, usual.worker_threads);
}

TEST(ClusterConfig, WithoutTheBlockAServerIsADeploymentByItself) {
  const auto config = parse_config("log:\n  level: info\n", "c.yaml", with_secrets());
  ASSERT_TRUE(config) << all_of(config.error());
  EXPECT_FALSE(config->cluster);
}

TEST(ClusterConfig, TellsWhatIsWrongOfServersNamesAndNumbers) {
  const std::string told = problems_of(
      "  node: \"a node\"\n"
      "  redis:\n    servers: [r1, \"r2:0\", \"::1:6379\", \"r3:70000\"]\n    replicas: -1\n    clutser: true\n"
      "  rabbitmq:\n    partitions: 0\n"
      "  mysql:\n    port: 0\n    write_connections: 0\n    database: \"\"\n"
      "  worker:\n    threads: 0\n",
      with_secrets());
  for (const char* part :
       {"cluster.node: a node is no node name", "cluster.redis.servers: r1 is not host:port",
        "cluster.redis.servers: r2:0 is not host:port", "cluster.redis.servers: ::1:6379 is not host:port",
        "cluster.redis.servers: r3:70000 is not host:port", "cluster.redis.replicas: -1 is not a whole number",
        "cluster.redis.clutser: is not a known key", "cluster.rabbitmq.servers: is missing",
        "cluster.rabbitmq.partitions: 0 is not", "cluster.mysql.port: 0 is not",
        "cluster.mysql.write_connections: 0 is not", "cluster.worker.threads: 0 is not"}) {
    EXPECT_NE(told.find(part), std::string::npos) << part << "\nin\n" << told;
  }
}

TEST(ClusterConfig, PasswordsOfBrokerAndDatabaseAreNeededAndNoPublishedOnePasses) {
  ConfigOverrides overrides = with_secrets();
  overrides.cluster.rabbitmq_password.reset();
  overrides.cluster.mysql_password = "root";
  const std::string told = problems_of(servers, overrides);
  EXPECT_NE(told.find("cluster.rabbitmq.password: is missing: give password, password_file or "
                      "SECKILL_RABBITMQ_PASSWORD"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("cluster.mysql.password: is a published value"), std::string::npos) << told;
  EXPECT_EQ(told.find("redis.password"), std::string::npos) << told;

  overrides.demo = true;
  const auto demo = parse_config(std::string{"cluster:\n"} + servers, "c.yaml", overrides);
  ASSERT_TRUE(demo) << all_of(demo.error());
  EXPECT_TRUE(std::ranges::any_of(demo->warnings, [](const std::string& one) {
    return one.find("SECKILL_MYSQL_PASSWORD is a published value") != std::string::npos;
  }));
}

TEST(ClusterConfig, TheCommandLinesNodeNameWins) {
  ConfigOverrides overrides = with_secrets();
  overrides.cluster.node = "worker-7";
  const auto config = parse_config(std::string{"cluster:\n  node: api-1\n"} + servers, "c.yaml", overrides);
  ASSERT_TRUE(config) << all_of(config.error());
  EXPECT_EQ(config->cluster->node, "worker-7");
  EXPECT_EQ(config->cluster->rabbitmq.servers.size(), 2u);
}

TEST(ClocksApart, AreToldOnlyWhenTheyCertainlyAre) {
  EXPECT_FALSE(clocks_apart({}));
  EXPECT_FALSE(clocks_apart({{.whose = "the database", .ahead_ms = 199, .give_or_take_ms = 0}}));
  EXPECT_FALSE(clocks_apart({{.whose = "the database", .ahead_ms = 400, .give_or_take_ms = 250}}))
      << "a slow answer proves nothing";
  const auto one = clocks_apart({{.whose = "the database", .ahead_ms = -350, .give_or_take_ms = 5}});
  ASSERT_TRUE(one);
  EXPECT_NE(one->find("the clocks of this node and the database are 350 ms apart"), std::string::npos) << *one;
  const auto two = clocks_apart({{.whose = "the database", .ahead_ms = -150, .give_or_take_ms = 2},
                                 {.whose = "Redis r1:6379", .ahead_ms = 150, .give_or_take_ms = 2}});
  ASSERT_TRUE(two) << "each is close to this node, but not to the other";
  EXPECT_NE(two->find("Redis r1:6379 and the database are 300 ms apart"), std::string::npos) << *two;
}

}  // namespace
}  // namespace seckill::app
