// Admission port: stock. Nothing is oversold (P1), no unit is lost (P2), and none is stranded in another lane (P8).
#include <fmt/format.h>

#include "contract/admission_world.hpp"

namespace seckill::test {
namespace {

using admission::AdmitReply;

class AdmissionStock : public AdmissionContract {};
INSTANTIATE_TEST_SUITE_P(Engines, AdmissionStock, testing::ValuesIn(engines()), engine_name);

// `buyers` ask once each, from several threads at the same moment; how many were admitted.
std::int64_t rush(World& world, int buyers, int threads, std::string_view round) {
  std::atomic<std::int64_t> admitted{0};
  std::atomic<int> answered{0};
  std::atomic<bool> go{false};
  std::vector<std::jthread> crowd;
  for (int t = 0; t < threads; ++t) {
    crowd.emplace_back([&, t] {
      while (!go) std::this_thread::yield();
      for (int i = t; i < buyers; i += threads) {
        const std::string who = fmt::format("{}-buyer-{}", round, i);
        world.admission().admit(world.request(who, "r1"), [&](const AdmitReply& reply) {
          if (reply.answer == PurchaseAnswer::admitted) ++admitted;
          EXPECT_TRUE(reply.answer == PurchaseAnswer::admitted || reply.answer == PurchaseAnswer::sold_out)
              << model::name(reply.answer);
          ++answered;
        });
      }
    });
  }
  go = true;
  crowd.clear();
  while (answered < buyers) std::this_thread::yield();
  return admitted;
}

TEST_P(AdmissionStock, FS_01_the_last_unit_goes_to_exactly_one_of_500_buyers) {
  for (int round = 0; round < 20; ++round) {
    World world{GetParam(), {.total = 1}};
    EXPECT_EQ(rush(world, 500, 4, fmt::format("r{}", round)), 1);
    EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 0, .held = 1, .sold = 0}));
    world.expect_conserved();
  }
}

TEST_P(AdmissionStock, FS_01_100_units_go_to_exactly_100_of_500_buyers) {
  for (int round = 0; round < 20; ++round) {
    World world{GetParam(), {.total = 100}};
    EXPECT_EQ(rush(world, 500, 4, fmt::format("r{}", round)), 100);
    EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 0, .held = 100, .sold = 0}));
    world.expect_conserved();
  }
}

TEST_P(AdmissionStock, FS_01_every_buyer_gets_one_when_there_is_enough) {
  World world{GetParam(), {.total = 1'000}};
  EXPECT_EQ(rush(world, 500, 4, "all"), 500);
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 500, .held = 500, .sold = 0}));
  world.expect_conserved();
}

TEST_P(AdmissionStock, FS_17_no_quantity_but_1_to_limit_is_admitted_and_none_changes_stock) {
  World world{GetParam(), {.total = 10, .limit = 2}};
  int n = 0;
  for (const std::int64_t units :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{3}, std::int64_t{2'147'483'647}, std::int64_t{2'147'483'648},
        std::int64_t{4'294'967'297}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(world.ask("u1", fmt::format("r{}", n++), units).answer, PurchaseAnswer::limit_reached) << units;
    EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 10, .held = 0, .sold = 0})) << units;
  }
  EXPECT_EQ(world.ask("u1", "good", 2).answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.ask("u1", "more", std::numeric_limits<std::int64_t>::max()).answer, PurchaseAnswer::limit_reached);
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 8, .held = 2, .sold = 0}));
}

TEST_P(AdmissionStock, P8_a_unit_in_any_lane_is_found_from_any_lane) {
  World world{GetParam(), {.total = 64, .lanes = 8}};
  // All buyers of one lane: 8 units are theirs at first, the other 56 must be fetched.
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(world.ask(world.buyer_in_lane(3, i), "r").answer, PurchaseAnswer::admitted) << i;
  }
  EXPECT_EQ(world.ask(world.buyer_in_lane(3, 64), "r").answer, PurchaseAnswer::sold_out);
  EXPECT_EQ(world.ask(world.buyer_in_lane(0, 0), "r").answer, PurchaseAnswer::sold_out);
  world.expect_conserved();
}

TEST_P(AdmissionStock, P8_a_quantity_is_gathered_from_several_lanes) {
  World world{GetParam(), {.total = 64, .limit = 64, .lanes = 8}};
  EXPECT_EQ(world.ask("big", "r", 60).answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 4, .held = 60, .sold = 0}));
  EXPECT_EQ(world.ask("big2", "r", 5).answer, PurchaseAnswer::sold_out);
  EXPECT_EQ(world.ask("big3", "r", 4).answer, PurchaseAnswer::admitted) << "sold out for 5 is not sold out for 4";
  EXPECT_EQ(world.ask("big4", "r", 1).answer, PurchaseAnswer::sold_out);
  world.expect_conserved();
}

TEST_P(AdmissionStock, P8_a_released_unit_is_on_sale_at_once_in_spite_of_sold_out) {
  World world{GetParam(), {.total = 16, .lanes = 2}};
  std::vector<model::Ticket> tickets;
  for (int i = 0; i < 16; ++i) tickets.push_back(world.ask(fmt::format("u{}", i), "r").ticket->ticket);
  EXPECT_EQ(world.ask("late", "r").answer, PurchaseAnswer::sold_out);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(world.end(tickets[static_cast<std::size_t>(i)], model::OrderEvent::cancel).result,
              store::EndResult::done);
    EXPECT_EQ(world.ask(fmt::format("next{}", i), "r").answer, PurchaseAnswer::admitted) << i;
    EXPECT_EQ(world.ask(fmt::format("loser{}", i), "r").answer, PurchaseAnswer::sold_out) << i;
  }
  world.expect_conserved();
}

TEST_P(AdmissionStock, a_release_is_applied_once_however_often_it_is_sent) {
  World world{GetParam(), {.total = 16, .lanes = 2}};
  const model::Ticket ticket = world.ask("u1", "r").ticket->ticket;
  (void)world.end(ticket, model::OrderEvent::cancel);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(world.release(ticket), admission::LaneAck::applied);
  EXPECT_EQ(world.post(ticket), admission::LaneAck::applied);
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 16, .held = 0, .sold = 0}));
  EXPECT_EQ(world.release(model::Ticket{}), admission::LaneAck::applied) << "no such ticket: nothing to do";
}

TEST_P(AdmissionStock, a_paid_ticket_is_sold_once_and_never_released) {
  World world{GetParam(), {.total = 16, .lanes = 2}};
  const model::Ticket ticket = world.ask("u1", "r").ticket->ticket;
  EXPECT_EQ(world.end(ticket, model::OrderEvent::pay).result, store::EndResult::done);
  EXPECT_EQ(world.post(ticket), admission::LaneAck::applied);
  EXPECT_EQ(world.release(ticket), admission::LaneAck::applied);
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 15, .held = 0, .sold = 1}));
  world.expect_conserved();
}

TEST_P(AdmissionStock, an_order_of_price_0_is_sold_as_soon_as_it_landed) {
  World world{GetParam(), {.total = 16, .price_minor = 0}};
  EXPECT_EQ(world.ask("u1", "r").answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 15, .held = 0, .sold = 1}));
  world.expect_conserved();
}

TEST_P(AdmissionStock, P9_refusals_and_reductions_leave_no_place_of_the_queue_taken) {
  World world{GetParam(), {.total = 64, .lanes = 8}};
  const model::Ticket ticket = world.ask("u1", "r").ticket->ticket;
  // More of each than the queue has places.
  for (std::size_t i = 0; i <= base::limits::queue_records_max; ++i) {
    ASSERT_EQ(world.ask("u1", "more").answer, PurchaseAnswer::limit_reached) << i;
  }
  EXPECT_EQ(world.ask("u2", "r").answer, PurchaseAnswer::admitted);
  std::int64_t taken = 0;
  for (std::size_t i = 0; i <= base::limits::queue_records_max / 8; ++i) {
    const auto units = world.admission().debit_to_pool(world.item(), 62, fmt::format("r{}", i));
    ASSERT_TRUE(units.has_value()) << i << ": " << units.error().text();
    taken += *units;
  }
  EXPECT_EQ(taken, 62);
  (void)world.end(ticket, model::OrderEvent::cancel);
  EXPECT_EQ(world.ask("u3", "r").answer, PurchaseAnswer::admitted);
  world.expect_conserved();
}

TEST_P(AdmissionStock, a_reduction_waits_for_a_slow_disk_and_says_what_it_took) {
  World world{GetParam(), {.total = 40, .lanes = 4}};
  world.landing.hold(true);
  auto taken = std::async(std::launch::async, [&] { return world.admission().debit_to_pool(world.item(), 8, "x"); });
  world.landing.wait_for_offers(1);
  std::future<admission::AdmitReply> buyer = world.ask_later(world.request("u1", "r"));
  world.clock.advance(std::chrono::seconds{5});
  EXPECT_EQ(buyer.get().answer, PurchaseAnswer::busy) << "the deadline of an answer has passed for all that is queued";
  world.landing.hold(false);
  const auto units = taken.get();
  ASSERT_TRUE(units.has_value()) << units.error().text() << ": asked again it would take as many once more";
  EXPECT_EQ(*units, 8);
}

TEST_P(AdmissionStock, P2_a_reduction_asked_again_takes_no_unit_twice) {
  World world{GetParam(), {.total = 64, .lanes = 8}};
  EXPECT_EQ(world.admission().debit_to_pool(world.item(), 20, "cut"), 20);
  EXPECT_EQ(world.admission().debit_to_pool(world.item(), 20, "cut"), 20) << "the same units, not others";
  EXPECT_EQ(world.lane_sum().available, 44);
  EXPECT_EQ(world.store.rows(world.item()).stock.pool, 20);
  EXPECT_EQ(world.admission().debit_to_pool(world.item(), 20, "cut-2"), 20) << "another reduction";
  EXPECT_EQ(world.lane_sum().available, 24);
  world.expect_conserved();
}

}  // namespace
}  // namespace seckill::test
