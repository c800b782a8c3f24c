#include "rehearse/client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace seckill::rehearse {

using SteadyClock = std::chrono::steady_clock;

Client::Client(std::uint16_t port, std::size_t connections_max, std::chrono::milliseconds deadline,
               OnResponse on_response)
    : port_{port},
      deadline_{deadline},
      on_response_{std::move(on_response)},
      connections_(std::max<std::size_t>(connections_max, 1)),
      last_sweep_{SteadyClock::now()} {
  for (std::size_t i = connections_.size(); i > 0; --i) free_.push_back(i - 1);
}

Client::~Client() {
  for (const Connection& connection : connections_) {
    if (connection.socket >= 0) ::close(connection.socket);
  }
  if (epoll_ >= 0) ::close(epoll_);
}

base::Status Client::open() {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return base::fail(base::Errc::unavailable, "opening an event queue", std::strerror(errno));
  return {};
}

void Client::send(std::uint64_t tag, std::string bytes, bool patient) {
  ++pending_;
  (patient ? patient_ : waiting_).push_back(Waiting{tag, std::move(bytes)});
}

void Client::step(std::chrono::milliseconds wait) {
  start_waiting();
  std::array<epoll_event, 256> events;
  const int ready =
      ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), static_cast<int>(wait.count()));
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const auto index = static_cast<std::size_t>(event.data.u64);
    if ((event.events & EPOLLOUT) != 0 && connections_[index].socket >= 0) write(index);
    if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && connections_[index].socket >= 0) read(index);
  }
  if (SteadyClock::now() - last_sweep_ > std::chrono::milliseconds{250}) end_overdue();
  start_waiting();
}

void Client::start_waiting() {
  while (!free_.empty() && !(waiting_.empty() && patient_.empty())) {
    std::deque<Waiting>& line = waiting_.empty() ? patient_ : waiting_;
    const std::size_t index = free_.back();
    free_.pop_back();
    Waiting request = std::move(line.front());
    line.pop_front();
    if (start(index, request)) continue;
    // No connection: told as "no answer", so that the crowd decides when to try again.
    --pending_;
    free_.push_back(index);
    on_response_(request.tag, Response{});
  }
}

bool Client::start(std::size_t index, Waiting& request) {
  Connection& connection = connections_[index];
  if (connection.socket < 0 && !connect(index)) return false;
  connection.busy = true;
  connection.tag = request.tag;
  connection.since = SteadyClock::now();
  connection.out = std::move(request.bytes);
  connection.written = 0;
  if (!connection.connecting) write(index);
  return true;
}

bool Client::connect(std::size_t index) {
  Connection& connection = connections_[index];
  connection.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection.socket < 0) return false;
  const int on = 1;
  ::setsockopt(connection.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* raw = std::bit_cast<const sockaddr*>(&address);
  const bool done = ::connect(connection.socket, raw, sizeof address) == 0;
  epoll_event event{};
  event.data.u64 = index;
  event.events = EPOLLIN;
  if ((!done && errno != EINPROGRESS) || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.socket, &event) != 0) {
    ::close(connection.socket);
    connection.socket = -1;
    return false;
  }
  connection.in.clear();
  connection.asked_writable = false;
  connection.connecting = !done;
  if (!done) watch(index, true);
  peak_ = std::max(peak_, ++open_);
  return true;
}

void Client::watch(std::size_t index, bool writable) {
  Connection& connection = connections_[index];
  if (connection.asked_writable == writable) return;
  connection.asked_writable = writable;
  epoll_event event{};
  event.data.u64 = index;
  event.events = writable ? (EPOLLIN | EPOLLOUT) : EPOLLIN;
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.socket, &event);
}

void Client::write(std::size_t index) {
  Connection& connection = connections_[index];
  connection.connecting = false;
  while (connection.written < connection.out.size()) {
    const ssize_t n = ::send(connection.socket, connection.out.data() + connection.written,
                             connection.out.size() - connection.written, MSG_NOSIGNAL);
    if (n > 0) {
      connection.written += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      watch(index, true);
      return;
    } else {
      broke(index);
      return;
    }
  }
  watch(index, false);
}

void Client::read(std::size_t index) {
  Connection& connection = connections_[index];
  std::array<char, 16 * 1024> buffer;
  const ssize_t n = ::recv(connection.socket, buffer.data(), buffer.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (n <= 0 || !connection.busy) {
    broke(index);
    return;
  }
  connection.in.append(buffer.data(), static_cast<std::size_t>(n));
  Response response;
  switch (parse_response(connection.in, response)) {
    case Parsed::incomplete: return;
    case Parsed::malformed: broke(index); return;
    case Parsed::complete: break;
  }
  // One request at a time a connection: whatever follows its answer breaks the protocol.
  if (response.bytes != connection.in.size())
    broke(index);
  else
    answered(index, response);
}

void Client::answered(std::size_t index, const Response& response) {
  Connection& connection = connections_[index];
  const std::uint64_t tag = connection.tag;
  const std::string bytes = std::exchange(connection.in, {});
  if (response.close) close(index);
  connection.busy = false;
  free_.push_back(index);
  --pending_;
  Response moved = response;
  moved.body = std::string_view{bytes}.substr(bytes.size() - response.body.size());
  on_response_(tag, moved);
}

void Client::broke(std::size_t index) {
  Connection& connection = connections_[index];
  close(index);
  if (!std::exchange(connection.busy, false)) return;  // an idle connection: it is in the free list already
  free_.push_back(index);
  --pending_;
  on_response_(connection.tag, Response{});
}

void Client::close(std::size_t index) {
  Connection& connection = connections_[index];
  ::close(connection.socket);
  connection.socket = -1;
  connection.connecting = false;
  connection.in.clear();
  --open_;
}

void Client::end_overdue() {
  const auto now = SteadyClock::now();
  last_sweep_ = now;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (connections_[i].busy && now - connections_[i].since > deadline_) broke(i);
  }
}

}  // namespace seckill::rehearse
