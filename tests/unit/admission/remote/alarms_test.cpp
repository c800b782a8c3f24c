// Deadlines in virtual time: when they ring, and when what they hold is let go.
#include "admission/remote/alarms.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "simulation/kernel/kernel.hpp"

namespace seckill::admission::remote::test {
namespace {

using namespace std::chrono_literals;

struct Note {
  std::shared_ptr<std::vector<int>> rung;
  int number = 0;
  std::shared_ptr<bool> answered;
  [[nodiscard]] bool over() const { return *answered; }
  void ring() const { rung->push_back(number); }
};

class AlarmsTest : public testing::Test {
 protected:
  ~AlarmsTest() override { alarms.stop(); }
  [[nodiscard]] bool set(std::chrono::nanoseconds after, int number, std::shared_ptr<bool> answered) {
    return alarms.try_set(after, Note{rung, number, std::move(answered)});
  }
  void pass(std::chrono::nanoseconds time) { kernel.run_until(kernel.now() + time); }

  std::shared_ptr<std::vector<int>> rung = std::make_shared<std::vector<int>>();
  std::shared_ptr<bool> never = std::make_shared<bool>(false);
  sim::Kernel kernel{1};
  sim::Node& node = kernel.add_node("api1");
  Alarms alarms{node.threads(), 4};
};

TEST_F(AlarmsTest, each_rings_once_at_its_time_or_a_tick_later_whatever_was_set_before) {
  alarms.start();
  ASSERT_TRUE(set(100ms, 1, never));
  pass(20ms);
  ASSERT_TRUE(set(30ms, 2, never));
  ASSERT_TRUE(set(100ms, 3, never));
  pass(29ms);
  EXPECT_TRUE(rung->empty());
  pass(1ms + Alarms::tick);
  EXPECT_EQ(*rung, (std::vector{2}));
  pass(44ms);
  EXPECT_EQ(*rung, (std::vector{2})) << "not before its time";
  pass(Alarms::tick + 1ms);
  EXPECT_EQ(*rung, (std::vector{2, 1}));
  pass(10s);
  EXPECT_EQ(*rung, (std::vector{2, 1, 3}));
}

TEST_F(AlarmsTest, P9_what_nobody_needs_any_more_is_let_go_early_and_makes_room) {
  alarms.start();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(set(1'000ms, i, std::make_shared<bool>(true)));
  EXPECT_FALSE(set(1'000ms, 5, never)) << "full";
  pass(2 * Alarms::tick);
  EXPECT_EQ(rung.use_count(), 1);
  EXPECT_TRUE(set(1'000ms, 6, never));
  pass(2s);
  EXPECT_EQ(*rung, (std::vector{6})) << "and does not ring";
}

TEST_F(AlarmsTest, stop_rings_what_is_set_and_takes_nothing_more) {
  alarms.start();
  ASSERT_TRUE(set(1'000ms, 1, never));
  ASSERT_TRUE(set(300ms, 2, never));
  alarms.stop();
  EXPECT_EQ(*rung, (std::vector{1, 2}));
  EXPECT_FALSE(set(1ms, 3, never));
}

}  // namespace
}  // namespace seckill::admission::remote::test
