// What can go wrong between a client and the simulated database. One for a run, shared by all connections; the world
// changes it as it likes, the next call feels it.
#pragma once

#include <chrono>
#include <cstdint>

namespace seckill::sim {

struct StoreFaults {
  using Time = std::chrono::nanoseconds;

  // Nothing gets through: calls answer `unavailable`, what was on its way is not executed and answers `timeout`.
  bool down = false;

  // The store lives in its client's process, as SQLite does: no call outlives a crash, none is told `timeout`. The
  // rates below that end in `timeout` and the deadline have no meaning then.
  bool in_process = false;

  // Of a thousand calls. At most one fault a call; their sum is at most 1000.
  std::uint32_t unavailable = 0;   // not executed, and the caller knows
  std::uint32_t disk_full = 0;     // as above, of writes
  std::uint32_t lost_request = 0;  // told `timeout`, never executed
  std::uint32_t lost_reply = 0;    // told `timeout`, executed in time
  std::uint32_t late = 0;          // told `timeout`, executed after that, perhaps after the caller's next calls
  std::uint32_t slow = 0;          // executed and told, but only after up to slow_highest; past the deadline `timeout`

  // The way there, and again the way back.
  Time delay_lowest = std::chrono::microseconds{50};
  Time delay_highest = std::chrono::milliseconds{2};
  Time slow_highest = std::chrono::seconds{3};
  Time late_highest = std::chrono::seconds{20};
  Time deadline = std::chrono::seconds{5};  // how long a client waits before it says `timeout`
};

}  // namespace seckill::sim
