// Admission port: what operators and alarms do to lanes while buyers buy in them: installing again, edits, reductions,
// closing. Meant for the thread sanitizer as much as for the sums (P1, P2, P8).
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "contract/admission_world.hpp"

namespace seckill::test {
namespace {

class AdmissionOperatingThreads : public AdmissionContract {};
INSTANTIATE_TEST_SUITE_P(Engines, AdmissionOperatingThreads, testing::ValuesIn(engines()), engine_name);

TEST_P(AdmissionOperatingThreads, closing_lanes_among_buyers_and_operators_loses_no_unit_and_a_restart_goes_on) {
  for (int round = 0; round < 3; ++round) {
    World world{GetParam(), {.total = 2'000, .limit = 3, .lanes = 8}};
    std::atomic<int> asked{0};
    std::atomic<int> admitted{0};
    std::atomic<bool> closed{false};
    {
      std::vector<std::jthread> crowd;
      for (int t = 0; t < 3; ++t) {
        crowd.emplace_back([&, t] {
          for (int i = 0; i < 150; ++i) {
            const bool was_closed = closed;
            const std::string who = fmt::format("u{}-{}", t, i);
            (void)world.admission().early_answer(world.item(), who, 1);
            const admission::AdmitReply reply = world.ask(who, "r", 1 + i % 3);
            if (was_closed) EXPECT_EQ(reply.answer, PurchaseAnswer::busy) << "a closed lane promises nothing";
            if (reply.answer == PurchaseAnswer::admitted) ++admitted;
            ++asked;
          }
        });
      }
      crowd.emplace_back([&] {
        for (int i = 0; i < 40; ++i) {
          (void)world.admission().install(world.sale, world.sale.items[0], world.store);
          model::ItemTerms terms = model::terms_of(world.sale, world.sale.items[0]);
          terms.version += i + 1;
          EXPECT_TRUE(world.admission().configure(world.item(), terms));
          (void)world.admission().debit_to_pool(world.item(), 1, fmt::format("cut:{}", i));
          (void)world.admission().stock(world.item());
          (void)world.admission().lanes(world.item());
        }
      });
      while (asked < 100) std::this_thread::yield();
      world.admission().close_lanes(world.item(), "a test closes them");
      closed = true;
      world.admission().close_lanes(world.item(), "and again");
    }
    EXPECT_GT(admitted, 0);
    EXPECT_EQ(world.ask("late", "r").answer, PurchaseAnswer::busy);
    world.restart();  // lands what was accepted, builds the lanes from the rows
    world.expect_conserved();
    EXPECT_EQ(world.ask("late", "r").answer, PurchaseAnswer::admitted);
  }
}

}  // namespace
}  // namespace seckill::test
