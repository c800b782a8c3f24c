// The store of cluster mode on MariaDB or MySQL: Store and LaneAuthority over small pools of connections. See
// store/store.hpp and store/lane_authority.hpp for what each method does; migrations/mysql_migrations.cpp for the
// tables.
//
// Every statement that decides something does so by rows that it changes (never by rows that it matched, FS-59); each
// transaction locks stock rows first, lanes ascending. Deadlock and lock wait roll the whole transaction back and it is
// tried again, bounded, with jitter (FS-13); a connection that died idle is replaced before anything was asked (FS-41);
// one that dies during COMMIT is Errc::timeout: unknown.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "store/lane_authority.hpp"
#include "store/store.hpp"
#include "store/switch_board.hpp"

namespace seckill::store::mysql {

struct MysqlConfig {
  std::string host = "127.0.0.1";
  std::uint16_t port = 3306;
  std::string unix_socket;  // set: instead of host and port
  std::string user;
  std::string password;
  std::string database;
  // Connections for landing and ends, for reads, for operating (sales, leases, authority), for reading lanes that are
  // rebuilt. Opened when they are needed. A caller waits for one at most `pool_wait`, then Errc::limit.
  std::size_t write_connections = 4;
  std::size_t read_connections = 2;
  std::size_t operating_connections = 2;
  std::size_t rebuild_connections = 4;  // as many as lanes are rebuilt at once
  std::chrono::milliseconds pool_wait{2'000};
  std::chrono::milliseconds connect_longest{2'000};
  std::chrono::milliseconds call_longest{10'000};  // socket reads and writes; passed: the connection is closed
  std::chrono::seconds lock_wait{2};
  // MariaDB ends a transaction that was begun and says nothing for so long: its process may be stopped, and the rows it
  // has locked are everybody's.
  std::chrono::seconds idle_transaction{5};
  int attempts = 5;  // of a transaction that was rolled back by deadlock or lock wait
  bool matched_rows =
      false;  // as drivers::mariadb::ConnectConfig: a proxy may turn it on, and nothing may depend on it
};

// What the pools have done. Any thread, each value by itself.
struct MysqlCounters {
  std::uint64_t transactions = 0;
  std::uint64_t retried = 0;      // rolled back by deadlock or lock wait and tried again
  std::uint64_t reconnected = 0;  // connections that were found dead
  std::uint64_t pool_waits = 0;   // callers that had to wait
};

class MysqlStore : public Store, public LaneAuthority, public SwitchBoard {
 public:
  [[nodiscard]] virtual MysqlCounters counters() const noexcept = 0;
};

// Connects, checks the schema's version and the server's settings (row format, transactional engine, strict mode).
// Errors, each with a sentence for the operator:
//   refused      the schema is newer than this program, or missing steps and `migrate` was not called
//   unavailable  the server cannot be reached or refuses the login
[[nodiscard]] base::Result<std::unique_ptr<MysqlStore>> open(const MysqlConfig& config);

// Brings the schema up to date, step by step, one migrating process at a time (a named lock); harmless to repeat. The
// answer is the number of steps done. Creates no database and no user.
[[nodiscard]] base::Result<int> migrate(const MysqlConfig& config);

}  // namespace seckill::store::mysql
