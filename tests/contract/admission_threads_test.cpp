// Admission port under many threads: purchases, repeats, cancels, payments, top-ups, reductions and edits at once.
// Meant for the thread sanitizer as much as for the sums (P1, P2, P3, P8).
#include <fmt/format.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "contract/admission_world.hpp"

namespace seckill::test {
namespace {

class AdmissionThreads : public AdmissionContract {};
INSTANTIATE_TEST_SUITE_P(Engines, AdmissionThreads, testing::ValuesIn(engines()), engine_name);

constexpr int threads_max = 4;

TEST_P(AdmissionThreads, buying_ending_and_operating_at_once_loses_no_unit) {
  World world{GetParam(), {.total = 400, .reserve = 100, .limit = 3, .lanes = 8}};
  std::atomic<std::int64_t> admitted_units{0};
  {
    std::vector<std::jthread> crowd;
    for (int t = 0; t < threads_max; ++t) {
      crowd.emplace_back([&, t] {
        std::minstd_rand random{static_cast<unsigned>(t + 1)};
        for (int i = 0; i < 600; ++i) {
          const std::string who = fmt::format("u{}", random() % 150);
          const std::int64_t units = 1 + static_cast<std::int64_t>(random() % 3);
          (void)world.admission().early_answer(world.item(), who, units);
          const admission::AdmitReply reply = world.ask(who, fmt::format("r{}", random() % 6), units);
          if (reply.answer != PurchaseAnswer::admitted) continue;
          admitted_units += units;
          const auto fate = random() % 3;
          if (fate == 0) (void)world.end(reply.ticket->ticket, model::OrderEvent::cancel);
          if (fate == 1) (void)world.end(reply.ticket->ticket, model::OrderEvent::pay);
        }
      });
    }
    crowd.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        model::StockTransfer transfer;
        transfer.id = fmt::format("top-up:{}", i);
        transfer.item = world.item();
        transfer.to = i % 8;
        transfer.units = 1 + i % 3;
        if (world.store.rows(world.item()).stock.pool < transfer.units) continue;
        EXPECT_TRUE(world.store.pool_to_lanes({&transfer, 1}, {}).has_value());
        EXPECT_TRUE(world.admission().credit(transfer).has_value());
        EXPECT_TRUE(world.admission().debit_to_pool(world.item(), 2, fmt::format("cut:{}", i)).has_value());
        ++world.sale.version;
        EXPECT_TRUE(
            world.admission().configure(world.item(), model::terms_of(world.sale, world.sale.items[0])).has_value());
        (void)world.admission().stock(world.item());
        (void)world.admission().lanes(world.item());
      }
    });
  }
  EXPECT_GT(admitted_units, 0);
  // Steals are told to the store after the answer that needed them; a restart lands what is left.
  const ledger::LaneStock before = world.lane_sum();
  world.restart();
  EXPECT_EQ(world.lane_sum(), before) << "the store's rows make the same lanes again";
  world.expect_conserved();
  std::map<std::string, std::int64_t> owned;
  for (const auto& [ticket, order] : world.store.rows(world.item()).orders) {
    if (!model::is_ended(order.state)) owned[order.buyer.str()] += order.units;
  }
  for (const auto& [buyer, units] : owned) EXPECT_LE(units, 3) << buyer;
}

TEST_P(AdmissionThreads, P8_with_quantities_and_releases_no_sellable_unit_is_stranded) {
  for (int round = 0; round < 10; ++round) {
    World world{GetParam(), {.total = 64, .limit = 4, .lanes = 8}};
    std::atomic<int> sold_out{0};
    {
      std::vector<std::jthread> crowd;
      for (int t = 0; t < threads_max; ++t) {
        crowd.emplace_back([&, t] {
          for (int i = 0; i < 40; ++i) {
            const admission::AdmitReply reply = world.ask(fmt::format("u{}-{}-{}", round, t, i), "r", 1 + (i + t) % 4);
            if (reply.answer == PurchaseAnswer::sold_out) ++sold_out;
            if (reply.answer == PurchaseAnswer::admitted && i % 5 == 0) {
              (void)world.end(reply.ticket->ticket, model::OrderEvent::cancel);
            }
          }
        });
      }
    }
    EXPECT_GT(sold_out, 0);
    // Whatever is left is sold to whoever asks for one.
    for (std::int64_t left = world.lane_sum().available; left > 0; --left) {
      EXPECT_EQ(world.ask(fmt::format("rest-{}-{}", round, left), "r").answer, PurchaseAnswer::admitted);
    }
    EXPECT_EQ(world.ask("nobody", "r").answer, PurchaseAnswer::sold_out);
    EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 0, .held = 64, .sold = 0}));
    world.expect_conserved();
  }
}

TEST_P(AdmissionThreads, one_request_from_many_threads_while_the_disk_comes_and_goes_is_one_unit) {
  World world{GetParam(), {.total = 8}};
  std::atomic<bool> over{false};
  std::jthread disk{[&] {
    for (int i = 0; i < 6; ++i) {
      world.landing.fill(i % 2 == 0);
      world.clock.advance(std::chrono::milliseconds{400});
      std::this_thread::yield();
    }
    world.landing.fill(false);
    over = true;
  }};
  std::set<model::Ticket> tickets;
  std::mutex mutex;
  {
    std::vector<std::jthread> crowd;
    for (int t = 0; t < threads_max; ++t) {
      crowd.emplace_back([&] {
        for (int i = 0; i < 50 || !over; ++i) {
          const admission::AdmitReply reply = world.ask("u1", "r");
          const std::scoped_lock lock{mutex};
          if (reply.ticket) tickets.insert(reply.ticket->ticket);
        }
      });
    }
  }
  // The disk is free again, which the queue finds out when it next knocks: until then it takes nothing.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  PurchaseAnswer last = PurchaseAnswer::busy;
  while (last == PurchaseAnswer::busy && std::chrono::steady_clock::now() < give_up) last = world.ask("u1", "r").answer;
  EXPECT_EQ(last, PurchaseAnswer::replayed);
  EXPECT_LE(tickets.size(), 1U);
  EXPECT_EQ(world.lane_sum().held, 1);
  world.expect_conserved();
}

}  // namespace
}  // namespace seckill::test
