// Accepting connections: in batches, within the caps, and never giving up. Running out of descriptors pauses accepting
// for a moment; the waiting connections stay in the kernel's backlog and are served when descriptors return.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "gateway/http/loop.hpp"

namespace seckill::gateway::http {
namespace {

constexpr int accepts_per_turn = 64;   // then the loop serves others first
constexpr int failures_per_turn = 16;  // a client that aborts is no reason to pause; a stream of errors is
constexpr std::chrono::milliseconds accept_pause{100};

PeerAddress peer_of(const sockaddr_storage& storage) noexcept {
  PeerAddress peer;
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    peer.bytes[10] = peer.bytes[11] = 0xff;
    std::memcpy(peer.bytes.data() + 12, &v4.sin_addr, 4);
    peer.is_v4 = true;
  } else if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof v6);
    std::memcpy(peer.bytes.data(), &v6.sin6_addr, 16);
    peer.is_v4 = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
  }
  return peer;
}

}  // namespace

void Loop::arm_accept() {
  if (!acceptor_.is_open()) {
    return;
  }
  acceptor_.async_wait(Acceptor::wait_read, [this](const boost::system::error_code& ec) {
    if (!ec) {
      accept_ready();
    }
  });
}

void Loop::accept_ready() {
  int failures = 0;
  for (int i = 0; i < accepts_per_turn; ++i) {
    if (!accept_one(failures)) {
      if (failures > 0) {
        back_off(errno);
        return;
      }
      break;
    }
  }
  arm_accept();
}

// False when there is nothing to accept (failures is 0 then) or accepting should pause (errno says why).
bool Loop::accept_one(int& failures) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  const int socket =
      ::accept4(acceptor_.native_handle(), reinterpret_cast<sockaddr*>(&storage), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket >= 0) {
    admit(socket, peer_of(storage));
    return true;
  }
  switch (errno) {
    case EAGAIN: failures = 0; return false;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: failures = failures_per_turn; return false;
    default: return ++failures < failures_per_turn;  // this connection failed (ECONNABORTED …), the next may not
  }
}

void Loop::admit(int socket, const PeerAddress& peer) {
  counters_.accepted.add();
  if (counters_.open.read() >= shared_.config.connections_per_thread_max) {
    counters_.over_thread_cap.add();
    turn_away(socket);
    return;
  }
  ConnectionCaps::Key key = 0;
  if (!shared_.caps.try_take(peer, key)) {
    counters_.over_address_cap.add();
    turn_away(socket);
    return;
  }
  Session& session = free_session();
  counters_.open.add();
  if (!session.open(socket, peer, key)) {
    shared_.caps.release(key);
    recycle(session);
  }
}

// A word of explanation if the kernel takes it, and the end. The request, if one has arrived, is not read.
void Loop::turn_away(int socket) noexcept {
  const std::string_view bytes = shared_.config.replies.busy.bytes(/*close=*/true, /*head_only=*/false);
  (void)!::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::close(socket);
}

void Loop::back_off(int error) {
  counters_.accept_errors.add();
  fault(fmt::format("accepting pauses for {} ms: {}", accept_pause.count(), std::strerror(error)));
  accept_timer_.expires_after(accept_pause);
  accept_timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec && acceptor_.is_open()) {
      accept_ready();
    }
  });
}

// What stands in the backlog has been told that it is connected, so it is taken in before the door closes.
void Loop::close_acceptor() {
  if (!acceptor_.is_open()) {
    return;
  }
  int failures = 0;
  for (int i = 0; i < shared_.config.backlog && accept_one(failures); ++i) {
  }
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  accept_timer_.cancel();
}

Session& Loop::free_session() {
  if (free_.empty()) {
    sessions_.push_back(std::make_unique<Session>(*this));
    return *sessions_.back();
  }
  Session& session = *free_.back();
  free_.pop_back();
  return session;
}

}  // namespace seckill::gateway::http
