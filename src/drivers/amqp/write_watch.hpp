// Ends a connection whose peer does not take what is written to it.
//
// The library waits without end for room in the socket's buffer, heartbeats or not, while a broker that is paused or in
// an alarm keeps its kernel acknowledging and reads nothing: neither the peer's silence nor TCP_USER_TIMEOUT ends that
// wait. So whoever writes says until when, and a thread of the connection's own shuts the socket down when that passes:
// the write then fails like on any lost connection.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include "base/threads.hpp"

namespace seckill::drivers::amqp {

class WriteWatch {
 public:
  // Watches writes to `socket`, which must stay open until the watch is gone. Looks every quarter of `longest`.
  WriteWatch(int socket, std::chrono::milliseconds longest);
  ~WriteWatch();
  WriteWatch(const WriteWatch&) = delete;
  WriteWatch& operator=(const WriteWatch&) = delete;

  // While it lives a write is under way, and `beyond` more than the longest time is allowed. Not nested; by the thread
  // that uses the connection.
  class Writing {
   public:
    Writing(WriteWatch& watch, std::chrono::milliseconds beyond) noexcept : watch_{watch} {
      watch_.until_.store(watch_.threads_.now() + watch_.longest_ + beyond, std::memory_order_relaxed);
    }
    ~Writing() { watch_.until_.store(never, std::memory_order_relaxed); }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

   private:
    WriteWatch& watch_;
  };

 private:
  static constexpr std::chrono::nanoseconds never = std::chrono::nanoseconds::max();

  void run();

  base::Threads& threads_ = base::system_threads();
  const int socket_;
  const std::chrono::nanoseconds longest_;
  std::atomic<std::chrono::nanoseconds> until_{never};
  std::mutex mutex_;
  bool ending_ = false;
  std::unique_ptr<base::Signal> changed_ = threads_.make_signal();
  std::unique_ptr<base::Thread> thread_;
};

}  // namespace seckill::drivers::amqp
