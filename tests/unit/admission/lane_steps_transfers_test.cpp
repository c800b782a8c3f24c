// The steps of transfers: once an id, in whatever order and however late they come.
#include "unit/admission/lane_steps_lane.hpp"

namespace seckill::test {
namespace {

TEST(LaneStepsTransfers, a_debit_takes_what_is_free_once_and_says_how_much) {
  TestLane one{5};
  one.buy("ann", "r1");
  for (int i = 0; i < 2; ++i) {
    const auto taken = steps::debit(one.lane, 5, TestLane::transfer("t1", 10), one.now);
    EXPECT_EQ(taken.code, LaneCode::done);
    EXPECT_EQ(taken.units, 4) << "never a held one";
  }
  one.expect_stock(0, 1, 0);
  const auto none = steps::debit(one.lane, 5, TestLane::transfer("t2", 1), one.now);
  EXPECT_EQ(none.code, LaneCode::refused);
  EXPECT_EQ(none.units, 0);
  EXPECT_FALSE(one.lane.transfers.contains("t2")) << "nothing to remember";
}

TEST(LaneStepsTransfers, an_undone_debit_gives_back_once_and_stays_as_nothing) {
  TestLane one{5};
  EXPECT_EQ(steps::debit(one.lane, 5, TestLane::transfer("t1", 3), one.now).units, 3);
  const std::uint64_t epoch = one.lane.epoch;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(steps::undo_debit(one.lane, "t1", one.now), LaneCode::done);
  one.expect_stock(5, 0, 0);
  EXPECT_EQ(one.lane.epoch, epoch + 1);
  EXPECT_EQ(steps::debit(one.lane, 5, TestLane::transfer("t1", 3), one.now).units, 0) << "the same debit, late";
  one.expect_stock(5, 0, 0);
}

TEST(LaneStepsTransfers, an_undo_that_comes_before_its_debit_spends_the_id) {
  TestLane one{5};
  const std::uint64_t epoch = one.lane.epoch;
  EXPECT_EQ(steps::undo_debit(one.lane, "t1", one.now), LaneCode::done);
  const auto late = steps::debit(one.lane, 5, TestLane::transfer("t1", 3), one.now);
  EXPECT_EQ(late.code, LaneCode::done);
  EXPECT_EQ(late.units, 0);
  one.expect_stock(5, 0, 0);
  EXPECT_EQ(one.lane.epoch, epoch);
}

TEST(LaneStepsTransfers, a_credit_adds_once_an_id_and_raises_the_epoch) {
  TestLane one{5};
  const std::uint64_t epoch = one.lane.epoch;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(steps::credit(one.lane, 5, TestLane::transfer("t1", 3), one.now), LaneCode::done);
  }
  one.expect_stock(8, 0, 0);
  EXPECT_EQ(one.lane.epoch, epoch + 1);
}

TEST(LaneStepsTransfers, another_generation_neither_gives_nor_takes) {
  for (const model::Generation generation : {4U, 6U}) {
    TestLane one{5};
    EXPECT_EQ(steps::debit(one.lane, generation, TestLane::transfer("t1", 1), one.now).code, LaneCode::stale);
    EXPECT_EQ(steps::credit(one.lane, generation, TestLane::transfer("t2", 1), one.now), LaneCode::stale);
    one.expect_stock(5, 0, 0);
    EXPECT_TRUE(one.lane.transfers.empty());
  }
}

TEST(LaneStepsTransfers, a_lane_that_is_not_open_answers_closed_and_keeps_all) {
  TestLane one{5};
  EXPECT_EQ(steps::debit(one.lane, 5, TestLane::transfer("t1", 1), one.now).units, 1);
  for (const LanePhase phase : {LanePhase::missing, LanePhase::installing, LanePhase::closed}) {
    one.lane.phase = phase;
    EXPECT_EQ(steps::debit(one.lane, 5, TestLane::transfer("t2", 1), one.now).code, LaneCode::closed);
    EXPECT_EQ(steps::undo_debit(one.lane, "t1", one.now), LaneCode::closed);
    EXPECT_EQ(steps::credit(one.lane, 5, TestLane::transfer("t3", 1), one.now), LaneCode::closed);
    EXPECT_EQ(steps::close_transfer(one.lane, "t1", one.now), LaneCode::closed);
  }
  one.expect_stock(4, 0, 0);
}

TEST(LaneStepsTransfers, P2_a_credit_or_debit_that_comes_after_the_close_does_nothing) {
  TestLane one{5};
  EXPECT_EQ(steps::credit(one.lane, 5, TestLane::transfer("in", 3), one.now), LaneCode::done);
  EXPECT_EQ(steps::debit(one.lane, 5, TestLane::transfer("out", 2), one.now).units, 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(steps::close_transfer(one.lane, "in", one.now), LaneCode::done);
    EXPECT_EQ(steps::close_transfer(one.lane, "out", one.now), LaneCode::done);
    EXPECT_EQ(steps::close_transfer(one.lane, "never", one.now), LaneCode::done);
  }
  EXPECT_TRUE(steps::read(one.lane).transfers.empty());
  one.now += admission::transfer_memory_ms;
  EXPECT_EQ(steps::credit(one.lane, 5, TestLane::transfer("in", 3), one.now), LaneCode::done);
  EXPECT_EQ(steps::debit(one.lane, 5, TestLane::transfer("out", 2), one.now).units, 2);
  one.expect_stock(6, 0, 0);
}

TEST(LaneStepsTransfers, P9_closed_ids_are_forgotten_in_the_end) {
  TestLane one{5};
  for (int i = 0; i < 50; ++i) {
    const std::string id = "t" + std::to_string(i);
    EXPECT_EQ(steps::credit(one.lane, 5, TestLane::transfer(id, 1), one.now), LaneCode::done);
    EXPECT_EQ(steps::close_transfer(one.lane, id, one.now), LaneCode::done);
    one.now += 10'000;
  }
  EXPECT_LE(one.lane.transfers.size(), 8U);
}

TEST(LaneStepsTransfers, an_id_names_one_direction) {
  TestLane one{5};
  EXPECT_EQ(steps::credit(one.lane, 5, TestLane::transfer("t1", 3), one.now), LaneCode::done);
  EXPECT_EQ(steps::debit(one.lane, 5, TestLane::transfer("t1", 3), one.now).code, LaneCode::refused);
  EXPECT_EQ(steps::undo_debit(one.lane, "t1", one.now), LaneCode::refused);
  one.expect_stock(8, 0, 0);
}

}  // namespace
}  // namespace seckill::test
