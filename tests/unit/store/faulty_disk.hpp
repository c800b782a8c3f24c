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
    real_ = sqlite3_vfs_find(nullptr);
    layer_ = *real_;
    layer_.zName = "faulty";
    layer_.pNext = nullptr;
    layer_.xOpen = &open;
    sqlite3_vfs_register(&layer_, 1);
    full = false;
    sync_fails = false;
    bytes_left = -1;
  }
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;
  // Stores opened meanwhile must be closed before.
  ~FaultyDisk() {
    sqlite3_vfs_register(real_, 1);
    sqlite3_vfs_unregister(&layer_);
  }

  static inline std::atomic<bool> full{false};             // every write finds no space
  static inline std::atomic<bool> sync_fails{false};       // every sync fails
  static inline std::atomic<std::int64_t> bytes_left{-1};  // so many bytes fit, then no space; -1: no bound

 private:
  using Write = int (*)(sqlite3_file*, const void*, int, sqlite3_int64);
  using Sync = int (*)(sqlite3_file*, int);

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
    const int code = real_->xOpen(real_, name, file, flags, out);
    if (code != SQLITE_OK || file->pMethods == nullptr) return code;
    auto& patched = patched_[file->pMethods];
    if (!patched) {
      patched = std::make_unique<sqlite3_io_methods>(*file->pMethods);
      write_ = patched->xWrite;
      sync_ = patched->xSync;
      patched->xWrite = &write;
      patched->xSync = &sync;
    }
    file->pMethods = patched.get();
    return code;
  }
  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
    if (full) return SQLITE_FULL;
    const std::int64_t left = bytes_left;
    if (left < 0) return write_(file, bytes, size, at);
    bytes_left = std::max<std::int64_t>(left - size, 0);
    if (size <= left) return write_(file, bytes, size, at);
    // As a real disk does: what fits is written, the rest is not.
    if (left > 0) write_(file, bytes, static_cast<int>(left), at);
    return SQLITE_FULL;
  }
  static int sync(sqlite3_file* file, int flags) { return sync_fails ? SQLITE_IOERR_FSYNC : sync_(file, flags); }

  static inline sqlite3_vfs* real_ = nullptr;
  static inline sqlite3_vfs layer_{};
  static inline Write write_ = nullptr;
  static inline Sync sync_ = nullptr;
  static inline std::map<const sqlite3_io_methods*, std::unique_ptr<sqlite3_io_methods>> patched_;
};

}  // namespace seckill::store
