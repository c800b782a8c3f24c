// SIGINT, SIGTERM and SIGHUP as a request to stop, taken by a thread that waits for nothing else: no code of ours ever
// runs inside a signal handler. A second signal ends the process at once (repeats within a quarter of a second are one
// signal).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace seckill::app {

// At most one at a time. Make it before any other thread: threads inherit the signals it blocks.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The first signal's number; 0: none came yet. Any thread.
  [[nodiscard]] int received() const noexcept { return received_; }
  // Blocks until a signal came; its number. Any thread.
  int wait();
  // Blocks until a signal came (its number) or the time is over (0).
  int wait_for(std::chrono::milliseconds time);

 private:
  void watch();

  std::atomic<int> received_{0};
  std::mutex mutex_;
  std::condition_variable came_;
  std::thread thread_;
};

}  // namespace seckill::app
