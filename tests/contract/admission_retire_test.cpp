// Admission port: the lanes of a sale that is over are given back once nothing can need them any more, and then the
// item is as unknown as after a restart that does not install it (P4: the store answers for its tickets).
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "contract/admission_world.hpp"

namespace seckill::test {
namespace {

class AdmissionRetire : public AdmissionContract {
 protected:
  static base::Status retire(World& world) { return world.admission().retire(world.item()); }
  static void expect_refused(World& world, std::string_view why) {
    const base::Status refused = retire(world);
    ASSERT_FALSE(refused.has_value()) << why;
    EXPECT_EQ(refused.error().code, base::Errc::refused) << refused.error().text();
    EXPECT_FALSE(world.admission().lanes(world.item()).empty()) << why;
  }
  // Tickets told by a lookup; nullopt: unavailable.
  static std::optional<std::size_t> tickets_of(World& world, std::string_view who) {
    std::optional<std::size_t> count;
    world.admission().buyer_tickets(world.item(), World::buyer(who), [&](auto found) {
      if (found) count = found->size();
    });
    return count;
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, AdmissionRetire, testing::ValuesIn(engines()), engine_name);

TEST_P(AdmissionRetire, FS_21_an_item_given_back_is_as_unknown_as_after_a_restart) {
  World world{GetParam(), {.total = 64, .limit = 2, .lanes = 4}};
  const model::Ticket paid = world.ask("ann", "r").ticket->ticket;
  const model::Ticket cancelled = world.ask("bob", "r").ticket->ticket;
  (void)world.end(paid, model::OrderEvent::pay);
  (void)world.end(cancelled, model::OrderEvent::cancel);
  world.clock.advance(std::chrono::hours{2});
  EXPECT_EQ(world.admission().early_answer(world.item(), "cat", 1), PurchaseAnswer::ended);
  ASSERT_TRUE(retire(world).has_value());

  EXPECT_TRUE(world.admission().lanes(world.item()).empty());
  EXPECT_FALSE(world.admission().stock(world.item()).known);
  EXPECT_EQ(world.admission().ticket_of(world.item(), World::buyer("ann"), world.request("ann", "r").request_id),
            std::nullopt)
      << "so the store is asked";
  EXPECT_EQ(world.admission().early_answer(world.item(), "cat", 1), std::nullopt);
  EXPECT_EQ(world.ask("ann", "r").answer, PurchaseAnswer::busy);
  EXPECT_EQ(tickets_of(world, "ann"), std::nullopt) << "never \"no record\"";
  EXPECT_EQ(world.release(cancelled), admission::LaneAck::applied) << "an end sent again is owed to nobody";
  EXPECT_EQ(world.post(paid), admission::LaneAck::applied);
  world.admission().close_lanes(world.item(), "nothing is there to close");
  EXPECT_TRUE(retire(world).has_value()) << "again is harmless";
}

TEST_P(AdmissionRetire, P4_installed_again_it_knows_every_ticket_as_after_a_restart) {
  World world{GetParam(), {.total = 64, .limit = 2, .lanes = 4}};
  std::vector<model::Ticket> tickets;
  for (int i = 0; i < 20; ++i) tickets.push_back(world.ask(fmt::format("u{}", i), "r").ticket->ticket);
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    (void)world.end(tickets[i], i % 2 == 0 ? model::OrderEvent::pay : model::OrderEvent::expire);
  }
  const ledger::LaneStock before = world.lane_sum();
  world.clock.advance(std::chrono::hours{2});
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(retire(world).has_value());
    ASSERT_TRUE(world.admission().install(world.sale, world.sale.items[0], world.store).has_value());
    EXPECT_EQ(world.lane_sum(), before);
    for (int i = 0; i < 20; ++i) {
      const admission::AdmitReply replay = world.ask(fmt::format("u{}", i), "r");
      EXPECT_EQ(replay.answer, PurchaseAnswer::replayed);
      EXPECT_EQ(replay.ticket->ticket, tickets[static_cast<std::size_t>(i)]);
    }
  }
}

TEST_P(AdmissionRetire, P6_it_is_refused_while_the_sale_runs_or_a_ticket_is_held) {
  World world{GetParam(), {.total = 64, .lanes = 4}};
  expect_refused(world, "the sale is open");
  const model::Ticket held = world.ask("ann", "r").ticket->ticket;
  world.clock.advance(std::chrono::hours{2});
  expect_refused(world, "a ticket waits for its payment");
  EXPECT_EQ(world.ask("ann", "r").ticket->ticket, held) << "a refusal changes nothing";
  (void)world.end(held, model::OrderEvent::expire);
  EXPECT_TRUE(retire(world).has_value());
}

TEST_P(AdmissionRetire, a_sale_closed_before_its_end_is_given_back_too) {
  World world{GetParam(), {.total = 64}};
  world.sale.state = model::SaleState::closed;
  ++world.sale.version;
  ASSERT_TRUE(world.admission().configure(world.item(), model::terms_of(world.sale, world.sale.items[0])).has_value());
  EXPECT_TRUE(retire(world).has_value());
}

TEST_P(AdmissionRetire, P5_it_is_refused_while_a_ticket_is_not_durable_or_a_landing_may_still_be_told) {
  World world{GetParam(), {.total = 64}};
  world.landing.hold(true);
  const admission::AdmitRequest request = world.request("ann", "r");
  std::future<admission::AdmitReply> first = world.ask_later(request);
  world.clock.advance(std::chrono::hours{2});
  EXPECT_EQ(first.get().answer, PurchaseAnswer::busy) << "unknown, not failed";
  expect_refused(world, "its intent is in the queue");
  std::future<admission::AdmitReply> again = world.ask_later(request);
  // Its end reaches the lane before its landing is told: nothing is held, and a confirmation is still on its way.
  const model::Ticket ticket =
      *world.admission().ticket_of(world.item(), World::buyer("ann"), world.request("ann", "r").request_id);
  EXPECT_EQ(world.release(ticket), admission::LaneAck::applied);
  expect_refused(world, "the repeat waits for its landing");
  world.landing.hold(false);
  (void)again.get();
  EXPECT_TRUE(retire(world).has_value());
}

TEST_P(AdmissionRetire, lanes_that_a_guard_closed_stay_for_a_person_to_look_at) {
  World world{GetParam(), {.total = 64}};
  world.clock.advance(std::chrono::hours{2});
  world.admission().close_lanes(world.item(), "a test");
  expect_refused(world, "closed lanes");
}

// Meant for the sanitizers as much as for the answers.
TEST_P(AdmissionRetire, P4_nobody_meets_freed_lanes_however_many_ask_meanwhile) {
  World world{GetParam(), {.total = 64, .limit = 2, .lanes = 4}};
  std::vector<model::Ticket> tickets;
  for (int i = 0; i < 16; ++i) tickets.push_back(world.ask(fmt::format("u{}", i), "r").ticket->ticket);
  for (const model::Ticket& ticket : tickets) (void)world.end(ticket, model::OrderEvent::pay);
  world.clock.advance(std::chrono::hours{2});
  std::atomic<bool> over{false};
  std::atomic<int> replayed{0};
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> crowd;
    for (int t = 0; t < 4; ++t) {
      crowd.emplace_back([&, t] {
        for (int i = t; !over; ++i) {
          const auto n = static_cast<std::size_t>(i % 16);
          const std::string who = fmt::format("u{}", n);
          const auto early = world.admission().early_answer(world.item(), who, 1);
          if (early && *early != PurchaseAnswer::ended) ++wrong;
          const admission::AdmitReply reply = world.ask(who, "r");
          const bool same = reply.answer == PurchaseAnswer::replayed && reply.ticket->ticket == tickets[n];
          if (same) ++replayed;
          if (!same && (reply.answer != PurchaseAnswer::busy || reply.ticket)) ++wrong;
          const auto found = tickets_of(world, who);
          if (found && *found != 1) ++wrong;
          (void)world.post(tickets[n]);  // applied, or closed: sent again later
          (void)world.admission().ticket_of(world.item(), World::buyer(who), world.request(who, "r").request_id);
          (void)world.admission().stock(world.item());
          (void)world.admission().lanes(world.item());
        }
      });
    }
    bool sound = true;
    for (int round = 0; sound && (round < 40 || replayed < 100); ++round) {
      sound = retire(world) && world.admission().install(world.sale, world.sale.items[0], world.store);
    }
    EXPECT_TRUE(sound);
    over = true;
  }
  EXPECT_EQ(wrong, 0);
  world.expect_conserved();
}

}  // namespace
}  // namespace seckill::test
