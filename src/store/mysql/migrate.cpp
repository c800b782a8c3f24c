// Migration: what schema_version says, and the steps that are missing, one process at a time.
#include <fmt/format.h>

#include "store/mysql/mysql_store.hpp"
#include "store/mysql/rows.hpp"
#include "store/mysql/schema.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;
using migrations::MysqlMigration;

// What schema_version says. Zeros: nothing was migrated yet.
struct Schema {
  std::int64_t version = 0;
  std::int64_t oldest_program = 0;
};

std::int64_t newest(std::span<const MysqlMigration> steps) noexcept { return steps.empty() ? 0 : steps.back().version; }

base::Result<Schema> read_schema(Work& work) {
  const auto made = work.first([](const Row&) {},
                               "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND "
                               "table_name = 'schema_version'");
  if (!made) return std::unexpected(made.error());
  if (!*made) return Schema{};
  Schema schema;
  const auto read =
      work.first([&](const Row& row) { schema = {.version = row.integer(0), .oldest_program = row.integer(1)}; },
                 "SELECT COALESCE(MAX(version), 0), COALESCE(MAX(oldest_program), 0) FROM schema_version");
  if (!read) return std::unexpected(read.error());
  return schema;
}

// Errc::refused when a step that this program does not know shuts it out.
base::Status check_newer(const Work& work, const Schema& schema, std::int64_t known) {
  if (schema.oldest_program <= known) return {};
  return work.fail(Errc::refused,
                   fmt::format("the schema is at version {} and asks for a program that knows version {}; this one "
                               "knows {}: run a newer program",
                               schema.version, schema.oldest_program, known));
}

// A lock of the server, by name, while the connection lives. Other databases of the server have another name.
class NamedLock {
 public:
  explicit NamedLock(Work& work) noexcept : work_{work} {}
  NamedLock(const NamedLock&) = delete;
  NamedLock& operator=(const NamedLock&) = delete;
  ~NamedLock() {
    if (held_) (void)work_.first([](const Row&) {}, "SELECT RELEASE_LOCK(CONCAT('seckill:', SHA1(DATABASE())))");
  }

  base::Status take() {
    std::int64_t got = 0;
    const auto asked = work_.first([&](const Row& row) { got = row.is_null(0) ? 0 : row.integer(0); },
                                   "SELECT GET_LOCK(CONCAT('seckill:', SHA1(DATABASE())), 60)");
    if (!asked) return std::unexpected(asked.error());
    held_ = got == 1;
    if (held_) return {};
    return work_.fail(Errc::unavailable, "another process has been migrating this database for a minute");
  }

 private:
  Work& work_;
  bool held_ = false;
};

base::Status do_step(drivers::mariadb::Connection& connection, Work& work, const MysqlMigration& step) {
  for (const migrations::MysqlStatement& statement : step.statements) {
    if (statement.done_when != nullptr) {
      const auto done = work.first([](const Row&) {}, statement.done_when);
      if (!done) return std::unexpected(done.error());
      if (*done) continue;
    }
    if (auto executed = connection.execute(work.doing(), statement.sql); !executed) return executed;
  }
  const auto noted = work.run(
      "INSERT INTO schema_version (version, name, oldest_program, applied_at) "
      "VALUES (?, ?, ?, CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS SIGNED))",
      step.version, std::string_view{step.name}, step.oldest_program);
  if (!noted) return std::unexpected(noted.error());
  return {};
}

}  // namespace

base::Status check_schema(drivers::mariadb::Connection& connection, std::span<const MysqlMigration> steps) {
  Work work{connection, "checking the schema"};
  const auto schema = read_schema(work);
  if (!schema) return std::unexpected(schema.error());
  const std::int64_t known = newest(steps);
  if (schema->version < known) {
    return work.fail(Errc::refused, fmt::format("the schema is at version {}, this program needs {}: run `migrate`",
                                                schema->version, known));
  }
  return check_newer(work, *schema, known);
}

base::Result<int> migrate_schema(drivers::mariadb::Connection& connection, std::span<const MysqlMigration> steps) {
  Work work{connection, "migrating the schema"};
  NamedLock lock{work};
  if (auto taken = lock.take(); !taken) return std::unexpected(taken.error());
  if (auto made = connection.execute(work.doing(), migrations::mysql_schema_version); !made) {
    return std::unexpected(made.error());
  }
  const auto schema = read_schema(work);
  if (!schema) return std::unexpected(schema.error());
  if (auto allowed = check_newer(work, *schema, newest(steps)); !allowed) return std::unexpected(allowed.error());
  int done = 0;
  for (const MysqlMigration& step : steps) {
    if (step.version <= schema->version) continue;
    if (auto made = do_step(connection, work, step); !made) return std::unexpected(made.error());
    ++done;
  }
  return done;
}

base::Result<int> migrate(const MysqlConfig& config) {
  // A change of a large table may take long, and giving up on it would not stop it.
  const auto connection = drivers::mariadb::Connection::open({.host = config.host,
                                                              .port = config.port,
                                                              .unix_socket = config.unix_socket,
                                                              .user = config.user,
                                                              .password = config.password,
                                                              .database = config.database,
                                                              .connect_longest = config.connect_longest,
                                                              .call_longest = std::chrono::hours{24}});
  if (!connection) return std::unexpected(connection.error());
  return migrate_schema(**connection, migrations::mysql_migrations());
}

}  // namespace seckill::store::mysql
