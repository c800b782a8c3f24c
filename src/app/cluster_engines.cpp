#include "app/cluster_engines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <thread>
#include <utility>

#include "admission/redis/redis_lanes.hpp"
#include "base/log.hpp"

namespace seckill::app {
namespace {

using namespace std::chrono_literals;

constexpr auto database_patience = 10s;  // engines of one machine start together
constexpr auto redis_patience = 5s;
constexpr auto between_tries = 250ms;

// Asks again while the answer is `unavailable` and `patience` lasts.
template <typename Ask>
auto asked_with_patience(std::chrono::milliseconds patience, Ask ask) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto answer = ask();
    const bool again = !answer && answer.error().code == base::Errc::unavailable;
    if (!again || std::chrono::steady_clock::now() >= until) return answer;
    std::this_thread::sleep_for(between_tries);
  }
}

}  // namespace

store::mysql::MysqlConfig mysql_config(const ClusterConfig& config) {
  store::mysql::MysqlConfig made;
  made.host = config.mysql.host;
  made.port = config.mysql.port;
  made.unix_socket = config.mysql.socket;
  made.user = config.mysql.user;
  made.password = config.mysql.password.reveal();
  made.database = config.mysql.database;
  made.write_connections = config.mysql.write_connections;
  made.read_connections = config.mysql.read_connections;
  return made;
}

drivers::redis::RedisConfig redis_config(const ClusterConfig& config) {
  drivers::redis::RedisConfig made;
  made.servers = config.redis.servers;
  made.cluster = config.redis.cluster;
  made.user = config.redis.user;
  made.password = config.redis.password.reveal();
  return made;
}

queue::rabbit::RabbitConfig rabbit_config(const ClusterConfig& config, std::string name) {
  queue::rabbit::RabbitConfig made;
  made.servers = config.rabbitmq.servers;
  made.virtual_host = config.rabbitmq.virtual_host;
  made.user = config.rabbitmq.user;
  made.password = config.rabbitmq.password.reveal();
  made.partitions = config.rabbitmq.partitions;
  made.connection_name = std::move(name);
  return made;
}

base::Result<std::vector<std::string>> redis_faults(drivers::redis::Redis& redis, bool cluster) {
  auto faults = admission::redis::check_settings(redis, cluster);
  if (!faults || faults->empty() || !cluster) return faults;
  const auto passing = admission::redis::check_replicas(redis);
  if (!passing) return std::unexpected(passing.error());
  for (const std::string& sentence : *passing) {
    if (std::erase(*faults, sentence) > 0) base::log::warn("{}", sentence);
  }
  return faults;
}

base::Result<ClusterEngines> ClusterEngines::open(const ClusterConfig& config) {
  ClusterEngines engines;
  auto store = asked_with_patience(database_patience, [&] { return store::mysql::open(mysql_config(config)); });
  if (!store) return std::unexpected(std::move(store.error()));
  engines.store = *std::move(store);

  auto redis = drivers::redis::Redis::start(redis_config(config));
  if (!redis) return std::unexpected(std::move(redis.error()));
  engines.redis = *std::move(redis);
  const auto faults =
      asked_with_patience(redis_patience, [&] { return redis_faults(*engines.redis, config.redis.cluster); });
  if (faults && !faults->empty()) {
    return base::fail(base::Errc::refused, "checking the settings of Redis",
                      fmt::format("{}", fmt::join(*faults, "; ")));
  }
  engines.redis_settings_sound = faults.has_value();
  if (!faults) base::log::warn("starting without Redis: {}", faults.error().text());
  engines.lanes = admission::redis::make_redis_lanes(*engines.redis, {.replicas = config.redis.replicas});

  auto publisher = queue::rabbit::RabbitPublisher::start(rabbit_config(config, config.node));
  if (!publisher) return std::unexpected(std::move(publisher.error()));
  engines.publisher = *std::move(publisher);
  return engines;
}

void ClusterEngines::close() {
  if (publisher) publisher->stop();
  if (redis) redis->stop();
}

}  // namespace seckill::app
