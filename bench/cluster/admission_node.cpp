// An api node's admission path by itself: buyers' port, filters, login, remote admission and lanes in Redis, wired as
// app/cluster_core and app/cluster_api wire them, with a broker that confirms at once in place of RabbitMQ. It leads
// once, to build the lanes of the sale it makes.
//
// Usage: bench_admission_node CONFIG PORT SALE UNITS LANES. Says "ready" when purchases are taken; ends with SIGTERM.
#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "admission/leading/leader.hpp"
#include "admission/redis/redis_lanes.hpp"
#include "admission/remote/remote_admission.hpp"
#include "app/cluster_engines.hpp"
#include "app/config.hpp"
#include "app/listeners.hpp"
#include "base/random.hpp"
#include "confirming_publisher.hpp"
#include "gateway/buyer_api.hpp"
#include "gateway/http/server.hpp"
#include "orders/order_reads.hpp"
#include "orders/ticket_ends.hpp"

namespace {

using namespace seckill;
using namespace std::chrono_literals;

constexpr auto lanes_open_within = 60s;

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "bench_admission_node: {}\n", why);
  std::exit(1);
}
template <typename T>
T must(base::Result<T> result) {
  if (!result) give_up(result.error().text());
  return *std::move(result);
}
void must(const base::Status& status) {
  if (!status) give_up(status.error().text());
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

model::Sale sale_of(std::string_view id, std::int64_t units, std::uint32_t lanes) {
  const base::UtcMs now = base::SystemClock{}.now_utc();
  model::SaleItem item;
  item.sku = model::Sku::parse("item").value();
  item.title = "bench";
  item.price_minor = 9'900;
  item.total = units;
  item.pay_window_ms = 86'400'000;
  item.lanes = lanes;
  model::Sale sale;
  sale.id = model::SaleId::parse(id).value();
  sale.title = "bench";
  sale.starts_at = now - 1'000;
  sale.ends_at = now + 86'400'000;
  sale.ticket_key = {1, 2, 3, 4};
  sale.items = {item};
  return sale;
}

void run(const app::Config& config, const model::Sale& sale, int until_signal) {
  const base::SystemClock clock;
  const app::ClusterConfig& cluster = *config.cluster;
  const auto store = must(store::mysql::open(app::mysql_config(cluster)));
  const auto redis = must(drivers::redis::Redis::start(app::redis_config(cluster)));
  const auto lanes = admission::redis::make_redis_lanes(*redis, {.replicas = cluster.redis.replicas});
  bench::ConfirmingPublisher publisher;

  const model::ItemKey item{.sale = sale.id, .sku = sale.items[0].sku};
  must(store->create_sale(sale, {}));
  must(store->preload(sale.id, clock.now_utc(), {}));
  {
    admission::leading::LeaderConfig leading;
    leading.lease.holder = fmt::format("bench#{:016x}", base::system_random().next());
    leading.rebuild.partitions = cluster.rabbitmq.partitions;
    admission::leading::Leader leader{{*store, *store, *lanes, publisher, base::system_threads(), clock},
                                      [item] { return base::Result<std::vector<model::ItemKey>>{{item}}; },
                                      leading};
    leader.start();
    const auto until = std::chrono::steady_clock::now() + lanes_open_within;
    while (leader.counters().lanes_opened < sale.items[0].lanes) {
      if (std::chrono::steady_clock::now() > until) give_up("the lanes were not opened");
      std::this_thread::sleep_for(20ms);
    }
  }

  admission::remote::Config settings;
  settings.partitions = cluster.rabbitmq.partitions;
  if (cluster.redis.replicas == 0) settings.replicas_after = 0ms;
  admission::remote::RemoteAdmission admission{{.scripts = *lanes,
                                                .publisher = publisher,
                                                .authority = *store,
                                                .store = *store,
                                                .threads = base::system_threads(),
                                                .clock = clock,
                                                .random = base::system_random(),
                                                .landing = nullptr,
                                                .synchronous = nullptr},
                                               settings};
  orders::TicketEnds ends{*store, admission, clock};
  orders::OrderReads reads{*store, admission, cluster.mysql.read_connections};
  auto api =
      must(gateway::BuyerApi::make(app::buyer_api_config(config),
                                   {.clock = clock, .admission = admission, .reads = reads, .ends = ends, .pay = {}}));
  gateway::http::Server server{app::buyer_listener(config.buyer), *api};
  admission.start();
  ends.start();
  reads.start();
  must(admission.install(sale, sale.items[0], *store));
  must(server.start());
  fmt::print("ready\n");
  std::fflush(stdout);

  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, until_signal);
  int got = 0;
  sigwait(&set, &got);
  (void)server.drain(2s);
  ends.stop();
  reads.stop();
  admission.stop();
  redis->stop();
  fmt::print("redis_calls {}\n", redis->counters().calls);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) give_up("usage: bench_admission_node CONFIG PORT SALE UNITS LANES");
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before any thread: all inherit it, and run() waits for it
  app::ConfigOverrides overrides;
  overrides.port = number(argv[2]);
  const auto config = app::load_config(std::string{argv[1]}, overrides);
  if (!config || !config->cluster) give_up("the configuration cannot be used");
  run(*config, sale_of(argv[3], number(argv[4]), static_cast<std::uint32_t>(number(argv[5]))), SIGTERM);
  return 0;
}
