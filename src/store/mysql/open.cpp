// Opening: look at the server and the schema before anybody relies on them, then make the pools, whose connections open
// as they are first needed.
#include <fmt/format.h>

#include "store/mysql/connect.hpp"
#include "store/mysql/schema.hpp"
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;

// What the server must be like, each with what the operator shall do.
struct Requirement {
  std::string_view sql;  // a row: something is wrong, and its first column says what
  std::string_view advice;
};

constexpr Requirement requirements[] = {
    {.sql = "SELECT CONCAT(table_name, ' uses ', engine) FROM information_schema.tables "
            "WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND engine <> 'InnoDB' LIMIT 1",
     .advice = "every table must be InnoDB, or a landing cannot be rolled back"},
    {.sql = "SELECT CONCAT('innodb_flush_log_at_trx_commit is ', @@GLOBAL.innodb_flush_log_at_trx_commit) FROM DUAL "
            "WHERE @@GLOBAL.innodb_flush_log_at_trx_commit <> 1",
     .advice = "set it to 1: an order that was acknowledged must survive the loss of power"},
    {.sql = "SELECT 'binlog_format is STATEMENT' FROM DUAL "
            "WHERE @@GLOBAL.log_bin = 1 AND @@SESSION.binlog_format = 'STATEMENT'",
     .advice = "set it to ROW or MIXED: InnoDB refuses READ COMMITTED otherwise"},
    {.sql = "SELECT 'the server is read-only' FROM DUAL WHERE @@GLOBAL.read_only <> 0",
     .advice = "this is a replica; give the address of the server that takes writes"},
};

base::Status check_server(Connection& connection) {
  Work work{connection, "checking the database server"};
  for (const Requirement& requirement : requirements) {
    std::string wrong;
    const auto found = work.first([&](const Row& row) { wrong = row.text(0); }, requirement.sql);
    if (!found) return std::unexpected(found.error());
    if (*found) return work.fail(Errc::refused, fmt::format("{}: {}", wrong, requirement.advice));
  }
  return {};
}

}  // namespace

drivers::mariadb::ConnectConfig connect_config(const MysqlConfig& config) {
  return {.host = config.host,
          .port = config.port,
          .unix_socket = config.unix_socket,
          .user = config.user,
          .password = config.password,
          .database = config.database,
          .connect_longest = config.connect_longest,
          .call_longest = config.call_longest,
          .matched_rows = config.matched_rows};
}

base::Result<std::unique_ptr<MysqlStore>> open(const MysqlConfig& config) {
  auto connection = Connection::open(connect_config(config));
  if (!connection) return std::unexpected(std::move(connection.error()));
  if (auto fits = check_schema(**connection, migrations::mysql_migrations()); !fits) {
    return std::unexpected(std::move(fits.error()));
  }
  if (auto fits = check_server(**connection); !fits) return std::unexpected(std::move(fits.error()));
  return std::make_unique<MysqlStoreImpl>(config);
}

MysqlStoreImpl::MysqlStoreImpl(const MysqlConfig& config)
    : config_{config},
      writes_{config_, Pool::Kind::writes, config.write_connections, counters_},
      reads_{config_, Pool::Kind::snapshots, config.read_connections, counters_},
      operating_{config_, Pool::Kind::writes, config.operating_connections, counters_},
      rebuilds_{config_, Pool::Kind::writes, config.rebuild_connections, counters_} {}

MysqlCounters MysqlStoreImpl::counters() const noexcept {
  return {.transactions = counters_.transactions.load(std::memory_order_relaxed),
          .retried = counters_.retried.load(std::memory_order_relaxed),
          .reconnected = counters_.reconnected.load(std::memory_order_relaxed),
          .pool_waits = counters_.pool_waits.load(std::memory_order_relaxed)};
}

}  // namespace seckill::store::mysql
