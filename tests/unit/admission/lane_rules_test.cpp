// What a lane decides, as pure rules: the order of checks, and the plans of steals and reductions.
#include "admission/lane_rules.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace seckill::admission {
namespace {

constexpr base::UtcMs now = 1'000;

// A request that would be admitted; each test breaks something.
struct Case {
  LaneFacts lane{.open = true, .available = 5};
  model::ItemTerms terms{.starts_at = 0,
                         .ends_at = 10'000,
                         .state = model::SaleState::preloaded,
                         .price_minor = 1,
                         .currency = {},
                         .limit = 3,
                         .tickets_max = 4,
                         .pay_window_ms = 1'000,
                         .version = 1};
  BuyerFacts buyer;
  Ask ask{.units = 2, .digest = 7};

  [[nodiscard]] Decision decided() const { return decide(lane, terms, buyer, ask, now); }
};

TEST(LaneRules, checks_stand_in_one_order_and_the_first_that_fails_decides) {
  Case c;
  c.lane.available = 1;                      // 6 stock
  c.buyer.tickets = 4;                       // 5 tickets
  c.buyer.live_units = 2;                    // 4 units
  c.terms.state = model::SaleState::paused;  // 3 phase
  c.buyer.same_request_digest = 8;           // 2 other content
  c.lane.open = false;                       // 1 lane
  EXPECT_EQ(c.decided(), Decision::busy);
  c.lane.open = true;
  EXPECT_EQ(c.decided(), Decision::request_conflict);
  c.buyer.same_request_digest = 7;
  EXPECT_EQ(c.decided(), Decision::replay) << "a known request is told its ticket whatever else holds";
  c.buyer.same_request_digest = std::nullopt;
  EXPECT_EQ(c.decided(), Decision::paused);
  c.terms.state = model::SaleState::preloaded;
  EXPECT_EQ(c.decided(), Decision::limit_reached);
  c.buyer.live_units = 0;
  EXPECT_EQ(c.decided(), Decision::limit_reached) << "no more tickets";
  c.buyer.tickets = 0;
  EXPECT_EQ(c.decided(), Decision::short_of_stock);
  c.lane.available = 2;
  EXPECT_EQ(c.decided(), Decision::admit);
}

TEST(LaneRules, phases_are_answered_by_name) {
  Case c;
  c.terms.starts_at = now + 1;
  EXPECT_EQ(c.decided(), Decision::not_started);
  c.terms.starts_at = now;
  EXPECT_EQ(c.decided(), Decision::admit);
  c.terms.ends_at = now;
  EXPECT_EQ(c.decided(), Decision::ended);
}

TEST(LaneRules, FS_17_absurd_quantities_are_refused_by_the_limit_without_overflow) {
  for (const std::int64_t units : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max(), std::int64_t{4}}) {
    Case c;
    c.ask.units = units;
    c.lane.available = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(c.decided(), Decision::limit_reached) << units;
  }
}

TEST(LaneRules, a_limit_lowered_below_what_a_buyer_owns_refuses_him) {
  Case c;
  c.buyer.live_units = 3;
  c.terms.limit = 1;
  c.ask.units = 1;
  EXPECT_EQ(c.decided(), Decision::limit_reached);
}

TEST(StealPlan, asks_the_richest_for_half_and_stops_when_it_is_enough) {
  const std::array<std::int64_t, 3> available{0, 10, 4};
  const StealPlan plan = plan_steal(available, 0, 1);
  ASSERT_EQ(plan.count, 1U);
  EXPECT_EQ(plan.steps[0].from, 1U);
  EXPECT_EQ(plan.steps[0].units, 5);
}

TEST(StealPlan, P8_exactly_as_many_as_there_are_come_from_every_lane) {
  const std::array<std::int64_t, 4> available{1, 0, 1, 2};
  const StealPlan plan = plan_steal(available, 1, 4);
  EXPECT_EQ(plan.free_units, 4);
  std::int64_t moved = 0;
  for (const StealStep& step : plan.moves()) moved += step.units;
  EXPECT_EQ(moved, 4) << "the last units are sold";
  EXPECT_EQ(plan.count, 3U);
}

TEST(StealPlan, says_how_many_are_free_and_moves_nothing_when_they_do_not_suffice) {
  const std::array<std::int64_t, 3> available{1, 1, 2};
  const StealPlan plan = plan_steal(available, 0, 5);
  EXPECT_EQ(plan.free_units, 4);
  EXPECT_EQ(plan.count, 0U);
}

RC_GTEST_PROP(StealPlanProperty, P8_whenever_the_units_exist_the_plan_brings_them_and_no_lane_gives_what_it_lacks, ()) {
  const auto lanes = *rc::gen::inRange<std::size_t>(1, 65);
  auto available = *rc::gen::container<std::vector<std::int64_t>>(lanes, rc::gen::inRange<std::int64_t>(0, 20));
  const auto to = *rc::gen::inRange<model::LaneIndex>(0, static_cast<model::LaneIndex>(lanes));
  const auto units = available[to] + *rc::gen::inRange<std::int64_t>(1, 200);
  std::int64_t total = 0;
  for (const std::int64_t free : available) total += free;
  const StealPlan plan = plan_steal(available, to, units);
  RC_ASSERT(plan.free_units == total);
  RC_ASSERT((plan.count == 0) == (total < units));
  for (const StealStep& step : plan.moves()) {
    RC_ASSERT(step.from != to);
    RC_ASSERT(step.units >= 1 && step.units <= available[step.from]);
    available[step.from] -= step.units;
    available[to] += step.units;
  }
  RC_ASSERT(total < units || available[to] >= units);
  RC_ASSERT(plan.count < lanes || plan.count == 0);
}

RC_GTEST_PROP(DebitPlanProperty, takes_what_is_asked_or_all_there_is, ()) {
  const auto lanes = *rc::gen::inRange<std::size_t>(1, 65);
  const auto available = *rc::gen::container<std::vector<std::int64_t>>(lanes, rc::gen::inRange<std::int64_t>(0, 20));
  const auto units = *rc::gen::inRange<std::int64_t>(1, 2'000);
  std::int64_t total = 0;
  for (const std::int64_t free : available) total += free;
  const StealPlan plan = plan_debit(available, units);
  std::int64_t taken = 0;
  for (const StealStep& step : plan.moves()) {
    RC_ASSERT(step.units >= 1 && step.units <= available[step.from]);
    taken += step.units;
  }
  RC_ASSERT(taken == std::min(units, total));
}

}  // namespace
}  // namespace seckill::admission
