// The SQLite owner: binding, stepping, errors as codes, transactions.
#include "drivers/sqlite.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

namespace seckill::drivers::sqlite {
namespace {

using base::Errc;
constexpr std::string_view doing = "testing";

class SqliteDriver : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Connection::open(":memory:", Connection::Mode::create, std::chrono::milliseconds{0});
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    db_.emplace(std::move(*opened));
    ASSERT_TRUE(
        db_->execute(doing, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, bytes BLOB, CHECK (id > 0)) STRICT")
            .has_value());
  }
  std::int64_t count() {
    auto cursor = db_->query(doing, "SELECT count(*) FROM t").value();
    EXPECT_TRUE(cursor.next().value());
    return cursor.integer(0);
  }
  std::optional<Connection> db_;
};

TEST_F(SqliteDriver, values_come_back_as_they_were_bound) {
  const std::array<std::uint8_t, 3> bytes{0, 255, 7};
  const std::string name = "\xF0\x9F\x8E\x81 'quoted'";
  EXPECT_EQ(db_->run(doing, "INSERT INTO t VALUES (?, ?, ?)", INT64_MAX, std::string_view{name}, Blob{bytes}).value(),
            1);
  auto cursor = db_->query(doing, "SELECT id, name, bytes FROM t").value();
  ASSERT_TRUE(cursor.next().value());
  EXPECT_EQ(cursor.integer(0), INT64_MAX);
  EXPECT_EQ(cursor.text(1), name);
  EXPECT_TRUE(std::ranges::equal(cursor.blob(2), bytes));
  EXPECT_FALSE(cursor.next().value());
}

TEST_F(SqliteDriver, an_empty_text_is_a_value_and_null_is_none) {
  ASSERT_TRUE(
      db_->run(doing, "INSERT INTO t VALUES (?, ?, ?)", std::int64_t{1}, std::string_view{}, nullptr).has_value());
  auto cursor = db_->query(doing, "SELECT name IS NULL, bytes IS NULL FROM t").value();
  ASSERT_TRUE(cursor.next().value());
  EXPECT_EQ(cursor.integer(0), 0);
  EXPECT_EQ(cursor.integer(1), 1);
}

TEST_F(SqliteDriver, run_counts_the_rows_it_changed) {
  for (std::int64_t id = 1; id <= 3; ++id)
    ASSERT_TRUE(db_->run(doing, "INSERT INTO t (id) VALUES (?)", id).has_value());
  EXPECT_EQ(db_->run(doing, "UPDATE t SET name = 'x' WHERE id >= ?", std::int64_t{2}).value(), 2);
  EXPECT_EQ(db_->run(doing, "UPDATE t SET name = 'x' WHERE id >= ?", std::int64_t{2}).value(), 2)
      << "matched rows count, changed or not: a guard must stand in the WHERE (FS-59)";
  EXPECT_EQ(db_->run(doing, "UPDATE t SET name = 'x' WHERE id = ?", std::int64_t{9}).value(), 0);
}

TEST_F(SqliteDriver, keys_checks_and_types_are_constraint_errors_that_say_what_was_done) {
  ASSERT_TRUE(db_->run(doing, "INSERT INTO t (id) VALUES (1)").has_value());
  for (const char* sql : {"INSERT INTO t (id) VALUES (1)", "INSERT INTO t (id) VALUES (-1)",
                          "INSERT INTO t (id, bytes) VALUES (2, 'text')"}) {
    const auto result = db_->run(doing, sql);
    ASSERT_FALSE(result.has_value()) << sql;
    EXPECT_EQ(result.error().code, Errc::constraint) << sql;
    EXPECT_EQ(result.error().doing, "testing");
  }
  EXPECT_EQ(count(), 1);
}

TEST_F(SqliteDriver, a_statement_that_does_not_fit_the_file_is_corrupt) {
  EXPECT_EQ(db_->run(doing, "SELECT * FROM missing").error().code, Errc::corrupt);
  EXPECT_EQ(db_->execute(doing, "nonsense").error().code, Errc::corrupt);
}

TEST_F(SqliteDriver, an_uncommitted_transaction_rolls_back) {
  {
    auto transaction = Transaction::begin(*db_, Transaction::Kind::write, doing);
    ASSERT_TRUE(transaction.has_value());
    ASSERT_TRUE(db_->run(doing, "INSERT INTO t (id) VALUES (1)").has_value());
    EXPECT_TRUE(db_->in_transaction());
  }
  EXPECT_FALSE(db_->in_transaction());
  EXPECT_EQ(count(), 0);
  auto transaction = Transaction::begin(*db_, Transaction::Kind::write, doing);
  ASSERT_TRUE(db_->run(doing, "INSERT INTO t (id) VALUES (1)").has_value());
  ASSERT_TRUE(transaction->commit().has_value());
  EXPECT_EQ(count(), 1);
}

TEST(SqliteDriverErrors, every_family_of_codes_has_one_meaning) {
  EXPECT_EQ(errc_of(SQLITE_FULL), Errc::disk_full);
  EXPECT_EQ(errc_of(SQLITE_IOERR_WRITE), Errc::disk_full);
  EXPECT_EQ(errc_of(SQLITE_IOERR_FSYNC), Errc::disk_full);
  EXPECT_EQ(errc_of(SQLITE_IOERR_READ), Errc::unavailable);
  EXPECT_EQ(errc_of(SQLITE_IOERR_SHORT_READ), Errc::corrupt);
  EXPECT_EQ(errc_of(SQLITE_CONSTRAINT_UNIQUE), Errc::constraint);
  EXPECT_EQ(errc_of(SQLITE_BUSY_SNAPSHOT), Errc::unavailable);
  EXPECT_EQ(errc_of(SQLITE_CANTOPEN), Errc::unavailable);
  EXPECT_EQ(errc_of(SQLITE_CORRUPT_INDEX), Errc::corrupt);
  EXPECT_EQ(errc_of(SQLITE_NOTADB), Errc::corrupt);
  EXPECT_EQ(errc_of(SQLITE_TOOBIG), Errc::invalid);
}

TEST(SqliteDriverFiles, a_reader_refuses_to_write_and_a_missing_file_is_unavailable) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("seckill-driver-" + std::to_string(::getpid()))).string();
  EXPECT_EQ(Connection::open(path, Connection::Mode::read, std::chrono::milliseconds{0}).error().code,
            Errc::unavailable);
  {
    auto writer = Connection::open(path, Connection::Mode::create, std::chrono::milliseconds{0});
    ASSERT_TRUE(writer->execute(doing, "CREATE TABLE t (id)").has_value());
    auto reader = Connection::open(path, Connection::Mode::read, std::chrono::milliseconds{0});
    ASSERT_TRUE(reader.has_value());
    EXPECT_EQ(reader->run(doing, "INSERT INTO t VALUES (1)").error().code, Errc::unavailable);
    auto second = Connection::open(path, Connection::Mode::write, std::chrono::milliseconds{0});
    const auto held = Transaction::begin(*writer, Transaction::Kind::write, doing);
    EXPECT_EQ(Transaction::begin(*second, Transaction::Kind::write, doing).error().code, Errc::unavailable);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace seckill::drivers::sqlite
