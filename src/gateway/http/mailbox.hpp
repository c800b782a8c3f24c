// How answers given on other threads reach a session: a list under a mutex, and one wake-up for all that gather until
// the io thread takes them. Shared by reference count between the loop and the slots handed out, so a slot may outlive
// the server. Bounded by itself: a request has one slot, a slot one delivery, a thread a capped number of connections.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "gateway/http/reply.hpp"

namespace seckill::gateway::http {

class Session;

// One answer on its way: rendered, or else shared, or else neither, when the slot was dropped (busy).
struct Delivery {
  Session* session = nullptr;
  std::uint64_t serial = 0;
  RenderedReply rendered{};
  std::shared_ptr<const PreparedReply> shared{};
};

class Mailbox {
 public:
  // `wake` makes the io thread call take() soon; called under the lock, never after close().
  explicit Mailbox(std::function<void()> wake) : wake_{std::move(wake)} {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Any thread. Discards when closed.
  void post(Delivery delivery);
  // The io thread: everything posted so far replaces the content of `into`.
  void take(std::vector<Delivery>& into);
  // After this nothing is woken or kept. Any thread.
  void close();

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

  // The mailbox of the io thread that runs this code, or null on any other thread.
  [[nodiscard]] static Mailbox* of_this_thread() noexcept;
  static void set_of_this_thread(Mailbox* mailbox) noexcept;

 private:
  ~Mailbox() = default;

  std::atomic<std::uint64_t> references_{1};
  std::mutex mutex_;
  std::vector<Delivery> waiting_;  // under mutex_
  bool closed_ = false;            // under mutex_
  std::function<void()> wake_;     // under mutex_
};

}  // namespace seckill::gateway::http
