// Stealing: a lane that is short takes units from the richest lanes, and only two equal readings of all lanes say
// sold_out (P8).
//
//   reading of all lanes                              outcome for who waits
//   any lane closed, unknown, of another generation   busy: unknown is not sold out
//   this lane has the units by now                    asks its lane again
//   enough free units elsewhere                       transfers into this lane (transfer_steps.hpp), asks again
//   too few, and a transfer is open in some lane      reads again a few times, then busy: units are in transit
//   too few, twice with equal (available, epoch)      sold_out, leased for a second for (item, need)
//   and no open transfer, at the same generations
//   too few, and the two differ                       reads again, at most steal_readings_max times, then busy
//
// Why two: units move between two lanes' readings. Every move into a lane raises its epoch, so two equal readings with
// no open transfer between them saw all of the item's free units at one instant.
//
// One steal a lane and node at a time, on the desk's threads; at most steal_waiters_max callers wait for it, each at
// most steal_wait: past either the answer is busy, and the steal goes on for who comes next (P9). Without the store
// there are no steals, and the answer is busy.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "admission/remote/alarms.hpp"
#include "admission/remote/config.hpp"
#include "admission/remote/item_copies.hpp"
#include "admission/remote/lane_calls.hpp"
#include "admission/remote/transfer_steps.hpp"

namespace seckill::admission::remote {

struct StealOutcome {
  enum class Kind : std::uint8_t { ask_again, sold_out, busy };
  Kind kind = Kind::busy;
  std::int64_t free_units = 0;  // sold_out: of all lanes, fewer than the need
};

class StealDesk {
 public:
  using AskAgain = std::function<void(CallPtr)>;

  // Borrows all of them for its whole life. `ask_again` is called on the desk's threads; it must not block.
  StealDesk(const Ports& ports, const Config& config, const ItemCopies& copies, const LaneCalls& calls,
            TransferSteps& transfers, Alarms& alarms, AskAgain ask_again);

  void start();
  void stop();  // blocks until the steals under way have ended; who still waits is answered busy

  // Takes over a call whose lane was short: it asks again, or is answered. Any thread, does not block.
  void wait(CallPtr call);

  // One steal of `need` units into the lane, as the table says. Blocks; the desk's threads, and tests.
  [[nodiscard]] StealOutcome steal(const ItemPtr& item, model::LaneIndex lane, std::int64_t need);

 private:
  using Place = std::pair<RemoteItem*, model::LaneIndex>;
  struct Waiter {
    CallPtr call;
    std::uint32_t serial = 0;
  };
  struct Job {
    ItemPtr item;
    model::LaneIndex lane = 0;
  };

  void run();
  void serve(const Job& job);
  [[nodiscard]] std::int64_t first_need(const Job& job);
  void resolve(const Job& job, const StealOutcome& outcome);
  [[nodiscard]] bool move_into(const ItemPtr& item, const ItemCopy& copy, model::LaneIndex lane,
                               const std::vector<LaneReading>& readings, std::int64_t need);
  [[nodiscard]] bool all_as_copied(const RemoteItem& item, const ItemCopy& copy,
                                   std::vector<LaneReading>& readings) const;

  // Constant after construction.
  const Ports& ports_;
  const Config& config_;
  const ItemCopies& copies_;
  const LaneCalls& calls_;
  TransferSteps& transfers_;
  Alarms& alarms_;
  const AskAgain ask_again_;
  const std::string nonce_;  // makes transfer ids unique across nodes and lives
  const std::unique_ptr<base::Signal> changed_;

  std::mutex mutex_;
  // Under the mutex. A place has an entry while it waits for its steal or has one.
  std::map<Place, std::deque<Waiter>> waiting_;
  std::deque<Job> jobs_;  // each place at most once
  std::uint32_t serials_ = 0;
  std::uint64_t ids_ = 0;
  bool stopping_ = false;
  std::vector<std::unique_ptr<base::Thread>> threads_;  // owned by start() and stop()
};

}  // namespace seckill::admission::remote
