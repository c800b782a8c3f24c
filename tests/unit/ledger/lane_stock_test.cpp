// The stock rules of one lane: what each move does, what it refuses, and that no sequence of moves makes or loses a
// unit.
#include "ledger/lane_stock.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace seckill::ledger {
namespace {

TEST(LaneStock, a_hold_moves_units_from_available_to_held) {
  LaneStock stock{.available = 3, .held = 1, .sold = 2};
  hold(stock, 2);
  EXPECT_EQ(stock, (LaneStock{.available = 1, .held = 3, .sold = 2}));
  EXPECT_EQ(stock.total(), 6);
}

TEST(LaneStock, can_hold_says_no_only_when_too_few_are_available) {
  const LaneStock stock{.available = 3, .held = 100, .sold = 100};
  EXPECT_TRUE(can_hold(stock, 1));
  EXPECT_TRUE(can_hold(stock, 3));
  EXPECT_FALSE(can_hold(stock, 4));
  EXPECT_FALSE(can_hold(stock, std::numeric_limits<std::int64_t>::max()));
  EXPECT_FALSE(can_hold(LaneStock{}, 1));
}

TEST(LaneStock, post_sells_and_void_gives_back_what_was_held) {
  LaneStock stock{.available = 0, .held = 5, .sold = 0};
  post(stock, 2);
  EXPECT_EQ(stock, (LaneStock{.available = 0, .held = 3, .sold = 2}));
  void_hold(stock, 3);
  EXPECT_EQ(stock, (LaneStock{.available = 3, .held = 0, .sold = 2}));
}

TEST(LaneStock, debit_and_credit_move_free_units_only) {
  LaneStock stock{.available = 5, .held = 2, .sold = 1};
  debit(stock, 5);
  EXPECT_EQ(stock, (LaneStock{.available = 0, .held = 2, .sold = 1}));
  credit(stock, 7);
  EXPECT_EQ(stock, (LaneStock{.available = 7, .held = 2, .sold = 1}));
}

TEST(LaneStockDeath, P1_a_broken_caller_stops_the_process_before_it_oversells) {
  LaneStock stock{.available = 1, .held = 1, .sold = 0};
  EXPECT_DEATH(hold(stock, 2), "P1");
  EXPECT_DEATH(hold(stock, 0), "at least one unit");
  EXPECT_DEATH(hold(stock, -1), "at least one unit");
  EXPECT_DEATH(debit(stock, 2), "P1");
  EXPECT_DEATH(post(stock, 2), "P2");
  EXPECT_DEATH(void_hold(stock, 2), "P2");
  EXPECT_DEATH(void_hold(stock, 0), "P2");
  EXPECT_DEATH(credit(stock, 0), "at least one unit");
}

TEST(LaneStock, steal_amount_is_the_need_or_half_of_the_richest_and_never_more_than_there_is) {
  EXPECT_EQ(steal_amount(1, 0), 0);
  EXPECT_EQ(steal_amount(1, 1), 1);
  EXPECT_EQ(steal_amount(1, 10), 5);
  EXPECT_EQ(steal_amount(7, 10), 7);
  EXPECT_EQ(steal_amount(20, 10), 10);
  EXPECT_EQ(steal_amount(1, 3), 1);
}

TEST(LaneStock, preload_shares_are_even_and_add_up) {
  EXPECT_EQ(preload_share(10, 4, 0), 3);
  EXPECT_EQ(preload_share(10, 4, 1), 3);
  EXPECT_EQ(preload_share(10, 4, 2), 2);
  EXPECT_EQ(preload_share(10, 4, 3), 2);
  EXPECT_EQ(preload_share(0, 4, 0), 0);
}

RC_GTEST_PROP(LaneStockProperty, preload_shares_always_add_up_and_differ_by_at_most_one, ()) {
  const auto units = *rc::gen::inRange<std::int64_t>(0, 100'000'001);
  const auto lanes = *rc::gen::inRange<std::uint32_t>(1, 65);
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    sum += preload_share(units, lanes, i);
    RC_ASSERT(preload_share(units, lanes, 0) - preload_share(units, lanes, i) <= 1);
  }
  RC_ASSERT(sum == units);
}

RC_GTEST_PROP(LaneStockProperty, no_sequence_of_moves_makes_or_loses_a_unit, ()) {
  const auto total = *rc::gen::inRange<std::int64_t>(0, 50);
  LaneStock stock{.available = total, .held = 0, .sold = 0};
  std::int64_t outside = 0;
  for (const int move : *rc::gen::container<std::vector<int>>(100, rc::gen::inRange(0, 5))) {
    const auto units = *rc::gen::inRange<std::int64_t>(1, 8);
    if (move == 0 && can_hold(stock, units)) hold(stock, units);
    if (move == 1 && units <= stock.held) post(stock, units);
    if (move == 2 && units <= stock.held) void_hold(stock, units);
    if (move == 3 && units <= stock.available) {
      debit(stock, units);
      outside += units;
    }
    if (move == 4 && units <= outside) {
      credit(stock, units);
      outside -= units;
    }
    RC_ASSERT(stock.total() + outside == total);
    RC_ASSERT(stock.available >= 0 && stock.held >= 0 && stock.sold >= 0);
  }
}

}  // namespace
}  // namespace seckill::ledger
