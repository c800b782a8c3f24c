// Lanes with many winners built anew in Redis from the store's rows: reading every ticket, installing, opening; a
// leader's own look at an item that the lanes do not have.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

#include "admission/leading/leader.hpp"
#include "admission/redis/redis_lanes.hpp"
#include "app/cluster_engines.hpp"
#include "app/config.hpp"
#include "base/random.hpp"
#include "confirming_publisher.hpp"
#include "crowd.hpp"

namespace seckill::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t batch = 500;
constexpr std::uint32_t lane_count = 16;

template <typename T>
T must(base::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return *std::move(result);
}
void must(const base::Status& status) {
  if (!status) throw std::runtime_error(status.error().text());
}

model::Sale make_sale(store::Store& store, std::size_t winners) {
  const base::UtcMs now = base::SystemClock{}.now_utc();
  model::SaleItem item;
  item.sku = model::Sku::parse("item").value();
  item.title = "bench";
  item.price_minor = 9'900;
  item.total = static_cast<std::int64_t>(winners * 2);
  item.pay_window_ms = 86'400'000;
  item.lanes = lane_count;
  model::Sale sale;
  sale.id = model::SaleId::parse(fmt::format("rebuild-{:08x}", base::system_random().next() & 0xFFFFFFFF)).value();
  sale.title = "bench";
  sale.starts_at = now - 1'000;
  sale.ends_at = now + 86'400'000;
  sale.ticket_key = {1, 2, 3, 4};
  sale.items = {item};
  must(store.create_sale(sale, {}));
  must(store.preload(sale.id, now, {}));
  return sale;
}

void land_winners(store::Store& store, const model::Sale& sale, std::size_t winners) {
  const model::ItemKey item{.sale = sale.id, .sku = sale.items[0].sku};
  std::vector<model::LaneRecord> records;
  for (std::size_t i = 0; i < winners; ++i) {
    model::OrderIntent intent;
    intent.item = item;
    intent.buyer = model::BuyerId::parse(Buyers::id(i)).value();
    intent.request_id = model::RequestId::parse(fmt::format("0f8fad5b-d9cb-469f-a165-{:012x}", i)).value();
    intent.lane = model::lane_of(intent.buyer.view(), lane_count);
    intent.ticket = model::derive_ticket(sale.ticket_key, item, intent.buyer, intent.request_id.view(), intent.lane);
    intent.digest = model::content_digest(1, nullptr);
    intent.units = 1;
    intent.price_minor = 9'900;
    intent.limit = 1;
    intent.pay_window_ms = 86'400'000;
    intent.admitted_at = sale.starts_at;
    records.emplace_back(std::move(intent));
    if (records.size() < batch && i + 1 < winners) continue;
    (void)must(store.land(records, sale.starts_at));
    records.clear();
  }
}

}  // namespace

// --config --winners
void measure_rebuild(const Words& words) {
  const auto config = app::load_config(words.text("config"), {});
  if (!config || !config->cluster) throw std::runtime_error("the configuration cannot be used");
  const app::ClusterConfig& cluster = *config->cluster;
  const auto winners = static_cast<std::size_t>(words.number("winners", 1'000'000));
  const auto store = must(store::mysql::open(app::mysql_config(cluster)));
  const auto redis = must(drivers::redis::Redis::start(app::redis_config(cluster)));
  const auto lanes = admission::redis::make_redis_lanes(*redis, {.replicas = cluster.redis.replicas});
  const base::SystemClock clock;
  ConfirmingPublisher publisher;

  const model::Sale sale = make_sale(*store, winners);
  const auto landing = Clock::now();
  land_winners(*store, sale, winners);
  fmt::print("# {} orders landed in {:.1f} s\n", winners,
             std::chrono::duration<double>(Clock::now() - landing).count());

  const model::ItemKey item{.sale = sale.id, .sku = sale.items[0].sku};
  admission::leading::LeaderConfig leading;
  leading.lease.holder = fmt::format("bench#{:016x}", base::system_random().next());
  leading.lease.ttl = std::chrono::minutes{10};  // this process alone looks, and looks once
  leading.rebuild.partitions = cluster.rabbitmq.partitions;
  admission::leading::Leader leader{{*store, *store, *lanes, publisher, base::system_threads(), clock},
                                    [item] { return base::Result<std::vector<model::ItemKey>>{{item}}; },
                                    leading};
  leader.start();
  const auto begin = Clock::now();
  while (leader.counters().lanes_opened < lane_count) {
    if (Clock::now() - begin > std::chrono::minutes{5}) throw std::runtime_error("the lanes were not opened");
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  leader.stop();
  redis->stop();
  fmt::print("{} {:.2f} s, read from the database and installed in Redis, all lanes\n",
             winners == 1'000'000 ? std::string{"rebuild_1m_s"} : fmt::format("rebuild_of_{}_s", winners), seconds);
  fmt::print("rebuild_us_per_ticket {:.2f} us\n", seconds * 1e6 / static_cast<double>(winners));
}

}  // namespace seckill::bench
