// One round over all open lanes each second: reads them, publishes again what was left in their streams, and reports
// lanes that are not what the copy says.
//
// Sweep: intents that nobody has claimed for 2 s (their publisher crashed, was refused, or never heard) are claimed and
// published again; confirmed, they leave the stream. So every intent ends in the queue, however often its first
// message fails (P5, P6), and a lane's open intents are seen here: past a bound its admissions are answered busy.
//
// Holders: while an item is sold out, paused or over, the fingerprints of who has a mark are brought here, lane by lane
// (mark_holders.hpp), so that everybody else is refused without asking the lane.
//
// Report: a lane that two rounds in a row found missing, closed or on a foreign server, while a fresh copy says that it
// is open at the same generation, is closed in the store by LaneAuthority::report_lane, for the leader to rebuild. A
// lane that does not answer is not reported: unreachable says nothing about the lane.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "admission/remote/config.hpp"
#include "admission/remote/item_copies.hpp"
#include "admission/remote/lane_calls.hpp"
#include "admission/remote/periodic.hpp"
#include "admission/remote/relay.hpp"

namespace seckill::admission::remote {

class LaneRounds {
 public:
  // Borrows all of them for its whole life.
  LaneRounds(const Ports& ports, const Config& config, const ItemCopies& copies, const LaneCalls& calls, Relay& relay,
             RemoteItems& items);

  void start();
  void stop();  // blocks until the round under way has ended

  // One round; start() makes a thread that does it each second. Blocks.
  void round();

  // Has the item's lanes closed in the store at the generation the node knows, soon, from the rounds' thread; this node
  // asks them nothing more at that generation from now on. Any thread, does not block.
  void close_soon(const ItemPtr& item, std::string why);

  // Past the bound of open intents? Any thread.
  [[nodiscard]] bool overfull(LaneState& lane) const;

 private:
  struct Report {
    ItemPtr item;
    model::LaneIndex lane = 0;
    model::Generation generation = 0;
    std::string why;
    bool for_good = false;  // wanted closed, until a person wants it otherwise
  };

  void look(const ItemPtr& item);
  void sweep(const ItemPtr& item, const ItemCopy& copy, model::LaneIndex lane);
  void note(const ItemPtr& item, const ItemCopy& copy, model::LaneIndex lane, base::Result<LaneReading> reading);
  void bring_holders(const ItemPtr& item, const ItemCopy& copy, model::LaneIndex lane);
  [[nodiscard]] std::vector<std::int64_t> refusing_versions(const RemoteItem& item, const ItemCopy& copy) const;
  void send_reports();
  [[nodiscard]] bool want_closed(const Report& report);

  const Ports& ports_;
  const Config& config_;
  const ItemCopies& copies_;
  const LaneCalls& calls_;
  Relay& relay_;
  RemoteItems& items_;
  Periodic thread_;

  std::mutex mutex_;
  std::deque<Report> reports_;  // under the mutex; bounded
};

}  // namespace seckill::admission::remote
