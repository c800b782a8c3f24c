// Inside the kernel: the queue of events, the fibers and their waits. For kernel.cpp and threads.cpp alone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulation/kernel/fiber.hpp"
#include "simulation/kernel/kernel.hpp"

namespace seckill::sim {

// One wait of one fiber, or of the test's own thread (fiber 0). A token of a wait that is over wakes nobody.
struct WaitToken {
  std::uint64_t fiber = 0;
  std::uint64_t number = 0;
};

struct Kernel::Impl {
  struct Event {
    Time at{};
    std::uint64_t order = 0;
    Node* node = nullptr;  // set: dropped unless this node still lives this life
    std::uint64_t life = 0;
    std::move_only_function<void()> run;
  };
  struct FiberState {
    std::uint64_t id = 0;
    Node* node = nullptr;
    std::uint64_t life = 0;
    std::unique_ptr<Fiber> fiber;
    std::uint64_t wait = 0;  // number of its present wait
    bool waiting = false;
    bool crashed = false;  // its next wait throws
    std::vector<WaitToken> joining;
  };
  struct PlannedCrash {
    std::string point;
    std::uint64_t left = 0;
    Time down_for{};
  };

  explicit Impl(Kernel& kernel_in, std::uint64_t seed)
      : kernel{kernel_in}, random{seed}, wake_random{random.fork("wake")} {}

  Kernel& kernel;
  Random random;
  Random wake_random;
  Time now{};
  std::uint64_t next_order = 1;
  std::uint64_t events_run = 0;
  std::uint64_t fingerprint = 0;
  std::vector<Event> events;  // a heap, the earliest on top

  std::map<std::uint64_t, std::unique_ptr<FiberState>> fibers;  // in the order of their start
  std::uint64_t next_fiber = 1;
  FiberState* current = nullptr;  // the fiber that runs
  Node* running = nullptr;
  bool in_event = false;
  std::uint64_t own_wait = 0;  // the test's own thread's
  bool own_ready = false;

  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::pair<Node*, Time>> to_unwind;  // crashed inside an event; a negative time: not by passing()
  std::vector<PlannedCrash> planned;
  std::function<void(Node&, Time)> on_crash;
  std::vector<std::pair<std::string, std::uint64_t>> passages;
  std::vector<std::pair<std::string, std::uint64_t>> crashed_at;
  std::deque<std::string> story;

  void plan(Time delay, Node* node, std::move_only_function<void()> run);
  // Runs the earliest event; false when there is none up to `until`.
  bool step(Time until);
  void run_crashes();
  void crash(Node& node, Time down_for);
  void unwind(Node& node);

  std::uint64_t start_fiber(Node& node, std::move_only_function<void()> body);
  void resume(FiberState& state);
  [[nodiscard]] FiberState* find_fiber(std::uint64_t id) noexcept;

  // begin_wait() throws NodeCrashed when the caller's node is dead. Requires: on a fiber, or outside events.
  [[nodiscard]] WaitToken begin_wait();
  void wait(WaitToken token);
  // Harmless when that wait is over or its fiber gone.
  void wake(WaitToken token);
  [[nodiscard]] bool is_waiting(WaitToken token) noexcept;
};

}  // namespace seckill::sim
