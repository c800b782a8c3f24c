// A disk that fails when told to: SQLite's own file layer with writes and syncs that can be made to fail. Installed as
// the default layer for its lifetime, so stores are opened as always. One thread.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

namespace seckill::store {

class FaultyDisk {
 public:
  FaultyDisk() {
    real_vfs = sqlite3_vfs_find(nullptr);
    own_layer = *real_vfs;
    own_layer.zName = "faulty";
    own_layer.pNext = nullptr;
    own_layer.xOpen = &open;
    sqlite3_vfs_register(&own_layer, 1);
    full = false;
    sync_fails = false;
    bytes_left = -1;
  }
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;
  // Stores opened meanwhile must be closed before.
  ~FaultyDisk() {
    sqlite3_vfs_register(real_vfs, 1);
    sqlite3_vfs_unregister(&own_layer);
  }

  static inline std::atomic<bool> full{false};             // every write finds no space
  static inline std::atomic<bool> sync_fails{false};       // every sync fails
  static inline std::atomic<std::int64_t> bytes_left{-1};  // so many bytes fit, then no space; -1: no bound

 private:
  using Write = int (*)(sqlite3_file*, const void*, int, sqlite3_int64);
  using Sync = int (*)(sqlite3_file*, int);

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
    const int code = real_vfs->xOpen(real_vfs, name, file, flags, out);
    if (code != SQLITE_OK || file->pMethods == nullptr) return code;
    auto& methods = patched_methods[file->pMethods];
    if (!methods) {
      methods = std::make_unique<sqlite3_io_methods>(*file->pMethods);
      real_write = methods->xWrite;
      real_sync = methods->xSync;
      methods->xWrite = &write;
      methods->xSync = &sync;
    }
    file->pMethods = methods.get();
    return code;
  }
  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
    if (full) return SQLITE_FULL;
    const std::int64_t left = bytes_left;
    if (left < 0) return real_write(file, bytes, size, at);
    bytes_left = std::max<std::int64_t>(left - size, 0);
    if (size <= left) return real_write(file, bytes, size, at);
    // As a real disk does: what fits is written, the rest is not.
    if (left > 0) real_write(file, bytes, static_cast<int>(left), at);
    return SQLITE_FULL;
  }
  static int sync(sqlite3_file* file, int flags) { return sync_fails ? SQLITE_IOERR_FSYNC : real_sync(file, flags); }

  static inline sqlite3_vfs* real_vfs = nullptr;
  static inline sqlite3_vfs own_layer{};
  static inline Write real_write = nullptr;
  static inline Sync real_sync = nullptr;
  static inline std::map<const sqlite3_io_methods*, std::unique_ptr<sqlite3_io_methods>> patched_methods;
};

}  // namespace seckill::store
