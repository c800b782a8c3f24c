// What lanes cost the Redis server: bytes a winner with everything that is kept of him, admissions a second of the
// admit script alone by batch size, the server's CPU an admission, and calls an admission.
//
// Usage: bench_lanes host:port [winners]. The server must be ours alone while it runs; its keys are removed at the end.
// Prints one figure a line: name value unit.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "admission/redis/lane_keys.hpp"
#include "admission/redis/redis_lanes.hpp"

namespace {

using namespace seckill;
using admission::LaneAsk;
using admission::LaneCode;
using admission::LaneKey;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t lane_count = 16;
constexpr std::size_t calls_under_way_max = 64;
constexpr model::Generation generation = 1;

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  std::exit(1);
}

template <typename T, typename Call>
T wait_for(const Call& call) {
  auto promise = std::make_shared<std::promise<base::Result<T>>>();
  auto future = promise->get_future();
  call([promise](base::Result<T> result) { promise->set_value(std::move(result)); });
  auto result = future.get();
  if (!result) give_up(result.error().text());
  return *std::move(result);
}

void figure(std::string_view name, double value, std::string_view unit) {
  fmt::print("{} {:.2f} {}\n", name, value, unit);
  std::fflush(stdout);
}

// Lets so many calls be under way at a time.
class Window {
 public:
  void enter() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return under_way_ < calls_under_way_max; });
    ++under_way_;
  }
  void leave() {
    const std::scoped_lock lock{mutex_};
    --under_way_;
    changed_.notify_all();
  }
  void wait_empty() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return under_way_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t under_way_ = 0;
};

class Bench {
 public:
  explicit Bench(const std::string& server) {
    drivers::redis::RedisConfig config;
    config.servers = {server};
    auto redis = drivers::redis::Redis::start(config);
    if (!redis) give_up(redis.error().text());
    redis_ = *std::move(redis);
    lanes_ = admission::redis::make_redis_lanes(*redis_, {.call_longest = std::chrono::seconds{20}, .replicas = 0});
  }

  // Opens the item's lanes, each with stock for all.
  void open(std::string_view sale, std::int64_t stock) {
    sale_ = sale;
    for (model::LaneIndex lane = 0; lane < lane_count; ++lane) {
      const LaneKey key = lane_key(lane);
      server_ = wait_for<admission::LaneServer>([&](auto answer) { lanes_->server_of(key, std::move(answer)); });
      admission::InstallPlan plan;
      plan.generation = generation;
      plan.leader = {.token = 1};
      const base::UtcMs now = base::SystemClock{}.now_utc();
      plan.terms = {.starts_at = now - 1'000,
                    .ends_at = now + 3'600'000,
                    .state = model::SaleState::preloaded,
                    .price_minor = 9'900,
                    .currency = {},
                    .limit = 2,
                    .tickets_max = 16,
                    .pay_window_ms = 900'000,
                    .version = 1};
      plan.stock.available = stock;
      plan_ = plan;
      done(wait_for<LaneCode>([&](auto answer) { lanes_->install_begin(key, server_, plan, std::move(answer)); }));
      done(wait_for<LaneCode>([&](auto answer) { lanes_->install_open(key, server_, plan, std::move(answer)); }));
    }
  }

  // Buyers first … first + count − 1 buy one unit each, `batch` to a call; confirmed as a relay would, when asked.
  void buy(std::size_t count, std::size_t batch, bool confirmed) {
    for (std::size_t from = 0, call = 0; from < count; from += batch, ++call) {
      const auto lane = static_cast<model::LaneIndex>(call % lane_count);
      std::vector<LaneAsk> asks;
      std::vector<model::Ticket> tickets;
      for (std::size_t i = from; i < std::min(count, from + batch); ++i) {
        asks.push_back(ask(i, lane));
        tickets.push_back(asks.back().ticket);
      }
      window_.enter();
      lanes_->admit(lane_key(lane), server_, generation, std::move(asks),
                    [this, lane, confirmed, tickets = std::move(tickets)](auto decisions) mutable {
                      if (!decisions || decisions->decisions.empty() ||
                          decisions->decisions.back().decision != admission::Decision::admit) {
                        give_up("a buyer was not admitted");
                      }
                      if (!confirmed) return window_.leave();
                      lanes_->confirm_published(lane_key(lane), server_, std::move(tickets),
                                                [this](const base::Result<LaneCode>&) { window_.leave(); });
                    });
    }
    window_.wait_empty();
  }

  // Installs one lane anew with so many tickets, as a rebuild does.
  void install(std::size_t count) {
    const LaneKey key = lane_key(0);
    admission::InstallPlan plan = plan_;
    plan.generation = generation + 1;
    plan.stock = {.available = 0, .held = static_cast<std::int64_t>(count), .sold = 0};
    plan.tickets = count;
    done(wait_for<LaneCode>([&](auto answer) { lanes_->install_begin(key, server_, plan, std::move(answer)); }));
    for (std::size_t from = 0; from < count; from += 500) {
      std::vector<admission::InstallTicket> batch;
      for (std::size_t i = from; i < std::min(count, from + 500); ++i) {
        const LaneAsk one = ask(i, 0);
        batch.push_back({.row = {.ticket = one.ticket,
                                 .buyer = one.buyer,
                                 .request_id = one.request_id,
                                 .digest = one.digest,
                                 .units = 1,
                                 .state = model::OrderState::awaiting_payment,
                                 .admitted_at = plan.terms.starts_at}});
      }
      done(wait_for<LaneCode>(
          [&](auto answer) { lanes_->install_batch(key, server_, plan, std::move(batch), std::move(answer)); }));
    }
    done(wait_for<LaneCode>([&](auto answer) { lanes_->install_open(key, server_, plan, std::move(answer)); }));
  }

  void remove() {
    for (model::LaneIndex lane = 0; lane < lane_count; ++lane) {
      auto words = admission::redis::keys_of(lane_key(lane), admission::redis::LaneKeys::installing);
      words.insert(words.begin(), "DEL");
      command(std::move(words));
    }
  }
  // A number of INFO.
  double info(const std::string& section, std::string_view name) {
    const std::string text = command({"INFO", section});
    const std::size_t at = text.find(fmt::format("\n{}:", name));
    if (at == std::string::npos) give_up(fmt::format("INFO {} has no {}", section, name));
    return std::strtod(text.c_str() + at + name.size() + 2, nullptr);
  }
  double cpu_seconds() { return info("cpu", "used_cpu_user") + info("cpu", "used_cpu_sys"); }
  [[nodiscard]] std::uint64_t calls() const { return redis_->counters().calls; }

 private:
  static void done(LaneCode code) {
    if (code != LaneCode::done) give_up("a lane could not be installed");
  }
  [[nodiscard]] LaneKey lane_key(model::LaneIndex lane) const {
    return {.item = {.sale = *model::SaleId::parse(sale_), .sku = *model::Sku::parse("sku-0001")}, .lane = lane};
  }
  // Half of the pages make UUIDs, half 26 characters.
  [[nodiscard]] LaneAsk ask(std::size_t number, model::LaneIndex lane) const {
    const auto buyer = *model::BuyerId::parse(fmt::format("user{:08}", number));
    const std::uint64_t bits = base::xxh3_64(buyer.view());
    const std::string id = number % 2 == 0
                               ? fmt::format("{:08x}-0fad-4b5d-9cb4-{:012x}", bits >> 32, bits & 0xFFFFFFFFFFFF)
                               : fmt::format("01ARZ3NDEK{:016X}", bits);
    const auto request_id = *model::RequestId::parse(id);
    return {.buyer = buyer,
            .request_id = request_id,
            .ticket = model::derive_ticket({}, lane_key(lane).item, buyer, request_id.view(), lane),
            .units = 1,
            .digest = bits,
            .fields = nullptr};
  }
  std::string command(std::vector<std::string> words) {
    return wait_for<std::string>([&](auto answer) {
      drivers::redis::RedisCall call;
      call.args = std::move(words);
      call.longest = std::chrono::seconds{20};
      redis_->call(std::move(call), [answer](base::Result<drivers::redis::CallAnswer> replied) mutable {
        if (!replied) return answer(std::unexpected{replied.error()});
        answer(std::string{replied->reply.text()});
      });
    });
  }

  std::unique_ptr<drivers::redis::Redis> redis_;
  std::unique_ptr<admission::LaneScripts> lanes_;
  admission::LaneServer server_;
  std::string sale_;
  admission::InstallPlan plan_;
  Window window_;
};

void measure_memory(Bench& bench, std::size_t winners) {
  const double before = bench.info("memory", "used_memory");
  bench.open("bench-memory", static_cast<std::int64_t>(winners));
  bench.buy(winners, 64, true);
  figure("redis_bytes_per_winner", (bench.info("memory", "used_memory") - before) / static_cast<double>(winners),
         "bytes");
  bench.remove();
}

void measure_install(Bench& bench, std::size_t winners) {
  bench.open("bench-install", 1);
  const double cpu = bench.cpu_seconds();
  const auto start = Clock::now();
  bench.install(winners);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  figure("redis_install_us_per_ticket", seconds * 1e6 / static_cast<double>(winners),
         "us, one lane, one call at a time");
  figure("redis_cpu_us_per_installed_ticket", (bench.cpu_seconds() - cpu) * 1e6 / static_cast<double>(winners),
         "us of the server");
  bench.remove();
}

void measure_batch(Bench& bench, std::size_t batch, std::size_t winners, bool confirmed) {
  bench.open(fmt::format("bench-{}-{}", batch, confirmed ? 1 : 0), static_cast<std::int64_t>(winners));
  const double cpu = bench.cpu_seconds();
  const std::uint64_t calls = bench.calls();
  const auto start = Clock::now();
  bench.buy(winners, batch, confirmed);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto count = static_cast<double>(winners);
  if (confirmed) {
    figure(fmt::format("redis_calls_per_admission_batch_{}", batch), static_cast<double>(bench.calls() - calls) / count,
           "calls, confirmation included");
  } else {
    figure(fmt::format("admitted_by_script_batch_{}_per_s", batch), count / seconds, "one server, client beside it");
  }
  figure(fmt::format("redis_cpu_us_per_admission_batch_{}{}", batch, confirmed ? "_confirmed" : ""),
         (bench.cpu_seconds() - cpu) * 1e6 / count, "us of the server");
  bench.remove();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) give_up("usage: bench_lanes host:port [winners]");
  const std::size_t winners = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000;
  Bench bench{argv[1]};
  measure_memory(bench, winners);
  measure_install(bench, winners);
  for (const std::size_t batch : {1U, 8U, 64U}) {
    measure_batch(bench, batch, std::min<std::size_t>(winners, 30'000), false);
    measure_batch(bench, batch, std::min<std::size_t>(winners, 30'000), true);
  }
  return 0;
}
