// /metrics of what only cluster mode has: the connections to Redis, broker and database, the relay, the order workers,
// the leader, and the switches this node follows.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "admission/leading/leader.hpp"
#include "admission/remote/relay.hpp"
#include "drivers/redis/redis.hpp"
#include "ops/switch_watch.hpp"
#include "orders/order_worker.hpp"
#include "queue/rabbit/rabbit.hpp"
#include "store/mysql/mysql_store.hpp"

namespace seckill::ops {

// What to gather from; a null pointer or empty list leaves its families out. All must outlive the exposition.
struct ClusterSources {
  const drivers::redis::Redis* redis = nullptr;
  const queue::rabbit::RabbitPublisher* publisher = nullptr;
  std::vector<const queue::rabbit::RabbitSource*> sources;
  std::vector<const orders::OrderWorker*> workers;
  const orders::ClusterLandingCounters* landing = nullptr;
  const store::mysql::MysqlStore* store = nullptr;
  const admission::leading::Leader* leader = nullptr;
  const admission::remote::RelayCounters* relay = nullptr;
  const SwitchWatch* switches = nullptr;
};

// Any thread; reads counters only.
void add_cluster(const ClusterSources& sources, std::vector<prometheus::MetricFamily>& out);

}  // namespace seckill::ops
