// A bounded number of places that work must hold while it is under way (P9): without one it is refused before anything
// was taken. A place may outlive its owner, as a pass of the gate.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace seckill::admission::remote {

class Places {
  struct State {
    std::atomic<std::size_t> left;
  };

 public:
  // Given back when destroyed. Movable. Any thread.
  class Place {
   public:
    explicit Place(std::shared_ptr<State> state) noexcept : state_{std::move(state)} {}
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&& other) noexcept {
      std::swap(state_, other.state_);
      return *this;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      if (state_ != nullptr) state_->left.fetch_add(1, std::memory_order_acq_rel);
    }

   private:
    std::shared_ptr<State> state_;
  };

  explicit Places(std::size_t count) : state_{std::make_shared<State>()}, count_{count} { state_->left = count; }

  // nullopt: all are taken. Any thread.
  [[nodiscard]] std::optional<Place> try_take() const noexcept {
    std::size_t left = state_->left.load(std::memory_order_relaxed);
    while (left > 0) {
      if (state_->left.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) return Place{state_};
    }
    return std::nullopt;
  }
  [[nodiscard]] std::size_t taken() const noexcept { return count_ - state_->left.load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<State> state_;
  std::size_t count_;
};

}  // namespace seckill::admission::remote
