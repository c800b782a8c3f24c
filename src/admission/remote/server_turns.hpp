// Which lanes are asked when: to each server at most one round of calls is under way from this node. A lane that has
// something to ask stands in its server's line; when no round is under way the first lanes of the line go together,
// and the next round begins when all of them were answered. What comes meanwhile waits, and goes in fuller calls.
//
//   join ─► line of a server ─► round: ≤ round_lanes_max lanes, each one call ─► left, by each ─► next round
//
// Every lane of a server gets its turn after at most the lanes before it in the line. Servers have nothing to do with
// each other: the calls of one that hangs end by their deadlines and hold up its own lanes alone.
//
// Threads: any; `ask` is called on the thread that joins or leaves, with no lock held.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "admission/remote/remote_item.hpp"

namespace seckill::admission::remote {

class ServerTurns {
 public:
  struct Line;
  // A lane whose turn it is. Given back with leave(), once.
  struct Turn {
    ItemPtr item;
    model::LaneIndex lane = 0;
    Line* line = nullptr;
  };
  using Ask = std::function<void(Turn)>;

  ServerTurns(std::size_t round_lanes_max, Ask ask);
  ~ServerTurns();
  ServerTurns(const ServerTurns&) = delete;
  ServerTurns& operator=(const ServerTurns&) = delete;

  // The lane stands in the line of this server, and is asked now or later. Requires: it stands in no line and has no
  // turn. Any thread, does not block.
  void join(std::string_view server, const ItemPtr& item, model::LaneIndex lane);
  // The turn is over. Whoever has more to ask joins before he leaves, so that he is in the next round.
  void leave(const Turn& turn);

  [[nodiscard]] std::size_t lines() const;

 private:
  void run_rounds(Line& line);
  [[nodiscard]] std::vector<Turn> next_round(Line& line);
  void forget_idle();

  const std::size_t round_lanes_max_;
  const Ask ask_;

  mutable std::mutex mutex_;
  // By run id. A line stays where it is while somebody stands in it or has a turn from it. Under the mutex.
  std::map<std::string, Line, std::less<>> lines_;
};

}  // namespace seckill::admission::remote
