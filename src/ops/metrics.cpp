#include "ops/metrics.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "ops/metric_families.hpp"

namespace seckill::ops {
namespace {

using Families = std::vector<prometheus::MetricFamily>;
constexpr auto counter = prometheus::MetricType::Counter;
constexpr auto gauge = prometheus::MetricType::Gauge;

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

void add_sales(const gateway::GatewayCounters& gateway, Families& out) {
  Family funnel{out, counter, "seckill_funnel_total", "Requests that reached a stage of the funnel, by sale."};
  Family answers{out, counter, "seckill_purchase_answers_total", "Answers to purchase requests, by sale and reason."};
  for (const gateway::SaleCounters* sale : gateway.sales()) {
    const std::string_view id = sale->sale().empty() ? std::string_view{"other"} : sale->sale().view();
    for (std::size_t i = 0; i < gateway::funnel_stages; ++i) {
      const auto stage = static_cast<gateway::FunnelStage>(i);
      funnel.add(sale->stage(stage), {{"sale", id}, {"stage", gateway::name(stage)}});
    }
    for (const model::PurchaseAnswer answer : model::all_purchase_answers) {
      answers.add(sale->answers(answer), {{"sale", id}, {"answer", model::name(answer)}});
    }
  }
}

void add_latency(const gateway::LatencyHistogram& latency, std::string_view kind, Family& into) {
  std::vector<double> bounds;
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i <= gateway::latency_bounds_us.size(); ++i) {
    if (i < gateway::latency_bounds_us.size())
      bounds.push_back(static_cast<double>(gateway::latency_bounds_us[i]) / 1e6);
    counts.push_back(latency.bucket(i));
  }
  into.add_histogram(bounds, counts, static_cast<double>(latency.sum_us()) / 1e6, {{"kind", kind}});
}

void add_gateway(const gateway::GatewayCounters& gateway, Families& out) {
  add_sales(gateway, out);
  {
    Family http{out, counter, "seckill_http_requests_total", "Requests of the buyer API by route and status class."};
    for (std::size_t route = 0; route < gateway::route_count; ++route) {
      const auto id = static_cast<gateway::RouteId>(route);
      for (int status_class = 1; status_class <= 5; ++status_class) {
        const std::uint64_t count = gateway.http(id, status_class);
        if (count > 0) http.add(count, {{"route", gateway::name(id)}, {"status", fmt::format("{}xx", status_class)}});
      }
    }
  }
  {
    Family events{out, counter, "seckill_gateway_events_total", "Token and view cache events."};
    for (std::size_t i = 0; i < gateway::gateway_events; ++i) {
      const auto event = static_cast<gateway::GatewayEvent>(i);
      events.add(gateway.events(event), {{"event", gateway::name(event)}});
    }
  }
  Family latency{out, prometheus::MetricType::Histogram, "seckill_http_request_duration_seconds",
                 "From a request's last byte to its answer, purchases apart from the rest."};
  add_latency(gateway.purchase_latency(), "purchase", latency);
  add_latency(gateway.other_latency(), "other", latency);
}

void add_filters(const gateway::FilterModes& filters, Families& out) {
  Family seen{out, counter, "seckill_filter_seen_total", "Requests a filter judged."};
  Family would{out, counter, "seckill_filter_would_reject_total", "Requests a filter would refuse, in any mode."};
  Family rejected{out, counter, "seckill_filter_rejected_total", "Requests a filter refused."};
  for (const gateway::FilterPlace& place : gateway::filter_order) {
    seen.add(filters.seen(place.filter), {{"filter", place.name}});
    would.add(filters.would_reject(place.filter), {{"filter", place.name}});
    rejected.add(filters.rejected(place.filter), {{"filter", place.name}});
  }
}

void add_listeners(const std::vector<ListenerSource>& listeners, Families& out) {
  Family open{out, gauge, "seckill_connections_open", "Connections now open."};
  Family accepted{out, counter, "seckill_connections_accepted_total", "Connections accepted."};
  Family refused{out, counter, "seckill_connections_refused_total", "Connections refused over a cap."};
  Family errors{out, counter, "seckill_accept_errors_total", "Accepts that failed, as when descriptors run out."};
  Family received{out, counter, "seckill_http_received_bytes_total", "Bytes read from clients."};
  Family sent{out, counter, "seckill_http_sent_bytes_total", "Bytes written to clients."};
  Family core{out, counter, "seckill_http_core_refusals_total", "Requests refused before any route saw them."};
  Family timeouts{out, counter, "seckill_http_timeouts_total", "Connections or requests that took too long."};
  Family lag{out, gauge, "seckill_event_loop_lag_seconds", "How late a thread's last tick came."};
  for (const ListenerSource& listener : listeners) {
    if (listener.server == nullptr) continue;
    const gateway::http::ServerStats stats = listener.server->stats();
    const std::string_view port = listener.name;
    open.add(stats.open, {{"port", port}});
    accepted.add(stats.accepted, {{"port", port}});
    refused.add(stats.refused_over_thread_cap, {{"port", port}, {"reason", "thread_cap"}});
    refused.add(stats.refused_over_address_cap, {{"port", port}, {"reason", "address_cap"}});
    errors.add(stats.accept_errors, {{"port", port}});
    received.add(stats.bytes_in, {{"port", port}});
    sent.add(stats.bytes_out, {{"port", port}});
    core.add(stats.bad_request, {{"port", port}, {"reason", "bad_request"}});
    core.add(stats.not_canonical, {{"port", port}, {"reason", "not_canonical"}});
    core.add(stats.body_too_large, {{"port", port}, {"reason", "body_too_large"}});
    core.add(stats.target_too_long, {{"port", port}, {"reason", "target_too_long"}});
    core.add(stats.expectation_failed, {{"port", port}, {"reason", "expectation_failed"}});
    core.add(stats.headers_too_large, {{"port", port}, {"reason", "headers_too_large"}});
    core.add(stats.unanswered, {{"port", port}, {"reason", "unanswered"}});
    core.add(stats.handler_exceptions, {{"port", port}, {"reason", "internal"}});
    timeouts.add(stats.header_timeouts, {{"port", port}, {"what", "header"}});
    timeouts.add(stats.body_timeouts, {{"port", port}, {"what", "body"}});
    timeouts.add(stats.idle_timeouts, {{"port", port}, {"what", "idle"}});
    timeouts.add(stats.write_timeouts, {{"port", port}, {"what", "write"}});
    timeouts.add(stats.reply_timeouts, {{"port", port}, {"what", "reply"}});
    for (unsigned thread = 0; thread < listener.threads; ++thread) {
      lag.add(seconds(listener.server->loop_lag(thread)), {{"port", port}, {"thread", fmt::format("{}", thread)}});
    }
  }
}

void add_landing(const orders::LandingCounters& landing, Families& out) {
  const auto one = [&](std::string_view name, std::string_view help, const std::atomic<std::uint64_t>& value) {
    Family{out, counter, name, help}.add(value.load(std::memory_order_relaxed));
  };
  one("seckill_landing_batches_total", "Batches of intents written in one transaction.", landing.batches);
  one("seckill_landing_records_total", "Records in those batches.", landing.records);
  one("seckill_landing_orders_total", "Orders inserted.", landing.orders);
  one("seckill_landing_duplicates_total", "Intents whose order was there before; harmless.", landing.duplicates);
  one("seckill_landing_failures_total", "Tickets that ended as failed.", landing.failures);
  one("seckill_landing_splits_total", "Transactions refused and tried again in halves.", landing.splits);
  one("seckill_landing_deferred_total", "Batches put off by an error of the environment.", landing.not_now);
  one("seckill_oversell_guard_total", "Stock rows found short for an admitted hold; must stay 0.", landing.guard_trips);
  Family{out, counter, "seckill_landing_seconds_total", "Time spent in landing transactions."}.add(
      static_cast<double>(landing.commit_ns_total.load(std::memory_order_relaxed)) / 1e9);
}

void add_ends(const orders::EndsCounters& ends, Families& out) {
  const auto one = [&](std::string_view name, std::string_view help, const std::atomic<std::uint64_t>& value) {
    Family{out, counter, name, help}.add(value.load(std::memory_order_relaxed));
  };
  one("seckill_ticket_ends_total", "Cancels, payments and expiries that moved an order.", ends.done);
  one("seckill_ticket_ends_illegal_total", "Moves the transition table refused.", ends.illegal);
  one("seckill_ticket_ends_busy_total", "Moves refused because too many were waiting.", ends.refused_full);
  one("seckill_ticket_ends_store_errors_total", "Attempts that failed by the environment.", ends.store_errors);
  one("seckill_outbox_resent_total", "Releases and posts sent to lanes again.", ends.outbox_resent);
}

void add_pipeline(const MetricSources& sources, Families& out) {
  if (sources.queue != nullptr) {
    Family{out, gauge, "seckill_queue_depth", "Records accepted and not yet durable."}.add(
        static_cast<std::uint64_t>(sources.queue->depth()));
  }
  if (sources.landing != nullptr) add_landing(*sources.landing, out);
  if (sources.ends != nullptr) {
    Family{out, gauge, "seckill_ticket_ends_waiting", "Moves submitted and not yet answered."}.add(
        static_cast<std::uint64_t>(sources.ends->waiting()));
    add_ends(sources.ends->counters(), out);
  }
  if (sources.reads != nullptr) {
    Family{out, gauge, "seckill_store_reads_waiting", "Questions to the store not yet answered."}.add(
        static_cast<std::uint64_t>(sources.reads->waiting()));
  }
  if (sources.deadlines != nullptr) {
    const orders::DeadlineCounters& deadlines = sources.deadlines->counters();
    Family{out, counter, "seckill_deadline_sweeps_total", "Looks for overdue orders."}.add(deadlines.sweeps.load());
    Family{out, counter, "seckill_expiries_total", "Orders that expired unpaid."}.add(deadlines.expired.load());
    Family{out, gauge, "seckill_deadline_lag_seconds", "How overdue the oldest unpaid order was at the last sweep."}
        .add(static_cast<double>(deadlines.oldest_overdue_ms.load()) / 1e3);
  }
}

void add_items(const MetricSources& sources, Families& out) {
  if (sources.admission == nullptr || !sources.items) return;
  const std::vector<model::ItemKey> items = sources.items();
  Family{out, gauge, "seckill_items_installed", "Items whose lanes are in memory."}.add(
      static_cast<std::uint64_t>(items.size()));
  Family units{out, gauge, "seckill_lane_units", "Units in an item's lanes by state."};
  Family open{out, gauge, "seckill_lanes_open", "Lanes of an item that decide purchases."};
  for (std::size_t i = 0; i < std::min(items.size(), metric_items_max); ++i) {
    const std::string_view sale = items[i].sale.view();
    const std::string_view sku = items[i].sku.view();
    ledger::LaneStock stock;
    std::int64_t lanes_open = 0;
    for (const admission::LaneView& lane : sources.admission->lanes(items[i])) {
      stock.available += lane.stock.available;
      stock.held += lane.stock.held;
      stock.sold += lane.stock.sold;
      lanes_open += lane.open ? 1 : 0;
    }
    units.add(stock.available, {{"sale", sale}, {"sku", sku}, {"state", "available"}});
    units.add(stock.held, {{"sale", sale}, {"sku", sku}, {"state", "held"}});
    units.add(stock.sold, {{"sale", sale}, {"sku", sku}, {"state", "sold"}});
    open.add(lanes_open, {{"sale", sale}, {"sku", sku}});
  }
}

std::uint64_t count_open_descriptors() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  std::uint64_t count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count > 3 ? count - 3 : 0;  // ".", ".." and the folder itself
}

void add_process(const MetricSources& sources, Families& out) {
  Family{out, gauge, "seckill_build_info", "Always 1; the labels tell what runs."}.add(1.0,
                                                                                       {{"version", sources.version}});
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto spent = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  Family{out, counter, "process_cpu_seconds_total", "CPU time spent."}.add(spent(usage.ru_utime) +
                                                                           spent(usage.ru_stime));
  std::int64_t pages_total = 0;
  std::int64_t pages_resident = 0;
  std::ifstream{"/proc/self/statm"} >> pages_total >> pages_resident;
  Family{out, gauge, "process_resident_memory_bytes", "Resident memory."}.add(pages_resident * sysconf(_SC_PAGESIZE));
  Family{out, gauge, "process_open_fds", "Open file descriptors."}.add(count_open_descriptors());
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  Family{out, gauge, "process_max_fds", "The most descriptors this process may open."}.add(
      static_cast<std::uint64_t>(descriptors.rlim_cur));
}

}  // namespace

std::string metrics_text(const MetricSources& sources) {
  Families families;
  if (sources.gateway != nullptr) add_gateway(*sources.gateway, families);
  if (sources.filters != nullptr) add_filters(*sources.filters, families);
  add_listeners(sources.listeners, families);
  add_pipeline(sources, families);
  add_items(sources, families);
  add_cluster(sources.cluster, families);
  add_process(sources, families);
  std::ostringstream text;
  prometheus::TextSerializer{}.Serialize(text, families);
  return std::move(text).str();
}

}  // namespace seckill::ops
