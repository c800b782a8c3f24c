#include "base/threads.hpp"

#include <pthread.h>

#include <condition_variable>
#include <thread>

namespace seckill::base {
namespace {

class SystemSignal final : public Signal {
 public:
  using Signal::wait;
  void wait(std::unique_lock<std::mutex>& lock) override { changed_.wait(lock); }
  void wait_for(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds longest) override {
    changed_.wait_for(lock, longest);
  }
  void notify_all() noexcept override { changed_.notify_all(); }
  void notify_one() noexcept override { changed_.notify_one(); }

 private:
  std::condition_variable changed_;
};

class SystemThread final : public Thread {
 public:
  SystemThread(std::string name, std::move_only_function<void()> body)
      : thread_{[name = std::move(name), body = std::move(body)]() mutable {
          pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
          body();
        }} {}
  void join() override { thread_.join(); }

 private:
  std::thread thread_;
};

class SystemThreads final : public Threads {
 public:
  std::unique_ptr<Thread> start(std::string name, std::move_only_function<void()> body) override {
    return std::make_unique<SystemThread>(std::move(name), std::move(body));
  }
  std::unique_ptr<Signal> make_signal() override { return std::make_unique<SystemSignal>(); }
  void sleep_for(std::chrono::nanoseconds time) override { std::this_thread::sleep_for(time); }
  std::chrono::nanoseconds now() const noexcept override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

}  // namespace

Threads& system_threads() noexcept {
  static SystemThreads threads;
  return threads;
}

}  // namespace seckill::base
