// Folds the write-ahead log into the database file beside the writer, so that no commit pays for it: a checkpoint of
// 64 MB takes longer than any answer may (p99).
//
// Most of the work runs while commits go on. What they added meanwhile is folded under the write lock; then the whole
// log is folded and the next commit starts it from its beginning: without that last step a busy log would grow for
// ever.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "drivers/sqlite.hpp"

namespace seckill::store::sqlite {

class Checkpointer {
 public:
  // Starts its thread. Borrows `writer`, whose hook it becomes, and the mutex that guards it; `own` is its connection.
  Checkpointer(drivers::sqlite::Connection& writer, std::mutex& write_mutex, drivers::sqlite::Connection own);
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer();  // stops and joins; call without the write mutex

 private:
  // SQLite calls it after each commit of the writer, on the committing thread, with the number of pages in the log.
  static int committed(void* self, sqlite3* db, const char* name, int pages);
  void run(const std::stop_token& stop);
  // False: not everything could be folded now (a reader looks at old pages, the disk is full).
  [[nodiscard]] bool fold();

  drivers::sqlite::Connection& writer_;
  std::mutex& write_mutex_;
  drivers::sqlite::Connection own_;  // used by the thread only
  std::mutex mutex_;
  std::condition_variable_any due_;
  bool is_due_ = false;  // guarded by mutex_
  std::jthread thread_;  // last: it uses what stands above
};

}  // namespace seckill::store::sqlite
