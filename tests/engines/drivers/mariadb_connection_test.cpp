// The MariaDB driver against a real server: values as bound and as read, rows by the bulk protocol, errors by meaning,
// and whether a connection still lives. And, without a server, the one INSERT of many rows that MySQL gets instead.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "drivers/mariadb/mariadb.hpp"
#include "drivers/mariadb/multi_row.hpp"

namespace seckill::drivers::mariadb {
namespace {

using base::Errc;

std::string of_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class MariadbConnection : public testing::Test {
 protected:
  void SetUp() override {
    const std::string where = of_environment("SECKILL_TEST_MYSQL");
    const std::size_t colon = where.rfind(':');
    if (colon == std::string::npos) {
      GTEST_SKIP() << "SECKILL_TEST_MYSQL is not set: start MariaDB with tools/cluster/engines.py";
    }
    config_.host = where.substr(0, colon);
    config_.port = static_cast<std::uint16_t>(std::atoi(where.c_str() + colon + 1));
    config_.user = of_environment("SECKILL_TEST_MYSQL_USER");
    config_.password = of_environment("SECKILL_TEST_MYSQL_PASSWORD");
    const std::string database = "seckill_test_driver_" + std::to_string(::getpid());
    must(open()->execute("making", "CREATE DATABASE " + database));
    config_.database = database;
    connection_ = open();
    must(connection_->execute("making",
                              "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, text VARBINARY(5000), "
                              "number BIGINT, CONSTRAINT number_small CHECK (number < 1000)) ENGINE=InnoDB"));
  }
  void TearDown() override {
    if (!config_.database.empty()) (void)open()->execute("dropping", "DROP DATABASE " + config_.database);
  }
  std::unique_ptr<Connection> open() const {
    auto opened = Connection::open(config_);
    if (!opened) {
      ADD_FAILURE() << opened.error().text();
      std::abort();
    }
    return std::move(*opened);
  }
  static void must(const base::Status& status) { ASSERT_TRUE(status.has_value()) << status.error().text(); }
  base::Result<std::int64_t> insert(std::int64_t id, const Value& text, const Value& number) {
    const Value values[] = {id, text, number};
    return connection_->run("inserting", "INSERT INTO t (id, text, number) VALUES (?, ?, ?)", values);
  }
  std::int64_t number(std::string_view sql, std::span<const Value> values = {}) {
    std::int64_t answer = -1;
    must(connection_->query("asking", sql, values, [&](const Row& row) { answer = row.integer(0); }));
    return answer;
  }

  ConnectConfig config_;
  std::unique_ptr<Connection> connection_;
};

TEST_F(MariadbConnection, values_come_back_as_they_were_bound) {
  const std::string long_text(4'000, 'y');
  const std::string bytes{"\0\x01'\"\\\xFF\0", 7};
  ASSERT_EQ(insert(1, std::string_view{bytes}, std::int64_t{-7}).value(), 1);
  ASSERT_EQ(insert(2, std::string_view{long_text}, nullptr).value(), 1);
  ASSERT_EQ(insert(INT64_MIN, std::string_view{}, std::int64_t{INT64_MIN}).value(), 1);
  ASSERT_EQ(insert(4, nullptr, std::int64_t{999}).value(), 1);
  std::vector<std::string> seen;
  must(connection_->query("reading", "SELECT id, text, number FROM t ORDER BY id", {}, [&](const Row& row) {
    seen.push_back(std::to_string(row.integer(0)) + "|" + (row.is_null(1) ? "null" : std::string{row.text(1)}) + "|" +
                   (row.is_null(2) ? "null" : std::to_string(row.integer(2))));
  }));
  const std::string lowest = std::to_string(INT64_MIN);
  EXPECT_EQ(seen, (std::vector<std::string>{lowest + "||" + lowest, "1|" + bytes + "|-7", "2|" + long_text + "|null",
                                            "4|null|999"}));
  EXPECT_EQ(number("SELECT sum(number) FROM t WHERE number > 0"), 999) << "a sum is a decimal to the server";
}

TEST_F(MariadbConnection, many_rows_are_one_call_and_rows_changed_are_counted) {
  constexpr std::int64_t rows = 10'000;  // more than one message takes
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < rows; ++i) texts.push_back("row " + std::to_string(i));
  std::vector<Value> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    values.emplace_back(i);
    values.emplace_back(std::string_view{texts[static_cast<std::size_t>(i)]});
    values.emplace_back(i % 3 == 0 ? Value{nullptr} : Value{i % 1'000});
  }
  EXPECT_EQ(connection_->run_many("inserting", "INSERT INTO t (id, text, number) VALUES (?, ?, ?)", 3, values).value(),
            rows);
  EXPECT_EQ(number("SELECT count(*) FROM t WHERE text = concat('row ', id)"), rows);
  EXPECT_EQ(number("SELECT count(*) FROM t WHERE number IS NULL"), (rows + 2) / 3);
  const Value updates[] = {std::int64_t{5}, std::int64_t{1}, std::int64_t{6},
                           std::int64_t{2}, std::int64_t{7}, std::int64_t{-1}};
  EXPECT_EQ(connection_->run_many("updating", "UPDATE t SET number = ? WHERE id = ?", 2, updates).value(), 2);
}

TEST_F(MariadbConnection, FS_59_rows_that_stay_as_they_are_count_only_when_asked_for) {
  ASSERT_TRUE(insert(1, nullptr, std::int64_t{5}).has_value());
  const Value values[] = {std::int64_t{5}, std::int64_t{1}};
  EXPECT_EQ(connection_->run("updating", "UPDATE t SET number = ? WHERE id = ?", values).value(), 0);
  config_.matched_rows = true;
  EXPECT_EQ(open()->run("updating", "UPDATE t SET number = ? WHERE id = ?", values).value(), 1);
}

TEST_F(MariadbConnection, a_broken_key_or_check_is_a_constraint_with_its_name) {
  ASSERT_TRUE(insert(1, nullptr, nullptr).has_value());
  const auto twice = insert(1, nullptr, nullptr);
  EXPECT_EQ(twice.error().code, Errc::constraint);
  EXPECT_NE(twice.error().cause.find("PRIMARY"), std::string::npos) << twice.error().cause;
  const auto checked = insert(2, nullptr, std::int64_t{1'000});
  EXPECT_EQ(checked.error().code, Errc::constraint);
  EXPECT_NE(checked.error().cause.find("number_small"), std::string::npos) << checked.error().cause;
  const std::string too_long(6'000, 'x');
  EXPECT_EQ(insert(3, std::string_view{too_long}, nullptr).error().code, Errc::constraint) << "not cut to fit";
  EXPECT_FALSE(connection_->trouble().rolled_back);
  EXPECT_TRUE(connection_->alive());
  EXPECT_TRUE(insert(2, nullptr, nullptr).has_value()) << "the statement is as good as before";
}

TEST_F(MariadbConnection, more_texts_than_are_kept_prepared_are_no_difference) {
  for (int i = 0; i < 400; ++i) EXPECT_EQ(number("SELECT " + std::to_string(i % 300)), i % 300);
}

TEST_F(MariadbConnection, FS_13_a_deadlock_says_that_the_transaction_is_gone) {
  ASSERT_TRUE(insert(1, nullptr, std::int64_t{1}).has_value());
  ASSERT_TRUE(insert(2, nullptr, std::int64_t{1}).has_value());
  const auto other = open();
  must(other->execute("other", "BEGIN"));
  for (int i = 10; i < 40; ++i) must(other->execute("other", "INSERT INTO t (id) VALUES (" + std::to_string(i) + ")"));
  must(other->execute("other", "UPDATE t SET number = 2 WHERE id = 2"));
  must(connection_->execute("this", "BEGIN"));
  must(connection_->execute("this", "UPDATE t SET number = 3 WHERE id = 1"));
  base::Status waited;
  std::jthread waiting{[&] { waited = connection_->execute("this", "UPDATE t SET number = 3 WHERE id = 2"); }};
  must(other->execute("other", "UPDATE t SET number = 2 WHERE id = 1"));
  waiting.join();
  ASSERT_FALSE(waited.has_value());
  EXPECT_EQ(waited.error().code, Errc::unavailable);
  EXPECT_TRUE(connection_->trouble().rolled_back);
  EXPECT_FALSE(connection_->trouble().lost);
  EXPECT_TRUE(connection_->alive());
}

TEST_F(MariadbConnection, FS_41_a_connection_that_the_server_closed_is_seen_without_asking) {
  EXPECT_TRUE(connection_->alive());
  const std::int64_t id = number("SELECT CONNECTION_ID()");
  must(open()->execute("killing", "KILL CONNECTION " + std::to_string(id)));
  for (int i = 0; i < 1'000 && connection_->alive(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds{10});
  EXPECT_FALSE(connection_->alive());
  const auto asked = connection_->execute("asking", "SELECT 1");
  EXPECT_EQ(asked.error().code, Errc::unavailable) << "nothing was sent";
}

TEST_F(MariadbConnection, a_connection_killed_while_it_is_asked_is_lost_and_unknown) {
  const std::int64_t id = number("SELECT CONNECTION_ID()");
  base::Status asked;
  std::jthread asking{[&] { asked = connection_->execute("asking", "SELECT SLEEP(60)"); }};
  const auto other = open();
  std::int64_t busy = 0;
  for (int i = 0; i < 1'000 && busy == 0; ++i) {
    must(other->query("looking", "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'",
                      {}, [&](const Row& row) { busy = row.integer(0); }));
  }
  must(other->execute("killing", "KILL CONNECTION " + std::to_string(id)));
  asking.join();
  ASSERT_FALSE(asked.has_value());
  EXPECT_EQ(asked.error().code, Errc::timeout) << asked.error().text();
  EXPECT_TRUE(connection_->trouble().lost);
  EXPECT_FALSE(connection_->alive());
}

TEST_F(MariadbConnection, a_wrong_password_is_unavailable_with_the_servers_word) {
  config_.password = "wrong";
  const auto opened = Connection::open(config_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Errc::unavailable);
  EXPECT_NE(opened.error().cause.find("denied"), std::string::npos) << opened.error().cause;
  config_.password = of_environment("SECKILL_TEST_MYSQL_PASSWORD");
}

TEST(MariadbMultiRow, a_group_of_values_is_repeated_and_the_rest_stays) {
  constexpr std::string_view sql = "INSERT INTO t (a, b) VALUES (?, ?) ON DUPLICATE KEY UPDATE a = VALUES(a)";
  EXPECT_EQ(with_rows(sql, 3),
            "INSERT INTO t (a, b) VALUES (?, ?), (?, ?), (?, ?) ON DUPLICATE KEY UPDATE a = VALUES(a)");
  EXPECT_EQ(rows_at_once(sql, 2, 1), 1U);
  EXPECT_EQ(rows_at_once(sql, 2, 7), 4U);
  EXPECT_EQ(rows_at_once(sql, 2, 10'000), 256U);
  EXPECT_EQ(rows_at_once(sql, 1'000, 10'000), 64U) << "65,535 placeholders";
  EXPECT_EQ(rows_at_once("UPDATE t SET a = ? WHERE b = ?", 2, 100), 1U);
}

}  // namespace
}  // namespace seckill::drivers::mariadb
