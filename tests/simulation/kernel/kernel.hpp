// The simulator's kernel: virtual time, fibers and nodes on one thread, decided by one seed.
//
// Virtual time jumps from event to event; nothing ever waits in real time. Product code that owns threads runs as
// fibers (SimThreads implements base::Threads); product code that is called back runs inside events. A simulated server
// (store, lanes, broker) is a device: it answers through await() or by events, after delays and with faults of its own
// choosing.
//
// A node is one process. crash() is kill -9: its fibers are unwound at their present wait, what it sends from then on
// is dropped, and answers that are on their way to that life are dropped too. Everything here is single-threaded.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/threads.hpp"
#include "simulation/kernel/random.hpp"

namespace seckill::sim {

using namespace std::chrono_literals;
using Time = std::chrono::nanoseconds;  // virtual, since the start of the run

class Node;

// Thrown out of a wait on a fiber whose node has crashed: unwinds it. Not derived from std::exception, so that product
// code that catches those does not swallow it. Never caught outside the kernel.
struct NodeCrashed {};

class Kernel {
 public:
  // What true time says at the start; devices and nodes show it with their own error.
  static constexpr base::UtcMs utc_at_start = 1'800'000'000'000;

  explicit Kernel(std::uint64_t seed);
  ~Kernel();  // crashes every node, unwinds every fiber
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  [[nodiscard]] Time now() const noexcept;
  [[nodiscard]] base::UtcMs utc() const noexcept;
  [[nodiscard]] Random& random() noexcept;

  // Runs `event` after `delay` in no node's name. Events of one instant run in the order they were planned.
  void after(Time delay, std::move_only_function<void()> event);
  // As above in the name of the node: dropped when the node has crashed since this call.
  void after(Node& node, Time delay, std::move_only_function<void()> event);

  // Runs events until `until`, or until none is left. Not inside an event.
  void run_until(Time until);
  // Runs events until the condition holds (checked after each) or `longest` passed; true when it holds.
  bool run_until(const std::function<bool()>& condition, Time longest);

  // Blocks until `done` was called with the value and gives it back. On a fiber: the fiber waits, others go on; throws
  // NodeCrashed when its node crashes meanwhile. Not on a fiber (a test's own thread): runs events until then.
  // `begin` is called at once and must arrange for `done` to be called exactly once, perhaps at once.
  template <typename T>
  T await(std::move_only_function<void(std::move_only_function<void(T)>)> begin) {
    auto slot = std::make_shared<std::optional<T>>();
    wait_until_ready([&](std::move_only_function<void()> ready) {
      begin([slot, ready = std::move(ready)](T value) mutable {
        slot->emplace(std::move(value));
        ready();
      });
    });
    return std::move(**slot);
  }
  // Lets virtual time pass for whoever calls, as await().
  void sleep(Time time);

  // The node whose fiber or event is running; nullptr in events of nobody.
  [[nodiscard]] Node* running() const noexcept;
  // True on a fiber.
  [[nodiscard]] bool on_fiber() const noexcept;

  [[nodiscard]] Node& add_node(std::string name);
  [[nodiscard]] const std::vector<std::unique_ptr<Node>>& nodes() const noexcept;

  // Called by devices where a crash is interesting: "c4", "rebuild.committed". Counts the passage; when the run's plan
  // says so, crashes the running node: the caller's next wait throws, and ports drop what it still sends.
  void passing(std::string_view point);
  // The plan: crash whichever node passes `point` for the `nth` time (from 1) from now on.
  void crash_at(std::string point, std::uint64_t nth, Time down_for);
  // Drops every planned crash that has not come.
  void cancel_crashes();
  // Called after a node crashed by passing(); the world restarts it then.
  void on_crash(std::function<void(Node&, Time down_for)> crashed);
  [[nodiscard]] const std::vector<std::pair<std::string, std::uint64_t>>& passages() const noexcept;
  // Points at which a node was crashed, and how often.
  [[nodiscard]] const std::vector<std::pair<std::string, std::uint64_t>>& crashed_at() const noexcept;

  // One line of the run's story, kept in a bounded ring; the last lines are printed when a seed fails.
  void note(std::string line);
  [[nodiscard]] std::vector<std::string> story() const;

  [[nodiscard]] std::uint64_t events_run() const noexcept;
  // A digest of everything that happened so far: two runs of one seed have the same.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept;

  struct Impl;  // the kernel's own files only

 private:
  friend class Node;
  void wait_until_ready(std::move_only_function<void(std::move_only_function<void()>)> begin);
  std::unique_ptr<Impl> impl_;
};

// One process of the simulated deployment.
class Node {
 public:
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] Kernel& kernel() noexcept;
  [[nodiscard]] bool alive() const noexcept;
  // Raised at each crash: an answer on its way to an older life is dropped.
  [[nodiscard]] std::uint64_t life() const noexcept;
  // The node's wall clock is true time plus its skew; its steady clock is virtual time.
  [[nodiscard]] const base::Clock& clock() const noexcept;
  void set_skew(std::chrono::milliseconds skew) noexcept;
  // Fibers in this node's name. Threads started after a crash belong to the new life.
  [[nodiscard]] base::Threads& threads() noexcept;

  // kill -9: everything that runs in its name stops where it waits. Harmless to repeat.
  void crash();
  // Alive again, with nothing running: the world builds its objects anew.
  void restart();

 private:
  friend class Kernel;
  Node(Kernel& kernel, std::string name);
  void die() noexcept;
  struct Impl;
  std::unique_ptr<Impl> impl_;

 public:
  ~Node();
};

}  // namespace seckill::sim
