#include "app/signals.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

namespace seckill::app {
namespace {

// One request to stop may come twice: from the terminal, and passed on by a parent such as timeout(1). A person who
// means a second one needs longer.
constexpr std::chrono::milliseconds repeat_time{250};

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR2}) sigaddset(&set, signal);  // SIGUSR2 ends the thread
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread{[this] { watch(); }};
  pthread_setname_np(thread_.native_handle(), "signals");
}

StopSignals::~StopSignals() {
  pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
}

int StopSignals::wait() {
  std::unique_lock lock{mutex_};
  came_.wait(lock, [this] { return received_ != 0; });
  return received_;
}

int StopSignals::wait_for(std::chrono::milliseconds time) {
  std::unique_lock lock{mutex_};
  came_.wait_for(lock, time, [this] { return received_ != 0; });
  return received_;
}

void StopSignals::watch() {
  const sigset_t set = watched();
  std::chrono::steady_clock::time_point first;
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (signal == SIGUSR2) return;
    const auto now = std::chrono::steady_clock::now();
    if (received_ != 0) {
      if (now - first < repeat_time) continue;
      constexpr char message[] = "second signal: ending at once\n";
      (void)!write(STDERR_FILENO, message, sizeof message - 1);
      std::_Exit(128 + signal);  // what is durable stays durable; the next start recovers it
    }
    first = now;
    {
      const std::lock_guard lock{mutex_};
      received_ = signal;
    }
    came_.notify_all();
  }
}

}  // namespace seckill::app
