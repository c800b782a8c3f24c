// Connections lent to one thread each, and the one way a transaction is run on them. See mysql_store.hpp for the rules
// (FS-13, FS-41, FS-59).
//
// Lock order, for everyone who writes a transaction here: stock rows (lane_stock) by (item_id, lane) ascending, then
// the item row (sale_item), then orders by ticket, then buyer_units by (item_id, buyer), then the rest. What locks none
// of them (leases, switches, audit) may stand alone. Breaking it costs retries, never correctness.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/assert.hpp"
#include "drivers/mariadb/mariadb.hpp"
#include "store/mysql/mysql_store.hpp"

namespace seckill::store::mysql {

using drivers::mariadb::Connection;
using drivers::mariadb::Row;
using drivers::mariadb::Value;
using drivers::mariadb::Visitor;

// The counters behind MysqlCounters. Any thread, approximate against each other.
struct PoolCounters {
  std::atomic<std::uint64_t> transactions{0};
  std::atomic<std::uint64_t> retried{0};
  std::atomic<std::uint64_t> reconnected{0};
  std::atomic<std::uint64_t> pool_waits{0};
};

// What a value of ours is to a statement. Text is borrowed until the call returns.
[[nodiscard]] inline Value value_of(std::string_view text) noexcept { return text; }
template <std::integral Integer>
[[nodiscard]] Value value_of(Integer number) noexcept {
  return static_cast<std::int64_t>(number);
}
template <typename Enum>
  requires std::is_enum_v<Enum>
[[nodiscard]] Value value_of(Enum stored) noexcept {
  return static_cast<std::int64_t>(stored);
}

// One borrowed connection with the name of the work it does. One thread. Statements decide by rows changed.
class Work {
 public:
  Work(Connection& connection, std::string_view doing) noexcept : connection_{connection}, doing_{doing} {}

  template <typename... Args>
  [[nodiscard]] base::Result<std::int64_t> run(std::string_view sql, const Args&... args) {
    const std::array<Value, sizeof...(Args)> values{value_of(args)...};
    return connection_.run(doing_, sql, values);
  }
  [[nodiscard]] base::Result<std::int64_t> run_values(std::string_view sql, std::span<const Value> values) {
    return connection_.run(doing_, sql, values);
  }
  // As Connection::run_many. Requires: inside a transaction, because a failure may leave earlier rows.
  [[nodiscard]] base::Result<std::int64_t> run_many(std::string_view sql, std::size_t width,
                                                    std::span<const Value> values) {
    return connection_.run_many(doing_, sql, width, values);
  }
  // The visitor sees each row as it arrives and must not use this work.
  template <typename... Args>
  [[nodiscard]] base::Status query(const Visitor& visitor, std::string_view sql, const Args&... args) {
    const std::array<Value, sizeof...(Args)> values{value_of(args)...};
    return connection_.query(doing_, sql, values, visitor);
  }
  [[nodiscard]] base::Status query_values(const Visitor& visitor, std::string_view sql, std::span<const Value> values) {
    return connection_.query(doing_, sql, values, visitor);
  }
  // True: there was a row, and the visitor saw the first.
  template <typename... Args>
  [[nodiscard]] base::Result<bool> first(const Visitor& visitor, std::string_view sql, const Args&... args) {
    bool found = false;
    const auto read = query(
        [&](const Row& row) {
          if (!found) visitor(row);
          found = true;
        },
        sql, args...);
    if (!read) return std::unexpected(read.error());
    return found;
  }
  [[nodiscard]] std::int64_t last_insert_id() const noexcept {
    return static_cast<std::int64_t>(connection_.last_insert_id());
  }
  [[nodiscard]] std::string_view doing() const noexcept { return doing_; }
  [[nodiscard]] std::unexpected<base::Error> fail(base::Errc code, std::string cause) const {
    return base::fail(code, std::string{doing_}, std::move(cause));
  }

 private:
  Connection& connection_;
  std::string_view doing_;
};

// A bounded number of connections of one kind. Any thread.
class Pool {
 public:
  enum class Kind : std::uint8_t {
    writes,     // READ COMMITTED: a locking read is followed by reads of what is committed then
    snapshots,  // REPEATABLE READ: a transaction is one consistent reading
  };

  class Loan {
   public:
    Loan(Pool& pool, std::unique_ptr<Connection> connection) noexcept
        : pool_{&pool}, connection_{std::move(connection)} {}
    Loan(Loan&& other) noexcept
        : pool_{std::exchange(other.pool_, nullptr)}, connection_{std::move(other.connection_)} {}
    Loan& operator=(Loan&&) = delete;
    ~Loan() {
      if (pool_ != nullptr) pool_->give_back(std::move(connection_));
    }
    [[nodiscard]] Connection& operator*() const noexcept { return *connection_; }
    [[nodiscard]] Connection* operator->() const noexcept { return connection_.get(); }
    // Replaces a connection that was lost. On an error the loan has none and gives its place back.
    [[nodiscard]] base::Status replace();

   private:
    friend class Pool;
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  Pool(const MysqlConfig& config, Kind kind, std::size_t size, PoolCounters& counters);

  // Waits for a free place at most `pool_wait` (Errc::limit); a connection that is dead, or missing, is opened anew
  // before it is lent (Errc::unavailable).
  [[nodiscard]] base::Result<Loan> borrow(std::string_view doing);

  // Runs `work` as one transaction: BEGIN, fn(Work&) → Result<T> or Status, COMMIT. On an Error of fn all is rolled
  // back and the Error returned; deadlock and lock wait are tried again as a whole, at most `attempts` times, so fn
  // must be repeatable. Errors: those of fn; limit; unavailable (nothing was written); timeout (lost in COMMIT:
  // unknown).
  template <typename Fn>
  [[nodiscard]] auto transaction(std::string_view doing, Fn&& fn) -> std::invoke_result_t<Fn&, Work&> {
    using Answer = std::invoke_result_t<Fn&, Work&>;
    auto loan = borrow(doing);
    if (!loan) return std::unexpected(std::move(loan.error()));
    for (int attempt = 1;; ++attempt) {
      if (auto begun = begin(*loan, doing); !begun) return std::unexpected(std::move(begun.error()));
      Work work{**loan, doing};
      Answer answer = fn(work);
      base::Error failed;
      bool again = false;
      if (answer) {
        auto committed = commit(*loan, doing, again);
        if (committed) return answer;
        failed = std::move(committed.error());
      } else {
        failed = undo(*loan, std::move(answer.error()), again);
      }
      if (!again || attempt >= attempts_) return std::unexpected(std::move(failed));
      pause(attempt);
    }
  }

  // Runs `work` without a transaction, for one statement that only reads; asked again once when the connection is lost.
  // fn must be repeatable. Errors: those of fn; limit; unavailable.
  template <typename Fn>
  [[nodiscard]] auto reading(std::string_view doing, Fn&& fn) -> std::invoke_result_t<Fn&, Work&> {
    auto loan = borrow(doing);
    if (!loan) return std::unexpected(std::move(loan.error()));
    for (bool again = true;; again = false) {
      Work work{**loan, doing};
      auto answer = fn(work);
      if (answer || !(*loan)->trouble().lost) return answer;
      answer.error().code = base::Errc::unavailable;  // nothing could have been written
      if (!again || !loan->replace()) return answer;
    }
  }

 private:
  // Errc::unavailable, never timeout: nothing was asked yet. A connection that died idle is replaced once (FS-41).
  [[nodiscard]] base::Status begin(Loan& loan, std::string_view doing);
  // `again`: rolled back by a deadlock or lock wait.
  [[nodiscard]] base::Status commit(Loan& loan, std::string_view doing, bool& again);
  // Rolls back after fn failed; what it failed with, as this transaction's outcome.
  [[nodiscard]] base::Error undo(Loan& loan, base::Error error, bool& again);
  void pause(int attempt);
  [[nodiscard]] base::Result<std::unique_ptr<Connection>> connect() const;
  void give_back(std::unique_ptr<Connection> connection);

  const MysqlConfig& config_;
  const Kind kind_;
  const int attempts_;
  PoolCounters& counters_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> free_;  // guarded by mutex_; null: a place without a connection
};

}  // namespace seckill::store::mysql
