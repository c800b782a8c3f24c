// Admission port: what a landing tells a lane, late, out of turn or not at all.
#include "contract/admission_world.hpp"

namespace seckill::test {
namespace {

using admission::AdmitReply;

class AdmissionLanding : public AdmissionContract {};
INSTANTIATE_TEST_SUITE_P(Engines, AdmissionLanding, testing::ValuesIn(engines()), engine_name);

TEST_P(AdmissionLanding, P6_an_end_that_overtakes_its_landing_is_known_at_once_and_gives_the_unit_back_once) {
  World world{GetParam(), {.total = 1}};
  // The row is another process's; its release comes while this one's intent hangs in the disk.
  const std::unique_ptr<Engine> other = world.another();
  ASSERT_TRUE(other->admission().install(world.sale, world.sale.items[0], world.store).has_value());
  std::promise<AdmitReply> bought;
  other->admission().admit(world.request("u1", "r"), [&](AdmitReply got) { bought.set_value(std::move(got)); });
  store::EndCommand cancel;
  cancel.ticket = bought.get_future().get().ticket->ticket;
  ASSERT_EQ(world.store.end_tickets({&cancel, 1})->front().result, store::EndResult::done);

  const std::size_t offers = world.landing.offers();
  world.landing.hold(true);
  std::future<AdmitReply> first = world.ask_later(world.request("u1", "r"));
  world.landing.wait_for_offers(offers + 1);
  world.clock.advance(std::chrono::seconds{5});
  EXPECT_EQ(first.get().answer, PurchaseAnswer::busy);
  EXPECT_EQ(world.release(cancel.ticket), admission::LaneAck::applied);
  std::future<AdmitReply> again = world.ask_later(world.request("u1", "r"));
  const bool at_once = again.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
  EXPECT_TRUE(at_once) << "its end is on the disk: nothing is left to wait for";
  world.landing.hold(false);
  const AdmitReply ended = again.get();
  EXPECT_EQ(ended.answer, PurchaseAnswer::replayed);
  EXPECT_FALSE(ended.ticket->live);
  EXPECT_EQ(world.ask("u2", "r").answer, PurchaseAnswer::admitted) << "landed after u1's intent, so that one has too";
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 0, .held = 1, .sold = 0}));
  world.expect_conserved();
}

TEST_P(AdmissionLanding, P4_a_limit_that_rests_on_a_ticket_told_unknown_is_busy_without_that_ticket) {
  World world{GetParam(), {.total = 8}};
  world.landing.hold(true);
  std::future<AdmitReply> first = world.ask_later(world.request("u1", "r1"));
  std::future<AdmitReply> second = world.ask_later(world.request("u1", "r2"));
  world.landing.wait_for_offers(1);
  world.clock.advance(std::chrono::seconds{5});
  EXPECT_TRUE(first.get().ticket.has_value());
  const AdmitReply other = second.get();
  EXPECT_EQ(other.answer, PurchaseAnswer::busy);
  EXPECT_FALSE(other.ticket.has_value()) << "the ticket is of r1: r2 has none";
  world.landing.hold(false);
}

TEST_P(AdmissionLanding, P5_what_a_rebuild_has_overtaken_is_busy_with_its_ticket) {
  World world{GetParam(), {.total = 8, .lanes = 1}};
  world.store.spoil(world.item(), [](DeviceStore::ItemRows& rows) { rows.stock.lanes[0].generation = 2; });
  const AdmitReply reply = world.ask("u1", "r");
  EXPECT_EQ(reply.answer, PurchaseAnswer::busy) << "no row has it";
  ASSERT_TRUE(reply.ticket.has_value());
  EXPECT_EQ(reply.ticket->state, model::TicketState::queued);
  EXPECT_EQ(world.lane_sum().held, 1) << "nor has it failed: whoever rebuilt the lane decides";
  EXPECT_TRUE(world.store.rows(world.item()).orders.empty());
}

}  // namespace
}  // namespace seckill::test
