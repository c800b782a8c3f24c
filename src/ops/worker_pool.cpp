#include "ops/worker_pool.hpp"

#include <pthread.h>

namespace seckill::ops {

WorkerPool::WorkerPool(std::string name, std::size_t threads, std::size_t waiting_max) : waiting_max_{waiting_max} {
  name.resize(std::min<std::size_t>(name.size(), 15));  // the kernel's bound on a thread's name
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work(); });
    pthread_setname_np(threads_.back().native_handle(), name.c_str());
  }
}

WorkerPool::~WorkerPool() { stop(); }

bool WorkerPool::run(Task task) {
  {
    const std::lock_guard lock{mutex_};
    if (stopping_ || waiting_.size() >= waiting_max_) return false;
    waiting_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkerPool::work() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds ends outside the lock
    lock.lock();
  }
}

}  // namespace seckill::ops
