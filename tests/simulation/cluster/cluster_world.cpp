#include "simulation/cluster/cluster_world.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.hpp"
#include "base/log.hpp"

namespace seckill::sim {
namespace {

// The store's clock is a machine's like any other; it is the one that deadlines and leases are judged by.
constexpr Time warm_up = 12s;  // until the first leader has built the lanes, with room for its troubles
constexpr Time after_the_sale = 3'600s;

}  // namespace

ClusterWorld::ClusterWorld(const ClusterPlan& plan, ClusterBreakage breakage)
    : plan_{plan},
      kernel_{plan.seed},
      random_{kernel_.random().fork("world")},
      store_clock_{kernel_.add_node("store").clock()},
      database_{tables_, store_clock_},
      store_faults_{},
      lanes_{kernel_,
             {.shards = plan.shards,
              .replicas = true,
              .call_deadline = 1s,
              .resync = 2s,
              .replica_max_lag = 10s,
              .faults = {}}},
      broker_{kernel_, {.partitions = plan.partitions}},
      devices_{kernel_, database_, store_faults_, lanes_, broker_, plan.partitions},
      record_{kernel_} {
  tables_.remote_lanes = true;
  devices_.breakage = breakage;
  limit_max_ = plan.limit;
  kernel_.on_crash([this](Node& node, Time down_for) { crashed(node, down_for); });
  base::log::listen([this](base::log::Level level, std::string_view line) {
    if (level < base::log::Level::warn) return;
    const Node* node = kernel_.running();
    kernel_.note(fmt::format("{}: log: {}", node != nullptr ? node->name() : "-", line));
    if (level == base::log::Level::error) record_.broken(fmt::format("an error was logged: {}", line));
  });
  put_sale_on();
  add_hosts();
}

ClusterWorld::~ClusterWorld() {
  base::log::listen({});
  // Fibers unwind while everything they use is still there.
  for (const auto& host : hosts_) {
    host->node->crash();
    host->operator_tasks.clear();
    host->desk.reset();
    host->life.reset();
  }
}

void ClusterWorld::put_sale_on() {
  sale_.id = *model::SaleId::parse("s1");
  sale_.title = "A sale";
  sale_.starts_at = Kernel::utc_at_start + warm_up / 1ms;
  sale_.ends_at = sale_.starts_at + (plan_.sale_lasts + after_the_sale) / 1ms;
  sale_.ticket_key.fill(7);
  model::SaleItem item;
  item.sku = *model::Sku::parse("sku1");
  item.title = "A thing";
  item.total = plan_.total + plan_.reserve;
  item.reserve = plan_.reserve;
  item.limit = plan_.limit;
  item.lanes = plan_.lanes;
  item.price_minor = plan_.price_minor;
  item.pay_window_ms = plan_.pay_window_ms;
  sale_.items.push_back(item);
  item_ = {sale_.id, item.sku};
  SECKILL_ASSERT(database_.create_sale(sale_, {}).has_value(), "the sale is sound");
  SECKILL_ASSERT(database_.preload(sale_.id, kernel_.utc(), {}).has_value(), "its units fit its lanes");
}

void ClusterWorld::add_hosts() {
  for (std::uint32_t i = 0; i < plan_.api_nodes + plan_.workers; ++i) {
    auto host = std::make_unique<Host>();
    const bool api = i < plan_.api_nodes;
    host->node =
        &kernel_.add_node(api ? fmt::format("api-{}", i + 1) : fmt::format("worker-{}", i - plan_.api_nodes + 1));
    host->node->set_skew(std::chrono::milliseconds{plan_.skews_ms.at(i)});
    host->role = api ? NodeRole::api : NodeRole::worker;
    if (!api) {
      for (queue::Partition p = 0; p < plan_.partitions; ++p) {
        if (p % plan_.workers == i - plan_.api_nodes) host->own.push_back(p);
      }
    }
    hosts_.push_back(std::move(host));
  }
}

void ClusterWorld::start(Host& host) {
  host.life = std::make_unique<NodeLife>(devices_, *host.node, host.role, host.own, std::vector{item_});
  if (host.role == NodeRole::api) {
    host.desk = std::make_unique<ops::SaleDesk>(host.life->store(), host.life->admission(), host.node->clock(),
                                                [](const model::SaleId&) {});
  }
  host.at_desk = false;
  host.life->start();
}

void ClusterWorld::crashed(Node& node, Time down_for) {
  const auto host = std::ranges::find_if(hosts_, [&](const auto& one) { return one->node == &node; });
  SECKILL_ASSERT(host != hosts_.end(), "only hosts crash");
  (*host)->operator_tasks.clear();
  (*host)->desk.reset();
  (*host)->life.reset();
  kernel_.after(resting_ ? 0s : down_for, [this, host = host->get()] { restart(*host); });
}

void ClusterWorld::restart(Host& host) {
  if (host.node->alive()) return;
  host.node->restart();
  start(host);
}

ClusterOutcome ClusterWorld::run() {
  for (const auto& host : hosts_) start(*host);
  plan_steps();
  const Time end = warm_up + plan_.sale_lasts;
  kernel_.run_until(
      [this] {
        watch();
        return !record_.violation().empty();
      },
      end);
  if (record_.violation().empty()) come_to_rest();
  if (record_.violation().empty()) check_at_rest();
  if (record_.violation().empty()) sell_the_rest();
  return {.violation = record_.violation(),
          .story = kernel_.story(),
          .fingerprint = kernel_.fingerprint(),
          .virtual_time = kernel_.now(),
          .acknowledged = record_.acknowledged().size(),
          .requests = requests_,
          .events = kernel_.events_run(),
          .passages = kernel_.passages(),
          .crashed_at = kernel_.crashed_at()};
}

void ClusterWorld::plan_steps() {
  kernel_.after(warm_up, [this] {
    store_faults_ = plan_.store_faults;
    lanes_.set_faults(plan_.lane_faults);
    broker_.set_faults(plan_.broker_faults);
    for (const PlannedPoint& point : plan_.crashes) kernel_.crash_at(point.point, point.nth, point.down_for);
  });
  for (const ClusterStep& step : plan_.steps) {
    kernel_.after(warm_up + step.at, [this, &step] { take(step); });
  }
}

}  // namespace seckill::sim
