// The generator: keep-alive connections in a closed loop, one outstanding request each, on the calling thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "contender.hpp"

namespace seckill::bench {

struct Window {
  std::uint64_t replies = 0;
  std::chrono::nanoseconds wall{0};
  std::chrono::nanoseconds server_cpu{0};
  std::chrono::nanoseconds longest_gap{0};  // between two turns of the generator: it, or the machine, was held up
};

// Connections to one contender. One thread. Throws std::runtime_error with a sentence when the contender misbehaves
// (refuses the connection, closes it, answers with another status, or stays silent for two seconds).
class Load {
 public:
  Load(const Contender& contender, unsigned connections);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Every connection asks again as soon as it is answered, for about `time`; then waits for the last replies, so that
  // the server sleeps when its CPU time is read.
  [[nodiscard]] Window run(std::chrono::nanoseconds time);
  // The same for a number of requests in all.
  [[nodiscard]] Window run_requests(std::uint64_t requests);

  [[nodiscard]] const Contender& contender() const noexcept { return contender_; }

 private:
  struct Connection {
    int socket = -1;
    std::string received;
  };
  [[nodiscard]] Window run_until(std::chrono::nanoseconds time, std::uint64_t requests);
  void ask(Connection& connection) const;
  [[nodiscard]] bool read_reply(Connection& connection);
  [[noreturn]] void fail(const std::string& why) const;

  const Contender contender_;
  int epoll_ = -1;
  std::vector<Connection> connections_;
};

}  // namespace seckill::bench
