// Stopping the parts of the embedded shop while others still use them: everyone is answered once, nothing is lost.
// Meant for the thread sanitizer as much as for the sums.
#include <atomic>
#include <mutex>
#include <thread>

#include "unit/orders/shop.hpp"

namespace seckill::orders {
namespace {

using model::OrderEvent;
using store::EndResult;
using test::Shop;

TEST(Stops, P6_ends_submitted_while_they_stop_are_each_answered_once_and_told_the_truth) {
  for (int round = 0; round < 3; ++round) {
    constexpr int orders = 60;
    Shop shop{{.total = orders}};
    shop.open();
    std::vector<model::Ticket> tickets;
    for (int i = 0; i < orders; ++i) tickets.push_back(shop.buy("u" + std::to_string(i), "r"));
    std::atomic<bool> stopped{false};
    std::atomic<int> submitted{0};
    std::atomic<int> answered{0};
    std::atomic<int> done{0};
    std::atomic<int> refused{0};
    {
      std::vector<std::jthread> crowd;
      for (int t = 0; t < 3; ++t) {
        crowd.emplace_back([&, t] {
          // Before, while and after the door shuts; the last one certainly after.
          for (std::size_t i = static_cast<std::size_t>(t), last = 0; last == 0; i += 3) {
            while (shop.ends().waiting() > 100) std::this_thread::yield();
            last = stopped ? 1 : 0;
            ++submitted;
            shop.ends().submit(Shop::command(tickets[i % orders], OrderEvent::cancel),
                               [&](base::Result<store::Ended> ended) {
                                 if (ended && ended->result == EndResult::done) ++done;
                                 if (!ended && ended.error().code == base::Errc::unavailable) ++refused;
                                 ++answered;
                               });
          }
        });
      }
      while (done < orders / 4) std::this_thread::yield();
      shop.ends().stop();
      stopped = true;
    }
    EXPECT_EQ(answered, submitted);
    EXPECT_GE(refused, 3);
    EXPECT_EQ(shop.ends().waiting(), 0U);
    EXPECT_EQ(shop.stock().available, done) << "exactly what was said to be cancelled is on sale again";
    shop.restart();
    shop.expect_sound();
  }
}

TEST(Stops, P6_deadlines_that_stop_in_the_middle_of_a_sweep_leave_every_ticket_to_the_next) {
  constexpr int orders = 700;
  Shop shop{{.total = orders}};
  shop.open();
  for (int i = 0; i < orders; ++i) shop.buy("u" + std::to_string(i), "r");
  shop.clock.advance(std::chrono::milliseconds{60'001});
  {
    // Beside the thread that is stopped, one who sweeps by hand until half of them have ended.
    std::jthread other{[&] {
      while (shop.deadlines().counters().expired < orders / 2) (void)shop.deadlines().sweep();
    }};
    shop.deadlines().start();
    while (shop.deadlines().counters().expired == 0) {
      EXPECT_LE(shop.deadlines().counters().in_flight, static_cast<std::uint64_t>(orders));
      EXPECT_GE(shop.deadlines().counters().oldest_overdue_ms, 0);
      std::this_thread::yield();
    }
    shop.deadlines().stop();
    shop.deadlines().stop();
  }
  shop.expire_all();
  EXPECT_EQ(shop.deadlines().counters().expired, static_cast<std::uint64_t>(orders)) << "each ended once";
  EXPECT_EQ(shop.stock().available, orders);
  shop.expect_sound();
}

TEST(Stops, reads_asked_for_while_they_stop_are_answered_or_refused_and_never_forgotten) {
  Shop shop{{.total = 4}};
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  std::atomic<int> asked{0};
  std::atomic<int> answered{0};
  {
    std::vector<std::jthread> crowd;
    for (int t = 0; t < 3; ++t) {
      crowd.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          shop.reads().outcome(shop.item, test::buyer_named("u1"), ticket,
                               [&](const base::Result<Outcome>&) { ++answered; });
          ++asked;
        }
      });
    }
    while (asked < 50) std::this_thread::yield();
    shop.reads().stop();
  }
  EXPECT_EQ(asked, 300);
  EXPECT_EQ(answered, 300);
}

}  // namespace
}  // namespace seckill::orders
