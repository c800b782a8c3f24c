#include "app/demo_run.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <utility>

#include "app/demo_sale.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "gateway/login/token_signer.hpp"
#include "rehearse/report.hpp"

namespace seckill::app {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// Short enough to see unpaid units come back and be sold again while the crowd is there.
constexpr std::int64_t demo_pay_window_ms = 2'500;
constexpr std::int64_t another_opens_in_ms = 45'000;
constexpr std::int64_t open_for_ms = 30 * 60'000;
// Descriptors that are not the crowd's: database, event loops, listeners, log.
constexpr std::uint64_t descriptors_kept = 64;
constexpr std::size_t connections_wanted = 1'000;
constexpr std::size_t connections_min = 8;

base::UtcMs utc_now() { return base::SystemClock{}.now_utc(); }

// Whether someone listens there already; the server itself would say so too, but a demo may take another port.
bool is_taken(std::uint16_t port) {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const int on = 1;
  ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool taken = ::bind(probe, std::bit_cast<const sockaddr*>(&address), sizeof address) != 0;
  ::close(probe);
  return taken;
}

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

DemoRun::DemoRun(DemoOptions options, boost::json::object sample, StopSignals& signals)
    : options_{std::move(options)},
      sample_{std::move(sample)},
      signals_{signals},
      terminal_{::isatty(STDOUT_FILENO) == 1} {}

DemoRun::~DemoRun() {
  if (server_) server_->stop();
}

base::Status DemoRun::interrupted() const {
  if (signals_.received() == 0) return {};
  return base::fail(base::Errc::refused, "the demo", "interrupted");
}

base::Result<Config> DemoRun::configure(bool free_ports) const {
  ConfigOverrides overrides;
  overrides.demo = true;
  overrides.data_dir = folder_->path();
  const auto choose = [&](const std::optional<std::int64_t>& asked, std::uint16_t usual, const char* option) {
    if (asked) return *asked;
    if (!free_ports && !is_taken(usual)) return std::int64_t{usual};
    print(fmt::format("  port {} is taken, so a free one is used ({} chooses another)\n", usual, option));
    return std::int64_t{0};
  };
  overrides.port = choose(options_.port, 8080, "--port");
  overrides.admin_port = choose(options_.admin_port, 8081, "--admin-port");
  auto config = load_config(std::nullopt, overrides);
  if (!config) return base::fail(base::Errc::invalid, "configuring the demo", config.error().front().text());
  config->buyer.connections_per_address_max = 0;  // the whole crowd lives at one address
  config->drain_delay = 0ms;
  config->drain_limit = 3s;
  config->log.level = base::log::Level::warn;
  return *std::move(config);
}

base::Status DemoRun::start() {
  if (options_.running.empty()) {
    auto folder = DemoFolder::make(options_.data);
    if (!folder) return std::unexpected(std::move(folder.error()));
    folder_.emplace(*std::move(folder));
  }
  descriptors_ = raise_descriptor_limit();
  if (descriptors_ < descriptors_kept + 2 * connections_min) {
    return base::fail(base::Errc::limit, "starting the demo",
                      fmt::format("only {} files may be open at once; allow at least {} with: ulimit -n 4096",
                                  descriptors_, descriptors_kept + 2 * connections_min));
  }
  if (!options_.running.empty()) return find_running();
  auto started = start_server(false);
  const bool ports_given = options_.port && options_.admin_port;
  if (!started && started.error().code == base::Errc::already_exists && !ports_given) {
    started = start_server(true);  // another program was faster than our look
  }
  if (!started) {
    base::Error error = std::move(started.error());
    const std::string space = space_complaint();
    if (!space.empty()) error.cause += "; " + space;
    if (error.code == base::Errc::already_exists) error.cause += "; --port 0 --admin-port 0 take free ones";
    return std::unexpected(std::move(error));
  }
  buyer_port_ = server_->buyer_port();
  admin_port_ = server_->admin_port();
  admin_ = std::make_unique<rehearse::AdminApi>(admin_port_, config_.operator_token.reveal());
  return {};
}

base::Status DemoRun::find_running() {
  ConfigOverrides overrides = overrides_from_environment();
  overrides.port = options_.port;
  overrides.admin_port = options_.admin_port;
  auto config = load_config(options_.running, overrides);
  if (!config) return base::fail(base::Errc::invalid, "reading " + options_.running, config.error().front().text());
  config_ = *std::move(config);
  if (config_.login.hs256_secret.empty()) {
    return base::fail(base::Errc::invalid, "logging the crowd in", "only HS256 logins can be made here");
  }
  buyer_port_ = config_.buyer.port;
  admin_port_ = config_.admin.port;
  admin_ = std::make_unique<rehearse::AdminApi>(admin_port_, config_.operator_token.reveal());
  return {};
}

std::string DemoRun::space_complaint() const { return folder_ ? folder_->space_complaint() : std::string{}; }

base::Status DemoRun::start_server(bool free_ports) {
  auto config = configure(free_ports);
  if (!config) return std::unexpected(std::move(config.error()));
  config_ = *std::move(config);
  server_ = std::make_unique<EmbeddedServer>(config_);
  return server_->start();
}

std::size_t DemoRun::connections_max() {
  const std::uint64_t fit = (descriptors_ - descriptors_kept) / 2;  // both ends are in this process
  if (fit >= connections_wanted) return connections_wanted;
  print(fmt::format("  only {} files may be open at once (ulimit -n), so the crowd shares {} connections\n",
                    descriptors_, fit));
  return static_cast<std::size_t>(fit);
}

base::Result<std::vector<std::string>> DemoRun::log_everybody_in() const {
  const auto signer =
      gateway::TokenSigner::make(config_.login.hs256_secret, config_.login.issuer, config_.login.audience);
  if (!signer) return std::unexpected(signer.error());
  std::vector<std::string> tokens;
  tokens.reserve(static_cast<std::size_t>(options_.buyers));
  const base::UtcMs now = utc_now();
  for (std::uint32_t buyer = 0; buyer < options_.buyers; ++buyer) {
    if (buyer % 256 == 0 && signals_.received() != 0) return std::unexpected(interrupted().error());
    const auto name = model::BuyerId::parse(rehearse::buyer_name(buyer));
    auto token = (*signer)->sign(*name, now, 1h);
    if (!token) return std::unexpected(std::move(token.error()));
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

base::Result<std::string> DemoRun::put_on(std::int64_t opens_in_ms, std::optional<std::int64_t> pay_window_ms,
                                          char tail) {
  DemoFit fit;
  const base::UtcMs now = utc_now();
  fit.id = fmt::format("demo-{}-{}", now / 1'000, tail);
  fit.starts_at = now + opens_in_ms;
  fit.ends_at = fit.starts_at + open_for_ms;
  fit.units = options_.units;
  fit.pay_window_ms = pay_window_ms;
  const auto sale = fit_sale(sample_, fit);
  if (!sale) return std::unexpected(sale.error());
  auto done = admin_->create_sale(*sale);
  if (done) done = admin_->preload(fit.id);
  if (!done) {
    base::Error error = std::move(done.error());
    const std::string space = space_complaint();
    if (!space.empty()) error.cause += "; " + space;
    return std::unexpected(std::move(error));
  }
  return fit.id;
}

base::Result<bool> DemoRun::rehearse() {
  const DemoSale described = describe_sale(sample_);
  print(fmt::format("  sale      {} ({}), {} units\n  crowd     {} buyers, seed {}\n", described.title, described.kind,
                    rehearse::grouped(options_.units), rehearse::grouped(options_.buyers), options_.seed));
  if (folder_) {
    print(fmt::format("  data      {}{}\n", folder_->path(), folder_->temporary() ? " (removed at the end)" : ""));
  } else {
    print(fmt::format("  servers   buyers on port {}, operator on port {}\n", buyer_port_, admin_port_));
  }
  rehearse::RunPlan plan;
  plan.connections_max = connections_max();
  auto tokens = log_everybody_in();
  if (!tokens) return std::unexpected(std::move(tokens.error()));
  plan.tokens = *std::move(tokens);

  rehearse::CrowdShape shape;
  shape.buyers = static_cast<std::uint32_t>(options_.buyers);
  shape.items = static_cast<std::uint16_t>(described.items.size());
  // About 8,000 looks a second, so that the prefetch is no stampede.
  shape.look_before_ms = static_cast<std::int32_t>(std::clamp<std::int64_t>(options_.buyers / 8, 1'000, 60'000));
  plan.crowd = rehearse::make_crowd(shape, options_.seed);
  plan.port = buyer_port_;
  plan.pay_window_ms = described.free() ? 0 : demo_pay_window_ms;
  for (const DemoItem& item : described.items)
    plan.items.push_back({item.sku, item.order_field, item.price_minor == 0});

  const std::int64_t opens_in_ms = shape.look_before_ms + 700;
  const auto before = SteadyClock::now();
  auto sale = put_on(opens_in_ms, demo_pay_window_ms, 'a');
  if (!sale) return std::unexpected(std::move(sale.error()));
  plan.sale = *sale;
  // put_on() reads the clock first thing, so the opening is not earlier than this.
  plan.opens_at = before + milliseconds{opens_in_ms};
  print(fmt::format("  opens in  {:.1f} s\n\n", static_cast<double>(opens_in_ms) / 1'000));

  rehearse::CrowdRun run{std::move(plan)};
  const auto finished = run.run([&](const rehearse::Progress& progress) { return show(run, progress); });
  if (!finished) return std::unexpected(finished.error());
  if (terminal_) print("\n");
  if (auto stop = interrupted(); !stop) return std::unexpected(std::move(stop.error()));
  if (!*finished) print("  the crowd did not finish in the time a demo gives it; the verdict tells what is open\n");
  return report(*sale, run);
}

bool DemoRun::show(const rehearse::CrowdRun& run, const rehearse::Progress& progress) {
  const rehearse::Journal& journal = run.journal();
  const std::int64_t passed = progress.since_opening_ms - told_at_ms_;
  if (passed >= 1'000 || passed < 0) {
    clicks_per_s_ = (journal.counts().clicks - clicks_told_) * 1'000 /
                    static_cast<std::uint64_t>(std::max<std::int64_t>(passed, 1'000));
    clicks_told_ = journal.counts().clicks;
    told_at_ms_ = progress.since_opening_ms;
    if (terminal_) return signals_.received() == 0;
  } else if (!terminal_) {
    return signals_.received() == 0;
  }
  rehearse::ProgressNumbers numbers;
  numbers.since_opening_ms = progress.since_opening_ms;
  numbers.people = static_cast<std::uint64_t>(options_.buyers);
  numbers.looked = progress.looked;
  numbers.clicks_per_s = clicks_per_s_;
  numbers.waiting = progress.waiting;
  numbers.counts = journal.counts();
  const auto sold_out = journal.refusals().find("sold_out");
  numbers.sold_out = sold_out == journal.refusals().end() ? 0 : sold_out->second;
  const std::string line = rehearse::progress_line(numbers);
  if (terminal_)
    print("\r\x1b[K" + line.substr(0, terminal_columns() - 1));
  else
    print(line + "\n");
  return signals_.received() == 0;
}

base::Result<rehearse::Verdict> DemoRun::wait_for_verdict(const std::string& sale) {
  const auto until = SteadyClock::now() + 5s;
  for (;;) {
    auto verdict = admin_->verdict(sale);
    if (!verdict || verdict->drained || SteadyClock::now() > until) return verdict;
    if (signals_.wait_for(100ms) != 0) return std::unexpected(interrupted().error());
  }
}

base::Result<bool> DemoRun::report(const std::string& sale, rehearse::CrowdRun& run) {
  const DemoSale described = describe_sale(sample_);
  rehearse::ReportNumbers numbers;
  numbers.counts = run.journal().counts();
  // Asked for now, because asking again after the end would count as clicks.
  auto funnel = admin_->funnel(sale);
  if (!funnel) return std::unexpected(std::move(funnel.error()));
  const rehearse::ReplayProbe probe =
      run.probe_replays([&](const rehearse::Progress&) { return signals_.received() == 0; });
  auto verdict = wait_for_verdict(sale);
  if (!verdict) return std::unexpected(std::move(verdict.error()));
  auto facts = admin_->facts(sale);
  if (!facts) return std::unexpected(std::move(facts.error()));

  numbers.title = described.title;
  numbers.kind = described.kind;
  numbers.people = static_cast<std::uint64_t>(options_.buyers);
  numbers.clickers = run.clickers();
  numbers.units = options_.units;
  numbers.funnel = *std::move(funnel);
  numbers.server = *std::move(facts);
  numbers.p50_us = run.journal().latency_us(50);
  numbers.p99_us = run.journal().latency_us(99);
  numbers.max_us = run.journal().latency_us(100);
  for (const auto& [second, count] : run.journal().by_second())
    numbers.peak_per_s = std::max(numbers.peak_per_s, count);
  numbers.connections = run.connections_peak();
  numbers.refusals.assign(run.journal().refusals().begin(), run.journal().refusals().end());
  std::ranges::sort(numbers.refusals, std::greater{}, &std::pair<std::string, std::uint64_t>::second);

  const auto promises = rehearse::put_together(*verdict, run.journal().judge(numbers.server, probe));
  print("\n" + rehearse::funnel_text(numbers) + "\n" + rehearse::outcome_text(numbers) + "\n" +
        rehearse::verdict_text(promises, {.colour = terminal_}));
  if (!verdict->drained) print("  something was still under way when this was judged\n");
  const bool held = rehearse::all_hold(promises);
  const std::string space = space_complaint();
  if (held)
    print("\nEvery promise held.\n");
  else if (!space.empty())
    print("\nNot every promise could be kept to its end: " + space + "\n");
  else
    print("\nA promise was broken: please report the lines above with the seed.\n");
  return held;
}

base::Status DemoRun::put_on_another() {
  auto sale = put_on(another_opens_in_ms, std::nullopt, 'b');
  if (!sale) return std::unexpected(std::move(sale.error()));
  another_ = *std::move(sale);
  return {};
}

void DemoRun::print_addresses() const {
  print(fmt::format("\nAnother sale opens in {} s. Ctrl-C ends the demo.\n", another_opens_in_ms / 1'000));
  print(fmt::format("  buyer page     http://127.0.0.1:{}/?sale={}\n", buyer_port_, another_));
  print(fmt::format("  operator       http://127.0.0.1:{}/  (admin API, /metrics)\n", admin_port_));
  print(fmt::format("  export SECKILL_OPERATOR_TOKEN={}\n", config_.operator_token.reveal()));
  print(fmt::format("  for example    seckill sale show {} --admin 127.0.0.1:{}\n", another_, admin_port_));
}

}  // namespace seckill::app
