// A thin owner of MariaDB/MySQL connections: prepared statements, multi-row inserts, and errors as base::Errc. Knows
// nothing of the domain. Over libmariadb; nothing here throws.
//
// A Connection is used by one thread at a time. Statements are prepared once and kept with it. Values are bound in
// binary, so no text is ever built from input.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace seckill::drivers::mariadb {

struct ConnectConfig {
  std::string host = "127.0.0.1";
  std::uint16_t port = 3306;
  std::string unix_socket;
  std::string user;
  std::string password;
  std::string database;
  std::chrono::milliseconds connect_longest{2'000};
  std::chrono::milliseconds call_longest{10'000};
  bool matched_rows =
      false;  // count rows that an UPDATE matched, not those it changed: for proofs that we need neither
};

// One bound value: NULL, integer, or bytes (text and binary alike; borrowed until the call returns).
using Value = std::variant<std::nullptr_t, std::int64_t, std::string_view>;

// What went wrong, beyond Errc, for who retries. `rolled_back`: deadlock or lock wait: the whole transaction is gone,
// trying it again may help. `lost`: the connection cannot be used any more.
struct Trouble {
  bool rolled_back = false;
  bool lost = false;
};

// One row of a result. Views live until the visitor returns.
class Row {
 public:
  virtual ~Row() = default;
  [[nodiscard]] virtual bool is_null(std::size_t column) const noexcept = 0;
  [[nodiscard]] virtual std::int64_t integer(std::size_t column) const noexcept = 0;
  [[nodiscard]] virtual std::string_view text(std::size_t column) const noexcept = 0;
};
using Visitor = std::function<void(const Row&)>;

class Connection {
 public:
  // Session settings: utf8mb4, strict SQL mode, READ COMMITTED unless begin() says otherwise, UTC, found-rows off.
  // Errc::unavailable.
  [[nodiscard]] static base::Result<std::unique_ptr<Connection>> open(const ConnectConfig& config);
  virtual ~Connection() = default;

  // Runs one prepared statement; the answer is the number of rows it changed. `doing` names the work in an Error.
  // Errors: constraint (duplicate key, CHECK, foreign key; `cause` has the key's or check's name), disk_full,
  // unavailable (rolled back, or refused before execution), timeout (lost while it was under way: unknown).
  [[nodiscard]] virtual base::Result<std::int64_t> run(std::string_view doing, std::string_view sql,
                                                       std::span<const Value> values) = 0;
  // A query; the visitor sees each row as it arrives and must not use this connection.
  [[nodiscard]] virtual base::Status query(std::string_view doing, std::string_view sql, std::span<const Value> values,
                                           const Visitor& visitor) = 0;
  // The same statement for `rows` sets of `width` values (row by row in `values`) in as few round trips as the server
  // allows (bulk protocol where it has it, else one multi-row statement: `sql` has one "VALUES (?, …)" group). The sum
  // of changed rows.
  [[nodiscard]] virtual base::Result<std::int64_t> run_many(std::string_view doing, std::string_view sql,
                                                            std::size_t width, std::span<const Value> values) = 0;
  // Plain text without values: BEGIN, COMMIT, schema scripts (one statement a call).
  [[nodiscard]] virtual base::Status execute(std::string_view doing, std::string_view sql) = 0;
  [[nodiscard]] virtual std::uint64_t last_insert_id() const noexcept = 0;

  // Of the last call that failed.
  [[nodiscard]] virtual Trouble trouble() const noexcept = 0;
  // False once a call lost it, or the server closed it meanwhile (looked up on the socket, without a round trip).
  [[nodiscard]] virtual bool alive() noexcept = 0;

 protected:
  Connection() = default;
};

}  // namespace seckill::drivers::mariadb
