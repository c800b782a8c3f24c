// What a benchmark compares: servers that listen on loopback, and the threads whose CPU time they cost.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace seckill::bench {

// A server under test. It runs before measuring starts and listens on 127.0.0.1; it may be in this process or another.
struct Contender {
  std::string name;
  std::uint16_t port = 0;
  std::vector<int> threads;  // kernel thread ids of its io threads; threads_of() finds those of another process
  std::string request;       // the bytes of one request; every reply must carry Content-Length
  int expected_status = 0;   // replies with another status fail the run; 0: any
  // Set: the bytes of the next request, instead of the same ones each time. They live until the next call.
  std::function<std::string_view()> next_request = nullptr;
};

// Every thread of a process, for contenders that are processes of their own.
[[nodiscard]] std::vector<int> threads_of(pid_t process);

// CPU time the threads have used so far, from their schedstat; a thread that has ended counts 0. Exact while they
// sleep.
[[nodiscard]] std::chrono::nanoseconds cpu_time(const std::vector<int>& threads);

// Binds a thread (0: the calling one) to the n-th of the cores this process may use. False where that is not allowed.
bool pin(int thread, unsigned core);

// How many cores this process may use.
[[nodiscard]] unsigned cores();

}  // namespace seckill::bench
