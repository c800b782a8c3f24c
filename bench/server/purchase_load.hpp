// The generator for admissions: every request is another buyer's, in a closed loop (the most the server gives) or open
// loop at a fixed rate, where latency counts from the instant a request was due, so a stall is not hidden by waiting
// politely.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace seckill::bench {

struct LoadResult {
  std::map<int, std::uint64_t> replies;   // by status
  std::chrono::duration<double> wall{0};  // until the last reply
  std::vector<float> latency_ms;          // one a reply, in the order of replies
  std::uint64_t unsent = 0;               // the time was over first
};

// One reply: which request, its status and when it came.
struct LoadReply {
  std::size_t request = 0;
  int status = 0;
  std::chrono::steady_clock::time_point at;
};

// The p-th quantile (0..1). Requires: values is not empty. Reorders values.
[[nodiscard]] float quantile(std::vector<float>& values, double p);

// Sends the requests, each once, over `connections` keep-alive connections, shared evenly by the servers on `ports`,
// from the calling thread. rate_per_s 0: closed loop. Stops asking after `time`. `on_reply`, when given, hears of every
// reply. Throws std::runtime_error when a server closes a connection or all are silent for 10 s.
[[nodiscard]] LoadResult send_all(const std::vector<std::uint16_t>& ports, std::span<const std::string> requests,
                                  unsigned connections, double rate_per_s, std::chrono::nanoseconds time,
                                  const std::function<void(const LoadReply&)>& on_reply = nullptr);

}  // namespace seckill::bench
