#include "load.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace seckill::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Size of the first whole reply in `bytes`, 0 when it is not whole yet, npos when it is no reply.
std::size_t reply_bytes(std::string_view bytes) {
  const std::size_t head = bytes.find("\r\n\r\n");
  if (head == std::string_view::npos) {
    return 0;
  }
  constexpr std::string_view name = "Content-Length: ";
  const std::size_t at = bytes.substr(0, head).find(name);
  if (at == std::string_view::npos) {
    return std::string_view::npos;
  }
  std::size_t length = 0;
  std::from_chars(bytes.data() + at + name.size(), bytes.data() + head, length);
  const std::size_t whole = head + 4 + length;
  return bytes.size() >= whole ? whole : 0;
}

}  // namespace

Load::Load(const Contender& contender, unsigned connections) : contender_{contender}, connections_(connections) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connections_[i].socket = socket;
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(contender_.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (socket < 0 || ::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
      fail("cannot be reached");
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
  }
}

Load::~Load() {
  for (const Connection& connection : connections_) {
    if (connection.socket >= 0) {
      ::close(connection.socket);
    }
  }
  ::close(epoll_);
}

void Load::fail(const std::string& why) const {
  throw std::runtime_error(contender_.name + " on port " + std::to_string(contender_.port) + " " + why);
}

void Load::ask(Connection& connection) const {
  const std::string_view request = contender_.next_request ? contender_.next_request() : contender_.request;
  if (::send(connection.socket, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    fail("closed a connection");
  }
}

bool Load::read_reply(Connection& connection) {
  std::array<char, 8192> bytes;
  const ssize_t got = ::recv(connection.socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got <= 0) {
    fail("closed a connection");
  }
  connection.received.append(bytes.data(), static_cast<std::size_t>(got));
  const std::size_t whole = reply_bytes(connection.received);
  if (whole == 0) {
    return false;
  }
  if (whole == std::string_view::npos) {
    fail("answered without Content-Length");
  }
  int status = 0;
  std::from_chars(connection.received.data() + 9, connection.received.data() + 12, status);
  if (contender_.expected_status != 0 && status != contender_.expected_status) {
    fail("answered " + std::to_string(status) + " instead of " + std::to_string(contender_.expected_status) + ": " +
         connection.received.substr(0, 400));
  }
  connection.received.erase(0, whole);
  return true;
}

Window Load::run(std::chrono::nanoseconds time) { return run_until(time, std::numeric_limits<std::uint64_t>::max()); }

Window Load::run_requests(std::uint64_t requests) { return run_until(std::chrono::hours{1}, requests); }

Window Load::run_until(std::chrono::nanoseconds time, std::uint64_t requests) {
  Window window;
  const auto cpu_before = cpu_time(contender_.threads);
  const auto begin = Clock::now();
  std::uint64_t asked = 0;
  for (Connection& connection : connections_) {
    if (asked < requests) {
      ask(connection);
      ++asked;
    }
  }
  auto last = begin;
  std::array<epoll_event, 128> events;
  while (window.replies < asked) {
    const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 2'000);
    if (ready <= 0) {
      fail("stayed silent for two seconds");
    }
    const auto now = Clock::now();
    window.longest_gap = std::max(window.longest_gap, now - last);
    last = now;
    const bool more = now - begin < time;
    for (int i = 0; i < ready; ++i) {
      Connection& connection = connections_[events[static_cast<std::size_t>(i)].data.u64];
      if (!read_reply(connection)) {
        continue;
      }
      ++window.replies;
      if (more && asked < requests) {
        ask(connection);
        ++asked;
      }
    }
  }
  window.wall = Clock::now() - begin;
  window.server_cpu = cpu_time(contender_.threads) - cpu_before;
  return window;
}

}  // namespace seckill::bench
