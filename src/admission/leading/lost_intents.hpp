// Intents that the broker confirmed and lost afterwards: a queue that was purged or deleted, a disk that went (DESIGN
// §9). Their marks say `published`, so no sweep offers them again. They are found here and published anew from their
// marks, never released (P5, P6).
//
//   each look: the lane holds more units than its row, and more than the row can be late ── for `patience` ──►
//   barrier of its partition came back, so what the broker still had of it has landed ──►
//   marks from before that which have no row ──► published again
//
// Two numbers a lane and look while nothing is lost. In a rush a row lags behind its lane all the time, so it is held
// against the least that the lane had since it was first short; what is lost in a rush is found when the rush is over.
// A queue that nobody empties is not taken for a lost one: its barrier does not come back. What is published although
// it is there is a duplicate by its ticket.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "admission/leading/rebuild.hpp"

namespace seckill::admission::leading {

struct LostIntentsConfig {
  std::uint32_t partitions = 1;                // of the broker: partition = lane mod partitions
  std::chrono::milliseconds patience{10'000};  // longer than a publish waits for its confirm
  std::chrono::milliseconds barrier_longest{1'000};
  std::chrono::milliseconds call_longest{2'000};  // one lane call
  std::size_t rows_a_look = 1'000;                // asked for in the store; a page of marks more may come on top
};

// Owned by the thread that looks.
class LostIntents {
 public:
  using StillLeads = std::function<bool()>;

  LostIntents(RebuildPorts ports, LostIntentsConfig config);

  // What a look read of an open lane of its row's generation, the row before the lane.
  void note(const LaneKey& lane, const store::LaneAuthorityRow& row, const LaneReading& reading);
  // Goes on with what is suspected. Blocks: at most a barrier for each partition that comes back, and one that does
  // not.
  void look(const StillLeads& still_leads);

  // Intents published again. Any thread.
  [[nodiscard]] std::uint64_t republished() const noexcept { return republished_; }

 private:
  using Time = std::chrono::nanoseconds;  // of the ports' threads
  struct Watched {
    model::Generation generation = 0;
    LaneServer server;
    Time since{0};
    std::int64_t least = 0;  // units that the lane has had since then
    // Under way through the marks.
    bool passing = false;
    base::UtcMs before = 0;
    std::uint64_t cursor = 0;
  };
  // False: no more in this look.
  [[nodiscard]] bool begin(const LaneKey& lane, Watched& watched);
  [[nodiscard]] bool pass(const LaneKey& lane, Watched& watched, std::size_t& rows_left);
  void publish(const LaneKey& lane, std::vector<model::OrderIntent> lost);

  const RebuildPorts ports_;
  const LostIntentsConfig config_;
  std::map<LaneKey, Watched> watched_;  // lanes that are short now
  Time not_before_{0};
  std::atomic<std::uint64_t> republished_{0};
};

}  // namespace seckill::admission::leading
