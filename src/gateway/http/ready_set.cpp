#include "gateway/http/ready_set.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace seckill::gateway::http {

ReadySet::ReadySet() : epoll_{::epoll_create1(EPOLL_CLOEXEC)} {
  // As when Asio cannot make its own: the server's start reports it.
  if (epoll_ < 0) throw std::system_error{errno, std::generic_category(), "epoll_create1"};
}

ReadySet::~ReadySet() { ::close(epoll_); }

bool ReadySet::add(int socket, Session& session) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &session;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) == 0;
}

std::span<const ReadySet::Ready> ReadySet::take() noexcept {
  const int count = ::epoll_wait(epoll_, events_.data(), static_cast<int>(batch), 0);
  std::size_t taken = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events_[static_cast<std::size_t>(i)];
    const bool ended = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    ready_[taken++] = {.session = static_cast<Session*>(event.data.ptr),
                       .readable = ended || (event.events & EPOLLIN) != 0,
                       .writable = ended || (event.events & EPOLLOUT) != 0,
                       .ended = ended};
  }
  return {ready_.data(), taken};
}

}  // namespace seckill::gateway::http
