#include "app/cluster_server.hpp"

#include <algorithm>
#include <csignal>
#include <thread>

#include "app/cluster_api.hpp"
#include "app/cluster_core.hpp"
#include "app/cluster_engines.hpp"
#include "app/cluster_health.hpp"
#include "app/cluster_worker.hpp"
#include "app/embedded.hpp"
#include "app/listeners.hpp"
#include "base/log.hpp"
#include "ops/admin_api.hpp"

namespace seckill::app {
namespace {

namespace log = base::log;
namespace http = gateway::http;
using namespace std::chrono_literals;

constexpr auto admin_drain_limit = 2s;
constexpr std::chrono::milliseconds lanes_round = 10s;  // between looks for sales whose lanes can go
constexpr std::chrono::milliseconds sales_round = 1s;   // between looks for new sales
constexpr std::size_t items_looked_at_max = 256;        // for admission by database, while Redis is away
constexpr std::string_view starting = "starting: connecting to the deployment's engines";
constexpr std::string_view stopping = "stopping";

}  // namespace

struct ClusterServer::Impl {
  Impl(Config given, Role given_role) : config{std::move(given)}, role{given_role} {}

  // In the order of their making; each borrows only from those above it.
  Config config;
  const Role role;
  base::SystemClock clock;
  ops::Readiness readiness;
  ClusterEngines engines;
  std::unique_ptr<ops::SwitchWatch> switches;
  std::unique_ptr<ClusterCore> core;
  std::unique_ptr<ClusterApi> api;        // api, all
  std::unique_ptr<ClusterWorker> worker;  // worker, all
  std::unique_ptr<ops::AdminApi> admin_api;
  std::unique_ptr<http::Server> admin_server;
  std::unique_ptr<ClusterHealth> health;
  bool core_started = false;
  bool worker_started = false;
  bool stopped = false;

  base::Status make_parts();
  void make_admin_api();
  void make_health();
  void set_metrics();
  [[nodiscard]] bool all_by_database();
  base::Status begin();
  bool stop(std::chrono::milliseconds drain_delay);
};

base::Status ClusterServer::Impl::make_parts() {
  auto opened = ClusterEngines::open(*config.cluster);
  if (!opened) return std::unexpected(std::move(opened.error()));
  engines = *std::move(opened);
  switches = std::make_unique<ops::SwitchWatch>(*engines.store);
  switches->look();
  core = std::make_unique<ClusterCore>(engines, *config.cluster, clock, *switches);
  if (role != Role::worker) {
    auto made = ClusterApi::make(engines, *core, config, clock);
    if (!made) return std::unexpected(std::move(made.error()));
    api = *std::move(made);
  }
  if (role != Role::api) {
    auto made = ClusterWorker::make(engines, *core, *config.cluster, clock, [this] {
      return base::Result<std::vector<model::ItemKey>>{admin_api->desk().installed()};
    });
    if (!made) return std::unexpected(std::move(made.error()));
    worker = *std::move(made);
  }
  make_admin_api();
  make_health();
  return {};
}

void ClusterServer::Impl::make_admin_api() {
  gateway::BuyerApi* buyers = api ? &api->buyer_api() : nullptr;
  admin_api = std::make_unique<ops::AdminApi>(
      ops::AdminParts{.store = *engines.store,
                      .admission = core->admission(),
                      .clock = clock,
                      .readiness = readiness,
                      .counters = buyers != nullptr ? &buyers->counters() : nullptr,
                      .queue = nullptr,
                      .landing = core->landing().landing(),
                      .ends = core->ends(),
                      .deadlines = worker ? &worker->deadlines() : nullptr,
                      .reads = api ? &api->reads() : nullptr,
                      .sale_changed =
                          [buyers](const model::SaleId& sale) {
                            if (buyers == nullptr) return;
                            buyers->counters().register_sale(sale);
                            buyers->sale_changed(sale);
                          },
                      .lanes_kept_ms = config.lanes_after_end.count(),
                      .cluster = ops::ClusterParts{*engines.store, *engines.store, *switches}},
      config.operator_token.reveal());
  admin_server = std::make_unique<http::Server>(admin_listener(config.admin), *admin_api);
}

void ClusterServer::Impl::make_health() {
  health =
      std::make_unique<ClusterHealth>(ClusterHealth::Ports{.board = *engines.store,
                                                           .redis = *engines.redis,
                                                           .publisher = *engines.publisher,
                                                           .switches = *switches,
                                                           .clock = clock,
                                                           .readiness = readiness,
                                                           .redis_cluster = config.cluster->redis.cluster,
                                                           .redis_settings_sound = engines.redis_settings_sound,
                                                           .all_by_database = [this] { return all_by_database(); }});
}

bool ClusterServer::Impl::all_by_database() {
  const std::vector<model::ItemKey> items = admin_api->desk().installed();
  if (items.empty() || items.size() > items_looked_at_max) return false;
  return std::ranges::all_of(items, [this](const model::ItemKey& item) {
    const auto authority = engines.store->item_authority(item);
    return authority && authority->wanted == store::LaneState::store;
  });
}

void ClusterServer::Impl::set_metrics() {
  ops::MetricSources sources;
  sources.listeners = {{"admin", admin_server.get(), thread_count(config.admin.threads)}};
  if (api) {
    sources.gateway = &api->buyer_api().counters();
    sources.filters = &api->buyer_api().filters();
    sources.listeners.push_back({"buyer", &api->server(), thread_count(config.buyer.threads)});
    sources.reads = &api->reads();
  }
  sources.landing = &core->landing().landing();
  sources.ends = &core->ends();
  sources.admission = &core->admission();
  sources.items = [this] { return admin_api->desk().installed(); };
  sources.version = version();
  sources.cluster.redis = engines.redis.get();
  sources.cluster.publisher = engines.publisher.get();
  sources.cluster.landing = &core->landing().counters();
  sources.cluster.store = engines.store.get();
  sources.cluster.relay = &core->admission().relay().counters();
  sources.cluster.switches = switches.get();
  if (worker) {
    sources.deadlines = &worker->deadlines();
    sources.cluster.sources = worker->sources();
    sources.cluster.workers = worker->workers();
    sources.cluster.leader = &worker->leader();
  }
  admin_api->set_metrics(std::move(sources));
}

base::Status ClusterServer::Impl::begin() {
  readiness.block(starting);
  set_metrics();
  // The admin port first: probes answer from now on.
  if (auto listening = admin_server->start(); !listening) return listening;
  switches->start();
  core->start();
  core_started = true;
  if (const auto known = admin_api->know_sales(sales_round); !known) {
    log::warn("not every sale is known yet: {}", known.error().text());
  }
  if (worker) {
    worker->start();
    worker_started = true;
  }
  admin_api->open();
  admin_api->keep_lanes(std::clamp<std::chrono::milliseconds>(config.lanes_after_end, 100ms, lanes_round));
  if (api) {
    if (auto listening = api->start(); !listening) return listening;
  }
  health->round();
  health->start();
  readiness.clear(starting);
  return {};
}

bool ClusterServer::Impl::stop(std::chrono::milliseconds drain_delay) {
  if (stopped) return true;
  stopped = true;
  bool whole = true;
  readiness.block(stopping);
  if (api && api->server().port() != 0) {
    // Load balancers see "not ready" and send no more, while what still arrives is served.
    std::this_thread::sleep_for(drain_delay);
    whole = api->drain(config.drain_limit);
    if (!whole) log::warn("requests were still in flight after {} ms and were cut off", config.drain_limit.count());
  }
  if (admin_server && admin_server->port() != 0) whole = admin_server->drain(admin_drain_limit) && whole;
  if (admin_api) admin_api->stop();
  if (health) health->stop();
  if (worker_started) worker->stop_deadlines();
  if (core_started) core->stop_ends();
  if (api) api->stop_reads();
  if (worker_started) worker->stop();
  if (core_started) core->stop_admission();
  if (switches) switches->stop();
  engines.close();
  // Nothing calls back any more; the parts go in the reverse order of their making, the database last.
  health.reset();
  admin_server.reset();
  admin_api.reset();
  worker.reset();
  api.reset();
  core.reset();
  switches.reset();
  engines = {};
  return whole;
}

ClusterServer::ClusterServer(Config config, Role role) : impl_{std::make_unique<Impl>(std::move(config), role)} {}

ClusterServer::~ClusterServer() { impl_->stop(0ms); }

base::Status ClusterServer::start() {
  std::signal(SIGPIPE, SIG_IGN);  // a client that leaves is an error code of the write, not the end of the process
  auto begun = impl_->make_parts();
  if (begun) begun = impl_->begin();
  if (!begun) impl_->stop(0ms);
  return begun;
}

std::uint16_t ClusterServer::buyer_port() const noexcept {
  return impl_->api ? impl_->api->server().port() : std::uint16_t{0};
}

std::uint16_t ClusterServer::admin_port() const noexcept {
  return impl_->admin_server ? impl_->admin_server->port() : std::uint16_t{0};
}

bool ClusterServer::stop() { return impl_->stop(impl_->config.drain_delay); }

}  // namespace seckill::app
