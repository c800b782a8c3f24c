// Who leads: the store's lease "leader", renewed each second by a thread of its own, so that no long step of a rebuild
// lets it lapse. It is held only as long as the monotonic clock can prove it: counted from before the call that got it,
// less a margin for clocks of different pace. Losing it late would still do no harm, since its token fences every step
// in the store and in the lanes (DESIGN §4.5); losing it early saves useless work.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "admission/lane_scripts.hpp"
#include "base/threads.hpp"
#include "store/lane_authority.hpp"

namespace seckill::admission::leading {

struct LeaderLeaseConfig {
  std::string holder;  // node name and life: a restarted node is another holder and gets another token
  std::chrono::milliseconds ttl{5'000};
  std::chrono::milliseconds margin{500};  // of the ttl: what two clocks may drift apart in it
  std::chrono::milliseconds renew_every{1'000};
};

class LeaderLease {
 public:
  // Borrows authority and threads for its whole life.
  LeaderLease(store::LaneAuthority& authority, base::Threads& threads, LeaderLeaseConfig config);
  ~LeaderLease();  // stops
  LeaderLease(const LeaderLease&) = delete;
  LeaderLease& operator=(const LeaderLease&) = delete;

  void start();
  // Leads no longer from here on; the store's lease lapses by itself. Joins. Harmless to repeat.
  void stop();

  // Asks the store once. Blocks. What the thread does each second; tests call it by hand.
  void renew();
  // The token while leadership can be proven; nullopt otherwise. Any thread, does not block.
  [[nodiscard]] std::optional<LeaderToken> held() const;

 private:
  void run();

  // Constant after construction.
  store::LaneAuthority& authority_;
  base::Threads& threads_;
  const LeaderLeaseConfig config_;

  mutable std::mutex mutex_;
  std::unique_ptr<base::Signal> changed_;
  std::optional<LeaderToken> token_;         // under the mutex
  std::chrono::nanoseconds proven_until_{};  // under the mutex
  bool stopping_ = false;                    // under the mutex
  std::unique_ptr<base::Thread> thread_;     // of start() and stop()
};

}  // namespace seckill::admission::leading
