// Admission over remote lanes: what a buyer is told, and when (DESIGN §4.1).
#include <algorithm>

#include "unit/admission/remote/remote_world.hpp"

namespace seckill::admission::remote::test {
namespace {

Config without_replicas() {
  Config config;
  config.replicas_after = 0ms;
  return config;
}

TEST(RemoteAdmit, P5_admitted_is_said_only_when_the_broker_has_confirmed) {
  RemoteWorld world{16, 2, without_replicas()};
  world.broker.answers = std::nullopt;
  const auto told = world.ask(world.request(world.buyer(0)));
  world.pass(500ms);
  EXPECT_FALSE(told->reply);
  EXPECT_EQ(world.stock(0).held, 1);
  world.broker.answer_held(queue::Published::confirmed);
  ASSERT_TRUE(told->is(PurchaseAnswer::admitted));
  EXPECT_TRUE(told->reply->ticket->live);
  world.pass(2 * world.config.confirm_after);
  EXPECT_TRUE(world.lane(0).intents.empty()) << "confirmed: out of the stream";
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::replayed);
  EXPECT_EQ(world.broker.published.size(), 1U) << "known published: nothing to publish again";
}

TEST(RemoteAdmit, P5_at_the_deadline_the_answer_is_busy_with_the_ticket_and_nothing_is_released) {
  RemoteWorld world{16, 2, without_replicas()};
  world.broker.answers = std::nullopt;
  const auto told = world.ask(world.request(world.buyer(0), 2));
  world.pass(1'100ms);
  ASSERT_TRUE(told->is(PurchaseAnswer::busy));
  ASSERT_TRUE(told->reply->ticket);
  EXPECT_EQ(told->reply->ticket->units, 2);
  EXPECT_EQ(world.stock(0).held, 2);
  EXPECT_EQ(world.lane(0).intents.size(), 1U);
  world.broker.answers = queue::Published::confirmed;
  const AdmitReply again = world.buy(world.request(world.buyer(0), 2));
  EXPECT_EQ(again.answer, PurchaseAnswer::replayed);
  EXPECT_EQ(again.ticket->ticket, told->reply->ticket->ticket) << "P4";
  EXPECT_EQ(world.stock(0).held, 2);
}

TEST(RemoteAdmit, P5_whatever_the_broker_says_the_publish_path_never_releases) {
  for (const auto how : {queue::Published::refused, queue::Published::unknown}) {
    RemoteWorld world{16, 2, without_replicas()};
    world.broker.answers = how;
    const AdmitReply reply = world.buy(world.request(world.buyer(0)));
    EXPECT_EQ(reply.answer, PurchaseAnswer::busy);
    EXPECT_TRUE(reply.ticket);
    EXPECT_EQ(world.stock(0).held, 1);
    EXPECT_EQ(world.lane(0).intents.size(), 1U);
    // The sweep publishes it again until it is confirmed.
    world.broker.answers = queue::Published::confirmed;
    world.pass(5s);
    EXPECT_TRUE(world.lane(0).intents.empty());
    EXPECT_EQ(world.stock(0).held, 1);
  }
}

TEST(RemoteAdmit, P5_a_slow_broker_is_replaced_by_the_word_of_the_replicas) {
  RemoteWorld world;
  world.broker.answers = std::nullopt;
  const auto told = world.ask(world.request(world.buyer(0)));
  world.pass(250ms);
  EXPECT_FALSE(told->reply);
  world.pass(100ms);
  EXPECT_TRUE(told->is(PurchaseAnswer::admitted));
  EXPECT_EQ(world.lanes.calls["wait_replicas"], 1);
  EXPECT_EQ(world.lane(0).intents.size(), 1U) << "the replicas' word takes nothing out of the stream";
  const auto replay = world.ask(world.request(world.buyer(0)));
  world.pass(250ms);
  EXPECT_FALSE(replay->reply);
  world.pass(100ms);
  EXPECT_TRUE(replay->is(PurchaseAnswer::replayed)) << "whichever node wrote it";
  EXPECT_EQ(world.lanes.calls["wait_replicas"], 2);
}

TEST(RemoteAdmit, P5_replicas_that_have_not_got_it_make_no_answer) {
  RemoteWorld world;
  world.lanes.replicas = false;
  world.broker.answers = queue::Published::refused;
  const AdmitReply reply = world.buy(world.request(world.buyer(0)));
  EXPECT_EQ(reply.answer, PurchaseAnswer::busy);
  EXPECT_TRUE(reply.ticket);
}

TEST(RemoteAdmit, P4_a_lost_reply_is_busy_with_the_ticket_and_the_repeat_is_the_same_ticket) {
  RemoteWorld world;
  world.lanes.plan("admit", {Fault::lost_reply});
  const AdmitReply first = world.buy(world.request(world.buyer(0)));
  EXPECT_EQ(first.answer, PurchaseAnswer::busy);
  ASSERT_TRUE(first.ticket);
  EXPECT_EQ(world.stock(0).held, 1);
  const AdmitReply again = world.buy(world.request(world.buyer(0)));
  EXPECT_EQ(again.answer, PurchaseAnswer::replayed);
  EXPECT_EQ(again.ticket->ticket, first.ticket->ticket);
  EXPECT_EQ(world.stock(0).held, 1);
  EXPECT_EQ(world.broker.published.size(), 1U);
  const AdmitReply other = world.buy(world.request(world.buyer(0), 2));
  EXPECT_EQ(other.answer, PurchaseAnswer::request_conflict);
}

TEST(RemoteAdmit, a_call_that_was_not_executed_is_busy_without_a_ticket) {
  RemoteWorld world;
  world.lanes.plan("admit", {Fault::not_executed});
  const AdmitReply reply = world.buy(world.request(world.buyer(0)));
  EXPECT_EQ(reply.answer, PurchaseAnswer::busy);
  EXPECT_FALSE(reply.ticket);
}

TEST(RemoteAdmit, a_lane_that_never_answers_is_busy_with_the_ticket_at_the_deadline) {
  RemoteWorld world;
  world.lanes.plan("admit", {Fault::held});
  const auto told = world.ask(world.request(world.buyer(0)));
  world.pass(990ms);
  EXPECT_FALSE(told->reply);
  world.pass(20ms);
  ASSERT_TRUE(told->is(PurchaseAnswer::busy));
  EXPECT_TRUE(told->reply->ticket) << "it may yet be taken";
}

TEST(RemoteAdmit, P9_asks_that_meet_a_call_under_way_go_together_at_most_64_a_call) {
  RemoteWorld world{160, 2};
  world.lanes.plan("admit", {Fault::held});
  std::vector<std::shared_ptr<Told>> told;
  for (int i = 0; i < 71; ++i) told.push_back(world.ask(world.request(world.buyer(0, i))));
  world.lanes.let_go();
  world.pass(10ms);
  EXPECT_EQ(world.lanes.admit_sizes, (std::vector<std::size_t>{1, 64, 6}));
  EXPECT_TRUE(std::ranges::all_of(told, [](const auto& one) { return one->is(PurchaseAnswer::admitted); }));
}

TEST(RemoteAdmit, P9_lanes_of_a_server_wait_for_its_round_and_one_lane_never_has_two_calls_under_way) {
  RemoteWorld world{1'600, 3};
  world.lanes.plan("admit", {Fault::held});
  std::vector<std::shared_ptr<Told>> told;
  for (int i = 0; i < 20; ++i) told.push_back(world.ask(world.request(world.buyer(static_cast<unsigned>(i % 3), i))));
  EXPECT_EQ(world.lanes.admit_sizes, (std::vector<std::size_t>{1}));
  world.lanes.plan("admit", {Fault::none, Fault::held, Fault::none});
  world.lanes.let_go();
  EXPECT_EQ(world.lanes.admit_sizes, (std::vector<std::size_t>{1, 7, 6, 6})) << "all that waited, a call for each lane";
  told.push_back(world.ask(world.request(world.buyer(0, 50))));
  EXPECT_EQ(world.lanes.admit_sizes.size(), 4U) << "one of them is not answered";
  world.lanes.let_go();
  world.pass(10ms);
  EXPECT_EQ(world.lanes.admit_sizes, (std::vector<std::size_t>{1, 7, 6, 6, 1}));
  EXPECT_TRUE(std::ranges::all_of(told, [](const auto& one) { return one->is(PurchaseAnswer::admitted); }));
}

TEST(RemoteAdmit, P9_a_full_line_and_a_full_relay_answer_busy_before_anything_is_taken) {
  Config config = without_replicas();
  config.asks_waiting_max = 3;
  RemoteWorld line{160, 2, config};
  line.lanes.plan("admit", {Fault::held});
  std::vector<std::shared_ptr<Told>> told;
  for (int i = 0; i < 5; ++i) told.push_back(line.ask(line.request(line.buyer(0, i))));
  ASSERT_TRUE(told[4]->is(PurchaseAnswer::busy)) << "one under way, three wait";
  EXPECT_FALSE(told[4]->reply->ticket);

  config = without_replicas();
  config.intents_unconfirmed_max = 2;
  RemoteWorld relay{160, 2, config};
  relay.broker.answers = std::nullopt;
  for (int i = 0; i < 3; ++i) told[static_cast<std::size_t>(i)] = relay.ask(relay.request(relay.buyer(0, i)));
  EXPECT_TRUE(told[2]->is(PurchaseAnswer::busy));
  EXPECT_EQ(relay.stock(0).held, 2);
  relay.broker.answer_held(queue::Published::confirmed);
  relay.broker.answers = queue::Published::confirmed;
  EXPECT_EQ(relay.buy(relay.request(relay.buyer(0, 2))).answer, PurchaseAnswer::admitted);

  relay.broker.takes = false;
  EXPECT_EQ(relay.buy(relay.request(relay.buyer(0, 3))).answer, PurchaseAnswer::busy);
  EXPECT_EQ(relay.stock(0).held, 3);
}

TEST(RemoteAdmit, P9_past_the_bound_of_open_intents_the_lane_is_busy) {
  Config config = without_replicas();
  config.open_intents_max = 2;
  RemoteWorld world{160, 2, config};
  world.broker.answers = queue::Published::refused;
  for (int i = 0; i < 3; ++i) world.buy(world.request(world.buyer(0, i)));
  world.pass(1'500ms);
  world.buy(world.request(world.buyer(0, 4)));
  EXPECT_EQ(world.stock(0).held, 3);
}

TEST(RemoteAdmit, limit_reached_names_own_tickets_only_when_they_are_durable) {
  RemoteWorld world{16, 2, without_replicas()};
  world.broker.answers = queue::Published::refused;
  world.buy(world.request(world.buyer(0), 3));
  world.broker.answers = std::nullopt;
  const auto told = world.ask(world.request(world.buyer(0), 1, "r2"));
  world.pass(100ms);
  EXPECT_FALSE(told->reply);
  world.broker.answer_held(queue::Published::confirmed);
  ASSERT_TRUE(told->is(PurchaseAnswer::limit_reached));
  ASSERT_EQ(told->reply->own.size(), 1U);
  EXPECT_EQ(told->reply->own[0].units, 3);
  world.pass(2 * world.config.confirm_after);
  EXPECT_EQ(world.buy(world.request(world.buyer(0), 1, "r3")).own.size(), 1U) << "at once, when published";
}

// Reopened before the barrier came back: what is known is answered, what is free is sold, and nobody is denied.
TEST(RemoteAdmit, P4_an_undrained_lane_admits_and_replays_and_answers_busy_where_it_would_deny) {
  RemoteWorld world{16, 2};
  world.rebuild(0, store::LaneState::lane, false);
  world.pass(1'100ms);
  const model::BuyerId buyer = world.buyer(0);
  EXPECT_EQ(world.buy(world.request(buyer, 3)).answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.buy(world.request(buyer, 3)).answer, PurchaseAnswer::replayed);
  EXPECT_EQ(world.buy(world.request(buyer, 1)).answer, PurchaseAnswer::request_conflict);
  EXPECT_EQ(world.buy(world.request(buyer, 1, "r2")).answer, PurchaseAnswer::busy) << "limit_reached otherwise";
  const model::BuyerId other = world.buyer(0, 1);
  const model::ItemTerms terms = world.lane(0).terms;
  for (const bool ended : {false, true}) {
    if (ended) world.lane(0).terms.ends_at = world.kernel.utc();
    world.lane(0).terms.state = ended ? terms.state : model::SaleState::paused;
    EXPECT_EQ(world.buy(world.request(other)).answer, PurchaseAnswer::busy);
    EXPECT_EQ(world.buy(world.request(buyer, 3)).answer, PurchaseAnswer::replayed);
  }
  world.lane(0).terms = terms;
  world.drain(0);
  world.pass(1'100ms);
  EXPECT_EQ(world.buy(world.request(buyer, 1, "r2")).answer, PurchaseAnswer::limit_reached);
}

TEST(RemoteAdmit, P4_sold_out_is_not_said_to_buyers_of_an_undrained_lane) {
  RemoteWorld world{8, 2};
  for (int i = 0; i < 4; ++i) {
    for (const model::LaneIndex lane : {0U, 1U}) {
      EXPECT_EQ(world.buy(world.request(world.buyer(lane, i))).answer, PurchaseAnswer::admitted);
    }
  }
  for (const auto& intent : world.broker.published) {
    ASSERT_TRUE(world.database.land(std::vector<model::LaneRecord>{intent}, sim::Kernel::utc_at_start));
  }
  world.rebuild(0, store::LaneState::lane, false);
  world.pass(1'100ms);
  EXPECT_EQ(world.buy(world.request(world.buyer(0, 5))).answer, PurchaseAnswer::busy);
  EXPECT_EQ(world.buy(world.request(world.buyer(1, 5))).answer, PurchaseAnswer::sold_out) << "his lane knows him";
  EXPECT_EQ(world.buy(world.request(world.buyer(0, 5))).answer, PurchaseAnswer::busy) << "also under its lease";
  world.drain(0);
  world.pass(1'100ms);
  EXPECT_EQ(world.buy(world.request(world.buyer(0, 5))).answer, PurchaseAnswer::sold_out);
}

TEST(RemoteAdmit, an_ended_ticket_is_replayed_with_its_state) {
  RemoteWorld world;
  const AdmitReply first = world.buy(world.request(world.buyer(0)));
  EXPECT_EQ(steps::release(world.lane(0), first.ticket->ticket), LaneCode::done);
  const AdmitReply again = world.buy(world.request(world.buyer(0)));
  EXPECT_EQ(again.answer, PurchaseAnswer::replayed);
  EXPECT_FALSE(again.ticket->live);
}

TEST(RemoteAdmit, the_node_lease_no_lane_is_asked_on_a_copy_older_than_3_s) {
  RemoteWorld world;
  world.pass(100ms);
  world.faults.down = true;
  world.pass(1'900ms);
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::admitted);
  world.pass(1'200ms);
  const int asked = world.lanes.calls["admit"];
  EXPECT_EQ(world.buy(world.request(world.buyer(0, 1))).answer, PurchaseAnswer::busy);
  EXPECT_EQ(world.lanes.calls["admit"], asked);
  EXPECT_EQ(world.admission->early_answer(world.item, std::nullopt, 1), std::nullopt);
  world.faults.down = false;
  world.pass(1'500ms);
  EXPECT_EQ(world.buy(world.request(world.buyer(0, 1))).answer, PurchaseAnswer::admitted) << "by itself";
}

TEST(RemoteAdmit, asks_that_wait_while_the_copy_grows_old_are_not_sent) {
  RemoteWorld world;
  world.pass(100ms);
  world.faults.down = true;
  world.pass(2'300ms);
  world.lanes.plan("admit", {Fault::held});
  world.ask(world.request(world.buyer(0)));
  const auto told = world.ask(world.request(world.buyer(0, 1)));
  world.pass(800ms);
  world.lanes.let_go();
  EXPECT_TRUE(told->is(PurchaseAnswer::busy));
  EXPECT_EQ(world.lanes.admit_sizes.size(), 1U);
}

TEST(RemoteAdmit, a_lane_of_another_generation_is_busy_and_the_copy_is_read_again_at_once) {
  RemoteWorld world;
  world.pass(100ms);
  world.rebuild(0);
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::busy);
  world.pass(50ms);
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::admitted);
}

TEST(RemoteAdmit, not_started_is_answered_early_to_everybody) {
  RemoteWorld world;
  EXPECT_EQ(world.admission->early_answer(world.item, "b1", 1), std::nullopt);
  model::Sale edited = *world.database.find_sale(world.item.sale);
  edited.starts_at = sim::Kernel::utc_at_start + 60'000;
  ++edited.version;
  ASSERT_TRUE(world.database.update_sale(edited, {}));
  world.pass(1'500ms);
  EXPECT_EQ(world.admission->early_answer(world.item, std::nullopt, 1), PurchaseAnswer::not_started);
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::not_started) << "the lanes know it too";
  ASSERT_TRUE(
      world.database.set_sale_state(world.item.sale, model::SaleState::preloaded, model::SaleState::closed, {}));
  world.pass(1'500ms);
  EXPECT_EQ(world.admission->early_answer(world.item, std::nullopt, 1), std::nullopt) << "he might hold a mark";
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::ended);
}

TEST(RemoteAdmit, stop_answers_full_lines_and_sends_none_of_them) {
  Config config = without_replicas();
  config.asks_waiting_max = 70;
  RemoteWorld world{1'600, 2, config};
  world.lanes.plan("admit", {Fault::held});
  std::vector<std::shared_ptr<Told>> told;
  for (int i = 0; i < 140; ++i) told.push_back(world.ask(world.request(world.buyer(static_cast<unsigned>(i % 2), i))));
  world.kernel.after(200ms, [&] { world.lanes.let_go(); });
  world.admission->stop();
  EXPECT_TRUE(std::ranges::all_of(told, [](const auto& one) { return one->is(PurchaseAnswer::busy); }));
  EXPECT_EQ(world.lanes.admit_sizes, (std::vector<std::size_t>{1}));
  EXPECT_EQ(world.stock(0).held + world.stock(1).held, 1) << "what was asked was taken: unknown, not failed";
}

TEST(RemoteAdmit, stop_answers_who_waits_and_waits_for_what_is_under_way) {
  RemoteWorld world;
  world.broker.answers = std::nullopt;
  const auto told = world.ask(world.request(world.buyer(0)));
  world.kernel.after(200ms, [&] { world.broker.answer_held(queue::Published::unknown); });
  world.admission->stop();
  ASSERT_TRUE(told->is(PurchaseAnswer::busy));
  EXPECT_TRUE(told->reply->ticket);
  EXPECT_EQ(world.broker.held(), 0U) << "the message's answer was waited for";
  EXPECT_EQ(world.buy(world.request(world.buyer(0, 1))).answer, PurchaseAnswer::busy);
}

}  // namespace
}  // namespace seckill::admission::remote::test
