#include "ops/cluster_metrics.hpp"

#include <atomic>
#include <string_view>

#include "ops/metric_families.hpp"

namespace seckill::ops {
namespace {

using Families = std::vector<prometheus::MetricFamily>;
constexpr auto counter = prometheus::MetricType::Counter;
constexpr auto gauge = prometheus::MetricType::Gauge;

void count(Families& out, std::string_view name, std::string_view help, std::uint64_t value) {
  Family{out, counter, name, help}.add(value);
}

void add_redis(const drivers::redis::RedisCounters& redis, Families& out) {
  count(out, "seckill_redis_calls_total", "Calls sent to Redis, repeats included.", redis.calls);
  Family bytes{out, counter, "seckill_redis_bytes_total", "Bytes exchanged with Redis."};
  bytes.add(redis.bytes_sent, {{"direction", "sent"}});
  bytes.add(redis.bytes_received, {{"direction", "received"}});
  count(out, "seckill_redis_redirects_total", "MOVED and ASK answers followed.", redis.redirects);
  count(out, "seckill_redis_script_loads_total", "Scripts sent to a server that missed them.", redis.script_loads);
  count(out, "seckill_redis_connects_total", "Connections made.", redis.connects);
  count(out, "seckill_redis_timeouts_total", "Calls whose deadline passed: unknown, not failed.", redis.timeouts);
  count(out, "seckill_redis_breaker_opened_total", "Times a server was given a rest after failures.",
        redis.breaker_opened);
  count(out, "seckill_redis_foreign_total", "Calls refused because the server is another than the lane's row names.",
        redis.foreign);
}

void add_publisher(const queue::rabbit::RabbitPublisher& publisher, Families& out) {
  const queue::rabbit::RabbitPublisherCounters counters = publisher.counters();
  Family messages{out, counter, "seckill_publisher_messages_total", "Messages of intents by what became of them."};
  messages.add(counters.confirmed, {{"outcome", "confirmed"}});
  messages.add(counters.refused, {{"outcome", "refused"}});
  messages.add(counters.unknown, {{"outcome", "unknown"}});
  messages.add(counters.returned, {{"outcome", "returned"}});
  count(out, "seckill_publisher_intents_total", "Intents in the messages published.", counters.intents);
  count(out, "seckill_publisher_connects_total", "Connections made to the broker.", counters.connects);
  count(out, "seckill_publisher_blocked_total", "Times the broker blocked publishing.", counters.blocked);
  Family{out, gauge, "seckill_publisher_accepting", "1 while the broker takes intents."}.add(
      std::uint64_t{publisher.accepting() ? 1u : 0u});
}

void add_sources(const std::vector<const queue::rabbit::RabbitSource*>& sources, Families& out) {
  queue::rabbit::RabbitSourceCounters sum;
  for (const auto* source : sources) {
    const auto one = source->counters();
    sum.messages += one.messages;
    sum.redelivered += one.redelivered;
    sum.unreadable += one.unreadable;
    sum.parked += one.parked;
    sum.retried += one.retried;
    sum.connects += one.connects;
  }
  Family messages{out, counter, "seckill_source_messages_total", "Messages taken from the broker, by what they were."};
  messages.add(sum.messages, {{"kind", "received"}});
  messages.add(sum.redelivered, {{"kind", "redelivered"}});
  messages.add(sum.unreadable, {{"kind", "unreadable"}});
  messages.add(sum.parked, {{"kind", "parked"}});
  messages.add(sum.retried, {{"kind", "retried"}});
  count(out, "seckill_source_connects_total", "Connections made to the broker by order workers.", sum.connects);
}

void add_workers(const std::vector<const orders::OrderWorker*>& workers, Families& out) {
  const auto sum = [&](std::atomic<std::uint64_t> orders::OrderWorkerCounters::* member) {
    std::uint64_t all = 0;
    for (const auto* worker : workers) all += (worker->counters().*member).load(std::memory_order_relaxed);
    return all;
  };
  using Counters = orders::OrderWorkerCounters;
  count(out, "seckill_worker_messages_total", "Messages received, redeliveries included.", sum(&Counters::messages));
  count(out, "seckill_worker_acknowledged_total", "Messages done with.", sum(&Counters::acknowledged));
  count(out, "seckill_worker_put_off_total", "Messages of which intents come later.", sum(&Counters::put_off));
  count(out, "seckill_worker_not_now_total", "Attempts that the environment failed.", sum(&Counters::not_now));
  count(out, "seckill_worker_disconnected_total", "Times the broker could not be reached.",
        sum(&Counters::disconnected));
}

void add_landing(const orders::ClusterLandingCounters& landing, Families& out) {
  Family intents{out, counter, "seckill_cluster_landing_total", "Intents that needed more than a plain landing."};
  intents.add(landing.adopted.load(), {{"as", "adopted"}});
  intents.add(landing.refused.load(), {{"as", "refused"}});
  intents.add(landing.replaced.load(), {{"as", "replaced"}});
  intents.add(landing.released.load(), {{"as", "released"}});
  intents.add(landing.later.load(), {{"as", "later"}});
}

void add_store(const store::mysql::MysqlCounters& store, Families& out) {
  count(out, "seckill_database_transactions_total", "Transactions committed.", store.transactions);
  count(out, "seckill_database_retried_total", "Transactions rolled back by deadlock or lock wait and tried again.",
        store.retried);
  count(out, "seckill_database_reconnected_total", "Connections found dead and replaced.", store.reconnected);
  count(out, "seckill_database_pool_waits_total", "Callers that waited for a connection.", store.pool_waits);
}

void add_leader(const admission::leading::Leader& leader, Families& out) {
  const admission::leading::LeaderCounters& counters = leader.counters();
  Family{out, gauge, "seckill_leader", "1 while this node leads."}.add(std::uint64_t{leader.lease().held() ? 1u : 0u});
  count(out, "seckill_leader_looks_total", "Looks at all lanes.", counters.looks.load());
  Family lanes{out, counter, "seckill_leader_lanes_total", "Lanes that wanted a rebuild, and what became of them."};
  lanes.add(counters.lanes_wanting.load(), {{"as", "wanting"}});
  lanes.add(counters.lanes_opened.load(), {{"as", "opened"}});
  lanes.add(counters.lanes_waiting.load(), {{"as", "waiting"}});
  count(out, "seckill_leader_rounds_fenced_total", "Rounds that another leader ended.", counters.rounds_fenced.load());
  count(out, "seckill_leader_republished_total", "Intents that the broker had confirmed and lost, published again.",
        leader.lost_intents().republished());
}

void add_relay(const admission::remote::RelayCounters& relay, Families& out) {
  Family intents{out, counter, "seckill_relay_intents_total", "Intents handed on, by what became of them."};
  intents.add(relay.confirmed.load(), {{"outcome", "confirmed"}});
  intents.add(relay.refused.load(), {{"outcome", "refused"}});
  intents.add(relay.unknown.load(), {{"outcome", "unknown"}});
  intents.add(relay.landed.load(), {{"outcome", "landed"}});
  intents.add(relay.not_marked.load(), {{"outcome", "not_marked"}});
}

void add_switches(const SwitchWatch& switches, Families& out) {
  Family followed{out, gauge, "seckill_switch_on", "1 while this node follows the switch as on."};
  for (const SwitchKind& kind : switch_kinds()) {
    followed.add(std::uint64_t{switches.followed(kind.what) == "on" ? 1u : 0u}, {{"switch", kind.name}});
  }
  count(out, "seckill_switch_failures_total", "Looks at the switches that could not read the store.",
        switches.failures());
}

}  // namespace

void add_cluster(const ClusterSources& sources, Families& out) {
  if (sources.redis != nullptr) add_redis(sources.redis->counters(), out);
  if (sources.publisher != nullptr) add_publisher(*sources.publisher, out);
  if (!sources.sources.empty()) add_sources(sources.sources, out);
  if (!sources.workers.empty()) add_workers(sources.workers, out);
  if (sources.landing != nullptr) add_landing(*sources.landing, out);
  if (sources.store != nullptr) add_store(sources.store->counters(), out);
  if (sources.leader != nullptr) add_leader(*sources.leader, out);
  if (sources.relay != nullptr) add_relay(*sources.relay, out);
  if (sources.switches != nullptr) add_switches(*sources.switches, out);
}

}  // namespace seckill::ops
