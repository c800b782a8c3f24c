#include "bare_epoll.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace seckill::bench {
namespace {

int checked(int result, const char* doing) {
  if (result < 0) {
    throw std::system_error(errno, std::generic_category(), doing);
  }
  return result;
}

void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  checked(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

}  // namespace

BareEpoll::BareEpoll(std::size_t request_bytes, std::string reply)
    : request_bytes_{request_bytes}, reply_{std::move(reply)} {
  listener_ = checked(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
  const int on = 1;
  ::setsockopt(listener_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  checked(::bind(listener_, reinterpret_cast<sockaddr*>(&at), size), "bind");
  checked(::listen(listener_, 512), "listen");
  checked(::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size), "getsockname");
  port_ = ntohs(at.sin_port);
  epoll_ = checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  stop_ = checked(::eventfd(0, EFD_CLOEXEC), "eventfd");
  watch(epoll_, listener_);
  watch(epoll_, stop_);
  thread_ = std::thread{[this] { run(); }};
  thread_id_.wait(0);
}

BareEpoll::~BareEpoll() {
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  thread_.join();
  ::close(listener_);
  ::close(epoll_);
  ::close(stop_);
}

void BareEpoll::run() {
  thread_id_.store(static_cast<int>(::gettid()));
  thread_id_.notify_all();
  std::array<epoll_event, 128> events;
  for (;;) {
    const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == stop_) {
        return;
      }
      if (fd == listener_) {
        accept_all();
      } else {
        serve(fd);
      }
    }
  }
}

void BareEpoll::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      return;
    }
    watch(epoll_, socket);
  }
}

void BareEpoll::serve(int socket) {
  std::array<char, 2048> bytes;
  const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
  if (got <= 0) {
    if (got == 0 || errno != EAGAIN) {
      ::close(socket);
    }
    return;
  }
  for (std::size_t n = static_cast<std::size_t>(got) / request_bytes_; n > 0; --n) {
    (void)!::send(socket, reply_.data(), reply_.size(), MSG_NOSIGNAL);
  }
}

}  // namespace seckill::bench
