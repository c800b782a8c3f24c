// A few threads for what an operator asks and what blocks (the store, a backup), so that no io thread ever waits.
// Bounded (P9): past `waiting_max` tasks run() says no.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace seckill::ops {

class WorkerPool {
 public:
  using Task = std::move_only_function<void()>;

  // Starts `threads` threads at once. With one thread, tasks run one after the other in the order given.
  WorkerPool(std::string name, std::size_t threads, std::size_t waiting_max);
  ~WorkerPool();  // stops
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False when too many tasks wait, or after stop(): then `task` is destroyed unrun. `task` must not throw. Any thread.
  [[nodiscard]] bool run(Task task);
  // Runs what waits, then joins. Idempotent; not from a task.
  void stop();

 private:
  void work();

  const std::size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace seckill::ops
