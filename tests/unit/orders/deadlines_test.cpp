// Deadlines on a clock moved by hand: nothing early, nothing forgotten, whatever happens in between.
#include "orders/deadlines.hpp"

#include <gtest/gtest.h>

#include "unit/orders/shop.hpp"

namespace seckill::orders {
namespace {

using model::OrderEvent;
using model::OrderState;
using model::PurchaseAnswer;
using std::chrono::milliseconds;
using store::EndResult;
using test::Shop;

TEST(Deadlines, FS_25_nothing_expires_early_and_everything_overdue_expires) {
  Shop shop{{.total = 20}};
  shop.open();
  std::vector<model::Ticket> tickets;
  for (int i = 0; i < 20; ++i) {
    tickets.push_back(shop.buy("u" + std::to_string(i), "r"));
    shop.clock.advance(milliseconds{1'000});
  }
  // The first was bought 20 s ago; its deadline is the instant 40 s from now, inclusive.
  shop.clock.advance(milliseconds{40'000});
  shop.expire_all();
  EXPECT_EQ(shop.state_of(tickets[0]), OrderState::awaiting_payment) << "not at the deadline itself";
  shop.clock.advance(milliseconds{1});
  for (std::size_t due = 0; due < tickets.size(); ++due) {
    shop.expire_all();
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      EXPECT_EQ(shop.state_of(tickets[i]), i <= due ? OrderState::expired : OrderState::awaiting_payment)
          << i << " at " << due;
    }
    shop.clock.advance(milliseconds{1'000});
  }
  EXPECT_EQ(shop.stock().available, 20);
  shop.expect_sound();
}

TEST(Deadlines, FS_25_a_restart_past_the_deadlines_forgets_none_and_hurries_none) {
  Shop shop{{.total = 20}};
  shop.open();
  for (int i = 0; i < 10; ++i) shop.buy("early" + std::to_string(i), "r");
  shop.clock.advance(milliseconds{30'000});
  const auto late = shop.buy("late", "r");
  shop.clock.advance(milliseconds{30'001});
  shop.restart();
  shop.expire_all();
  EXPECT_EQ(shop.deadlines().counters().expired, 10U);
  EXPECT_EQ(shop.state_of(late), OrderState::awaiting_payment);
  EXPECT_EQ(shop.stock().available, 19);
  shop.expect_sound();
}

TEST(Deadlines, FS_73_a_hold_taken_in_time_may_be_paid_after_the_sale_has_ended) {
  Shop shop{{.total = 8, .pay_window = milliseconds{60'000}, .duration = milliseconds{10'000}}};
  shop.open();
  shop.clock.advance(milliseconds{8'000});  // one second before the end
  const auto pays = shop.buy("u1", "r1");
  const auto forgets = shop.buy("u2", "r1");
  shop.clock.advance(milliseconds{6'000});
  EXPECT_EQ(shop.admit("u3", "r1").answer, PurchaseAnswer::ended);
  EXPECT_EQ(shop.end(pays, OrderEvent::pay), EndResult::done);
  shop.expire_all();
  EXPECT_EQ(shop.state_of(forgets), OrderState::awaiting_payment) << "the deadline shown is the one enforced";
  shop.clock.advance(milliseconds{54'001});
  shop.expire_all();
  EXPECT_EQ(shop.state_of(forgets), OrderState::expired);
  EXPECT_EQ(shop.stock().available, 7);
  EXPECT_EQ(shop.admit("u3", "r2").answer, PurchaseAnswer::ended) << "a unit that comes back too late is not sold";
  shop.expect_sound();
}

TEST(Deadlines, a_payment_past_the_deadline_is_too_late_even_before_the_sweep) {
  Shop shop;
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  shop.clock.advance(milliseconds{60'001});
  EXPECT_EQ(shop.end(ticket, OrderEvent::pay), EndResult::too_late);
  shop.expire_all();
  EXPECT_EQ(shop.state_of(ticket), OrderState::expired);
  shop.expect_sound();
}

TEST(Deadlines, a_ticket_in_flight_is_not_submitted_again) {
  Shop shop;
  shop.open(false);
  for (int i = 0; i < 5; ++i) shop.buy("u" + std::to_string(i), "r");
  shop.clock.advance(milliseconds{60'001});
  EXPECT_EQ(shop.deadlines().sweep(), 5U);
  EXPECT_EQ(shop.deadlines().sweep(), 0U);
  EXPECT_EQ(shop.deadlines().counters().in_flight, 5U);
  EXPECT_EQ(shop.deadlines().counters().oldest_overdue_ms, 1);
  shop.ends().start();
  shop.expire_all();
  EXPECT_EQ(shop.deadlines().counters().expired, 5U);
  EXPECT_EQ(shop.deadlines().counters().in_flight, 0U);
  EXPECT_EQ(shop.deadlines().counters().oldest_overdue_ms, 0);
}

TEST(Deadlines, an_expiry_that_the_store_could_not_make_is_found_by_the_next_sweep) {
  Shop shop{{.timing = {.store_retry_for = milliseconds{0}}}};
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  shop.clock.advance(milliseconds{60'001});
  shop.store().fail("due_tickets", base::Errc::unavailable, 2);
  EXPECT_EQ(shop.deadlines().sweep(), 0U);
  EXPECT_EQ(shop.deadlines().sweep(), 0U);
  EXPECT_EQ(shop.deadlines().counters().store_errors, 2U);
  shop.store().fail("end_tickets", base::Errc::disk_full, 1);
  EXPECT_EQ(shop.deadlines().sweep(), 1U);
  shop.expire_all();
  EXPECT_EQ(shop.state_of(ticket), OrderState::expired);
  shop.expect_sound();
}

TEST(Deadlines, FS_25_a_bell_brings_the_next_sweep_forward) {
  Shop shop;
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  Deadlines rare{shop.store(), shop.ends(), shop.clock, std::chrono::hours{1}};
  rare.start();
  const auto give_up = std::chrono::steady_clock::now() + test::patience;
  const auto wait_until = [&](auto condition) {
    while (!condition() && std::chrono::steady_clock::now() < give_up) std::this_thread::sleep_for(milliseconds{1});
    return condition();
  };
  ASSERT_TRUE(wait_until([&] { return rare.counters().sweeps == 1U; })) << "the first, which finds nothing";
  shop.clock.advance(milliseconds{60'001});
  for (int i = 0; i < 50; ++i) rare.sweep_soon();
  ASSERT_TRUE(wait_until([&] { return rare.counters().expired == 1U; }));
  EXPECT_EQ(shop.state_of(ticket), OrderState::expired);
  EXPECT_LE(rare.counters().sweeps, 5U) << "bells that come together are one sweep, or few";
  rare.stop();
}

TEST(Deadlines, by_itself_the_thread_works_off_more_than_a_page) {
  constexpr int orders = 2'300;
  Shop shop{{.total = orders}};
  shop.open();
  std::vector<model::Ticket> tickets(orders);
  std::vector<std::thread> buyers;
  for (int thread = 0; thread < 4; ++thread) {
    buyers.emplace_back([&, thread] {
      for (int i = thread; i < orders; i += 4) {
        tickets[static_cast<std::size_t>(i)] = shop.buy("u" + std::to_string(i), "r");
      }
    });
  }
  for (auto& buyer : buyers) buyer.join();
  shop.clock.advance(milliseconds{60'001});
  shop.deadlines().start();
  const auto give_up = std::chrono::steady_clock::now() + test::patience;
  while (shop.deadlines().counters().expired < orders) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up);
    std::this_thread::sleep_for(milliseconds{1});
  }
  shop.deadlines().stop();
  EXPECT_EQ(shop.deadlines().counters().submitted, static_cast<std::uint64_t>(orders));
  EXPECT_EQ(shop.stock().available, orders);
  shop.expect_sound();
}

}  // namespace
}  // namespace seckill::orders
