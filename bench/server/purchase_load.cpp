#include "purchase_load.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <stdexcept>

#include "rehearse/wire.hpp"

namespace seckill::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Connection {
  int socket = -1;
  std::size_t request = 0;
  Clock::time_point due;
  std::string received;
};

class Loop {
 public:
  Loop(const std::vector<std::uint16_t>& ports, std::span<const std::string> requests, unsigned connections,
       const std::function<void(const LoadReply&)>& on_reply)
      : requests_{requests}, on_reply_{on_reply}, connections_(connections) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      connections_[i].socket = open(ports[i % ports.size()]);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_[i].socket, &event);
      free_.push_back(i);
    }
  }
  ~Loop() {
    for (const Connection& connection : connections_) ::close(connection.socket);
    ::close(epoll_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  LoadResult run(double rate_per_s, std::chrono::nanoseconds time) {
    LoadResult result;
    result.latency_ms.reserve(requests_.size());
    const auto begin = Clock::now();
    auto last_reply = begin;
    std::size_t next = 0;
    while (true) {
      const auto now = Clock::now();
      const bool more = next < requests_.size() && now - begin < time;
      if (more) next = ask(next, begin, now, rate_per_s);
      if (!more && free_.size() == connections_.size()) break;
      const int wait_ms = rate_per_s > 0 && more ? 1 : 1'000;
      if (collect(wait_ms, result)) last_reply = Clock::now();
      if (Clock::now() - last_reply > std::chrono::seconds{10}) throw std::runtime_error("the server fell silent");
    }
    result.wall = last_reply - begin;
    result.unsent = requests_.size() - next;
    return result;
  }

 private:
  static int open(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (socket < 0 || ::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
      throw std::runtime_error("the server cannot be reached");
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
  }

  // Sends what is due on free connections; the index of the next request.
  std::size_t ask(std::size_t next, Clock::time_point begin, Clock::time_point now, double rate_per_s) {
    while (!free_.empty() && next < requests_.size()) {
      auto due = now;
      if (rate_per_s > 0) {
        due = begin + std::chrono::nanoseconds{static_cast<std::int64_t>(1e9 * static_cast<double>(next) / rate_per_s)};
        if (due > now) break;
      }
      Connection& connection = connections_[free_.front()];
      free_.pop_front();
      connection.due = due;
      connection.request = next;
      const std::string& request = requests_[next++];
      if (::send(connection.socket, request.data(), request.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(request.size())) {
        throw std::runtime_error("the server closed a connection");
      }
    }
    return next;
  }

  bool collect(int wait_ms, LoadResult& result) {
    std::array<epoll_event, 256> events;
    const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait_ms);
    for (int i = 0; i < ready; ++i) {
      const std::size_t index = events[static_cast<std::size_t>(i)].data.u64;
      Connection& connection = connections_[index];
      std::array<char, 8192> bytes;
      const ssize_t got = ::recv(connection.socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got <= 0) throw std::runtime_error("the server closed a connection");
      connection.received.append(bytes.data(), static_cast<std::size_t>(got));
      rehearse::Response response;
      if (rehearse::parse_response(connection.received, response) != rehearse::Parsed::complete) continue;
      ++result.replies[response.status];
      const auto now = Clock::now();
      result.latency_ms.push_back(std::chrono::duration<float, std::milli>{now - connection.due}.count());
      if (on_reply_) on_reply_({.request = connection.request, .status = response.status, .at = now});
      connection.received.clear();
      free_.push_back(index);
    }
    return ready > 0;
  }

  std::span<const std::string> requests_;
  const std::function<void(const LoadReply&)>& on_reply_;
  std::vector<Connection> connections_;
  std::deque<std::size_t> free_;  // in turn, so that none is closed for being idle
  int epoll_ = -1;
};

}  // namespace

float quantile(std::vector<float>& values, double p) {
  const auto at = static_cast<std::ptrdiff_t>(p * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

LoadResult send_all(const std::vector<std::uint16_t>& ports, std::span<const std::string> requests,
                    unsigned connections, double rate_per_s, std::chrono::nanoseconds time,
                    const std::function<void(const LoadReply&)>& on_reply) {
  Loop loop{ports, requests, connections, on_reply};
  return loop.run(rate_per_s, time);
}

}  // namespace seckill::bench
