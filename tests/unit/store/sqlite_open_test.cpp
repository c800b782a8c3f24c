// Opening the SQLite store: who may use a folder, which files are refused and with what sentence.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "store/sqlite/sqlite_store.hpp"
#include "temporary_folder.hpp"

namespace seckill::store {
namespace {

using base::Errc;

class SqliteOpen : public testing::Test {
 protected:
  base::Result<std::unique_ptr<Store>> open(bool create = true) {
    return sqlite::open({.data_folder = folder_.file("data"), .create = create});
  }
  std::string database() { return folder_.file("data/seckill.db"); }
  void make_database(int sales = 0) {
    auto store = open();
    ASSERT_TRUE(store.has_value()) << store.error().text();
    for (int i = 0; i < sales; ++i) {
      model::Sale sale;
      sale.id = model::SaleId::parse("s" + std::to_string(i)).value();
      sale.title = std::string(200, 'x');
      sale.starts_at = 1;
      sale.ends_at = 2;
      ASSERT_TRUE((*store)->create_sale(sale, {}).has_value());
    }
  }
  void run_sql(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(database().c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  static mode_t mode_of(const std::string& path) {
    struct stat about{};
    return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 0777 : 0;
  }
  void expect_refused(Errc code, std::initializer_list<const char*> words) {
    const auto store = open();
    ASSERT_FALSE(store.has_value());
    EXPECT_EQ(store.error().code, code) << store.error().text();
    for (const char* word : words) {
      EXPECT_NE(store.error().text().find(word), std::string::npos) << store.error().text();
    }
  }

  TemporaryFolder folder_;
};

TEST_F(SqliteOpen, folder_and_files_are_the_owners_alone) {
  auto store = open();
  ASSERT_TRUE(store.has_value());
  ASSERT_TRUE((*store)->append_audit({}).has_value());
  EXPECT_EQ(mode_of(folder_.file("data")), 0700U);
  for (const char* name : {"seckill.db", "seckill.db-wal", "seckill.db-shm", "seckill.lock"}) {
    EXPECT_EQ(mode_of(folder_.file("data/" + std::string{name})), 0600U) << name;
  }
  ASSERT_TRUE((*store)->backup(folder_.file("copy")).has_value());
  EXPECT_EQ(mode_of(folder_.file("copy")), 0600U);
  EXPECT_NE(::access(folder_.file("copy.partial").c_str(), F_OK), 0);
}

TEST_F(SqliteOpen, a_folder_that_is_in_use_is_refused_and_names_the_process) {
  const auto store = open();
  ASSERT_TRUE(store.has_value());
  const std::string own = std::to_string(::getpid());
  expect_refused(Errc::refused, {"is in use by process", own.c_str()});
}

TEST_F(SqliteOpen, a_second_process_is_refused_until_the_first_has_ended) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto store = open();
    const char ready = store.has_value() ? 'y' : 'n';
    (void)!::write(ends[1], &ready, 1);
    ::pause();  // until killed
    ::_exit(0);
  }
  char ready = 0;
  ASSERT_EQ(::read(ends[0], &ready, 1), 1);
  EXPECT_EQ(ready, 'y');
  const std::string other = std::to_string(child);
  expect_refused(Errc::refused, {"is in use by process", other.c_str()});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(open().has_value()) << "a killed process holds nothing";
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(SqliteOpen, without_create_nothing_is_made) {
  const auto no_folder = open(false);
  ASSERT_FALSE(no_folder.has_value());
  EXPECT_EQ(no_folder.error().code, Errc::not_found);
  EXPECT_NE(::access(folder_.file("data").c_str(), F_OK), 0);
  ASSERT_EQ(::mkdir(folder_.file("data").c_str(), 0700), 0);
  const auto no_database = open(false);
  ASSERT_FALSE(no_database.has_value());
  EXPECT_EQ(no_database.error().code, Errc::not_found);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.file("data")));
  make_database();
  EXPECT_TRUE(open(false).has_value());
}

TEST_F(SqliteOpen, a_file_in_the_folders_place_or_a_missing_parent_is_told) {
  std::ofstream{folder_.file("data")} << "x";
  expect_refused(Errc::unavailable, {"not a folder"});
  const auto nowhere = sqlite::open({.data_folder = folder_.file("a/b/c")});
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().code, Errc::unavailable);
}

TEST_F(SqliteOpen, a_file_that_is_no_database_is_refused_and_left_alone) {
  ASSERT_EQ(::mkdir(folder_.file("data").c_str(), 0700), 0);
  std::ofstream{database()} << "these are notes, not a database; keep them";
  expect_refused(Errc::corrupt, {"seckill.db", "not a database", "restore a backup"});
  EXPECT_EQ(std::filesystem::file_size(database()), 42U);
}

TEST_F(SqliteOpen, a_damaged_database_is_refused) {
  make_database(200);
  {
    std::fstream file{database(), std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(4'096 * 3);
    for (int i = 0; i < 4'096 * 4; ++i) file.put(static_cast<char>(i * 37));
  }
  expect_refused(Errc::corrupt, {"seckill.db", "damaged", "restore a backup"});
}

TEST_F(SqliteOpen, a_database_that_was_cut_short_is_refused) {
  make_database(200);
  std::filesystem::resize_file(database(), std::filesystem::file_size(database()) / 2 / 4'096 * 4'096);
  expect_refused(Errc::corrupt, {"seckill.db", "restore a backup"});
}

TEST_F(SqliteOpen, a_database_of_a_newer_program_is_refused_and_left_alone) {
  make_database();
  run_sql("INSERT INTO schema_version (version, name, applied_at) VALUES (999, 'later', 0)");
  expect_refused(Errc::refused, {"schema version 999", "newer program"});
  run_sql("DELETE FROM schema_version WHERE version = 999");
  EXPECT_TRUE(open().has_value());
}

TEST_F(SqliteOpen, a_database_of_another_program_is_refused) {
  ASSERT_EQ(::mkdir(folder_.file("data").c_str(), 0700), 0);
  run_sql("CREATE TABLE notes (text)");
  expect_refused(Errc::refused, {"another program", "choose another data folder"});
}

TEST_F(SqliteOpen, an_empty_file_and_a_run_that_ended_before_its_first_table_are_taken_over) {
  ASSERT_EQ(::mkdir(folder_.file("data").c_str(), 0700), 0);
  std::ofstream{database()}.flush();
  EXPECT_TRUE(open().has_value());
  run_sql("PRAGMA user_version = 1");
  EXPECT_TRUE(open().has_value());
}

}  // namespace
}  // namespace seckill::store
