#include "drivers/sqlite.hpp"

#include <fmt/format.h>

#include <climits>

#include "base/assert.hpp"
#include "base/hash.hpp"
#include "drivers/sqlite_log_writes.hpp"

namespace seckill::drivers::sqlite {
namespace {

base::Error error_of(sqlite3* db, std::string_view doing) {
  const int code = sqlite3_extended_errcode(db);
  return {errc_of(code), std::string{doing}, fmt::format("{} (SQLite code {})", sqlite3_errmsg(db), code)};
}

int size_of(std::size_t bytes) noexcept {
  SECKILL_ASSERT(bytes <= INT_MAX, "no value of ours comes near SQLite's bound");
  return static_cast<int>(bytes);
}

base::Errc errc_of_io(int code) noexcept {
  switch (code) {
    case SQLITE_IOERR_READ:
    case SQLITE_IOERR_ACCESS:
    case SQLITE_IOERR_NOMEM:
    case SQLITE_IOERR_LOCK:
    case SQLITE_IOERR_RDLOCK:
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMMAP: return base::Errc::unavailable;
    case SQLITE_IOERR_SHORT_READ:
    case SQLITE_IOERR_DATA:
    case SQLITE_IOERR_CORRUPTFS: return base::Errc::corrupt;
    default: return base::Errc::disk_full;
  }
}

}  // namespace

base::Errc errc_of(int code) noexcept {
  switch (code & 0xff) {
    case SQLITE_FULL: return base::Errc::disk_full;
    case SQLITE_IOERR: return errc_of_io(code);
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH: return base::Errc::constraint;
    case SQLITE_TOOBIG: return base::Errc::invalid;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_INTERRUPT:
    case SQLITE_PROTOCOL: return base::Errc::unavailable;
    default: return base::Errc::corrupt;
  }
}

Cursor::~Cursor() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  // Bound text belongs to the caller and may be gone soon; a kept statement must not point at it.
  sqlite3_clear_bindings(statement_);
}

base::Result<bool> Cursor::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return std::unexpected(error_of(db_, doing_));
}

std::string_view Cursor::text(int column) const noexcept {
  const auto* bytes = sqlite3_column_text(statement_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::span<const std::uint8_t> Cursor::blob(int column) const noexcept {
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  return {bytes, bytes == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::size_t Connection::TextHash::operator()(std::string_view text) const noexcept { return base::xxh3_64(text); }

base::Result<Connection> Connection::open(const std::string& path, Mode mode, std::chrono::milliseconds busy) {
  // No mutex of SQLite's: the owner already lets one thread at a time in.
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE;
  if (mode == Mode::create) flags |= SQLITE_OPEN_CREATE;
  sqlite3* db = nullptr;
  const char* layer = mode == Mode::log ? gathering_file_layer() : nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, layer);
  Connection connection{db};
  const std::string doing = "opening database " + path;
  if (db == nullptr) return base::fail(base::Errc::unavailable, doing, "out of memory");
  if (code != SQLITE_OK) return std::unexpected(error_of(db, doing));
  sqlite3_busy_timeout(db, static_cast<int>(busy.count()));
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  if (mode == Mode::read) {
    // A read-only open cannot set up the shared index of a WAL file, so writes are refused one level higher.
    if (auto status = connection.execute(doing, "PRAGMA query_only = ON"); !status) {
      return std::unexpected(std::move(status.error()));
    }
  }
  return connection;
}

base::Status Connection::execute(std::string_view doing, const char* script) {
  if (sqlite3_exec(db_.get(), script, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return std::unexpected(error_of(db_.get(), doing));
  }
  return {};
}

base::Result<sqlite3_stmt*> Connection::prepared(std::string_view doing, std::string_view sql) {
  if (const auto found = statements_.find(sql); found != statements_.end()) {
    SECKILL_ASSERT(sqlite3_stmt_busy(found->second.get()) == 0, "a statement is used by one cursor at a time");
    return found->second.get();
  }
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(db_.get(), sql.data(), size_of(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error_of(db_.get(), doing));
  statements_.emplace(std::string{sql}, statement);
  return statement;
}

// Binding fails only for a wrong index or want of memory: neither can be answered to anyone.
void Connection::bind(sqlite3_stmt* statement, int index, std::int64_t value) noexcept {
  const int code = sqlite3_bind_int64(statement, index, value);
  SECKILL_ASSERT(code == SQLITE_OK, "a statement takes the arguments it was written for");
}

void Connection::bind(sqlite3_stmt* statement, int index, std::string_view value) noexcept {
  // A null pointer would be bound as NULL, but an empty text is a value.
  const char* bytes = value.data() == nullptr ? "" : value.data();
  const int code = sqlite3_bind_text(statement, index, bytes, size_of(value.size()), SQLITE_STATIC);
  SECKILL_ASSERT(code == SQLITE_OK, "a statement takes the arguments it was written for");
}

void Connection::bind(sqlite3_stmt* statement, int index, Blob value) noexcept {
  const int code = sqlite3_bind_blob(statement, index, value.bytes.data(), size_of(value.bytes.size()), SQLITE_STATIC);
  SECKILL_ASSERT(code == SQLITE_OK, "a statement takes the arguments it was written for");
}

void Connection::bind(sqlite3_stmt* statement, int index, std::nullptr_t) noexcept {
  const int code = sqlite3_bind_null(statement, index);
  SECKILL_ASSERT(code == SQLITE_OK, "a statement takes the arguments it was written for");
}

base::Result<Transaction> Transaction::begin(Connection& connection, Kind kind, std::string_view doing) {
  const auto begun = connection.run(doing, kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
  if (!begun) return std::unexpected(begun.error());
  return Transaction{connection, doing};
}

Transaction::~Transaction() {
  if (connection_ == nullptr || !connection_->in_transaction()) return;
  const auto rolled_back = connection_->run(doing_, "ROLLBACK");
  SECKILL_ASSERT(!connection_->in_transaction(), "a rollback leaves no transaction open");
  (void)rolled_back;  // an error here is the one that was already reported
}

std::expected<void, Transaction::Failed> Transaction::commit() {
  const auto committed = connection_->run(doing_, "COMMIT");
  if (committed) {
    connection_ = nullptr;
    return {};
  }
  const int code = sqlite3_extended_errcode(connection_->handle());
  // SQLITE_FULL means a frame could not be written whole: without its commit frame the transaction does not exist. BUSY
  // and CONSTRAINT refuse before writing. After any other error the commit frame may or may not be on the disk.
  const int primary = code & 0xff;
  const bool before_the_frame = primary == SQLITE_FULL || primary == SQLITE_BUSY || primary == SQLITE_CONSTRAINT;
  return std::unexpected(
      Failed{before_the_frame ? CommitFailure::rolled_back : CommitFailure::unknown, committed.error()});
}

}  // namespace seckill::drivers::sqlite
