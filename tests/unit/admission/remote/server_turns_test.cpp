// Rounds of a server: how many calls are under way to it, who comes next, and that servers do not wait for each other.
#include "admission/remote/server_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace seckill::admission::remote::test {
namespace {

using Turn = ServerTurns::Turn;

// Turns as they come, held until the test lets a lane go.
class Asked {
 public:
  explicit Asked(std::size_t round_lanes_max) : turns{round_lanes_max, [this](const Turn& turn) { take(turn); }} {}

  void join(std::string_view server, model::LaneIndex lane) { turns.join(server, nullptr, lane); }
  void leave(model::LaneIndex lane) {
    const auto found = std::ranges::find(held, lane, &Turn::lane);
    ASSERT_NE(found, held.end()) << "lane " << lane << " has no turn";
    const Turn turn = *found;
    held.erase(found);
    turns.leave(turn);
  }
  [[nodiscard]] std::vector<model::LaneIndex> under_way() const {
    std::vector<model::LaneIndex> lanes;
    for (const Turn& turn : held) lanes.push_back(turn.lane);
    return lanes;
  }

  bool answers_at_once = false;
  std::size_t depth = 0;
  std::size_t depth_max = 0;
  std::size_t taken = 0;
  std::vector<Turn> held;
  ServerTurns turns;

 private:
  void take(const Turn& turn) {
    ++taken;
    if (!answers_at_once) return held.push_back(turn);
    depth_max = std::max(depth_max, ++depth);
    turns.leave(turn);
    --depth;
  }
};

using Lanes = std::vector<model::LaneIndex>;

TEST(ServerTurns, what_comes_while_a_round_is_under_way_goes_together_when_all_of_it_is_answered) {
  Asked asked{8};
  asked.join("a", 0);
  asked.join("a", 1);
  asked.join("a", 2);
  EXPECT_EQ(asked.under_way(), (Lanes{0}));
  asked.leave(0);
  EXPECT_EQ(asked.under_way(), (Lanes{1, 2}));
  asked.join("a", 0);
  asked.leave(1);
  EXPECT_EQ(asked.under_way(), (Lanes{2})) << "the round is not over";
  asked.leave(2);
  EXPECT_EQ(asked.under_way(), (Lanes{0}));
}

TEST(ServerTurns, P9_no_more_lanes_of_a_server_are_asked_at_one_time_than_a_round_has) {
  Asked asked{3};
  for (model::LaneIndex lane = 0; lane < 20; ++lane) asked.join("a", lane);
  std::size_t answered = 0;
  while (!asked.held.empty()) {
    EXPECT_LE(asked.held.size(), 3U);
    asked.leave(asked.held.front().lane);
    ++answered;
  }
  EXPECT_EQ(answered, 20U) << "nobody is forgotten";
}

TEST(ServerTurns, lanes_that_always_have_more_to_ask_take_turns) {
  Asked asked{2};
  std::map<model::LaneIndex, int> turns;
  for (model::LaneIndex lane = 0; lane < 5; ++lane) asked.join("a", lane);
  for (int i = 0; i < 100; ++i) {
    const model::LaneIndex lane = asked.held.front().lane;
    ++turns[lane];
    asked.join("a", lane);
    asked.leave(lane);
  }
  const auto [least, most] = std::ranges::minmax_element(turns, {}, [](const auto& entry) { return entry.second; });
  EXPECT_EQ(turns.size(), 5U);
  EXPECT_LE(most->second - least->second, 2);
}

TEST(ServerTurns, a_server_that_does_not_answer_holds_up_its_own_lanes_alone) {
  Asked asked{2};
  asked.join("dead", 0);
  for (model::LaneIndex lane = 1; lane < 9; ++lane) asked.join("dead", lane);
  for (model::LaneIndex lane = 10; lane < 19; ++lane) {
    asked.join("live", lane);
    EXPECT_EQ(asked.under_way(), (Lanes{0, lane}));
    asked.leave(lane);
  }
  asked.leave(0);  // by its deadline
  EXPECT_EQ(asked.under_way(), (Lanes{1, 2}));
}

TEST(ServerTurns, calls_that_are_answered_at_once_do_not_pile_up_on_the_stack) {
  Asked asked{2};
  asked.join("a", 0);
  for (model::LaneIndex lane = 1; lane < 1'000; ++lane) asked.join("a", lane);
  asked.answers_at_once = true;
  asked.leave(0);
  EXPECT_EQ(asked.taken, 1'000U);
  EXPECT_EQ(asked.depth_max, 1U);
}

TEST(ServerTurns, P9_servers_that_are_gone_are_forgotten) {
  Asked asked{2};
  asked.join("held", 1);
  asked.join("held", 2);
  for (model::LaneIndex life = 100; life < 1'100; ++life) {
    asked.join("life " + std::to_string(life), life);
    asked.leave(life);
  }
  EXPECT_LE(asked.turns.lines(), 65U);
  asked.leave(1);
  EXPECT_EQ(asked.under_way(), (Lanes{2})) << "but not while somebody stands there";
}

}  // namespace
}  // namespace seckill::admission::remote::test
