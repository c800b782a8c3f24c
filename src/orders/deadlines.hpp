// Payment deadlines: a sweep over the index (state, pay_before) finds what is overdue and ends it (DESIGN §4.4). Embedded
// mode sweeps every 250 ms, so no timer can be lost (FS-25) and a deadline is met to a stated bound. Keeps P6.
#pragma once

#include <chrono>
#include <memory>

#include "base/clock.hpp"
#include "orders/ticket_ends.hpp"
#include "store/store.hpp"

namespace seckill::orders {

class Deadlines {
 public:
  Deadlines(store::Store& store, TicketEnds& ends, const base::Clock& clock,
            std::chrono::milliseconds every = std::chrono::milliseconds{250});
  ~Deadlines();
  void start();
  void stop();
  // One sweep now: expires what is overdue, up to a bound, and returns how many were submitted. A worker thread.
  std::size_t sweep();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seckill::orders
