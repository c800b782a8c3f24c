// The connection: opening, statements by text, errors, and whether it is alive.
#include "drivers/mariadb/mariadb.hpp"

#include <fmt/format.h>
#include <mariadb/errmsg.h>
#include <mariadb/mysql.h>
#include <mariadb/mysqld_error.h>
#include <sys/socket.h>

#include <cerrno>
#include <list>
#include <mutex>
#include <unordered_map>

#include "base/assert.hpp"
#include "drivers/mariadb/errors.hpp"
#include "drivers/mariadb/multi_row.hpp"
#include "drivers/mariadb/statement.hpp"

namespace seckill::drivers::mariadb {
namespace {

// More texts than the program has; what is used least recently goes first.
constexpr std::size_t statements_max = 128;
// A bulk message stays far below the smallest usual max_allowed_packet (16 MB).
constexpr std::size_t bulk_bytes_max = 2U << 20;
constexpr std::size_t bulk_rows_max = 4'096;

constexpr std::string_view session_settings[] = {
    // Whatever the server's default is: a value that does not fit is an error, not a shorter value (FS-54).
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', "
    "time_zone = '+00:00', autocommit = 1",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
};

unsigned whole_seconds(std::chrono::milliseconds time) {
  return static_cast<unsigned>(std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(time).count(), 1));
}

struct CloseHandle {
  void operator()(MYSQL* handle) const noexcept { mysql_close(handle); }
};
using Handle = std::unique_ptr<MYSQL, CloseHandle>;

std::size_t bytes_of(std::span<const Value> row) noexcept {
  std::size_t bytes = 0;
  for (const Value& value : row) {
    const auto* text = std::get_if<std::string_view>(&value);
    bytes += 9 + (text != nullptr ? text->size() : 0);
  }
  return bytes;
}

class LiveConnection final : public Connection {
 public:
  explicit LiveConnection(Handle handle) : handle_{std::move(handle)} {
    unsigned extended = 0;
    mariadb_get_infov(handle_.get(), MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &extended);
    has_bulk_ = (extended & static_cast<unsigned>(MARIADB_CLIENT_STMT_BULK_OPERATIONS >> 32U)) != 0;
  }
  ~LiveConnection() override {
    statements_.clear();  // they speak to the handle as they close
  }

  base::Result<std::int64_t> run(std::string_view doing, std::string_view sql, std::span<const Value> values) override {
    return with_statement(doing, sql, [&](Statement& statement) {
      return statement.execute(values) && statement.visit([](const Row&) {});
    });
  }
  base::Status query(std::string_view doing, std::string_view sql, std::span<const Value> values,
                     const Visitor& visitor) override {
    const auto done = with_statement(
        doing, sql, [&](Statement& statement) { return statement.execute(values) && statement.visit(visitor); });
    if (!done) return std::unexpected(done.error());
    return {};
  }
  base::Result<std::int64_t> run_many(std::string_view doing, std::string_view sql, std::size_t width,
                                      std::span<const Value> values) override;
  base::Status execute(std::string_view doing, std::string_view sql) override;
  [[nodiscard]] std::uint64_t last_insert_id() const noexcept override { return mysql_insert_id(handle_.get()); }
  [[nodiscard]] Trouble trouble() const noexcept override { return trouble_; }
  [[nodiscard]] bool alive() noexcept override;

 private:
  struct Kept {
    std::string sql;
    std::unique_ptr<Statement> statement;
  };

  // The kept statement of this text, prepared if need be. Null: number and message are in failed_.
  Statement* statement_of(std::string_view sql);
  void forget(std::string_view sql);
  template <typename Use>
  base::Result<std::int64_t> with_statement(std::string_view doing, std::string_view sql, Use&& use);
  base::Result<std::int64_t> run_rows(std::string_view doing, std::string_view sql, std::size_t width,
                                      std::span<const Value> values);
  std::unexpected<base::Error> failed(std::string_view doing, unsigned number, std::string_view message);

  Handle handle_;
  bool has_bulk_ = false;
  Trouble trouble_;
  std::list<Kept> statements_;  // used last first
  std::unordered_map<std::string_view, std::list<Kept>::iterator> by_text_;
};

std::unexpected<base::Error> LiveConnection::failed(std::string_view doing, unsigned number, std::string_view message) {
  const Meaning meaning = meaning_of(number);
  trouble_.rolled_back = meaning.trouble.rolled_back;
  trouble_.lost = trouble_.lost || meaning.trouble.lost;
  return base::fail(meaning.code, std::string{doing}, fmt::format("{} ({})", message, number));
}

Statement* LiveConnection::statement_of(std::string_view sql) {
  if (const auto known = by_text_.find(sql); known != by_text_.end()) {
    statements_.splice(statements_.begin(), statements_, known->second);
    return known->second->statement.get();
  }
  if (statements_.size() >= statements_max) forget(statements_.back().sql);
  statements_.push_front({.sql = std::string{sql}, .statement = std::make_unique<Statement>(handle_.get())});
  by_text_.emplace(statements_.front().sql, statements_.begin());
  return statements_.front().statement.get();
}

void LiveConnection::forget(std::string_view sql) {
  const auto known = by_text_.find(sql);
  if (known == by_text_.end()) return;
  const auto kept = known->second;
  by_text_.erase(known);
  statements_.erase(kept);
}

template <typename Use>
base::Result<std::int64_t> LiveConnection::with_statement(std::string_view doing, std::string_view sql, Use&& use) {
  if (trouble_.lost) return failed(doing, CR_SERVER_GONE_ERROR, "the connection was lost before");
  trouble_ = {};
  const bool is_new = !by_text_.contains(sql);
  Statement* statement = statement_of(sql);
  if ((is_new && !statement->prepare(sql)) || !use(*statement)) {
    unsigned number = statement->number();
    std::string message = statement->message();
    if (number == 0) {
      // An error that came in place of a row (a deadlock of a locking read) is kept by the connection alone.
      number = mysql_errno(handle_.get());
      message = mysql_error(handle_.get());
    }
    forget(sql);  // an error may leave a result half read
    return failed(doing, number, message);
  }
  return statement->changed();
}

base::Result<std::int64_t> LiveConnection::run_many(std::string_view doing, std::string_view sql, std::size_t width,
                                                    std::span<const Value> values) {
  SECKILL_ASSERT(width > 0 && values.size() % width == 0, "whole rows");
  std::int64_t changed = 0;
  while (!values.empty()) {
    // As many rows as fit one message, one at least.
    std::size_t taken = 0;
    std::size_t bytes = 0;
    for (std::size_t rows = 0; taken < values.size() && rows < bulk_rows_max; ++rows) {
      bytes += bytes_of(values.subspan(taken, width));
      if (taken > 0 && bytes > bulk_bytes_max) break;
      taken += width;
    }
    const auto part = values.first(taken);
    const auto done =
        has_bulk_ && taken > width
            ? with_statement(doing, sql, [&](Statement& statement) { return statement.execute_bulk(part); })
            : run_rows(doing, sql, width, part);
    if (!done) return done;
    changed += *done;
    values = values.subspan(taken);
  }
  return changed;
}

// Without the bulk protocol: an INSERT takes several rows at once, in groups whose sizes are few, so that their texts
// stay prepared; any other statement is run row by row.
base::Result<std::int64_t> LiveConnection::run_rows(std::string_view doing, std::string_view sql, std::size_t width,
                                                    std::span<const Value> values) {
  std::int64_t changed = 0;
  while (!values.empty()) {
    const std::size_t rows = rows_at_once(sql, width, values.size() / width);
    const auto part = values.first(rows * width);
    const auto done = rows == 1 ? run(doing, sql, part) : run(doing, with_rows(sql, rows), part);
    if (!done) return done;
    changed += *done;
    values = values.subspan(rows * width);
  }
  return changed;
}

base::Status LiveConnection::execute(std::string_view doing, std::string_view sql) {
  if (trouble_.lost) return failed(doing, CR_SERVER_GONE_ERROR, "the connection was lost before");
  trouble_ = {};
  if (mysql_real_query(handle_.get(), sql.data(), sql.size()) == 0) {
    MYSQL_RES* rows = mysql_store_result(handle_.get());
    if (rows != nullptr) mysql_free_result(rows);
    if (mysql_errno(handle_.get()) == 0) return {};
  }
  return failed(doing, mysql_errno(handle_.get()), mysql_error(handle_.get()));
}

bool LiveConnection::alive() noexcept {
  if (trouble_.lost) return false;
  // Between calls nothing is on its way, so readable means closed, or the server's last word before it closes.
  char byte = 0;
  const ssize_t got = ::recv(static_cast<int>(mysql_get_socket(handle_.get())), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return true;
  trouble_.lost = true;
  return false;
}

// The library's global state is set up once, before the first handle of any thread.
void start_library() {
  static std::once_flag once;
  std::call_once(once, [] { mysql_library_init(0, nullptr, nullptr); });
}

}  // namespace

base::Result<std::unique_ptr<Connection>> Connection::open(const ConnectConfig& config) {
  start_library();
  const std::string doing = config.unix_socket.empty()
                                ? fmt::format("connecting to the database at {}:{}", config.host, config.port)
                                : fmt::format("connecting to the database at {}", config.unix_socket);
  Handle handle{mysql_init(nullptr)};
  if (!handle) return base::fail(base::Errc::unavailable, doing, "out of memory");
  const unsigned connect_longest = whole_seconds(config.connect_longest);
  const unsigned call_longest = whole_seconds(config.call_longest);
  const my_bool off = 0;
  const unsigned no_files = 0;
  mysql_options(handle.get(), MYSQL_OPT_CONNECT_TIMEOUT, &connect_longest);
  mysql_options(handle.get(), MYSQL_OPT_READ_TIMEOUT, &call_longest);
  mysql_options(handle.get(), MYSQL_OPT_WRITE_TIMEOUT, &call_longest);
  mysql_options(handle.get(), MYSQL_OPT_RECONNECT, &off);  // a new session would have lost its transaction unseen
  mysql_options(handle.get(), MYSQL_OPT_LOCAL_INFILE, &no_files);
  mysql_options(handle.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const bool by_socket = !config.unix_socket.empty();
  const MYSQL* connected = mysql_real_connect(
      handle.get(), by_socket ? "localhost" : config.host.c_str(), config.user.c_str(), config.password.c_str(),
      config.database.empty() ? nullptr : config.database.c_str(), by_socket ? 0 : config.port,
      by_socket ? config.unix_socket.c_str() : nullptr, config.matched_rows ? CLIENT_FOUND_ROWS : 0);
  if (connected == nullptr) {
    return base::fail(base::Errc::unavailable, doing,
                      fmt::format("{} ({})", mysql_error(handle.get()), mysql_errno(handle.get())));
  }
  auto connection = std::make_unique<LiveConnection>(std::move(handle));
  for (const std::string_view setting : session_settings) {
    if (auto set = connection->execute(doing, setting); !set) {
      return base::fail(base::Errc::unavailable, doing, set.error().cause);
    }
  }
  return connection;
}

}  // namespace seckill::drivers::mariadb
