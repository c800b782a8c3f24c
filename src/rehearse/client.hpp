// Many keep-alive connections to one local port, driven by one thread: what plays the crowd's phones. Requests beyond
// the connections wait in order, so a slow server is seen as latency and never slows the crowd's schedule down.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "rehearse/wire.hpp"

namespace seckill::rehearse {

// One thread. Sends to 127.0.0.1 only.
class Client {
 public:
  // Called from step() with the tag given to send(). The response's body is valid during the call; send() is allowed.
  using OnResponse = std::function<void(std::uint64_t tag, const Response& response)>;

  Client(std::uint16_t port, std::size_t connections_max, std::chrono::milliseconds deadline, OnResponse on_response);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Errc::unavailable: the system gives no event queue.
  [[nodiscard]] base::Status open();

  // `bytes` is a whole request. Exactly one response follows; status 0 when none came within the deadline or the
  // connection broke. While all connections are busy, what is not `patient` goes first: phones do not queue behind
  // each other, so what a crowd's early lookers ask must not delay its clicks.
  void send(std::uint64_t tag, std::string bytes, bool patient = false);

  // Waits at most `wait` for something to happen and handles it.
  void step(std::chrono::milliseconds wait);

  // Sent or waiting, and not yet answered.
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }
  // The most connections that were open at one time.
  [[nodiscard]] std::size_t connections_peak() const noexcept { return peak_; }

 private:
  struct Connection {
    int socket = -1;
    bool busy = false;
    bool connecting = false;
    bool asked_writable = false;
    std::uint64_t tag = 0;
    std::chrono::steady_clock::time_point since;
    std::string out;
    std::size_t written = 0;
    std::string in;
  };
  struct Waiting {
    std::uint64_t tag;
    std::string bytes;
  };

  void start_waiting();
  bool start(std::size_t index, Waiting& request);
  bool connect(std::size_t index);
  void write(std::size_t index);
  void read(std::size_t index);
  void watch(std::size_t index, bool writable);
  void answered(std::size_t index, const Response& response);
  void broke(std::size_t index);
  void close(std::size_t index);
  void end_overdue();

  const std::uint16_t port_;
  const std::chrono::milliseconds deadline_;
  OnResponse on_response_;
  int epoll_ = -1;
  std::vector<Connection> connections_;
  std::vector<std::size_t> free_;
  std::deque<Waiting> waiting_;
  std::deque<Waiting> patient_;
  std::size_t pending_ = 0;
  std::size_t open_ = 0;
  std::size_t peak_ = 0;
  std::chrono::steady_clock::time_point last_sweep_;
};

}  // namespace seckill::rehearse
