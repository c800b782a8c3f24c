#include "admission/remote/server_turns.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace seckill::admission::remote {
namespace {

// Lines of servers that nobody asks any more: each failover brings a new run id.
constexpr std::size_t idle_lines_max = 64;

}  // namespace

struct ServerTurns::Line {
  struct Waiting {
    ItemPtr item;
    model::LaneIndex lane = 0;
  };
  std::deque<Waiting> waiting;
  // Turns of the round under way; one more while it is being begun, so that answers that come at once begin no other.
  std::size_t under_way = 0;

  [[nodiscard]] bool idle() const noexcept { return under_way == 0 && waiting.empty(); }
};

ServerTurns::ServerTurns(std::size_t round_lanes_max, Ask ask)
    : round_lanes_max_{round_lanes_max}, ask_{std::move(ask)} {
  SECKILL_ASSERT(round_lanes_max_ >= 1, "a round has at least one lane");
}

ServerTurns::~ServerTurns() = default;

void ServerTurns::join(std::string_view server, const ItemPtr& item, model::LaneIndex lane) {
  Line* line = nullptr;
  {
    const std::scoped_lock lock{mutex_};
    auto found = lines_.find(server);
    if (found == lines_.end()) {
      if (lines_.size() >= idle_lines_max) forget_idle();
      found = lines_.try_emplace(std::string{server}).first;
    }
    line = &found->second;
    line->waiting.push_back({item, lane});
    if (line->under_way > 0) return;
    line->under_way = 1;  // nobody else begins a round
  }
  run_rounds(*line);
}

void ServerTurns::leave(const Turn& turn) {
  Line& line = *turn.line;
  {
    const std::scoped_lock lock{mutex_};
    SECKILL_ASSERT(line.under_way > 0, "a turn is left once");
    if (--line.under_way > 0 || line.waiting.empty()) return;
    line.under_way = 1;
  }
  run_rounds(line);
}

// Requires: under_way has one for the caller. Loops, because a round whose calls answer at once is over when it was
// begun.
void ServerTurns::run_rounds(Line& line) {
  for (;;) {
    for (Turn& turn : next_round(line)) ask_(std::move(turn));
    const std::scoped_lock lock{mutex_};
    if (--line.under_way > 0 || line.waiting.empty()) return;
    line.under_way = 1;
  }
}

std::vector<ServerTurns::Turn> ServerTurns::next_round(Line& line) {
  const std::scoped_lock lock{mutex_};
  const std::size_t count = std::min(line.waiting.size(), round_lanes_max_);
  std::vector<Turn> round;
  round.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Line::Waiting& first = line.waiting.front();
    round.push_back({.item = std::move(first.item), .lane = first.lane, .line = &line});
    line.waiting.pop_front();
  }
  line.under_way += count;
  return round;
}

std::size_t ServerTurns::lines() const {
  const std::scoped_lock lock{mutex_};
  return lines_.size();
}

void ServerTurns::forget_idle() {
  std::erase_if(lines_, [](const auto& entry) { return entry.second.idle(); });
}

}  // namespace seckill::admission::remote
