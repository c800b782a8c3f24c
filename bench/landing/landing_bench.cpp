// Orders landed in MariaDB with all their rows (order with its four index entries, journal, buyer_units), one order a
// transaction and in batches, with one connection and with two; and what a batch costs in statements.
//
// Usage: bench_landing [seconds]. The server is SECKILL_TEST_MYSQL (host:port) with SECKILL_TEST_MYSQL_USER and
// _PASSWORD; it must flush its log at each commit (the store refuses others). Makes a database seckill_test_bench_… and
// drops it. Rounds of all contenders alternate in one sitting and medians are reported, because the machine is shared.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/crypto.hpp"
#include "drivers/mariadb/mariadb.hpp"
#include "store/mysql/mysql_store.hpp"

namespace {

using namespace seckill;
using Clock = std::chrono::steady_clock;

constexpr base::UtcMs now = 1'700'000'000'000;
constexpr std::uint32_t lanes = 16;
constexpr std::int64_t total = 16'000'000;
constexpr int rounds = 5;

template <typename T>
T must(base::Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().text());
  std::exit(1);
}
void must(const base::Status& status) {
  if (status) return;
  fmt::print(stderr, "{}\n", status.error().text());
  std::exit(1);
}

void figure(std::string_view name, double value, std::string_view unit) {
  fmt::print("{} {:.1f} {}\n", name, value, unit);
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string of_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

store::mysql::MysqlConfig server() {
  const std::string where = of_environment("SECKILL_TEST_MYSQL");
  const std::size_t colon = where.rfind(':');
  if (colon == std::string::npos) {
    fmt::print(stderr, "SECKILL_TEST_MYSQL is not set: start MariaDB with tools/cluster/engines.py\n");
    std::exit(2);
  }
  store::mysql::MysqlConfig config;
  config.host = where.substr(0, colon);
  config.port = static_cast<std::uint16_t>(std::atoi(where.c_str() + colon + 1));
  config.user = of_environment("SECKILL_TEST_MYSQL_USER");
  config.password = of_environment("SECKILL_TEST_MYSQL_PASSWORD");
  return config;
}

std::unique_ptr<drivers::mariadb::Connection> administrator() {
  const auto config = server();
  return must(drivers::mariadb::Connection::open({.host = config.host,
                                                  .port = config.port,
                                                  .unix_socket = {},
                                                  .user = config.user,
                                                  .password = config.password,
                                                  .database = {}}));
}

// A database with one preloaded item, dropped at the end.
class Bench {
 public:
  Bench() : config_{server()} {
    config_.database = fmt::format("seckill_test_bench_{}", ::getpid());
    must(administrator()->execute("making a database", "CREATE DATABASE " + config_.database));
    must(store::mysql::migrate(config_));
    store_ = must(store::mysql::open(config_));
    model::SaleItem item;
    item.sku = model::Sku::parse("sku1").value();
    item.title = "A thing";
    item.price_minor = 1'999;
    item.total = total;
    item.lanes = lanes;
    sale_.id = model::SaleId::parse("bench").value();
    sale_.title = "Bench";
    sale_.starts_at = now;
    sale_.ends_at = now + 3'600'000;
    sale_.ticket_key = {1, 2, 3};
    sale_.items = {item};
    must(store_->create_sale(sale_, {}));
    must(store_->preload(sale_.id, now, {}));
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    store_.reset();
    (void)administrator()->execute("dropping the database", "DROP DATABASE " + config_.database);
  }

  // Lands batches of `size` from `threads` consumers, each with lanes of its own as partitions give them, until `time`
  // has passed. Orders a second.
  double land(std::size_t size, unsigned threads, std::chrono::milliseconds time) {
    ++round_;
    std::vector<std::size_t> landed(threads, 0);
    const auto start = Clock::now();
    {
      std::vector<std::jthread> consumers;
      for (unsigned thread = 0; thread < threads; ++thread) {
        consumers.emplace_back([&, thread] {
          for (std::size_t batch = 0; Clock::now() - start < time; ++batch) {
            must(store_->land(records(size, threads, thread, batch), now));
            landed[thread] += size;
          }
        });
      }
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    std::size_t sum = 0;
    for (const std::size_t one : landed) sum += one;
    return static_cast<double>(sum) / seconds;
  }

  // What the server counts for one batch of `size`.
  void count_statements(std::size_t size) {
    const auto before = questions();
    (void)must(store_->land(records(size, 1, 0, 1'000'000 + size), now));
    // Less the question itself and the statement that asks it.
    figure(fmt::format("statements_a_batch_of_{}", size), static_cast<double>(questions() - before - 1), "");
  }

 private:
  std::int64_t questions() {
    std::int64_t count = 0;
    if (!watcher_) watcher_ = administrator();
    must(watcher_->query("counting statements",
                         "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM information_schema.GLOBAL_STATUS "
                         "WHERE VARIABLE_NAME = 'QUESTIONS'",
                         {}, [&](const drivers::mariadb::Row& row) { count = row.integer(0); }));
    return count;
  }
  std::vector<model::LaneRecord> records(std::size_t size, unsigned threads, unsigned thread, std::size_t batch) const {
    std::vector<model::LaneRecord> made;
    made.reserve(size);
    for (std::size_t i = 0; made.size() < size; ++i) {
      const std::string buyer = fmt::format("buyer-{}-{}-{}-{}", round_, thread, batch, i);
      const model::LaneIndex lane = model::lane_of(buyer, lanes);
      if (lane % threads != thread) continue;
      model::OrderIntent intent;
      intent.item = {.sale = sale_.id, .sku = sale_.items[0].sku};
      intent.buyer = model::BuyerId::parse(buyer).value();
      intent.request_id = model::RequestId::parse("4f9d1c52-9f0e-4c39-8d57-2f1f0a3f8f11").value();
      intent.lane = lane;
      intent.ticket =
          model::derive_ticket(sale_.ticket_key, intent.item, intent.buyer, intent.request_id.view(), intent.lane);
      intent.digest = model::content_digest(1, nullptr);
      intent.units = 1;
      intent.price_minor = 1'999;
      intent.limit = 2;
      intent.pay_window_ms = 900'000;
      intent.admitted_at = now;
      made.emplace_back(std::move(intent));
    }
    return made;
  }

  store::mysql::MysqlConfig config_;
  model::Sale sale_;
  std::unique_ptr<store::mysql::MysqlStore> store_;
  std::unique_ptr<drivers::mariadb::Connection> watcher_;
  int round_ = 0;
};

struct Contender {
  std::string_view name;
  std::size_t size;
  unsigned threads;
  std::vector<double> rates;
};

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  const auto time = std::chrono::milliseconds{static_cast<int>(seconds * 1'000)};
  Bench bench;
  Contender contenders[] = {
      {.name = "one_per_transaction_per_s", .size = 1, .threads = 1, .rates = {}},
      {.name = "one_per_transaction_4_connections_per_s", .size = 1, .threads = 4, .rates = {}},
      {.name = "orders_landed_100_per_s", .size = 100, .threads = 1, .rates = {}},
      {.name = "orders_landed_per_s", .size = 500, .threads = 1, .rates = {}},
      {.name = "orders_landed_2_connections_per_s", .size = 500, .threads = 2, .rates = {}},
  };
  (void)bench.land(500, 2, time);  // statements prepared, tables grown
  for (int round = 0; round < rounds; ++round) {
    for (Contender& contender : contenders) {
      contender.rates.push_back(bench.land(contender.size, contender.threads, time));
    }
  }
  for (const Contender& contender : contenders) figure(contender.name, median(contender.rates), "orders/s");
  figure("orders_vs_one_per_tx", median(contenders[3].rates) / median(contenders[0].rates), "x");
  figure("orders_2_connections_vs_one_per_tx_4_connections", median(contenders[4].rates) / median(contenders[1].rates),
         "x");
  bench.count_statements(1);
  bench.count_statements(500);
  fmt::print("# an order: 1 row of seckill_order (primary key and 4 indexes), 1 of stock_journal, 1 of buyer_units\n");
  return 0;
}
