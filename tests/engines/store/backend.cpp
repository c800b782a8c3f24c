// The store's contract on MariaDB, beside the simulator's store: what differs between the two would make its proofs
// worthless.
#include "backend.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "../../contract/store_contract.hpp"
#include "simulation/devices/store/sim_database.hpp"

namespace seckill::store::mysql {
namespace {

using drivers::mariadb::Connection;

template <typename T>
T must(base::Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "preparing a test database: %s\n", result.error().text().c_str());
  std::abort();
}
void must(const base::Status& status) {
  if (status) return;
  std::fprintf(stderr, "preparing a test database: %s\n", status.error().text().c_str());
  std::abort();
}

std::string of_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The databases that no test uses now; dropped with the program that made them.
class FreeDatabases {
 public:
  ~FreeDatabases() {
    if (::getpid() != maker_) return;  // a child of a test
    for (const std::string& name : made_) {
      must(plain_connection(*test_server())->execute("dropping a test database", "DROP DATABASE IF EXISTS " + name));
    }
  }
  std::string take() {
    if (free_.empty()) {
      MysqlConfig config = *test_server();
      config.database = fmt::format("seckill_test_{}_{}", maker_, made_.size() + 1);
      must(plain_connection(*test_server())->execute("making a test database", "CREATE DATABASE " + config.database));
      made_.push_back(config.database);
      must(migrate(config));
      return config.database;
    }
    std::string name = std::move(free_.back());
    free_.pop_back();
    return name;
  }
  void give_back(std::string name) { free_.push_back(std::move(name)); }

 private:
  const ::pid_t maker_ = ::getpid();
  std::vector<std::string> made_;
  std::vector<std::string> free_;
};

FreeDatabases& free_databases() {
  static FreeDatabases databases;
  return databases;
}

// Tables that another points at come after it.
constexpr std::string_view tables[] = {
    "payment",    "event_outbox", "stock_journal", "buyer_units", "seckill_order", "stock_transfer", "pool_change",
    "lane_stock", "sale_item",    "sale",          "audit",       "probe",         "lease",          "degrade_switch"};
// Whose numbers tests look at.
constexpr std::string_view counted[] = {"seckill_order", "audit", "event_outbox"};

void empty(const MysqlConfig& config) {
  const auto connection = plain_connection(config);
  constexpr std::string_view doing = "emptying a test database";
  must(connection->execute(doing, "BEGIN"));
  for (const std::string_view table : tables) must(connection->execute(doing, fmt::format("DELETE FROM {}", table)));
  must(connection->execute(doing, "COMMIT"));
  for (const std::string_view table : counted) {
    must(connection->execute(doing, fmt::format("ALTER TABLE {} AUTO_INCREMENT = 1", table)));
  }
}

}  // namespace

std::optional<MysqlConfig> test_server() {
  const std::string where = of_environment("SECKILL_TEST_MYSQL");
  const std::size_t colon = where.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  MysqlConfig config;
  config.host = where.substr(0, colon);
  config.port = static_cast<std::uint16_t>(std::atoi(where.c_str() + colon + 1));
  config.user = of_environment("SECKILL_TEST_MYSQL_USER");
  config.password = of_environment("SECKILL_TEST_MYSQL_PASSWORD");
  return config;
}

std::unique_ptr<Connection> plain_connection(const MysqlConfig& config) {
  return must(Connection::open({.host = config.host,
                                .port = config.port,
                                .unix_socket = {},
                                .user = config.user,
                                .password = config.password,
                                .database = config.database}));
}

TestDatabase::TestDatabase() : config_{*test_server()} { config_.database = free_databases().take(); }

TestDatabase::~TestDatabase() {
  empty(config_);
  free_databases().give_back(config_.database);
}

}  // namespace seckill::store::mysql

namespace seckill::store::contract {
namespace {

class MariadbPlace final : public Place {
 public:
  base::Result<std::unique_ptr<Store>> open() override { return mysql::open(database_.config()); }
  std::string backup_path() override { return "backup"; }
  std::unique_ptr<Place> from_backup() override { return nullptr; }  // it has none
  void pass(std::chrono::milliseconds time) override { std::this_thread::sleep_for(time); }

 private:
  mysql::TestDatabase database_;
};

class SimulatedPlace final : public Place {
 public:
  SimulatedPlace() { tables_.remote_lanes = true; }
  base::Result<std::unique_ptr<Store>> open() override {
    return std::make_unique<sim::SimDatabase>(tables_, clock_, &files_);
  }
  std::string backup_path() override { return "backup/one"; }
  std::unique_ptr<Place> from_backup() override {
    auto place = std::make_unique<SimulatedPlace>();
    place->tables_ = files_.at(backup_path());
    return place;
  }
  void pass(std::chrono::milliseconds time) override { clock_.advance(time); }

 private:
  sim::Tables tables_;
  sim::SimDatabase::Files files_;
  base::ManualClock clock_;
};

}  // namespace

std::vector<Backend> backends() {
  std::vector<Backend> found{{.name = "simulated",
                              .make_place = [] { return std::make_unique<SimulatedPlace>(); },
                              .outlives_its_process = false,
                              .is_lane_authority = true}};
  if (mysql::test_server()) {
    found.push_back({.name = "mariadb",
                     .make_place = [] { return std::make_unique<MariadbPlace>(); },
                     .is_lane_authority = true,
                     .has_backup = false});
  }
  return found;
}

std::vector<Backend> lane_authorities() { return backends(); }

TEST(StoreOnMariadb, runs_where_the_environment_says) {
  if (!mysql::test_server()) GTEST_SKIP() << mysql::no_test_server;
  SUCCEED();
}

}  // namespace seckill::store::contract
