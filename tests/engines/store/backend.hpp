// MariaDB for the store's suites: where the tests' server is, and databases on it that tests use one after another.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "drivers/mariadb/mariadb.hpp"
#include "store/mysql/mysql_store.hpp"

namespace seckill::store::mysql {

// By SECKILL_TEST_MYSQL (host:port), SECKILL_TEST_MYSQL_USER and SECKILL_TEST_MYSQL_PASSWORD; nullopt when unset. No
// database is chosen.
[[nodiscard]] std::optional<MysqlConfig> test_server();
inline constexpr const char* no_test_server =
    "SECKILL_TEST_MYSQL is not set: start MariaDB with tools/cluster/engines.py and use the environment it prints";

// A plain connection to what `config` says. Aborts the test program when there is none.
[[nodiscard]] std::unique_ptr<drivers::mariadb::Connection> plain_connection(const MysqlConfig& config);

// An empty migrated database for one test. Making one costs a second, emptying one does not: they are handed on, and
// dropped when the program ends. One thread.
class TestDatabase {
 public:
  TestDatabase();
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  [[nodiscard]] const MysqlConfig& config() const noexcept { return config_; }

 private:
  MysqlConfig config_;
};

}  // namespace seckill::store::mysql
