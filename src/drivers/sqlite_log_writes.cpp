#include "drivers/sqlite_log_writes.hpp"

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace seckill::drivers::sqlite {
namespace {

// SQLite's unix layer takes sizes modulo 128 KB (os_unix.c, seekAndWriteFd: no page is larger), so one piece stays
// below: 31 pages of 4 KB, and the buffer stays in the processor's cache.
constexpr std::size_t gathered_bytes_max = 0x1ffff;

// A log file as SQLite sees it; the default layer's own file object follows it in the same allocation of SQLite's.
struct LogFile {
  sqlite3_file as_file;  // first: SQLite hands this address around
  sqlite3_file* real;
  std::vector<std::uint8_t> gathered;  // bytes not written yet …
  sqlite3_int64 gathered_at;           // … and where they belong
};

constexpr std::size_t real_file_offset =
    (sizeof(LogFile) + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);

LogFile& log_of(sqlite3_file* file) noexcept { return *reinterpret_cast<LogFile*>(file); }

// Dropped on failure as well: the transaction that wrote it is rolled back, and what comes next is written elsewhere.
int write_gathered(LogFile& log) noexcept {
  if (log.gathered.empty()) return SQLITE_OK;
  const int code =
      log.real->pMethods->xWrite(log.real, log.gathered.data(), static_cast<int>(log.gathered.size()), log.gathered_at);
  log.gathered.clear();
  return code;
}

int log_write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  LogFile& log = log_of(file);
  const auto count = static_cast<std::size_t>(size);
  const bool follows = at == log.gathered_at + static_cast<sqlite3_int64>(log.gathered.size());
  if (!follows || log.gathered.size() + count > gathered_bytes_max) {
    if (const int code = write_gathered(log); code != SQLITE_OK) return code;
  }
  if (count > gathered_bytes_max) return log.real->pMethods->xWrite(log.real, bytes, size, at);
  if (log.gathered.empty()) log.gathered_at = at;
  const auto* first = static_cast<const std::uint8_t*>(bytes);
  log.gathered.insert(log.gathered.end(), first, first + count);  // within the capacity reserved at opening
  return SQLITE_OK;
}

int log_read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 at) {
  LogFile& log = log_of(file);
  if (const int code = write_gathered(log); code != SQLITE_OK) return code;
  return log.real->pMethods->xRead(log.real, bytes, size, at);
}

int log_sync(sqlite3_file* file, int flags) {
  LogFile& log = log_of(file);
  if (const int code = write_gathered(log); code != SQLITE_OK) return code;
  return log.real->pMethods->xSync(log.real, flags);
}

int log_truncate(sqlite3_file* file, sqlite3_int64 size) {
  LogFile& log = log_of(file);
  if (const int code = write_gathered(log); code != SQLITE_OK) return code;
  return log.real->pMethods->xTruncate(log.real, size);
}

int log_size(sqlite3_file* file, sqlite3_int64* size) {
  LogFile& log = log_of(file);
  if (const int code = write_gathered(log); code != SQLITE_OK) return code;
  return log.real->pMethods->xFileSize(log.real, size);
}

int log_close(sqlite3_file* file) {
  LogFile& log = log_of(file);
  // What was never synced belongs to no commit.
  const int code = log.real->pMethods->xClose(log.real);
  log.~LogFile();
  return code;
}

int log_lock(sqlite3_file* file, int level) { return log_of(file).real->pMethods->xLock(log_of(file).real, level); }
int log_unlock(sqlite3_file* file, int level) { return log_of(file).real->pMethods->xUnlock(log_of(file).real, level); }
int log_reserved(sqlite3_file* file, int* out) {
  return log_of(file).real->pMethods->xCheckReservedLock(log_of(file).real, out);
}
int log_control(sqlite3_file* file, int what, void* value) {
  return log_of(file).real->pMethods->xFileControl(log_of(file).real, what, value);
}
int log_sector(sqlite3_file* file) { return log_of(file).real->pMethods->xSectorSize(log_of(file).real); }
int log_device(sqlite3_file* file) { return log_of(file).real->pMethods->xDeviceCharacteristics(log_of(file).real); }

constexpr sqlite3_io_methods make_log_methods() noexcept {
  sqlite3_io_methods methods{};
  methods.iVersion = 1;  // shared memory and mapping belong to the database file, never to its log
  methods.xClose = &log_close;
  methods.xRead = &log_read;
  methods.xWrite = &log_write;
  methods.xTruncate = &log_truncate;
  methods.xSync = &log_sync;
  methods.xFileSize = &log_size;
  methods.xLock = &log_lock;
  methods.xUnlock = &log_unlock;
  methods.xCheckReservedLock = &log_reserved;
  methods.xFileControl = &log_control;
  methods.xSectorSize = &log_sector;
  methods.xDeviceCharacteristics = &log_device;
  return methods;
}
constexpr sqlite3_io_methods log_methods = make_log_methods();

int open_file(sqlite3_vfs* /*layer*/, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  // Asked at each opening, so that whatever is the default layer then (a test's faulty disk) lies below.
  sqlite3_vfs* below = sqlite3_vfs_find(nullptr);
  if ((flags & SQLITE_OPEN_WAL) == 0) return below->xOpen(below, name, file, flags, out_flags);
  auto* real = reinterpret_cast<sqlite3_file*>(reinterpret_cast<std::byte*>(file) + real_file_offset);
  file->pMethods = nullptr;  // nothing to close when opening fails
  const int code = below->xOpen(below, name, real, flags, out_flags);
  if (code != SQLITE_OK) {
    if (real->pMethods != nullptr) real->pMethods->xClose(real);
    return code;
  }
  auto* log = new (file) LogFile{.as_file = {&log_methods}, .real = real, .gathered = {}, .gathered_at = 0};
  log->gathered.reserve(gathered_bytes_max);
  return SQLITE_OK;
}

}  // namespace

const char* gathering_file_layer() {
  // Lives as long as the process: connections may be closed as late as in static destructors.
  static sqlite3_vfs* const layer = [] {
    sqlite3_initialize();
    auto* made = new sqlite3_vfs{*sqlite3_vfs_find(nullptr)};
    made->zName = "seckill-gathering";
    made->pNext = nullptr;
    made->szOsFile += static_cast<int>(real_file_offset);
    made->xOpen = &open_file;
    sqlite3_vfs_register(made, 0);
    return made;
  }();
  return layer->zName;
}

}  // namespace seckill::drivers::sqlite
