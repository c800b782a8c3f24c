// The bell that says when payment deadlines pass, so that an expiry need not wait for the next sweep (DESIGN §4.4). It
// may be lost or ring early: the store's index decides, the sweep stands behind it (FS-25).
#pragma once

#include <chrono>

namespace seckill::queue {

class DeadlineBellRinger {
 public:
  virtual ~DeadlineBellRinger() = default;
  // Orders of this pay window have just landed: ring when it has passed. One call a landed batch. Any thread, does not
  // block; dropped when it cannot be sent.
  virtual void ring_after(std::chrono::milliseconds pay_window) noexcept = 0;
};

}  // namespace seckill::queue
