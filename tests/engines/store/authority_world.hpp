// What the tests of schema, authority and switches on MariaDB share: a database of their own, stores on it, and a plain
// connection beside them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "../../contract/store_contract.hpp"
#include "drivers/mariadb/mariadb.hpp"
#include "store/mysql/mysql_store.hpp"

namespace seckill::store::mysql {

class AuthorityWorld : public testing::Test {
 protected:
  static constexpr std::chrono::milliseconds lease_ttl{1'000};

  void SetUp() override {
    const char* server = std::getenv("SECKILL_TEST_MYSQL");
    if (server == nullptr) GTEST_SKIP() << "SECKILL_TEST_MYSQL is not set: tools/cluster/engines.py starts MariaDB";
    const std::string_view where = server;
    const auto colon = where.rfind(':');
    config_.host = where.substr(0, colon);
    config_.port = static_cast<std::uint16_t>(std::atoi(where.substr(colon + 1).data()));
    config_.user = value_of_environment("SECKILL_TEST_MYSQL_USER");
    config_.password = value_of_environment("SECKILL_TEST_MYSQL_PASSWORD");
    static std::atomic<int> made{0};
    config_.database = "seckill_test_authority_" + std::to_string(::getpid()) + "_" + std::to_string(++made);
    ASSERT_TRUE(administrator()->execute("making a database", "CREATE DATABASE " + config_.database));
  }
  void TearDown() override {
    store_.reset();
    if (!config_.database.empty()) (void)administrator()->execute("dropping it", "DROP DATABASE " + config_.database);
  }

  [[nodiscard]] const MysqlConfig& config() const noexcept { return config_; }
  // A connection to the database; closing it rolls back.
  [[nodiscard]] std::unique_ptr<drivers::mariadb::Connection> plain() const { return connection(config_.database); }
  [[nodiscard]] std::unique_ptr<MysqlStore> another_store() const { return another_store(config_); }
  [[nodiscard]] static std::unique_ptr<MysqlStore> another_store(const MysqlConfig& config) {
    auto opened = open(config);
    EXPECT_TRUE(opened.has_value()) << opened.error().text();
    return opened ? std::move(*opened) : nullptr;
  }
  // Migrated and opened at its first use.
  MysqlStore& store() {
    if (!store_) {
      const auto migrated = migrate(config_);
      EXPECT_TRUE(migrated.has_value()) << migrated.error().text();
      store_ = another_store();
    }
    return *store_;
  }
  // A preloaded sale "s1" with one item "sku1"; lanes of eight units each unless it has more.
  contract::Shop a_shop(std::int64_t total, std::int64_t limit = 8) {
    const model::Sale sale = contract::a_sale("s1", {contract::an_item("sku1", total, limit)});
    EXPECT_TRUE(store().create_sale(sale, contract::by("sale.create")).has_value());
    EXPECT_TRUE(store().preload(sale.id, contract::start_of_sale, contract::by("sale.preload")).has_value());
    return contract::Shop{store(), sale};
  }
  LaneAuthorityRow row(const contract::Shop& shop, model::LaneIndex lane) {
    return store().item_authority(shop.item()).value().lanes.at(lane);
  }
  static std::uint64_t lead(LaneAuthority& authority, const std::string& holder,
                            std::chrono::milliseconds ttl = std::chrono::minutes{5}) {
    const auto lease = authority.acquire_lease(leader_lease, holder, ttl);
    EXPECT_TRUE(lease.has_value()) << lease.error().text();
    EXPECT_TRUE(lease && lease->has_value()) << "somebody else leads";
    return lease && *lease ? (*lease)->token : 0;
  }
  std::int64_t number(std::string_view sql) const {
    std::int64_t answer = -1;
    const auto read = plain()->query("asking", sql, {}, [&](const auto& row) { answer = row.integer(0); });
    EXPECT_TRUE(read.has_value()) << read.error().text();
    return answer;
  }

 private:
  static std::string value_of_environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  }
  [[nodiscard]] std::unique_ptr<drivers::mariadb::Connection> connection(const std::string& database) const {
    auto opened = drivers::mariadb::Connection::open({.host = config_.host,
                                                      .port = config_.port,
                                                      .unix_socket = {},
                                                      .user = config_.user,
                                                      .password = config_.password,
                                                      .database = database});
    EXPECT_TRUE(opened.has_value()) << opened.error().text();
    return std::move(opened.value());
  }
  [[nodiscard]] std::unique_ptr<drivers::mariadb::Connection> administrator() const { return connection(""); }

  MysqlConfig config_;
  std::unique_ptr<MysqlStore> store_;
};

}  // namespace seckill::store::mysql
