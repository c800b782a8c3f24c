// Payment deadlines: a sweep over the index (state, pay_before) finds what is overdue and ends it (DESIGN §4.4).
// Embedded mode sweeps every 250 ms, so no timer can be lost (FS-25) and a deadline is met to a stated bound. Keeps P6.
//
// The sweep only proposes: whether an order is overdue is judged once more, by the store, in the update that ends it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/clock.hpp"
#include "base/threads.hpp"
#include "orders/ticket_ends.hpp"
#include "store/store.hpp"

namespace seckill::orders {

// What the sweeps have found. Any thread, each value by itself.
struct DeadlineCounters {
  std::atomic<std::uint64_t> sweeps{0};
  std::atomic<std::uint64_t> submitted{0};
  std::atomic<std::uint64_t> expired{0};    // ended here
  std::atomic<std::uint64_t> overtaken{0};  // paid or cancelled between the sweep and its move
  std::atomic<std::uint64_t> store_errors{0};
  std::atomic<std::int64_t> oldest_overdue_ms{0};  // at the last sweep: how late the longest waiting order is; 0 = none
  std::atomic<std::uint64_t> in_flight{0};         // submitted, not yet answered
};

class Deadlines {
 public:
  // Borrows store, ends, clock and threads for its whole life. `every` is the threads' time between sweeps; a sweep
  // that found a full page is followed by the next as soon as its tickets have ended.
  Deadlines(store::Store& store, TicketEnds& ends, const base::Clock& clock,
            std::chrono::milliseconds every = std::chrono::milliseconds{250},
            base::Threads& threads = base::system_threads());
  ~Deadlines();  // stops

  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  void start();
  // Ends the thread; what is in flight is still answered by TicketEnds. Harmless to repeat.
  void stop();
  // One sweep now: submits what is overdue, up to 1,000 tickets, none that is still in flight, and returns how many.
  // 0 also when the store could not be asked. Blocks on the store; any thread but an io thread.
  std::size_t sweep();
  // The thread's next sweep begins now (the bell). Any thread, does not block.
  void sweep_soon();

  [[nodiscard]] const DeadlineCounters& counters() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seckill::orders
