// The steps of buying, looking and ending.
#include "admission/lane_steps.hpp"

#include "base/hash.hpp"
#include "unit/admission/lane_steps_lane.hpp"

namespace seckill::test {
namespace {

TEST(LaneSteps, admitting_holds_the_units_and_leaves_mark_and_intent_in_one_step) {
  TestLane one;
  admission::LaneAsk asked = TestLane::ask("ann", "r1", 2, 7);
  asked.fields = std::make_shared<const std::string>(R"({"receiver":"Ann"})");
  const admission::LaneDecision got = one.admit(asked);
  ASSERT_EQ(got.decision, Decision::admit);
  EXPECT_FALSE(got.published);
  ASSERT_TRUE(got.ticket && got.intent);
  EXPECT_EQ(got.ticket->ticket, asked.ticket);
  EXPECT_EQ(got.ticket->state, model::TicketState::queued);
  EXPECT_TRUE(got.ticket->live);
  const model::OrderIntent& intent = *got.intent;
  EXPECT_EQ(intent.item, one.lane.key.item);
  EXPECT_EQ(intent.buyer, asked.buyer);
  EXPECT_EQ(intent.request_id, asked.request_id);
  EXPECT_EQ(intent.digest, 7U);
  EXPECT_EQ(intent.lane, 3U);
  EXPECT_EQ(intent.generation, 5U);
  EXPECT_EQ(intent.units, 2);
  EXPECT_EQ(intent.price_minor, 9'900);
  EXPECT_EQ(intent.limit, 2);
  EXPECT_EQ(intent.pay_window_ms, 60'000);
  EXPECT_EQ(intent.admitted_at, TestLane::start);
  EXPECT_EQ(intent.fields, asked.fields);
  one.expect_stock(8, 2, 0);
  EXPECT_EQ(one.lane.intents.size(), 1U);
}

TEST(LaneSteps, only_an_open_lane_of_the_named_generation_decides) {
  struct Row {
    LanePhase phase;
    model::Generation named;
    LaneCode code;
  };
  for (const Row& row : {Row{LanePhase::open, 5, LaneCode::done}, Row{LanePhase::open, 4, LaneCode::stale},
                         Row{LanePhase::open, 6, LaneCode::stale}, Row{LanePhase::missing, 5, LaneCode::closed},
                         Row{LanePhase::installing, 5, LaneCode::closed}, Row{LanePhase::closed, 5, LaneCode::closed},
                         Row{LanePhase::closed, 4, LaneCode::closed}}) {
    TestLane one;
    one.lane.phase = row.phase;
    const auto answer = steps::admit(one.lane, row.named, std::array{TestLane::ask("ann", "r1")}, one.now);
    EXPECT_EQ(answer.code, row.code);
    EXPECT_EQ(answer.decisions.size(), row.code == LaneCode::done ? 1U : 0U);
    EXPECT_EQ(one.lane.tickets, row.code == LaneCode::done ? 1U : 0U);
  }
}

TEST(LaneSteps, each_ask_of_a_call_is_judged_by_what_the_one_before_it_left) {
  TestLane one{2, 1};
  const auto answer = steps::admit(
      one.lane, 5,
      std::vector{TestLane::ask("ann", "r1"), TestLane::ask("ann", "r1"), TestLane::ask("ann", "r2"),
                  TestLane::ask("bob", "r1"), TestLane::ask("cat", "r1"), TestLane::ask("ann", "r1", 1, 8)},
      one.now);
  std::vector<Decision> decisions;
  for (const auto& decision : answer.decisions) decisions.push_back(decision.decision);
  EXPECT_EQ(decisions, (std::vector{Decision::admit, Decision::replay, Decision::limit_reached, Decision::admit,
                                    Decision::short_of_stock, Decision::request_conflict}));
  one.expect_stock(0, 2, 0);
}

TEST(LaneSteps, P4_a_repeat_gets_its_ticket_and_the_intent_until_it_is_published) {
  TestLane one;
  const auto first = one.admit(TestLane::ask("ann", "r1"));
  one.now += 5'000;
  one.lane.terms.price_minor = 1;
  const auto again = one.admit(TestLane::ask("ann", "r1"));
  EXPECT_EQ(again.decision, Decision::replay);
  EXPECT_EQ(again.ticket->ticket, first.ticket->ticket);
  ASSERT_TRUE(again.intent.has_value());
  EXPECT_EQ(again.intent->price_minor, 9'900) << "as it was admitted";
  EXPECT_EQ(again.intent->admitted_at, TestLane::start);
  EXPECT_EQ(one.confirm("ann", "r1"), LaneCode::done);
  const auto published = one.admit(TestLane::ask("ann", "r1"));
  EXPECT_TRUE(published.published);
  EXPECT_FALSE(published.intent.has_value());
  one.expect_stock(9, 1, 0);
}

TEST(LaneSteps, P4_an_ended_ticket_is_remembered_and_replayed_as_ended) {
  TestLane one;
  one.buy("ann", "r1");
  EXPECT_EQ(one.release("ann", "r1"), LaneCode::done);
  const auto again = one.admit(TestLane::ask("ann", "r1"));
  EXPECT_EQ(again.decision, Decision::replay);
  EXPECT_FALSE(again.ticket->live);
  EXPECT_TRUE(again.published);
  EXPECT_FALSE(again.intent.has_value());
  EXPECT_EQ(one.admit(TestLane::ask("ann", "r1", 1, 8)).decision, Decision::request_conflict);
  EXPECT_EQ(one.buy("ann", "r2", 2), Decision::admit) << "his units are free again";
}

TEST(LaneSteps, P3_a_refusal_by_limit_names_the_live_tickets_and_what_is_to_be_published_first) {
  TestLane one{10, 3};
  one.buy("ann", "r1");
  one.buy("ann", "r2");
  one.buy("ann", "r3");
  one.release("ann", "r1");
  one.buy("ann", "r4");
  one.confirm("ann", "r2");
  const auto refused = one.admit(TestLane::ask("ann", "r5"));
  EXPECT_EQ(refused.decision, Decision::limit_reached);
  ASSERT_EQ(refused.own.size(), 1U);
  EXPECT_EQ(refused.own[0].ticket, ticket_of("ann", "r2"));
  ASSERT_EQ(refused.own_unpublished.size(), 2U);
  EXPECT_EQ(refused.own_unpublished[0].ticket, ticket_of("ann", "r3"));
  one.release("ann", "r4");
  EXPECT_EQ(one.buy("ann", "r5"), Decision::limit_reached) << "four tickets ever";
}

TEST(LaneSteps, a_confirmed_intent_leaves_the_stream_and_unknown_tickets_are_skipped) {
  TestLane one;
  one.buy("ann", "r1");
  one.buy("bob", "r1");
  const std::array tickets{ticket_of("nobody", "r1"), ticket_of("ann", "r1"), ticket_of("ann", "r1")};
  EXPECT_EQ(steps::confirm_published(one.lane, tickets), LaneCode::done);
  EXPECT_EQ(steps::confirm_published(one.lane, tickets), LaneCode::done);
  ASSERT_EQ(one.lane.intents.size(), 1U);
  EXPECT_EQ(one.lane.intents.begin()->second.ticket, ticket_of("bob", "r1"));
  one.lane.phase = LanePhase::closed;
  EXPECT_EQ(one.confirm("bob", "r1"), LaneCode::done) << "a closed lane is emptied of its open intents";
  EXPECT_TRUE(one.lane.intents.empty());
  one.lane.phase = LanePhase::missing;
  EXPECT_EQ(one.confirm("bob", "r1"), LaneCode::closed);
}

TEST(LaneSteps, an_intent_is_claimed_by_one_at_a_time) {
  TestLane one;
  one.buy("ann", "r1");
  EXPECT_TRUE(one.claim(2'000).empty()) << "who was admitted publishes it himself";
  one.now += 1'999;
  EXPECT_TRUE(one.claim(2'000).empty());
  one.now += 1;
  ASSERT_EQ(one.claim(2'000).size(), 1U);
  EXPECT_TRUE(one.claim(2'000).empty()) << "claimed just now";
  one.now += 2'000;
  EXPECT_EQ(one.claim(2'000).size(), 1U) << "and again while nobody confirms";
  one.now -= 1'000;
  EXPECT_EQ(one.claim(2'000).size(), 1U) << "a clock that went back does not keep it";
  ASSERT_EQ(one.buy("bob", "r1"), Decision::admit);
  one.now += 2'000;
  EXPECT_EQ(steps::claim_intents(one.lane, 2'000, 1, one.now).size(), 1U) << "no more than asked for";
}

TEST(LaneSteps, P5_a_closed_lane_still_hands_out_its_open_intents) {
  TestLane one;
  one.buy("ann", "r1");
  EXPECT_EQ(steps::close(one.lane, 5, {.token = 9}), LaneCode::done);
  one.now += 5'000;
  EXPECT_EQ(one.claim(2'000).size(), 1U);
  EXPECT_EQ(steps::live_marks(one.lane, one.now, 0).intents.size(), 1U);
  EXPECT_EQ(steps::read(one.lane).open_intents, 1);
}

TEST(LaneSteps, live_marks_are_paged_and_leave_out_what_the_store_has) {
  TestLane one{1'000, 2};
  for (int i = 0; i < 250; ++i) one.buy("buyer-" + std::to_string(i), "r1");
  one.confirm("buyer-0", "r1");
  one.release("buyer-1", "r1");
  one.post("buyer-2", "r1");
  one.now += 10;
  one.buy("late", "r1");
  std::vector<model::Ticket> seen;
  std::uint64_t cursor = 0;
  int pages = 0;
  do {
    const auto page = steps::live_marks(one.lane, one.now, cursor);
    for (const auto& intent : page.intents) seen.push_back(intent.ticket);
    cursor = page.next;
    ++pages;
  } while (cursor != 0);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(seen.size(), 248U) << "published ones too, ended, posted and late ones not";
}

TEST(LaneSteps, mark_holders_names_every_buyer_with_a_mark_also_one_whose_ticket_has_ended) {
  TestLane one{1'000, 2};
  for (int i = 0; i < 250; ++i) one.buy("buyer-" + std::to_string(i), "r1");
  one.release("buyer-1", "r1");
  std::vector<std::uint64_t> seen;
  std::uint64_t cursor = 0;
  do {
    const auto page = steps::mark_holders(one.lane, cursor);
    ASSERT_EQ(page.code, LaneCode::done);
    ASSERT_EQ(page.generation, 5U);
    seen.insert(seen.end(), page.fingerprints.begin(), page.fingerprints.end());
    cursor = page.next;
  } while (cursor != 0);
  ASSERT_EQ(seen.size(), 250U);
  for (int i = 0; i < 250; ++i)
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], base::xxh3_64("buyer-" + std::to_string(i)));
  one.lane.phase = LanePhase::missing;
  EXPECT_EQ(steps::mark_holders(one.lane, 0).code, LaneCode::closed);
}

TEST(LaneSteps, P6_a_release_gives_the_units_back_once_and_raises_the_epoch) {
  TestLane one;
  one.buy("ann", "r1", 2);
  const std::uint64_t epoch = one.lane.epoch;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(one.release("ann", "r1"), LaneCode::done);
  one.expect_stock(10, 0, 0);
  EXPECT_EQ(one.lane.epoch, epoch + 1);
  EXPECT_TRUE(one.lane.intents.empty()) << "its end rests on its row: nothing to publish";
  EXPECT_EQ(one.post("ann", "r1"), LaneCode::done) << "and nothing to sell";
  one.expect_stock(10, 0, 0);
}

TEST(LaneSteps, P6_a_post_sells_once_and_a_release_after_it_does_nothing) {
  TestLane one;
  one.buy("ann", "r1", 2);
  const std::uint64_t epoch = one.lane.epoch;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(one.post("ann", "r1"), LaneCode::done);
  EXPECT_EQ(one.release("ann", "r1"), LaneCode::done);
  one.expect_stock(8, 0, 2);
  EXPECT_EQ(one.lane.epoch, epoch);
  EXPECT_EQ(one.buy("ann", "r2"), Decision::limit_reached) << "sold units count";
  EXPECT_EQ(one.admit(TestLane::ask("ann", "r1", 2)).ticket->state, model::TicketState::ordered);
}

TEST(LaneSteps, an_end_of_an_unknown_ticket_is_done_and_a_closed_lane_wants_it_again) {
  TestLane one;
  EXPECT_EQ(one.release("ann", "r1"), LaneCode::done);
  EXPECT_EQ(one.post("ann", "r1"), LaneCode::done);
  one.buy("ann", "r1");
  for (const LanePhase phase : {LanePhase::missing, LanePhase::installing, LanePhase::closed}) {
    one.lane.phase = phase;
    EXPECT_EQ(one.release("ann", "r1"), LaneCode::closed);
    EXPECT_EQ(one.post("ann", "r1"), LaneCode::closed);
  }
  one.expect_stock(9, 1, 0);
}

TEST(LaneSteps, a_reading_is_exact) {
  TestLane one;
  one.buy("ann", "r1");
  one.now += 5;
  one.buy("ann", "r2");
  one.buy("bob", "r1");
  one.post("bob", "r1");
  EXPECT_EQ(steps::debit(one.lane, 5, TestLane::transfer("t1", 3), one.now).units, 3);
  const admission::LaneReading reading = steps::read(one.lane);
  EXPECT_TRUE(reading.known && reading.open);
  EXPECT_EQ(reading.generation, 5U);
  EXPECT_EQ(reading.stock, (ledger::LaneStock{.available = 4, .held = 2, .sold = 1}));
  EXPECT_EQ(reading.marks, 2);
  EXPECT_EQ(reading.open_intents, 2);
  EXPECT_EQ(reading.oldest_open_intent, TestLane::start);
  ASSERT_EQ(reading.transfers.size(), 1U);
  EXPECT_TRUE(reading.transfers[0].debit);
  EXPECT_EQ(reading.transfers[0].at, one.now);
  EXPECT_FALSE(steps::read(LaneState{one.lane.key}).known);
}

TEST(LaneSteps, a_buyers_tickets_are_all_his_tickets_and_name_what_is_not_published) {
  TestLane one;
  one.buy("ann", "r1");
  one.buy("ann", "r2");
  one.release("ann", "r1");
  const auto found = steps::buyer_tickets(one.lane, *model::BuyerId::parse("ann"));
  EXPECT_EQ(found.code, LaneCode::done);
  ASSERT_EQ(found.tickets.size(), 2U);
  EXPECT_FALSE(found.tickets[0].live);
  ASSERT_EQ(found.unpublished.size(), 1U);
  EXPECT_EQ(found.unpublished[0].ticket, ticket_of("ann", "r2"));
  EXPECT_TRUE(steps::buyer_tickets(one.lane, *model::BuyerId::parse("bob")).tickets.empty());
  one.lane.phase = LanePhase::closed;
  EXPECT_EQ(steps::buyer_tickets(one.lane, *model::BuyerId::parse("ann")).code, LaneCode::closed);
}

}  // namespace
}  // namespace seckill::test
