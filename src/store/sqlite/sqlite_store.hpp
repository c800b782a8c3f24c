// The embedded store: one SQLite database in WAL mode with synchronous=FULL inside a data folder that one process owns.
//
// One write connection behind a mutex (SQLite has one writer anyway; batches are the throughput), a few read
// connections beside it that never wait for it. A COMMIT whose outcome the disk leaves unknown aborts the process: the
// next start recovers what is really there, and nothing unknown was acknowledged (P5). See store/store.hpp for what
// each method does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "store/store.hpp"

namespace seckill::store::sqlite {

struct SqliteConfig {
  std::string data_folder;          // holds seckill.db, its -wal and -shm, and seckill.lock
  bool create = true;               // make folder and database when missing; false: Errc::not_found
  std::size_t readers = 2;          // read connections, 1..64
  std::int64_t data_bytes_max = 0;  // bound of the database file, past it Errc::disk_full; 0: as large as the disk
};

// Opens, checks, migrates. Blocks; any thread; the store may then be used by any thread and is closed by its destructor
// (no call may be running). Errors, each with a sentence for the operator:
//   refused    another process uses the folder; the schema is newer than this program; the file is another program's
//   corrupt    the file is not a database or fails its check: restore a backup
//   not_found  there is no database and `create` is false
//   disk_full, unavailable  the folder cannot be written or read
[[nodiscard]] base::Result<std::unique_ptr<Store>> open(const SqliteConfig& config);

// Name of the database file inside the data folder.
inline constexpr const char* database_file = "seckill.db";

}  // namespace seckill::store::sqlite
