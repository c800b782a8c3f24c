#include "store/sqlite/checkpointer.hpp"

#include <chrono>

namespace seckill::store::sqlite {
namespace {

// 64 MB of 4 KB pages. A landing touches pages at random (tickets, buyers): the longer the log, the more writes of one
// page become one; a start after a crash reads at most a few times this much.
constexpr int due_pages = 16'384;
constexpr int rounds_beside_the_writer = 3;
constexpr std::chrono::milliseconds pause_after_failure{200};

}  // namespace

Checkpointer::Checkpointer(drivers::sqlite::Connection& writer, std::mutex& write_mutex,
                           drivers::sqlite::Connection own)
    : writer_{writer}, write_mutex_{write_mutex}, own_{std::move(own)} {
  sqlite3_wal_hook(writer_.handle(), &Checkpointer::committed, this);
  thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

Checkpointer::~Checkpointer() {
  {
    const std::lock_guard lock{write_mutex_};
    sqlite3_wal_hook(writer_.handle(), nullptr, nullptr);
  }
  thread_.request_stop();
  thread_.join();
}

int Checkpointer::committed(void* self, sqlite3* /*db*/, const char* /*name*/, int pages) {
  if (pages < due_pages) return SQLITE_OK;
  auto& checkpointer = *static_cast<Checkpointer*>(self);
  {
    const std::lock_guard lock{checkpointer.mutex_};
    checkpointer.is_due_ = true;
  }
  checkpointer.due_.notify_one();
  return SQLITE_OK;
}

bool Checkpointer::fold() {
  int in_log = 0;
  int folded = 0;
  const int code = sqlite3_wal_checkpoint_v2(own_.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &in_log, &folded);
  return code == SQLITE_OK && in_log == folded;
}

void Checkpointer::run(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  while (due_.wait(lock, stop, [&] { return is_due_; })) {
    is_due_ = false;
    lock.unlock();
    // Commits add pages meanwhile, so these seldom end with an empty log; each leaves less, and the last one, under the
    // lock, is short.
    for (int round = 0; round < rounds_beside_the_writer && !stop.stop_requested(); ++round) (void)fold();
    bool whole = false;
    {
      const std::lock_guard writer{write_mutex_};
      whole = fold();
      // Commits between the calls asked again for what is done now.
      const std::lock_guard again{mutex_};
      is_due_ = false;
    }
    lock.lock();
    // An error is no loss: the pages stay in the log, and the next commit asks again. Only never in a busy loop.
    if (!whole) due_.wait_for(lock, stop, pause_after_failure, [] { return false; });
  }
}

}  // namespace seckill::store::sqlite
