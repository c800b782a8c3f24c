#include "gateway/http/mailbox.hpp"

#include <utility>

namespace seckill::gateway::http {
namespace {

constinit thread_local Mailbox* this_threads_mailbox = nullptr;

}  // namespace

void Mailbox::post(Delivery delivery) {
  const std::scoped_lock lock{mutex_};
  if (closed_) {
    return;
  }
  waiting_.push_back(std::move(delivery));
  if (waiting_.size() == 1) {
    wake_();
  }
}

void Mailbox::take(std::vector<Delivery>& into) {
  into.clear();
  const std::scoped_lock lock{mutex_};
  waiting_.swap(into);
}

void Mailbox::close() {
  const std::scoped_lock lock{mutex_};
  closed_ = true;
  waiting_.clear();
  wake_ = nullptr;
}

Mailbox* Mailbox::of_this_thread() noexcept { return this_threads_mailbox; }
void Mailbox::set_of_this_thread(Mailbox* mailbox) noexcept { this_threads_mailbox = mailbox; }

}  // namespace seckill::gateway::http
