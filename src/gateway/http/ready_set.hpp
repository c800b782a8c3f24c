// Which of a loop's connections have something to read or room to write: one edge-triggered epoll set inside the loop's
// own event loop, asked once for many connections.
//
// Asio's stream operations would do, at the price of one empty recv a request (after each completed read Asio tries the
// next at once) and of an operation object, a queue and a lock each; together about a tenth of what a refusal costs.
// Owned by one io thread.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace seckill::gateway::http {

class Session;

class ReadySet {
 public:
  ReadySet();
  ~ReadySet();
  ReadySet(const ReadySet&) = delete;
  ReadySet& operator=(const ReadySet&) = delete;

  // Watches a connected socket for its session until it is closed. False when the system has no room for it.
  [[nodiscard]] bool add(int socket, Session& session) noexcept;

  struct Ready {
    Session* session;
    bool readable;
    bool writable;
    bool ended;  // the peer sends no more, or the connection is broken: a read tells which
  };
  // What became ready since the last call, at most `batch` of it; does not wait. The result is valid until the next
  // call.
  [[nodiscard]] std::span<const Ready> take() noexcept;

  // Becomes readable when take() has something to give.
  [[nodiscard]] int descriptor() const noexcept { return epoll_; }

  static constexpr std::size_t batch = 128;

 private:
  int epoll_ = -1;
  std::array<epoll_event, batch> events_;
  std::array<Ready, batch> ready_;
};

}  // namespace seckill::gateway::http
