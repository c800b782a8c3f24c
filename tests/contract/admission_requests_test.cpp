// Admission port: requests and tickets. One admitted request is one ticket for ever (P4), the limit counts what a buyer
// holds or owns (P3), and nothing is acknowledged before it is durable (P5).
#include <fmt/format.h>

#include "contract/admission_world.hpp"

namespace seckill::test {
namespace {

using admission::AdmitReply;

class AdmissionRequests : public AdmissionContract {};
INSTANTIATE_TEST_SUITE_P(Engines, AdmissionRequests, testing::ValuesIn(engines()), engine_name);

std::vector<AdmitReply> ask_from_threads(World& world, const std::vector<admission::AdmitRequest>& requests,
                                         int threads) {
  std::vector<std::future<AdmitReply>> replies(requests.size());
  {
    std::vector<std::jthread> crowd;
    for (int t = 0; t < threads; ++t) {
      crowd.emplace_back([&, t] {
        for (std::size_t i = static_cast<std::size_t>(t); i < requests.size(); i += static_cast<std::size_t>(threads)) {
          replies[i] = world.ask_later(requests[i]);
        }
      });
    }
  }
  std::vector<AdmitReply> got;
  for (std::future<AdmitReply>& reply : replies) got.push_back(reply.get());
  return got;
}

std::size_t count(const std::vector<AdmitReply>& replies, PurchaseAnswer answer) {
  return static_cast<std::size_t>(std::ranges::count(replies, answer, &AdmitReply::answer));
}

TEST_P(AdmissionRequests, FS_04_one_buyers_200_clicks_take_one_unit) {
  World world{GetParam(), {.total = 100}};
  std::vector<admission::AdmitRequest> clicks;
  for (int i = 0; i < 200; ++i) clicks.push_back(world.request("u1", fmt::format("click-{}", i)));
  const std::vector<AdmitReply> replies = ask_from_threads(world, clicks, 4);
  EXPECT_EQ(count(replies, PurchaseAnswer::admitted), 1U);
  EXPECT_EQ(count(replies, PurchaseAnswer::limit_reached), 199U);
  for (const AdmitReply& reply : replies) {
    if (reply.answer == PurchaseAnswer::limit_reached) {
      EXPECT_EQ(reply.own.size(), 1U) << "the refusal names the buyer's own ticket";
    }
  }
  EXPECT_EQ(world.lane_sum().available, 99);
  for (int i = 0; i < 99; ++i) EXPECT_EQ(world.ask(fmt::format("v{}", i), "r").answer, PurchaseAnswer::admitted) << i;
  EXPECT_EQ(world.ask("the-101st", "r").answer, PurchaseAnswer::sold_out);
  world.expect_conserved();
}

TEST_P(AdmissionRequests, FS_05_the_same_request_in_parallel_is_one_ticket) {
  World world{GetParam(), {.total = 10}};
  const std::vector<AdmitReply> replies = ask_from_threads(world, {20, world.request("u1", "same")}, 4);
  EXPECT_EQ(count(replies, PurchaseAnswer::admitted), 1U);
  EXPECT_EQ(count(replies, PurchaseAnswer::replayed), 19U);
  std::set<model::Ticket> tickets;
  for (const AdmitReply& reply : replies) tickets.insert(reply.ticket.value().ticket);
  EXPECT_EQ(tickets.size(), 1U);
  EXPECT_EQ(world.lane_sum().held, 1);
  EXPECT_EQ(world.store.rows(world.item()).orders.size(), 1U);
}

TEST_P(AdmissionRequests, FS_05_other_request_ids_get_limit_reached_with_the_first_ticket) {
  World world{GetParam(), {.total = 10}};
  const AdmitReply first = world.ask("u1", "r0");
  for (int i = 1; i <= 20; ++i) {
    const AdmitReply reply = world.ask("u1", fmt::format("r{}", i));
    EXPECT_EQ(reply.answer, PurchaseAnswer::limit_reached);
    ASSERT_EQ(reply.own.size(), 1U);
    EXPECT_EQ(reply.own[0].ticket, first.ticket->ticket);
    EXPECT_EQ(reply.own[0].state, model::TicketState::ordered);
  }
  EXPECT_EQ(world.lane_sum().held, 1);
}

TEST_P(AdmissionRequests, FS_05_limit_2_is_never_exceeded_in_parallel) {
  World world{GetParam(), {.total = 10, .limit = 2}};
  std::vector<admission::AdmitRequest> asks;
  for (int i = 0; i < 40; ++i) asks.push_back(world.request("u1", fmt::format("r{}", i), 1 + i % 2));
  (void)ask_from_threads(world, asks, 4);
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 8, .held = 2, .sold = 0}));
  world.expect_conserved();
}

TEST_P(AdmissionRequests, FS_36_the_same_key_with_other_content_is_a_conflict_for_ever) {
  World world{GetParam(), {.total = 10, .limit = 3}};
  const model::Ticket ticket = world.ask("u1", "key", 1).ticket->ticket;
  EXPECT_EQ(world.ask("u1", "key", 2).answer, PurchaseAnswer::request_conflict) << "other quantity";
  EXPECT_EQ(world.ask(world.request("u1", "key", 1, R"({"remark":"x"})")).answer, PurchaseAnswer::request_conflict);
  EXPECT_EQ(world.ask("u2", "key", 2).answer, PurchaseAnswer::admitted) << "keys are each buyer's own";
  (void)world.end(ticket, model::OrderEvent::cancel);
  EXPECT_EQ(world.ask("u1", "key", 2).answer, PurchaseAnswer::request_conflict) << "after the ticket ended";
  world.restart();
  EXPECT_EQ(world.ask("u1", "key", 2).answer, PurchaseAnswer::request_conflict) << "after a restart";
  EXPECT_EQ(world.ask("u1", "key", 1).answer, PurchaseAnswer::replayed);
}

TEST_P(AdmissionRequests, FS_36_a_refusal_is_not_remembered) {
  World world{GetParam(), {.total = 8}};
  std::vector<model::Ticket> tickets;
  for (int i = 0; i < 8; ++i) tickets.push_back(world.ask(fmt::format("u{}", i), "r").ticket->ticket);
  EXPECT_EQ(world.ask("late", "key").answer, PurchaseAnswer::sold_out);
  (void)world.end(tickets[0], model::OrderEvent::cancel);
  EXPECT_EQ(world.ask("late", "key").answer, PurchaseAnswer::admitted) << "the same key, once stock has returned";
}

TEST_P(AdmissionRequests, FS_40_rebuying_after_a_cancel_succeeds_each_round) {
  World world{GetParam(), {.total = 5}};
  for (int round = 0; round < 3; ++round) {
    const AdmitReply bought = world.ask("u1", fmt::format("round-{}", round));
    ASSERT_EQ(bought.answer, PurchaseAnswer::admitted) << round;
    EXPECT_EQ(world.ask("u1", "again").answer, PurchaseAnswer::limit_reached);
    (void)world.end(bought.ticket->ticket, round == 2 ? model::OrderEvent::expire : model::OrderEvent::cancel);
    EXPECT_EQ(world.lane_sum().available, 5);
  }
  EXPECT_EQ(world.ask("u1", "last").answer, PurchaseAnswer::admitted);
  world.expect_conserved();
}

TEST_P(AdmissionRequests, FS_40_one_chance_only_refuses_clearly_and_the_unit_goes_to_others) {
  World world{GetParam(), {.total = 1, .tickets_max = 1}};
  const AdmitReply bought = world.ask("u1", "first");
  (void)world.end(bought.ticket->ticket, model::OrderEvent::cancel);
  const AdmitReply again = world.ask("u1", "second");
  EXPECT_EQ(again.answer, PurchaseAnswer::limit_reached);
  EXPECT_TRUE(again.own.empty()) << "he holds nothing any more";
  EXPECT_EQ(world.ask("u2", "first").answer, PurchaseAnswer::admitted);
}

TEST_P(AdmissionRequests, FS_40_limit_2_counts_units_that_are_held_or_owned) {
  World world{GetParam(), {.total = 5, .limit = 2}};
  EXPECT_EQ(world.ask("u1", "both", 1).answer, PurchaseAnswer::admitted);
  const AdmitReply second = world.ask("u1", "second", 1);
  EXPECT_EQ(second.answer, PurchaseAnswer::admitted);
  (void)world.end(second.ticket->ticket, model::OrderEvent::cancel);
  EXPECT_EQ(world.ask("u1", "third", 1).answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.ask("u1", "fourth", 1).answer, PurchaseAnswer::limit_reached);
  EXPECT_EQ(world.lane_sum().held, 2);
}

TEST_P(AdmissionRequests, FS_40_a_buyer_has_at_most_16_tickets_ever) {
  World world{GetParam(), {.total = 5}};
  for (int i = 0; i < 16; ++i) {
    const AdmitReply bought = world.ask("u1", fmt::format("r{}", i));
    ASSERT_EQ(bought.answer, PurchaseAnswer::admitted) << i;
    (void)world.end(bought.ticket->ticket, model::OrderEvent::cancel);
  }
  EXPECT_EQ(world.ask("u1", "r16").answer, PurchaseAnswer::limit_reached);
  EXPECT_EQ(world.ask("u1", "r3").answer, PurchaseAnswer::replayed) << "each of them is still known";
}

TEST_P(AdmissionRequests, P4_an_ended_ticket_replays_as_ended_also_after_the_sale) {
  World world{GetParam(), {.total = 5}};
  const AdmitReply bought = world.ask("u1", "r");
  (void)world.end(bought.ticket->ticket, model::OrderEvent::cancel);
  world.clock.advance(std::chrono::hours{2});
  for (int i = 0; i < 2; ++i) {
    const AdmitReply replay = world.ask("u1", "r");
    EXPECT_EQ(replay.answer, PurchaseAnswer::replayed);
    EXPECT_EQ(replay.ticket->ticket, bought.ticket->ticket);
    EXPECT_FALSE(replay.ticket->live);
    EXPECT_EQ(world.ask("u1", "new").answer, PurchaseAnswer::ended);
    world.restart();
  }
}

TEST_P(AdmissionRequests, FS_60_tickets_are_unique_name_their_lane_and_need_no_clock) {
  World world{GetParam(), {.total = 2'000, .lanes = 16}};
  std::set<model::Ticket> tickets;
  for (int i = 0; i < 2'000; ++i) {
    if (i % 500 == 250) world.clock.step_utc(std::chrono::milliseconds{-5'000});
    if (i % 500 == 0) world.clock.step_utc(std::chrono::milliseconds{5'000});
    const std::string who = fmt::format("u{}", i);
    const AdmitReply reply = world.ask(who, "r");
    if (reply.answer == PurchaseAnswer::not_started) continue;  // the stepped clock stands before the start
    ASSERT_EQ(reply.answer, PurchaseAnswer::admitted);
    const model::Ticket ticket = reply.ticket->ticket;
    EXPECT_TRUE(tickets.insert(ticket).second);
    EXPECT_EQ(ticket.lane(), model::lane_of(who, 16));
    EXPECT_EQ(world.admission().ticket_of(world.item(), World::buyer(who), *model::RequestId::parse("r")), ticket);
    EXPECT_EQ(model::Ticket::parse(ticket.str()), ticket);
  }
  EXPECT_GT(tickets.size(), 900U);
}

TEST_P(AdmissionRequests, P5_nothing_is_acknowledged_while_the_disk_hangs) {
  World world{GetParam(), {.total = 10, .limit = 2}};
  world.landing.hold(true);
  std::future<AdmitReply> first = world.ask_later(world.request("u1", "r1", 2));
  std::future<AdmitReply> repeat = world.ask_later(world.request("u1", "r1", 2));
  std::future<AdmitReply> refused = world.ask_later(world.request("u1", "r2", 1));
  world.landing.wait_for_offers(1);
  for (std::future<AdmitReply>* reply : {&first, &repeat, &refused}) {
    EXPECT_EQ(reply->wait_for(std::chrono::milliseconds{20}), std::future_status::timeout);
  }
  world.landing.hold(false);
  EXPECT_EQ(first.get().answer, PurchaseAnswer::admitted);
  EXPECT_EQ(repeat.get().answer, PurchaseAnswer::replayed);
  const AdmitReply limit = refused.get();
  EXPECT_EQ(limit.answer, PurchaseAnswer::limit_reached);
  EXPECT_EQ(limit.own.size(), 1U);
  EXPECT_EQ(world.store.rows(world.item()).orders.size(), 1U) << "copies of an intent are one order";
  world.expect_conserved();
}

TEST_P(AdmissionRequests, P5_unknown_is_busy_with_the_ticket_and_never_released) {
  World world{GetParam(), {.total = 10}};
  world.landing.hold(true);
  std::future<AdmitReply> first = world.ask_later(world.request("u1", "r1"));
  world.landing.wait_for_offers(1);
  world.clock.advance(std::chrono::seconds{5});  // past any deadline of a confirmation
  const AdmitReply unknown = first.get();
  EXPECT_EQ(unknown.answer, PurchaseAnswer::busy);
  ASSERT_TRUE(unknown.ticket.has_value());
  EXPECT_EQ(unknown.ticket->state, model::TicketState::queued);
  EXPECT_EQ(world.lane_sum().held, 1) << "unknown is not failed";
  world.landing.hold(false);
  AdmitReply replay = world.ask("u1", "r1");
  EXPECT_EQ(replay.answer, PurchaseAnswer::replayed);
  EXPECT_EQ(replay.ticket->ticket, unknown.ticket->ticket);
  EXPECT_EQ(replay.ticket->state, model::TicketState::ordered);
  EXPECT_EQ(world.store.rows(world.item()).orders.size(), 1U);
  world.expect_conserved();
}

TEST_P(AdmissionRequests, P6_a_landing_after_its_unknown_answer_is_known_to_the_lane_unasked) {
  World world{GetParam(), {.total = 2, .price_minor = 0}};
  world.landing.hold(true);
  std::future<AdmitReply> first = world.ask_later(world.request("u1", "r"));
  world.landing.wait_for_offers(1);
  world.clock.advance(std::chrono::seconds{5});
  EXPECT_EQ(first.get().answer, PurchaseAnswer::busy);
  world.landing.hold(false);
  EXPECT_EQ(world.ask("u2", "r").answer, PurchaseAnswer::admitted) << "landed after the first, so that one has too";
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 0, .held = 0, .sold = 2}))
      << "at price 0 a landed order is sold, and no end will ever tell the lane";
  world.expect_conserved();
}

TEST_P(AdmissionRequests, P6_a_ticket_that_ended_before_its_confirmation_gives_its_unit_back_once) {
  World world{GetParam(), {.total = 1}};
  // A second process over the same store: so the row is there, and has ended, before this one's intent lands.
  const std::unique_ptr<Engine> other = world.another();
  ASSERT_TRUE(other->admission().install(world.sale, world.sale.items[0], world.store).has_value());
  std::promise<AdmitReply> bought;
  other->admission().admit(world.request("u1", "r"), [&](AdmitReply got) { bought.set_value(std::move(got)); });
  const model::Ticket ticket = bought.get_future().get().ticket->ticket;
  store::EndCommand cancel;
  cancel.ticket = ticket;
  ASSERT_EQ(world.store.end_tickets({&cancel, 1})->front().result, store::EndResult::done);

  const AdmitReply reply = world.ask("u1", "r");
  EXPECT_EQ(reply.answer, PurchaseAnswer::replayed) << "not admitted: it has ended";
  EXPECT_EQ(reply.ticket->ticket, ticket);
  EXPECT_FALSE(reply.ticket->live);
  EXPECT_EQ(world.release(ticket), admission::LaneAck::applied) << "sent again later: harmless";
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 1, .held = 0, .sold = 0}));
  EXPECT_EQ(world.ask("u2", "r").answer, PurchaseAnswer::admitted);
  world.expect_conserved();
}

TEST_P(AdmissionRequests, a_full_disk_answers_busy_takes_nothing_and_recovers) {
  World world{GetParam(), {.total = 10}};
  const model::Ticket before = world.ask("u0", "r").ticket->ticket;
  world.landing.fill(true);
  std::future<AdmitReply> caught = world.ask_later(world.request("u1", "r"));
  world.landing.wait_for_offers(3);  // refused at least once: from now on no place is given
  EXPECT_EQ(world.ask("u2", "r").answer, PurchaseAnswer::busy);
  EXPECT_EQ(world.lane_sum().held, 2) << "u2 took nothing";
  EXPECT_EQ(world.ask("u0", "r").answer, PurchaseAnswer::replayed) << "who has a ticket is told so all the same";
  EXPECT_EQ(world.ask("u0", "r").ticket->ticket, before);
  const AdmitReply unpublished = world.ask("u1", "r");
  EXPECT_EQ(unpublished.answer, PurchaseAnswer::busy);
  EXPECT_TRUE(unpublished.ticket.has_value()) << "busy with his ticket: unknown, ask again";
  world.landing.fill(false);
  EXPECT_EQ(caught.get().answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.ask("u2", "r").answer, PurchaseAnswer::admitted);
  world.expect_conserved();
}

TEST_P(AdmissionRequests, P4_a_limit_that_rests_on_an_unknown_ticket_is_busy_without_that_ticket) {
  World world{GetParam(), {.total = 10, .limit = 1}};
  world.landing.fill(true);
  std::future<AdmitReply> caught = world.ask_later(world.request("u1", "r1"));
  world.landing.wait_for_offers(3);  // no place is given
  const AdmitReply other = world.ask("u1", "r2");
  EXPECT_EQ(other.answer, PurchaseAnswer::busy);
  EXPECT_FALSE(other.ticket.has_value()) << "the ticket is of r1: r2 has none";
  world.landing.fill(false);
  EXPECT_EQ(caught.get().answer, PurchaseAnswer::admitted);
}

TEST_P(AdmissionRequests, P6_a_ticket_that_cannot_land_fails_and_its_unit_is_on_sale_again) {
  World world{GetParam(), {.total = 1}};
  world.store.refuse_buyer("u1");
  const AdmitReply failed = world.ask("u1", "r");
  EXPECT_EQ(failed.answer, PurchaseAnswer::replayed);
  EXPECT_EQ(failed.ticket->state, model::TicketState::failed);
  EXPECT_FALSE(failed.ticket->live);
  EXPECT_EQ(world.release(failed.ticket->ticket), admission::LaneAck::applied) << "the landing's own release: harmless";
  EXPECT_EQ(world.ask("u2", "r").answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.ask("u1", "r").ticket->state, model::TicketState::failed);
  world.expect_conserved();
}

TEST_P(AdmissionRequests, a_ticket_that_failed_meanwhile_is_no_reason_to_refuse) {
  World world{GetParam(), {.total = 1}};
  world.store.refuse_buyer("u1");
  world.landing.hold(true);
  std::future<AdmitReply> first = world.ask_later(world.request("u1", "r1"));
  std::future<AdmitReply> second = world.ask_later(world.request("u1", "r2"));  // at his limit, if the first lands
  world.landing.wait_for_offers(1);
  world.landing.hold(false);
  EXPECT_EQ(first.get().ticket->state, model::TicketState::failed);
  const AdmitReply reply = second.get();
  EXPECT_EQ(reply.answer, PurchaseAnswer::busy) << "asked again it is decided afresh";
  EXPECT_TRUE(reply.own.empty());
}

TEST_P(AdmissionRequests, the_intent_carries_the_purchase_as_admitted) {
  World world{GetParam(), {.total = 8, .limit = 3, .price_minor = 1'234}};
  const std::string uuid = "0123abcd-4567-89ef-8123-456789abcdef";
  for (const std::string& request_id :
       {uuid, std::string{"0123ABCD-4567-89ef-8123-456789abcdef"}, std::string{"x"}, std::string(64, 'q')}) {
    const std::string who = "buyer-" + request_id.substr(0, 9);
    const AdmitReply reply = world.ask(world.request(who, request_id, 2, R"({"receiver":"A"})"));
    ASSERT_EQ(reply.answer, PurchaseAnswer::admitted);
    const store::Order order = **world.store.find_order(reply.ticket->ticket);
    EXPECT_EQ(order.buyer.view(), who);
    EXPECT_EQ(order.request_id.view(), request_id);
    EXPECT_EQ(order.units, 2);
    EXPECT_EQ(order.price_minor, 1'234);
    EXPECT_EQ(order.fields, R"({"receiver":"A"})");
    EXPECT_EQ(order.admitted_at, world.clock.now_utc());
    EXPECT_EQ(order.lane, reply.ticket->ticket.lane());
  }
}

TEST_P(AdmissionRequests, FS_24_a_ticket_is_found_by_its_buyer_only) {
  World world{GetParam(), {.total = 8}};
  const model::Ticket ticket = world.ask("u1", "r").ticket->ticket;
  const auto find = [&](std::string_view who) {
    std::promise<base::Result<std::optional<admission::TicketView>>> found;
    world.admission().find_ticket(world.item(), World::buyer(who), ticket, [&](auto got) { found.set_value(got); });
    return found.get_future().get();
  };
  EXPECT_EQ(find("u1")->value().ticket, ticket);
  EXPECT_FALSE(find("u2")->has_value());
  // A stranger whose lane is the ticket's is a stranger too.
  for (int n = 0; n < 3; ++n) EXPECT_FALSE(find(world.buyer_in_lane(ticket.lane(), n))->has_value());
  std::promise<std::vector<admission::TicketView>> own;
  world.admission().buyer_tickets(world.item(), World::buyer("u1"), [&](auto got) { own.set_value(*got); });
  EXPECT_EQ(own.get_future().get().size(), 1U);
}

TEST_P(AdmissionRequests, an_unknown_item_or_closed_lanes_answer_busy) {
  World world{GetParam(), {.total = 8}};
  admission::AdmitRequest other = world.request("u1", "r");
  other.item.sku = *model::Sku::parse("nothing");
  EXPECT_EQ(world.ask(other).answer, PurchaseAnswer::busy);
  const model::Ticket ticket = world.ask("u1", "r").ticket->ticket;
  world.admission().close_lanes(world.item(), "a test");
  EXPECT_EQ(world.ask("u2", "r").answer, PurchaseAnswer::busy);
  EXPECT_EQ(world.release(ticket), admission::LaneAck::closed) << "to be sent again";
  EXPECT_FALSE(world.admission().stock(world.item()).known);
  std::promise<bool> answered;
  world.admission().find_ticket(world.item(), World::buyer("u1"), ticket,
                                [&](const auto& got) { answered.set_value(got.has_value()); });
  EXPECT_FALSE(answered.get_future().get()) << "never `no record`";
  EXPECT_EQ(world.lane_sum().held, 1);
}

}  // namespace
}  // namespace seckill::test
