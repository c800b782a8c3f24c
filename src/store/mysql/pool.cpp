#include "store/mysql/pool.hpp"

#include <fmt/format.h>

#include <thread>

#include "base/random.hpp"
#include "store/mysql/connect.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;

constexpr std::chrono::milliseconds pause_step{4};  // of the first retry; doubled by each, and spread by chance

}  // namespace

Pool::Pool(const MysqlConfig& config, Kind kind, std::size_t size, PoolCounters& counters)
    : config_{config}, kind_{kind}, attempts_{std::max(config.attempts, 1)}, counters_{counters} {
  SECKILL_ASSERT(size >= 1, "a pool without a connection would wait for ever");
  free_.resize(size);
}

base::Result<std::unique_ptr<Connection>> Pool::connect() const {
  auto connection = Connection::open(connect_config(config_));
  if (!connection) return connection;
  // A dead transaction must not hold a lane's row for the server's default of 50 s.
  // Nor must one whose process stands still: MariaDB ends it; MySQL has no such setting and reads a comment.
  const std::string setting =
      fmt::format("SET SESSION innodb_lock_wait_timeout = {} /*M! , idle_transaction_timeout = {} */",
                  config_.lock_wait.count(), config_.idle_transaction.count());
  if (auto set = (*connection)->execute("setting up a connection", setting); !set) return std::unexpected(set.error());
  if (kind_ == Kind::snapshots) {
    const auto set =
        (*connection)->execute("setting up a connection", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    if (!set) return std::unexpected(set.error());
  }
  return connection;
}

base::Result<Pool::Loan> Pool::borrow(std::string_view doing) {
  std::unique_ptr<Connection> connection;
  {
    std::unique_lock lock{mutex_};
    if (free_.empty()) {
      counters_.pool_waits.fetch_add(1, std::memory_order_relaxed);
      if (!returned_.wait_for(lock, config_.pool_wait, [&] { return !free_.empty(); })) {
        return base::fail(Errc::limit, std::string{doing}, "every database connection is busy");
      }
    }
    // The one used last: what the others would not be needed for may be closed by the server.
    connection = std::move(free_.back());
    free_.pop_back();
  }
  Loan loan{*this, std::move(connection)};
  if (loan.connection_ && loan.connection_->alive()) return loan;
  if (auto replaced = loan.replace(); !replaced) {
    return base::fail(replaced.error().code, std::string{doing}, replaced.error().text());
  }
  return loan;
}

base::Status Pool::Loan::replace() {
  if (connection_) pool_->counters_.reconnected.fetch_add(1, std::memory_order_relaxed);
  connection_.reset();
  auto opened = pool_->connect();
  if (!opened) return std::unexpected(std::move(opened.error()));
  connection_ = std::move(*opened);
  return {};
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock{mutex_};
    // Those without a connection wait at the front, so that open ones are used first.
    if (connection) {
      free_.push_back(std::move(connection));
    } else {
      free_.insert(free_.begin(), nullptr);
    }
  }
  returned_.notify_one();
}

base::Status Pool::begin(Loan& loan, std::string_view doing) {
  const std::string_view sql =
      kind_ == Kind::snapshots ? "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY" : "BEGIN";
  auto begun = loan->execute(doing, sql);
  if (!begun && loan->trouble().lost) {
    if (auto replaced = loan.replace(); !replaced) {
      return base::fail(Errc::unavailable, std::string{doing}, replaced.error().text());
    }
    begun = loan->execute(doing, sql);
  }
  if (begun) return {};
  return base::fail(Errc::unavailable, std::string{doing}, begun.error().cause);
}

base::Status Pool::commit(Loan& loan, std::string_view doing, bool& again) {
  auto committed = loan->execute(doing, "COMMIT");
  if (committed) {
    counters_.transactions.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  base::Error error = std::move(committed.error());
  if (loan->trouble().lost) {
    error.code = Errc::timeout;  // the server may have had the word
    error.cause = "the connection was lost while committing: " + error.cause;
    return std::unexpected(std::move(error));
  }
  return std::unexpected(undo(loan, std::move(error), again));
}

base::Error Pool::undo(Loan& loan, base::Error error, bool& again) {
  const drivers::mariadb::Trouble trouble = loan->trouble();
  if (trouble.lost) {
    // The server rolls back what it does not hear the end of, so the outcome is known: nothing was written.
    error.code = Errc::unavailable;
    return error;
  }
  again = trouble.rolled_back;
  const auto undone = loan->execute("rolling back", "ROLLBACK");
  if (!undone && !loan->trouble().lost) {
    // It would be lent with an open transaction.
    if (auto replaced = loan.replace(); !replaced) again = false;
  }
  if (loan.connection_ && loan->trouble().lost) again = again && loan.replace().has_value();
  return error;
}

void Pool::pause(int attempt) {
  counters_.retried.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t longest = pause_step.count() << std::min(attempt, 6);
  std::this_thread::sleep_for(std::chrono::milliseconds{base::system_random().between(1, longest)});
}

}  // namespace seckill::store::mysql
