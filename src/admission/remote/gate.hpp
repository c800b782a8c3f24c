// Counts what is under way, so that stopping can wait for it: whoever may be called back later holds a pass.
//
// A pass may outlive the gate's owner (a process that crashed in the simulator drops callbacks late): it holds the
// gate's state, never the owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/threads.hpp"

namespace seckill::admission::remote {

class Gate {
  struct State {
    std::atomic<std::uint64_t> inside{0};  // passes × 2, plus 1 once closed
    std::mutex mutex;
    std::unique_ptr<base::Signal> left;
  };

 public:
  // Held by what is under way; given back when destroyed. Movable. Any thread.
  class Pass {
   public:
    explicit Pass(std::shared_ptr<State> state) noexcept : state_{std::move(state)} {}
    Pass(Pass&& other) noexcept = default;
    Pass& operator=(Pass&& other) = delete;
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    ~Pass() {
      if (state_ == nullptr || state_->inside.fetch_sub(2, std::memory_order_acq_rel) != 3) return;
      // The last one of a closed gate. Under the lock, so that the one who waits is either waiting or still to look.
      const std::scoped_lock lock{state_->mutex};
      state_->left->notify_all();
    }

   private:
    std::shared_ptr<State> state_;
  };

  explicit Gate(base::Threads& threads) : state_{std::make_shared<State>()} { state_->left = threads.make_signal(); }

  // nullopt once closed. Any thread, does not block.
  [[nodiscard]] std::optional<Pass> enter() const noexcept {
    if ((state_->inside.fetch_add(2, std::memory_order_acq_rel) & 1U) != 0) {
      (void)Pass{state_};  // gives the count back
      return std::nullopt;
    }
    return Pass{state_};
  }
  // Nobody enters from now on. Idempotent. Any thread.
  void close() const noexcept { state_->inside.fetch_or(1, std::memory_order_acq_rel); }
  // Blocks until every pass was given back. Requires: closed.
  void wait_empty() const {
    std::unique_lock lock{state_->mutex};
    state_->left->wait(lock, [&] { return state_->inside.load(std::memory_order_acquire) == 1; });
  }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace seckill::admission::remote
