#include "drivers/amqp/write_watch.hpp"

#include <sys/socket.h>

namespace seckill::drivers::amqp {

WriteWatch::WriteWatch(int socket, std::chrono::milliseconds longest)
    : socket_{socket}, longest_{longest}, thread_{threads_.start("amqp-watch", [this] { run(); })} {}

WriteWatch::~WriteWatch() {
  {
    const std::scoped_lock lock{mutex_};
    ending_ = true;
  }
  changed_->notify_all();
  thread_->join();
}

void WriteWatch::run() {
  std::unique_lock lock{mutex_};
  while (!ending_) {
    // A write that ended meanwhile and another that began look alike: each has an end of its own.
    if (threads_.now() >= until_.load(std::memory_order_relaxed)) (void)shutdown(socket_, SHUT_RDWR);
    changed_->wait_for(lock, longest_ / 4);
  }
}

}  // namespace seckill::drivers::amqp
