// The yardstick: the least a server can do and still answer over TCP. One thread, one epoll set, recv and send, no
// parsing: it trusts that requests have the stated size. Its CPU a request is the physical limit other servers are
// compared with.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace seckill::bench {

class BareEpoll {
 public:
  // Listens on a free loopback port. Throws std::system_error when it cannot.
  BareEpoll(std::size_t request_bytes, std::string reply);
  ~BareEpoll();
  BareEpoll(const BareEpoll&) = delete;
  BareEpoll& operator=(const BareEpoll&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] int thread_id() const noexcept { return thread_id_.load(); }

 private:
  void run();
  void accept_all();
  void serve(int socket);

  const std::size_t request_bytes_;
  const std::string reply_;
  int listener_ = -1;
  int epoll_ = -1;
  int stop_ = -1;  // an eventfd
  std::uint16_t port_ = 0;
  std::atomic<int> thread_id_{0};
  std::thread thread_;
};

}  // namespace seckill::bench
