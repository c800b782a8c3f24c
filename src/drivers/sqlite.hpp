// A thin owner of SQLite connections and prepared statements: opening, binding, stepping, and errors as base::Errc.
// Knows nothing of the domain. Nothing here throws or lets an exception of SQLite's caller out.
//
// A Connection is used by one thread at a time (its owner holds a lock or lends it out); statements are prepared once
// and kept with it. Text and blobs are bound without a copy: arguments must live until the call, or the Cursor, ends.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/result.hpp"

namespace seckill::drivers::sqlite {

// Bound as a BLOB; a std::string_view is bound as TEXT, an std::int64_t as INTEGER, nullptr as NULL.
struct Blob {
  std::span<const std::uint8_t> bytes;
};

// SQLITE_FULL and I/O errors of writes → disk_full; CONSTRAINT, MISMATCH → constraint; CORRUPT, NOTADB → corrupt; BUSY,
// LOCKED, out of memory, unreadable or unopenable files → unavailable. A statement that does not compile (a foreign
// file with other tables) → corrupt. Takes an extended result code.
[[nodiscard]] base::Errc errc_of(int code) noexcept;

// A statement in use, positioned before its first row. Reset when it goes out of scope. Borrows its Connection.
class Cursor {
 public:
  Cursor(sqlite3* db, sqlite3_stmt* statement, std::string_view doing) noexcept
      : db_{db}, statement_{statement}, doing_{doing} {}
  Cursor(Cursor&& other) noexcept
      : db_{other.db_}, statement_{std::exchange(other.statement_, nullptr)}, doing_{other.doing_} {}
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  Cursor& operator=(Cursor&&) = delete;
  ~Cursor();

  // True: the columns of the next row can be read. False: no more rows.
  [[nodiscard]] base::Result<bool> next();

  // Requires: next() was true. Views live until the next call of next() or the end of the cursor.
  [[nodiscard]] std::int64_t integer(int column) const noexcept { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] std::string_view text(int column) const noexcept;
  [[nodiscard]] std::span<const std::uint8_t> blob(int column) const noexcept;

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_;
  std::string_view doing_;
};

class Connection {
 public:
  enum class Mode : std::uint8_t {
    write,   // reads and writes an existing file
    read,    // every write statement is refused
    create,  // as write; makes the file when missing
    log,     // as write, for a WAL database with synchronous=FULL only: see sqlite_log_writes.hpp
  };
  // Errc::unavailable, corrupt or disk_full. `busy` bounds the wait for another connection's lock.
  [[nodiscard]] static base::Result<Connection> open(const std::string& path, Mode mode,
                                                     std::chrono::milliseconds busy);

  // Runs a statement to its end and returns how many rows it changed. `doing` names the work in an Error; it must
  // outlive the call. One attempt: no retry is hidden here.
  template <typename... Args>
  [[nodiscard]] base::Result<std::int64_t> run(std::string_view doing, std::string_view sql, const Args&... args) {
    auto cursor = query(doing, sql, args...);
    if (!cursor) return std::unexpected(std::move(cursor.error()));
    const auto row = cursor->next();
    if (!row) return std::unexpected(row.error());
    return sqlite3_changes64(db_.get());
  }

  // Starts a statement; rows are read from the Cursor, which must end before the same text is used again.
  template <typename... Args>
  [[nodiscard]] base::Result<Cursor> query(std::string_view doing, std::string_view sql, const Args&... args) {
    auto statement = prepared(doing, sql);
    if (!statement) return std::unexpected(std::move(statement.error()));
    int index = 0;
    (bind(*statement, ++index, args), ...);
    return Cursor{db_.get(), *statement, doing};
  }

  // Runs several statements without arguments or results: schema scripts and pragmas. Not kept prepared.
  [[nodiscard]] base::Status execute(std::string_view doing, const char* script);

  [[nodiscard]] std::int64_t last_insert_id() const noexcept { return sqlite3_last_insert_rowid(db_.get()); }
  // False between BEGIN and COMMIT or ROLLBACK. SQLite itself rolls back on some errors.
  [[nodiscard]] bool in_transaction() const noexcept { return sqlite3_get_autocommit(db_.get()) == 0; }
  // For what only the C interface offers (online backup, limits).
  [[nodiscard]] sqlite3* handle() const noexcept { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept;
  };
  explicit Connection(sqlite3* db) : db_{db} {}

  base::Result<sqlite3_stmt*> prepared(std::string_view doing, std::string_view sql);
  static void bind(sqlite3_stmt* statement, int index, std::int64_t value) noexcept;
  static void bind(sqlite3_stmt* statement, int index, std::string_view value) noexcept;
  static void bind(sqlite3_stmt* statement, int index, Blob value) noexcept;
  static void bind(sqlite3_stmt* statement, int index, std::nullptr_t) noexcept;

  std::unique_ptr<sqlite3, Close> db_;
  // Statements go before the connection. Bounded by the number of different SQL texts in the program.
  std::unordered_map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, TextHash, std::equal_to<>> statements_;
};

// What became of a COMMIT that did not answer OK.
enum class CommitFailure : std::uint8_t {
  rolled_back,  // nothing of the transaction is in the file
  unknown,      // an I/O error on the way to the disk: only a restart's recovery can tell what the file holds
};

// BEGIN … COMMIT; rolls back when it goes out of scope uncommitted. Borrows its Connection.
class Transaction {
 public:
  enum class Kind : std::uint8_t {
    read,   // one snapshot for several queries
    write,  // takes the write lock at once, so nothing later can fail for want of it
  };
  [[nodiscard]] static base::Result<Transaction> begin(Connection& connection, Kind kind, std::string_view doing);
  Transaction(Transaction&& other) noexcept
      : connection_{std::exchange(other.connection_, nullptr)}, doing_{other.doing_} {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  struct Failed {
    CommitFailure how;
    base::Error error;
  };
  // Durable when it has a value and the connection runs with synchronous=FULL.
  [[nodiscard]] std::expected<void, Failed> commit();

 private:
  Transaction(Connection& connection, std::string_view doing) noexcept : connection_{&connection}, doing_{doing} {}
  Connection* connection_;
  std::string_view doing_;
};

}  // namespace seckill::drivers::sqlite
