#include "app/embedded.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "admission/memory/memory_admission.hpp"
#include "app/listeners.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "gateway/buyer_api.hpp"
#include "gateway/http/server.hpp"
#include "gateway/login/token_signer.hpp"
#include "ops/admin_api.hpp"
#include "orders/deadlines.hpp"
#include "orders/landing.hpp"
#include "orders/order_reads.hpp"
#include "orders/ticket_ends.hpp"
#include "payments/demo_provider.hpp"
#include "queue/direct/direct_queue.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace seckill::app {
namespace {

namespace log = base::log;
namespace http = gateway::http;
using namespace std::chrono_literals;

constexpr std::size_t reader_threads = 2;  // buyers' questions; more would only queue at the same disk
constexpr std::size_t ops_threads = 3;     // the admin API's, each may hold a read connection
constexpr auto admin_drain_limit = 2s;
constexpr std::chrono::milliseconds lanes_round = 10s;  // between looks for sales whose lanes can go
constexpr std::uint64_t descriptors_wanted = 4'096;

constexpr std::string_view starting = "starting: lanes are being built from the store";
constexpr std::string_view stopping = "stopping";

}  // namespace

struct EmbeddedServer::Impl {
  explicit Impl(Config given) : config{std::move(given)} {}

  // In the order of their making; each borrows only from those above it.
  Config config;
  base::SystemClock clock;
  ops::Readiness readiness;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<orders::Landing> landing;
  std::unique_ptr<queue::direct::DirectQueue> queue;
  std::unique_ptr<admission::memory::MemoryAdmission> admission;
  std::unique_ptr<orders::OrderReads> reads;
  std::unique_ptr<orders::TicketEnds> ends;
  std::unique_ptr<orders::Deadlines> deadlines;
  std::unique_ptr<payments::DemoProvider> demo_provider;
  std::unique_ptr<gateway::TokenSigner> signer;
  std::unique_ptr<gateway::BuyerApi> buyer_api;
  std::unique_ptr<ops::AdminApi> admin_api;
  std::unique_ptr<http::Server> admin_server;
  std::unique_ptr<http::Server> buyer_server;
  bool started = false;
  bool stopped = false;

  base::Status open_store();
  base::Status make_parts();
  base::Status listen();
  void set_metrics();
  bool stop(std::chrono::milliseconds drain_delay);
};

base::Status EmbeddedServer::Impl::open_store() {
  auto opened = store::sqlite::open(
      {.data_folder = config.data_dir, .create = true, .readers = reader_threads + ops_threads, .data_bytes_max = 0});
  if (!opened) return std::unexpected(opened.error());
  store = *std::move(opened);
  return {};
}

base::Status EmbeddedServer::Impl::make_parts() {
  landing = std::make_unique<orders::Landing>(*store, clock, [this](const model::ItemKey& item, std::string_view what) {
    log::error("oversell guard: {}: {}; its lanes are closed until a person decides", item.text(), what);
    admission->close_lanes(item, what);
  });
  queue = std::make_unique<queue::direct::DirectQueue>(*landing, clock);
  admission = std::make_unique<admission::memory::MemoryAdmission>(*queue, clock);
  queue->on_landed_late([this](const model::OrderIntent& intent, const store::Landed& landed) {
    admission->landed_late(intent, landed);
  });
  reads = std::make_unique<orders::OrderReads>(*store, *admission, reader_threads);
  ends = std::make_unique<orders::TicketEnds>(*store, *admission, clock);
  deadlines = std::make_unique<orders::Deadlines>(*store, *ends, clock);

  gateway::BuyerApiParts parts{.clock = clock, .admission = *admission, .reads = *reads, .ends = *ends, .pay = {}};
  if (config.demo) {
    demo_provider = std::make_unique<payments::DemoProvider>(*ends);
    parts.pay = [this](const model::Ticket& ticket, const model::BuyerId& buyer, orders::EndDone done) {
      demo_provider->pay(ticket, buyer, std::move(done));
    };
    if (config.login.algorithm == gateway::JwtAlgorithm::hs256) {
      auto made = gateway::TokenSigner::make(config.login.hs256_secret, config.login.issuer, config.login.audience);
      if (!made) return std::unexpected(made.error());
      signer = *std::move(made);
      parts.signer = signer.get();
    }
  }
  auto api = gateway::BuyerApi::make(buyer_api_config(config), std::move(parts));
  if (!api) return std::unexpected(api.error());
  buyer_api = *std::move(api);
  admin_api = std::make_unique<ops::AdminApi>(ops::AdminParts{.store = *store,
                                                              .admission = *admission,
                                                              .clock = clock,
                                                              .readiness = readiness,
                                                              .counters = &buyer_api->counters(),
                                                              .queue = queue.get(),
                                                              .landing = landing->counters(),
                                                              .ends = *ends,
                                                              .deadlines = deadlines.get(),
                                                              .reads = reads.get(),
                                                              .sale_changed =
                                                                  [this](const model::SaleId& sale) {
                                                                    buyer_api->counters().register_sale(sale);
                                                                    buyer_api->sale_changed(sale);
                                                                  },
                                                              .lanes_kept_ms = config.lanes_after_end.count()},
                                              config.operator_token.reveal());
  return {};
}

base::Status EmbeddedServer::Impl::listen() {
  readiness.block(starting);
  admin_server = std::make_unique<http::Server>(admin_listener(config.admin), *admin_api);
  buyer_server = std::make_unique<http::Server>(buyer_listener(config.buyer), *buyer_api);
  set_metrics();

  // The admin port first: a machine that asks /readyz learns why it has to wait.
  if (auto listening = admin_server->start(); !listening) return listening;
  if (auto installed = admin_api->install_all(); !installed) return installed;
  queue->start();
  ends->start();
  reads->start();
  deadlines->start();
  started = true;
  admin_api->open();
  admin_api->keep_lanes(std::clamp<std::chrono::milliseconds>(config.lanes_after_end, 100ms, lanes_round));
  if (auto listening = buyer_server->start(); !listening) return listening;
  readiness.clear(starting);
  return {};
}

void EmbeddedServer::Impl::set_metrics() {
  ops::MetricSources sources;
  sources.gateway = &buyer_api->counters();
  sources.filters = &buyer_api->filters();
  sources.listeners = {{"buyer", buyer_server.get(), thread_count(config.buyer.threads)},
                       {"admin", admin_server.get(), thread_count(config.admin.threads)}};
  sources.queue = queue.get();
  sources.landing = &landing->counters();
  sources.ends = ends.get();
  sources.deadlines = deadlines.get();
  sources.reads = reads.get();
  sources.admission = admission.get();
  sources.items = [this] { return admin_api->desk().installed(); };
  sources.version = version();
  admin_api->set_metrics(std::move(sources));
}

bool EmbeddedServer::Impl::stop(std::chrono::milliseconds drain_delay) {
  if (stopped) return true;
  stopped = true;
  bool whole = true;
  readiness.block(stopping);
  if (buyer_server && buyer_server->port() != 0) {
    // Load balancers see "not ready" and send no more, while what still arrives is served.
    std::this_thread::sleep_for(drain_delay);
    whole = buyer_server->drain(config.drain_limit);
    if (!whole) log::warn("requests were still in flight after {} ms and were cut off", config.drain_limit.count());
  }
  if (admin_server && admin_server->port() != 0) whole = admin_server->drain(admin_drain_limit) && whole;
  if (admin_api) admin_api->stop();
  if (deadlines) deadlines->stop();
  if (queue) queue->stop();
  if (ends) ends->stop();
  if (reads) reads->stop();
  // Nothing calls back any more; the parts go in the reverse order of their making, the store last.
  buyer_server.reset();
  admin_server.reset();
  admin_api.reset();
  buyer_api.reset();
  signer.reset();
  demo_provider.reset();
  deadlines.reset();
  ends.reset();
  reads.reset();
  admission.reset();
  queue.reset();
  landing.reset();
  store.reset();
  return whole;
}

EmbeddedServer::EmbeddedServer(Config config) : impl_{std::make_unique<Impl>(std::move(config))} {}

EmbeddedServer::~EmbeddedServer() { impl_->stop(0ms); }

base::Status EmbeddedServer::start() {
  std::signal(SIGPIPE, SIG_IGN);  // a client that leaves is an error code of the write, not the end of the process
  auto begun = impl_->open_store();
  if (begun) begun = impl_->make_parts();
  if (begun) begun = impl_->listen();
  if (!begun) impl_->stop(0ms);
  return begun;
}

std::uint16_t EmbeddedServer::buyer_port() const noexcept {
  return impl_->buyer_server ? impl_->buyer_server->port() : std::uint16_t{0};
}

std::uint16_t EmbeddedServer::admin_port() const noexcept {
  return impl_->admin_server ? impl_->admin_server->port() : std::uint16_t{0};
}

bool EmbeddedServer::stop() { return impl_->stop(impl_->config.drain_delay); }

std::uint64_t raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < descriptors_wanted) {
    log::warn("only {} files may be open (ulimit -n), so about as many connections; {} or more are better",
              limit.rlim_cur, descriptors_wanted);
  }
  return limit.rlim_cur;
}

const char* version() noexcept { return SECKILL_VERSION; }

}  // namespace seckill::app
