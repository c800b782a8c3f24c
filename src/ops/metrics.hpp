// /metrics: what the parts count anyway, gathered when Prometheus asks. Nothing here costs the purchase path anything,
// no label ever holds a buyer, an address or an order, and sales and items are bounded (P9).
//
// Names follow Prometheus: base units, `_total` for what only grows, `seckill_` before all but the process's own.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/admission.hpp"
#include "base/clock.hpp"
#include "gateway/counters.hpp"
#include "gateway/filters/filter_modes.hpp"
#include "gateway/http/server.hpp"
#include "ops/cluster_metrics.hpp"
#include "orders/deadlines.hpp"
#include "orders/landing.hpp"
#include "orders/order_reads.hpp"
#include "orders/ticket_ends.hpp"
#include "queue/intent_queue.hpp"

namespace seckill::ops {

// A listener as metrics name it.
struct ListenerSource {
  std::string_view name;  // "buyer", "admin"
  const gateway::http::Server* server = nullptr;
  unsigned threads = 0;
};

// What to gather from; a null pointer leaves its families out. All must outlive the exposition.
struct MetricSources {
  const gateway::GatewayCounters* gateway = nullptr;
  const gateway::FilterModes* filters = nullptr;
  std::vector<ListenerSource> listeners;
  const queue::IntentQueue* queue = nullptr;
  const orders::LandingCounters* landing = nullptr;
  const orders::TicketEnds* ends = nullptr;
  const orders::Deadlines* deadlines = nullptr;
  const orders::OrderReads* reads = nullptr;
  const admission::Admission* admission = nullptr;
  std::function<std::vector<model::ItemKey>()> items;  // those with lanes here; must not block
  std::string version;
  ClusterSources cluster;
};

inline constexpr std::size_t metric_items_max = 500;  // items with families of their own; more are counted, not named

// The whole exposition as Prometheus text format 0.0.4. Any thread; reads counters only, never the store.
[[nodiscard]] std::string metrics_text(const MetricSources& sources);

}  // namespace seckill::ops
