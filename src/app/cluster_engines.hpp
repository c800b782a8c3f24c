// The engines of a deployment as one node is connected to them: the database, Redis with the lanes in it, and the
// broker. Opened first and closed last; what is built over them borrows them.
#pragma once

#include <memory>
#include <string>

#include "admission/lane_scripts.hpp"
#include "admission/remote/config.hpp"
#include "app/cluster_config.hpp"
#include "base/result.hpp"
#include "drivers/redis/redis.hpp"
#include "queue/rabbit/rabbit.hpp"
#include "store/mysql/mysql_store.hpp"

namespace seckill::app {

[[nodiscard]] store::mysql::MysqlConfig mysql_config(const ClusterConfig& config);
[[nodiscard]] drivers::redis::RedisConfig redis_config(const ClusterConfig& config);
// `name` is what the broker's management shows of the connection.
[[nodiscard]] queue::rabbit::RabbitConfig rabbit_config(const ClusterConfig& config, std::string name);

// What is set up wrong in Redis, a sentence a fault. That a master has no replica now is logged and no fault: refusing
// to start for it would take nodes away while a machine is being replaced. Blocks. Errors: a server cannot be reached.
[[nodiscard]] base::Result<std::vector<std::string>> redis_faults(drivers::redis::Redis& redis, bool cluster);

// Members in the order of their making; constant after open().
struct ClusterEngines {
  std::unique_ptr<store::mysql::MysqlStore> store;
  std::unique_ptr<drivers::redis::Redis> redis;
  std::unique_ptr<admission::LaneScripts> lanes;
  std::unique_ptr<queue::rabbit::RabbitPublisher> publisher;
  bool redis_settings_sound = false;  // false: Redis could not be asked yet

  // Connects. The database must answer within a few seconds and have this program's schema; Redis, when it answers,
  // must be set up as a flash sale needs it. Redis and the broker may be away: the node starts and is not ready.
  // Errors, each with a sentence for the operator: unavailable; refused; invalid. Blocks.
  [[nodiscard]] static base::Result<ClusterEngines> open(const ClusterConfig& config);
  // Redis and the broker answer what is under way; idempotent. Requires: nothing new is asked.
  void close();
};

}  // namespace seckill::app
