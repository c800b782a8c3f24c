// The relay and its sweep, ends, looks, reports, and the two modes (DESIGN §4.1.5, §4.4–§4.6).
#include <set>

#include "unit/admission/remote/remote_world.hpp"

namespace seckill::admission::remote::test {
namespace {

Config quick_broker_only() {
  Config config;
  config.replicas_after = 0ms;
  return config;
}

TEST(RemoteRelay, what_waits_while_messages_are_in_flight_goes_in_one_message_of_at_most_100) {
  Config config = quick_broker_only();
  config.partitions = 1;
  config.messages_in_flight_max = 1;
  RemoteWorld world{1'600, 2, config};
  world.broker.answers = std::nullopt;
  std::vector<std::shared_ptr<Told>> told;
  for (int i = 0; i < 131; ++i) told.push_back(world.ask(world.request(world.buyer(0, i))));
  EXPECT_EQ(world.broker.message_sizes, (std::vector<std::size_t>{1}));
  for (int i = 0; i < 3; ++i) world.broker.answer_held(queue::Published::confirmed);
  EXPECT_EQ(world.broker.message_sizes, (std::vector<std::size_t>{1, 100, 30}));
  for (const auto& one : told) EXPECT_TRUE(one->is(PurchaseAnswer::admitted));
}

TEST(RemoteRelay, what_is_confirmed_within_a_short_while_is_told_to_each_lane_in_one_call) {
  RemoteWorld world{160, 2, quick_broker_only()};
  for (int i = 0; i < 6; ++i) world.buy(world.request(world.buyer(static_cast<unsigned>(i % 2), i)));
  EXPECT_EQ(world.lanes.calls["confirm_published"], 0);
  EXPECT_EQ(world.lane(0).intents.size() + world.lane(1).intents.size(), 6U);
  world.pass(2 * world.config.confirm_after);
  EXPECT_EQ(world.lanes.calls["confirm_published"], 2);
  EXPECT_TRUE(world.lane(0).intents.empty() && world.lane(1).intents.empty());
}

TEST(RemoteRelay, a_node_that_stops_tells_the_lanes_what_was_confirmed_so_far) {
  RemoteWorld world{160, 2, quick_broker_only()};
  world.buy(world.request(world.buyer(0)));
  EXPECT_EQ(world.lane(0).intents.size(), 1U);
  world.admission->stop();
  EXPECT_TRUE(world.lane(0).intents.empty());
}

TEST(RemoteRelay, P9_past_the_bound_of_what_is_gathered_confirmations_are_left_to_the_sweep) {
  Config config = quick_broker_only();
  config.confirmations_max = 1;
  RemoteWorld world{160, 2, config};
  world.buy(world.request(world.buyer(0)));
  world.buy(world.request(world.buyer(0, 1)));
  world.pass(2 * world.config.confirm_after);
  EXPECT_EQ(world.lane(0).intents.size(), 1U);
  EXPECT_EQ(world.admission->relay().counters().not_marked, 1U);
  world.pass(5s);
  EXPECT_TRUE(world.lane(0).intents.empty());
}

TEST(RemoteSweep, P6_an_intent_whose_publisher_crashed_is_published_by_another_node) {
  RemoteWorld world{16, 2, quick_broker_only()};
  // Taken by a node that died before it published.
  const model::BuyerId who = world.buyer(0);
  const LaneAsk ask{.buyer = who,
                    .request_id = *model::RequestId::parse("r1"),
                    .ticket = *world.admission->ticket_of(world.item, who, *model::RequestId::parse("r1")),
                    .units = 1,
                    .digest = 1,
                    .fields = nullptr};
  const std::vector asks{ask};
  ASSERT_EQ(steps::admit(world.lane(0), 1, asks, world.node.clock().now_utc()).code, LaneCode::done);
  world.pass(1'900ms);
  EXPECT_TRUE(world.broker.published.empty()) << "its own publisher has 2 s";
  world.pass(2'500ms);
  ASSERT_EQ(world.broker.published.size(), 1U);
  EXPECT_EQ(world.broker.published[0].ticket, ask.ticket);
  EXPECT_TRUE(world.lane(0).intents.empty());
}

TEST(RemoteSweep, P5_a_confirmation_the_lane_did_not_hear_is_made_again) {
  RemoteWorld world{16, 2, quick_broker_only()};
  world.lanes.plan("confirm_published", {Fault::lost_request});
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.lane(0).intents.size(), 1U);
  world.pass(5s);
  EXPECT_TRUE(world.lane(0).intents.empty());
  EXPECT_EQ(world.broker.published.size(), 2U);
}

TEST(RemoteSweep, nothing_is_claimed_while_nothing_can_be_published) {
  RemoteWorld world{16, 2, quick_broker_only()};
  world.broker.answers = queue::Published::refused;
  world.buy(world.request(world.buyer(0)));
  world.broker.takes = false;
  const int claims = world.lanes.calls["claim_intents"];
  world.pass(10s);
  EXPECT_EQ(world.lanes.calls["claim_intents"], claims);
}

TEST(RemoteEnds, P6_only_an_open_lane_acknowledges_and_a_late_answer_is_not_believed) {
  RemoteWorld world;
  const model::Ticket ticket = world.buy(world.request(world.buyer(0))).ticket->ticket;
  std::vector<LaneAck> acks;
  const auto note = [&](LaneAck ack) { acks.push_back(ack); };
  world.lanes.plan("release", {Fault::not_executed, Fault::lost_reply, Fault::held_reply});
  for (int i = 0; i < 2; ++i) world.admission->release(world.item, ticket, note);
  world.admission->release(world.item, ticket, note);
  world.pass(1'100ms);
  world.lanes.let_go();
  EXPECT_EQ(acks, (std::vector{LaneAck::closed, LaneAck::closed, LaneAck::closed}));
  world.admission->release(world.item, ticket, note);
  EXPECT_EQ(acks.back(), LaneAck::applied) << "done before: nothing to do";
  EXPECT_EQ(world.stock(0).available, 8);

  world.lane(0).phase = steps::LanePhase::closed;
  world.admission->post(world.item, ticket, note);
  EXPECT_EQ(acks.back(), LaneAck::closed);
  world.faults.down = true;
  world.pass(4s);
  world.lane(0).phase = steps::LanePhase::open;
  world.admission->post(world.item, ticket, note);
  EXPECT_EQ(acks.back(), LaneAck::closed) << "the copy is old: the lane may have been rebuilt from older rows";
}

TEST(RemoteLooks, P5_a_ticket_is_told_when_it_is_durable) {
  RemoteWorld world{16, 2, quick_broker_only()};
  world.broker.answers = queue::Published::refused;
  const model::BuyerId who = world.buyer(0);
  const model::Ticket ticket = world.buy(world.request(who)).ticket->ticket;
  std::vector<base::Result<std::optional<TicketView>>> told;
  const auto find = [&](const model::BuyerId& buyer) {
    world.admission->find_ticket(world.item, buyer, ticket,
                                 [&](base::Result<std::optional<TicketView>> found) { told.push_back(found); });
    world.pass(50ms);
  };
  find(who);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].error().code, base::Errc::unavailable);
  world.broker.answers = queue::Published::confirmed;
  find(who);
  ASSERT_TRUE(told[1].has_value() && told[1]->has_value());
  EXPECT_EQ((*told[1])->ticket, ticket);
  find(world.buyer(0, 1));
  ASSERT_TRUE(told[2].has_value());
  EXPECT_FALSE(told[2]->has_value()) << "another buyer's ticket is no ticket (FS-24)";
  world.lane(0).phase = steps::LanePhase::closed;
  find(who);
  EXPECT_FALSE(told[3]) << "a closed lane is no 'no record'";
}

TEST(RemoteLooks, P5_no_record_is_said_only_by_a_lane_that_knows_all) {
  RemoteWorld world;
  const model::BuyerId buyer = world.buyer(0);
  const auto asked = world.request(buyer);
  const model::Ticket ticket = *world.admission->ticket_of(world.item, buyer, asked.request_id);
  const auto find = [&] {
    std::optional<base::Result<std::optional<TicketView>>> found;
    world.admission->find_ticket(world.item, buyer, ticket, [&](auto got) { found = std::move(got); });
    EXPECT_TRUE(world.kernel.run_until([&] { return found.has_value(); }, 10s));
    return *found;
  };
  ASSERT_TRUE(find().has_value());
  EXPECT_FALSE(find()->has_value()) << "nobody has asked for it";
  world.rebuild(0, store::LaneState::lane, false);
  EXPECT_EQ(find().error().code, base::Errc::unavailable) << "the copy is of the generation before";
  world.pass(1'100ms);
  EXPECT_EQ(find().error().code, base::Errc::unavailable) << "undrained";
  EXPECT_EQ(world.buy(asked).answer, PurchaseAnswer::admitted);
  ASSERT_TRUE(find().has_value());
  EXPECT_TRUE(find()->has_value());
}

TEST(RemoteRounds, a_lane_that_is_not_what_the_copy_says_is_reported_and_one_that_does_not_answer_is_not) {
  for (int what = 0; what < 4; ++what) {
    RemoteWorld world;
    // As a leader that installed both lanes on this server has left the rows.
    for (auto& row : world.tables.items.front().lanes) row.run_id = "one";
    world.lanes.server.run_id = "one";
    world.pass(1'500ms);
    if (what == 0) world.lanes.lanes.erase({world.item, 0});
    if (what == 1) world.lane(0).phase = steps::LanePhase::closed;
    if (what == 2) world.lanes.server.run_id = "another";
    if (what == 3) world.lanes.always("read", Fault::lost_request);
    world.pass(8s);
    EXPECT_EQ(world.row_of(0).state, what == 3 ? store::LaneState::lane : store::LaneState::closed) << what;
    EXPECT_EQ(world.row_of(1).state, what >= 2 && what < 3 ? store::LaneState::closed : store::LaneState::lane) << what;
    EXPECT_EQ(world.row_of(0).row.generation, 1U);
  }
}

TEST(RemoteRounds, a_lane_that_was_never_installed_is_its_leaders_to_install_and_not_reported) {
  RemoteWorld world;
  world.lanes.server.run_id = "one";  // the rows name none
  world.pass(8s);
  EXPECT_EQ(world.row_of(0).state, store::LaneState::lane);
}

TEST(RemoteRounds, a_lane_that_opens_again_in_time_is_not_reported) {
  RemoteWorld world;
  world.pass(500ms);
  world.lane(0).phase = steps::LanePhase::closed;
  world.pass(1'100ms);
  world.lane(0).phase = steps::LanePhase::open;
  world.pass(5s);
  EXPECT_EQ(world.row_of(0).state, store::LaneState::lane);
}

TEST(RemoteRounds, P1_close_lanes_stops_admissions_here_at_once_and_in_the_store_soon) {
  RemoteWorld world;
  world.admission->close_lanes(world.item, "a row is short");
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::busy);
  EXPECT_EQ(world.lanes.calls["admit"], 0);
  world.pass(200ms);
  EXPECT_EQ(world.row_of(0).state, store::LaneState::closed);
  EXPECT_EQ(world.row_of(1).state, store::LaneState::closed);
  EXPECT_EQ(world.database.tables().items.front().wanted, store::LaneState::closed) << "the leader leaves them so";
  world.rebuild(0);
  world.pass(2s);
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::admitted) << "a new generation";
}

TEST(RemoteCopies, new_terms_reach_every_lane_until_it_has_them) {
  RemoteWorld world;
  world.pass(500ms);
  world.lanes.plan("configure", {Fault::lost_request, Fault::not_executed});
  model::Sale edited = *world.database.find_sale(world.item.sale);
  edited.items.front().price_minor = 777;
  ++edited.version;
  ASSERT_TRUE(world.database.update_sale(edited, {}));
  ASSERT_TRUE(world.admission->configure(world.item, model::terms_of(edited, edited.items.front())));
  world.pass(3s);
  EXPECT_EQ(world.lane(0).terms.price_minor, 777);
  EXPECT_EQ(world.lane(1).terms.price_minor, 777);
  const int calls = world.lanes.calls["configure"];
  world.pass(5s);
  EXPECT_EQ(world.lanes.calls["configure"], calls) << "known to have them";
}

TEST(RemoteViews, stock_and_lanes_are_what_the_last_round_read) {
  RemoteWorld world;
  world.buy(world.request(world.buyer(0), 3));
  world.pass(1'500ms);
  const StockView view = world.admission->stock(world.item);
  EXPECT_TRUE(view.known);
  EXPECT_EQ(view.available, 13);
  EXPECT_EQ(view.held, 3);
  ASSERT_EQ(world.admission->lanes(world.item).size(), 2U);
  EXPECT_EQ(world.admission->lanes(world.item)[0].marks, 1);
  world.lane(1).phase = steps::LanePhase::closed;
  world.pass(1'500ms);
  EXPECT_FALSE(world.admission->stock(world.item).known);
}

// --- admission by database ---

struct ByDatabase : RemoteWorld {
  explicit ByDatabase(Config settings = quick_broker_only()) : RemoteWorld{16, 2, settings} {
    for (const model::LaneIndex lane : {0U, 1U}) rebuild(lane, store::LaneState::store);
    pass(1'500ms);
  }
  void land() {
    std::vector<model::LaneRecord> records{broker.published.begin(), broker.published.end()};
    EXPECT_TRUE(database.land(records, node.clock().now_utc()));
    broker.published.clear();
  }
};

TEST(RemoteByDatabase, P4_an_undecided_intent_is_published_and_the_row_answers_the_repeat) {
  ByDatabase world;
  const AdmitReply first = world.buy(world.request(world.buyer(0), 2));
  ASSERT_EQ(first.answer, PurchaseAnswer::admitted);
  EXPECT_EQ(first.ticket->state, model::TicketState::queued);
  EXPECT_EQ(world.lanes.calls["admit"], 0);
  ASSERT_EQ(world.broker.published.size(), 1U);
  EXPECT_EQ(world.broker.published[0].generation, 2U);
  world.land();
  const AdmitReply again = world.buy(world.request(world.buyer(0), 2));
  EXPECT_EQ(again.answer, PurchaseAnswer::replayed);
  EXPECT_EQ(again.ticket->ticket, first.ticket->ticket);
  EXPECT_EQ(again.ticket->state, model::TicketState::ordered);
  EXPECT_EQ(world.buy(world.request(world.buyer(0), 3)).answer, PurchaseAnswer::request_conflict);
  EXPECT_TRUE(world.broker.published.empty());
}

TEST(RemoteByDatabase, P4_who_may_be_queued_and_undecided_is_delayed_and_not_denied) {
  ByDatabase world;
  ASSERT_EQ(world.buy(world.request(world.buyer(0), 1)).answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.buy(world.request(world.buyer(0), 900)).answer, PurchaseAnswer::busy) << "other content, too much";
  ASSERT_TRUE(
      world.database.set_sale_state(world.item.sale, model::SaleState::preloaded, model::SaleState::paused, {}));
  world.pass(1'500ms);
  EXPECT_EQ(world.buy(world.request(world.buyer(0), 1)).answer, PurchaseAnswer::busy) << "paused";
}

TEST(RemoteByDatabase, a_loser_is_told_by_his_failed_row) {
  ByDatabase world;
  ASSERT_EQ(world.buy(world.request(world.buyer(0), 3)).answer, PurchaseAnswer::admitted);
  ASSERT_EQ(world.buy(world.request(world.buyer(0), 1, "r2")).answer, PurchaseAnswer::admitted) << "undecided";
  world.land();
  const AdmitReply told = world.buy(world.request(world.buyer(0), 1, "r2"));
  EXPECT_EQ(told.answer, PurchaseAnswer::replayed);
  EXPECT_EQ(told.ticket->state, model::TicketState::failed);
  EXPECT_FALSE(told.ticket->live);
}

TEST(RemoteByDatabase, P9_requests_are_taken_at_a_bounded_rate) {
  Config config = quick_broker_only();
  config.store_admissions_per_s = 20;
  ByDatabase world{config};
  world.pass(2s);
  int admitted = 0;
  for (int i = 0; i < 10; ++i) {
    if (world.buy(world.request(world.buyer(0, i))).answer == PurchaseAnswer::admitted) ++admitted;
  }
  EXPECT_LE(admitted, 3);
  EXPECT_GE(admitted, 2);
}

TEST(RemoteByDatabase, ends_are_applied_because_the_row_is_the_truth_and_tickets_cannot_be_looked_up) {
  ByDatabase world;
  const model::Ticket ticket = world.buy(world.request(world.buyer(0))).ticket->ticket;
  std::optional<LaneAck> ack;
  world.admission->release(world.item, ticket, [&](LaneAck told) { ack = told; });
  EXPECT_EQ(ack, LaneAck::applied);
  EXPECT_EQ(world.lanes.calls["release"], 0);
  bool unavailable = false;
  world.admission->find_ticket(world.item, world.buyer(0), ticket,
                               [&](const base::Result<std::optional<TicketView>>& found) { unavailable = !found; });
  EXPECT_TRUE(unavailable) << "undecided is not 'no record'";
}

// --- synchronous ordering ---

TEST(RemoteSynchronous, P5_intents_land_in_this_process_and_the_answer_waits_for_the_row) {
  RemoteWorld world{16, 2, quick_broker_only()};
  world.broker.takes = false;
  world.synchronous = true;
  const AdmitReply reply = world.buy(world.request(world.buyer(0)));
  EXPECT_EQ(reply.answer, PurchaseAnswer::admitted);
  EXPECT_EQ(reply.ticket->state, model::TicketState::ordered);
  EXPECT_EQ(world.tables.orders.size(), 1U);
  EXPECT_TRUE(world.broker.published.empty());
  world.pass(2 * world.config.confirm_after);
  EXPECT_TRUE(world.lane(0).intents.empty());
  world.landing.down = true;
  const AdmitReply busy = world.buy(world.request(world.buyer(0, 1)));
  EXPECT_EQ(busy.answer, PurchaseAnswer::busy);
  EXPECT_TRUE(busy.ticket);
  world.landing.down = false;
  world.pass(5s);
  EXPECT_EQ(world.tables.orders.size(), 2U) << "the sweep offers it again";
}

TEST(RemoteSynchronous, P5_an_intent_of_an_older_generation_did_not_land_and_is_not_told_durable) {
  RemoteWorld world{16, 2, quick_broker_only()};
  world.broker.answers = queue::Published::refused;
  world.buy(world.request(world.buyer(0)));
  // The store is ahead; the lane and the copy do not know yet.
  const auto lease = world.database.acquire_lease(store::leader_lease, "leader", 3'600s);
  ASSERT_TRUE(world.database.rebuild_lane(world.item, 0, (*lease)->token));
  world.synchronous = true;
  EXPECT_EQ(world.buy(world.request(world.buyer(0))).answer, PurchaseAnswer::busy);
  EXPECT_TRUE(world.tables.orders.empty());
  EXPECT_EQ(world.lane(0).intents.size(), 1U) << "left for the rebuild to salvage";
}

TEST(RemoteSynchronous, P6_a_ticket_that_had_ended_is_released_before_its_intent_leaves_the_stream) {
  RemoteWorld world{16, 2, quick_broker_only()};
  world.broker.answers = queue::Published::refused;
  const model::Ticket ticket = world.buy(world.request(world.buyer(0))).ticket->ticket;
  // Landed by a copy of its message, then cancelled; the lane has heard of neither.
  const std::vector<model::LaneRecord> records{world.broker.published.front()};
  ASSERT_TRUE(world.database.land(records, world.node.clock().now_utc()));
  const std::vector<store::EndCommand> ends{{.ticket = ticket,
                                             .event = model::OrderEvent::cancel,
                                             .now = world.node.clock().now_utc(),
                                             .buyer = std::nullopt,
                                             .payment_provider = {},
                                             .payment_id = {}}};
  ASSERT_TRUE(world.database.end_tickets(ends));
  world.synchronous = true;
  world.lanes.plan("release", {Fault::not_executed});
  const AdmitReply again = world.buy(world.request(world.buyer(0)));
  EXPECT_EQ(again.answer, PurchaseAnswer::replayed);
  EXPECT_FALSE(again.ticket->live);
  EXPECT_EQ(world.lane(0).intents.size(), 1U);
  world.pass(6s);
  EXPECT_TRUE(world.lane(0).intents.empty());
  EXPECT_EQ(world.stock(0).available, 8);
}

}  // namespace
}  // namespace seckill::admission::remote::test
