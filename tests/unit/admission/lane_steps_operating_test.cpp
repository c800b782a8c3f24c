// The steps of operating: terms, adoption, closing and installing.
#include "unit/admission/lane_steps_lane.hpp"

namespace seckill::test {
namespace {

using model::OrderState;

TEST(LaneStepsOperating, only_terms_of_a_higher_version_are_installed) {
  struct Row {
    std::int64_t version;
    std::int64_t limit;
  };
  for (const Row& row : {Row{6, 2}, Row{7, 2}, Row{8, 5}}) {
    TestLane one;
    model::ItemTerms terms = one.plan.terms;
    terms.version = row.version;
    terms.limit = 5;
    EXPECT_EQ(steps::configure(one.lane, terms), LaneCode::done);
    EXPECT_EQ(one.lane.terms.limit, row.limit);
    one.lane.phase = LanePhase::closed;
    terms.version = 99;
    EXPECT_EQ(steps::configure(one.lane, terms), LaneCode::closed);
    EXPECT_EQ(one.lane.terms.limit, row.limit);
  }
}

TEST(LaneStepsOperating, an_adopted_intent_holds_units_once_and_lands_though_its_message_is_lost) {
  TestLane one;
  one.lane.terms.state = model::SaleState::paused;
  for (int i = 0; i < 2; ++i) {
    const auto reply = steps::adopt(one.lane, one.older_intent("ann", "r1", 2), one.now);
    EXPECT_EQ(reply.code, LaneCode::done);
    EXPECT_EQ(reply.adopted, Adopted::adopted) << "phase and price are the intent's";
    EXPECT_EQ(reply.generation, 5U);
  }
  one.expect_stock(8, 2, 0);
  one.now += 2'000;
  const auto open = one.claim(2'000);
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].generation, 5U);
  EXPECT_EQ(open[0].price_minor, 8'800);
  EXPECT_EQ(open[0].admitted_at, TestLane::start - 500);
  EXPECT_EQ(one.buy("ann", "r1"), Decision::replay);
}

TEST(LaneStepsOperating, adopting_is_refused_by_limit_and_stock_alone) {
  TestLane one{3, 2};
  EXPECT_EQ(steps::adopt(one.lane, one.older_intent("ann", "r1", 3), one.now).adopted, Adopted::refused) << "limit";
  model::OrderIntent generous = one.older_intent("ann", "r2", 3);
  generous.limit = 3;
  EXPECT_EQ(steps::adopt(one.lane, generous, one.now).adopted, Adopted::adopted) << "the limit it was admitted under";
  const auto short_of = steps::adopt(one.lane, one.older_intent("bob", "r1"), one.now);
  EXPECT_EQ(short_of.code, LaneCode::done);
  EXPECT_EQ(short_of.adopted, Adopted::refused) << "stock";
  one.release("ann", "r2");
  EXPECT_EQ(steps::adopt(one.lane, one.older_intent("cat", "r1"), one.now).adopted, Adopted::adopted);
  TestLane many;
  for (const char* id : {"r1", "r2", "r3", "r4"}) {
    many.buy("ann", id);
    many.release("ann", id);
  }
  EXPECT_EQ(steps::adopt(many.lane, many.older_intent("ann", "r5"), many.now).adopted, Adopted::refused) << "tickets";
}

TEST(LaneStepsOperating, P4_a_refused_adoption_is_remembered_as_an_ended_ticket) {
  TestLane one{1};
  one.buy("ann", "r1");
  EXPECT_EQ(steps::adopt(one.lane, one.older_intent("bob", "r1"), one.now).adopted, Adopted::refused);
  one.expect_stock(0, 1, 0);
  const auto replay = one.admit(TestLane::ask("bob", "r1"));
  EXPECT_EQ(replay.decision, Decision::replay) << "and not sold out: he was answered 202 once";
  EXPECT_EQ(replay.ticket->state, model::TicketState::failed);
  EXPECT_FALSE(replay.ticket->live);
  EXPECT_EQ(one.admit(TestLane::ask("bob", "r1", 1, 8)).decision, Decision::request_conflict);
  one.release("ann", "r1");
  EXPECT_EQ(steps::adopt(one.lane, one.older_intent("bob", "r1"), one.now).adopted, Adopted::superseded)
      << "it was refused once";
  EXPECT_EQ(one.release("bob", "r1"), LaneCode::done);
  one.expect_stock(1, 0, 0);
}

TEST(LaneStepsOperating, an_intent_that_is_not_wanted_any_more_is_superseded) {
  TestLane one;
  one.buy("ann", "r1");
  model::OrderIntent other = one.older_intent("ann", "r1");
  other.digest = 8;
  EXPECT_EQ(steps::adopt(one.lane, other, one.now).adopted, Adopted::superseded) << "other content";
  EXPECT_EQ(steps::adopt(one.lane, one.older_intent("ann", "r1"), one.now).adopted, Adopted::adopted);
  one.release("ann", "r1");
  EXPECT_EQ(steps::adopt(one.lane, one.older_intent("ann", "r1"), one.now).adopted, Adopted::superseded) << "ended";
  one.expect_stock(10, 0, 0);
}

TEST(LaneStepsOperating, adopting_waits_for_an_open_lane_that_is_not_older) {
  TestLane one;
  model::OrderIntent newer = one.older_intent("ann", "r1");
  newer.generation = 6;
  EXPECT_EQ(steps::adopt(one.lane, newer, one.now).code, LaneCode::stale);
  one.lane.phase = LanePhase::installing;
  EXPECT_EQ(steps::adopt(one.lane, one.older_intent("ann", "r1"), one.now).code, LaneCode::closed);
  one.expect_stock(10, 0, 0);
}

TEST(LaneStepsOperating, closing_is_fenced_by_generation_and_leader) {
  struct Row {
    model::Generation generation;
    std::uint64_t leader;
    LaneCode code;
  };
  for (const Row& row : {Row{5, 9, LaneCode::done}, Row{5, 10, LaneCode::done}, Row{6, 9, LaneCode::done},
                         Row{4, 99, LaneCode::stale}, Row{5, 8, LaneCode::stale}, Row{6, 8, LaneCode::stale}}) {
    TestLane one;
    one.buy("ann", "r1");
    for (int i = 0; i < 2; ++i) EXPECT_EQ(steps::close(one.lane, row.generation, {.token = row.leader}), row.code);
    EXPECT_EQ(one.lane.phase, row.code == LaneCode::done ? LanePhase::closed : LanePhase::open);
    EXPECT_EQ(one.lane.intents.size(), 1U) << "marks and intents stay";
  }
  LaneState missing{TestLane{}.lane.key};
  EXPECT_EQ(steps::close(missing, 5, {.token = 9}), LaneCode::done);
  EXPECT_EQ(missing.phase, LanePhase::missing);
  EXPECT_FALSE(steps::read(missing).known);
}

// The leader that raised the generation and then paused has the higher one, and the older token.
TEST(LaneStepsOperating, P6_a_leader_with_an_older_token_is_refused_at_a_higher_generation_too) {
  TestLane closed;
  LaneState missing{closed.lane.key};
  for (LaneState* lane : {&closed.lane, &missing}) {
    admission::InstallPlan late = closed.plan;
    late.generation = 6;
    EXPECT_EQ(steps::install_begin(*lane, late), LaneCode::done);
    EXPECT_EQ(steps::close(*lane, 5, {.token = 10}), LaneCode::done) << "by the next leader, who has read 5";
    EXPECT_EQ(steps::install_batch(*lane, late, {}), LaneCode::stale);
    EXPECT_EQ(steps::install_open(*lane, late), LaneCode::stale);
    EXPECT_EQ(steps::install_begin(*lane, late), LaneCode::stale);
    EXPECT_EQ(steps::close(*lane, 7, late.leader), LaneCode::stale);
    EXPECT_NE(lane->phase, LanePhase::open);
    late.generation = 7;
    late.leader.token = 10;
    EXPECT_EQ(steps::install_begin(*lane, late), LaneCode::done);
    EXPECT_EQ(steps::install_open(*lane, late), LaneCode::done);
  }
}

TEST(LaneStepsOperating, P5_until_the_new_lane_is_whole_the_old_one_keeps_all_it_has) {
  TestLane one;
  one.buy("ann", "r1");
  const auto marks = one.lane.marks;
  admission::InstallPlan plan = one.plan;
  plan.generation = 6;
  plan.tickets = 1;
  plan.stock = {.available = 9, .held = 1, .sold = 0};
  const auto expect_kept = [&] {
    EXPECT_EQ(one.lane.phase, LanePhase::closed);
    EXPECT_EQ(one.lane.marks, marks);
    EXPECT_EQ(steps::live_marks(one.lane, one.now + 1, 0).intents.size(), 1U);
    EXPECT_EQ(one.lane.intents.size(), 1U);
  };
  EXPECT_EQ(steps::install_begin(one.lane, plan), LaneCode::done);
  expect_kept();
  const std::vector rows{TestLane::row("bob", "r1", OrderState::awaiting_payment)};
  EXPECT_EQ(steps::install_batch(one.lane, plan, rows), LaneCode::done);
  expect_kept();
  plan.leader.token = 10;  // died; the next one begins again
  plan.generation = 7;
  EXPECT_EQ(steps::close(one.lane, 6, plan.leader), LaneCode::done);
  EXPECT_EQ(steps::install_open(one.lane, plan), LaneCode::refused);
  EXPECT_EQ(steps::install_begin(one.lane, plan), LaneCode::done);
  expect_kept();
  EXPECT_EQ(steps::install_batch(one.lane, plan, rows), LaneCode::done);
  EXPECT_EQ(steps::install_open(one.lane, plan), LaneCode::done);
  EXPECT_EQ(one.lane.phase, LanePhase::open);
  EXPECT_FALSE(one.lane.buyers.contains(ticket_of("ann", "r1")));
  EXPECT_TRUE(one.lane.beside.empty());
}

TEST(LaneStepsOperating, P5_a_mark_without_a_row_is_installed_live_and_published_by_the_next_sweep) {
  TestLane one;
  admission::InstallPlan plan = one.plan;
  plan.generation = 6;
  plan.tickets = 1;
  plan.stock = {.available = 8, .held = 2, .sold = 0};
  admission::InstallTicket taken_over = TestLane::row("ann", "r1", OrderState::awaiting_payment, 2);
  taken_over.intent = one.older_intent("ann", "r1", 2);
  EXPECT_EQ(steps::install_begin(one.lane, plan), LaneCode::done);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(steps::install_batch(one.lane, plan, std::array{taken_over}), LaneCode::done);
  }
  EXPECT_EQ(steps::install_open(one.lane, plan), LaneCode::done);
  one.plan = plan;
  one.expect_stock(8, 2, 0);
  const auto replay = one.admit(TestLane::ask("ann", "r1", 2));
  EXPECT_EQ(replay.decision, Decision::replay);
  EXPECT_FALSE(replay.published);
  EXPECT_EQ(replay.ticket->state, model::TicketState::queued);
  const auto open = one.claim(2'000);
  ASSERT_EQ(open.size(), 1U) << "nobody has claimed it";
  EXPECT_EQ(open[0].generation, 6U);
  EXPECT_EQ(open[0].price_minor, 8'800);
  EXPECT_EQ(steps::live_marks(one.lane, one.now + 1, 0).intents.size(), 1U);
  EXPECT_EQ(steps::adopt(one.lane, one.older_intent("ann", "r1", 2), one.now).adopted, Adopted::adopted)
      << "an older copy finds the mark";
  one.expect_stock(8, 2, 0);
}

TEST(LaneStepsOperating, an_ended_ticket_may_have_no_units_and_a_live_one_must) {
  for (const OrderState state : {OrderState::failed, OrderState::awaiting_payment, OrderState::paid}) {
    TestLane one;
    admission::InstallPlan plan = one.plan;
    plan.generation = 6;
    plan.tickets = 1;
    EXPECT_EQ(steps::install_begin(one.lane, plan), LaneCode::done);
    const bool ended = state == OrderState::failed;
    EXPECT_EQ(steps::install_batch(one.lane, plan, std::array{TestLane::row("ann", "r1", state, 0)}),
              ended ? LaneCode::done : LaneCode::refused);
    EXPECT_EQ(steps::install_batch(one.lane, plan, std::array{TestLane::row("ann", "r2", state, -1)}),
              LaneCode::refused);
    EXPECT_EQ(steps::install_open(one.lane, plan), ended ? LaneCode::done : LaneCode::refused);
  }
}

TEST(LaneStepsOperating, a_closed_generation_is_never_opened_or_installed_again) {
  TestLane one;
  admission::InstallPlan plan = one.plan;
  plan.generation = 6;
  EXPECT_EQ(steps::install_begin(one.lane, plan), LaneCode::done);
  EXPECT_EQ(steps::close(one.lane, 6, plan.leader), LaneCode::done);
  EXPECT_EQ(steps::install_open(one.lane, plan), LaneCode::stale) << "an open that comes late";
  EXPECT_EQ(steps::install_begin(one.lane, plan), LaneCode::stale);
  plan.generation = 7;
  EXPECT_EQ(steps::install_begin(one.lane, plan), LaneCode::done);
}

TEST(LaneStepsOperating, an_install_builds_holds_and_memories_and_opens_when_all_are_there) {
  TestLane one;
  one.buy("zoe", "r1");
  admission::InstallPlan plan = one.plan;
  plan.generation = 6;
  plan.stock = {.available = 4, .held = 3, .sold = 2};
  plan.tickets = 5;
  const std::vector first{TestLane::row("ann", "r1", OrderState::awaiting_payment),
                          TestLane::row("ann", "r2", OrderState::expired),
                          TestLane::row("bob", "r1", OrderState::parked, 2)};
  const std::vector second{TestLane::row("bob", "r2", OrderState::refunded, 2),
                           TestLane::row("cat", "r1", OrderState::failed)};
  EXPECT_EQ(steps::install_batch(one.lane, plan, first), LaneCode::refused) << "not begun";
  EXPECT_EQ(steps::install_open(one.lane, plan), LaneCode::refused);
  EXPECT_EQ(one.lane.phase, LanePhase::open) << "the older lane serves until then";
  EXPECT_EQ(steps::install_begin(one.lane, plan), LaneCode::done);
  EXPECT_EQ(one.lane.phase, LanePhase::closed);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(steps::install_batch(one.lane, plan, first), LaneCode::done);
  EXPECT_EQ(steps::install_open(one.lane, plan), LaneCode::refused) << "tickets are missing";
  EXPECT_EQ(steps::install_batch(one.lane, plan, second), LaneCode::done);
  EXPECT_EQ(steps::install_open(one.lane, plan), LaneCode::done);
  one.plan = plan;
  one.expect_stock(4, 3, 2);
  EXPECT_EQ(one.lane.marks.size(), 3U);
  const auto ended = one.admit(TestLane::ask("cat", "r1"));
  EXPECT_EQ(ended.decision, Decision::replay);
  EXPECT_EQ(ended.ticket->state, model::TicketState::failed);
  EXPECT_TRUE(ended.published);
  EXPECT_EQ(one.buy("bob", "r3"), Decision::limit_reached) << "held and sold units count";
  EXPECT_TRUE(steps::live_marks(one.lane, one.now + 1, 0).intents.empty()) << "the store has their rows";
  one.release("bob", "r1");
  EXPECT_EQ(one.admit(TestLane::ask("bob", "r1")).ticket->state, model::TicketState::failed) << "parked, discarded";
  one.expect_stock(6, 1, 2);
}

TEST(LaneStepsOperating, P4_a_lane_does_not_open_without_the_memory_of_an_ended_ticket) {
  TestLane one;
  admission::InstallPlan plan = one.plan;
  plan.generation = 6;
  plan.tickets = 2;
  EXPECT_EQ(steps::install_begin(one.lane, plan), LaneCode::done);
  const std::vector rows{TestLane::row("ann", "r1", OrderState::cancelled)};
  EXPECT_EQ(steps::install_batch(one.lane, plan, rows), LaneCode::done);
  EXPECT_EQ(steps::install_open(one.lane, plan), LaneCode::refused);
}

TEST(LaneStepsOperating, sums_that_are_not_the_plans_are_refused) {
  TestLane one;
  admission::InstallPlan plan = one.plan;
  plan.generation = 6;
  plan.stock = {.available = 4, .held = 2, .sold = 0};
  plan.tickets = 1;
  EXPECT_EQ(steps::install_begin(one.lane, plan), LaneCode::done);
  const std::vector rows{TestLane::row("ann", "r1", OrderState::awaiting_payment)};
  EXPECT_EQ(steps::install_batch(one.lane, plan, rows), LaneCode::done);
  EXPECT_EQ(steps::install_open(one.lane, plan), LaneCode::refused);
  EXPECT_EQ(one.lane.phase, LanePhase::closed);
  const std::vector other{TestLane::row("ann", "r1", OrderState::awaiting_payment, 2)};
  EXPECT_EQ(steps::install_batch(one.lane, plan, other), LaneCode::refused) << "one ticket, other content";
}

TEST(LaneStepsOperating, who_may_install_over_what) {
  struct Row {
    LanePhase phase;  // of a lane of generation 5 by leader 9; installing: beside a missing one
    model::Generation generation;
    std::uint64_t leader;
    LaneCode begin, batch, open;
  };
  constexpr auto done = LaneCode::done, stale = LaneCode::stale, refused = LaneCode::refused;
  for (const Row& row :
       {Row{LanePhase::open, 5, 9, done, done, done}, Row{LanePhase::open, 5, 8, stale, stale, stale},
        Row{LanePhase::open, 5, 10, stale, stale, stale}, Row{LanePhase::open, 4, 10, stale, stale, stale},
        Row{LanePhase::open, 6, 10, done, refused, refused}, Row{LanePhase::installing, 5, 9, done, done, done},
        Row{LanePhase::installing, 5, 8, stale, stale, stale},
        Row{LanePhase::installing, 5, 10, done, refused, refused},
        Row{LanePhase::installing, 4, 9, stale, stale, stale}, Row{LanePhase::closed, 5, 9, stale, stale, stale},
        Row{LanePhase::closed, 6, 9, done, refused, refused}, Row{LanePhase::closed, 6, 8, stale, stale, stale},
        Row{LanePhase::missing, 1, 1, done, refused, refused}}) {
    const auto made = [&] {
      TestLane one;
      one.lane.phase = row.phase;
      if (row.phase == LanePhase::missing) one.lane = LaneState{one.lane.key};
      if (row.phase == LanePhase::installing) {
        one.lane = LaneState{one.lane.key};
        EXPECT_EQ(steps::install_begin(one.lane, one.plan), done);
      }
      one.plan.generation = row.generation;
      one.plan.leader.token = row.leader;
      return one;
    };
    SCOPED_TRACE(testing::Message() << "phase " << static_cast<int>(row.phase) << " generation " << row.generation
                                    << " leader " << row.leader);
    TestLane begun = made();
    EXPECT_EQ(steps::install_begin(begun.lane, begun.plan), row.begin);
    TestLane batched = made();
    EXPECT_EQ(steps::install_batch(batched.lane, batched.plan, {}), row.batch);
    TestLane opened = made();
    EXPECT_EQ(steps::install_open(opened.lane, opened.plan), row.open);
  }
}

TEST(LaneStepsOperating, an_epoch_never_comes_twice_not_even_over_a_flush) {
  TestLane one;
  one.buy("ann", "r1");
  one.release("ann", "r1");
  const std::uint64_t before = one.lane.epoch;
  one.lane = LaneState{one.lane.key};
  one.plan.generation = 6;
  EXPECT_EQ(steps::install_begin(one.lane, one.plan), LaneCode::done);
  EXPECT_EQ(steps::install_open(one.lane, one.plan), LaneCode::done);
  EXPECT_GT(one.lane.epoch, before);
}

}  // namespace
}  // namespace seckill::test
