// A stack of its own to run a function on, and the switch to and from it. The kernel's alone: everything else waits
// through the kernel. Sanitizers are told of each switch.
//
// Single-threaded. Stacks are kept for the next fiber; below each lies a page that faults when a stack overflows.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace seckill::sim {

class Fiber {
 public:
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

  explicit Fiber(std::move_only_function<void()> body);
  ~Fiber();  // Requires: never resumed, or finished
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it suspends or returns. Requires: not on a fiber, not finished. The body lets no exception out.
  void resume();
  // Back to whoever resumed. Requires: on this fiber.
  void suspend();
  [[nodiscard]] bool started() const noexcept { return started_; }
  [[nodiscard]] bool finished() const noexcept { return finished_; }

 private:
  struct Context;
  static void enter(unsigned low, unsigned high);
  void run();

  std::move_only_function<void()> body_;
  std::unique_ptr<Context> context_;
  bool started_ = false;
  bool finished_ = false;
};

}  // namespace seckill::sim
