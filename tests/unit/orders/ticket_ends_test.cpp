// How tickets end, on the real store and the real lanes: races, repeats, full queues, failing disks, closed lanes.
#include "orders/ticket_ends.hpp"

#include <gtest/gtest.h>

#include "unit/orders/shop.hpp"

namespace seckill::orders {
namespace {

using model::OrderEvent;
using model::OrderState;
using model::PurchaseAnswer;
using store::EndResult;
using test::Shop;

TEST(TicketEnds, a_payment_turns_the_hold_into_a_sale_in_store_and_lane) {
  Shop shop;
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  EXPECT_EQ(shop.end(ticket, OrderEvent::pay), EndResult::done);
  EXPECT_EQ(shop.state_of(ticket), OrderState::paid);
  EXPECT_EQ(shop.stock().sold, 1);
  EXPECT_EQ(shop.stock().held, 0);
  shop.expect_sound();
}

TEST(TicketEnds, the_same_payment_again_is_already_there) {
  Shop shop;
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  EXPECT_EQ(shop.end(ticket, OrderEvent::pay), EndResult::done);
  EXPECT_EQ(shop.end(ticket, OrderEvent::pay), EndResult::already_there);
  shop.expect_sound();
}

TEST(TicketEnds, one_payment_never_pays_two_orders) {
  Shop shop;
  shop.open();
  const auto first = shop.buy("u1", "r1");
  const auto second = shop.buy("u2", "r1");
  auto pay_first = Shop::command(first, OrderEvent::pay);
  auto pay_second = Shop::command(second, OrderEvent::pay);
  pay_second.payment_id = pay_first.payment_id;
  EXPECT_EQ(Shop::wait(shop.submit(std::move(pay_first)))->result, EndResult::done);
  const auto refused = Shop::wait(shop.submit(std::move(pay_second)));
  EXPECT_TRUE(!refused || refused->result == EndResult::illegal);
  EXPECT_EQ(shop.state_of(second), OrderState::awaiting_payment);
  shop.expect_sound();
}

TEST(TicketEnds, FS_40_after_a_cancel_the_buyer_can_buy_again_at_once) {
  Shop shop{{.total = 5, .limit = 1}};
  shop.open();
  for (int round = 0; round < 3; ++round) {
    const auto ticket = shop.buy("u1", "r" + std::to_string(round));
    EXPECT_EQ(shop.admit("u1", "more" + std::to_string(round)).answer, PurchaseAnswer::limit_reached);
    EXPECT_EQ(shop.end(ticket, OrderEvent::cancel), EndResult::done);
  }
  EXPECT_EQ(shop.stock().available, 5);
  shop.expect_sound();
}

TEST(TicketEnds, FS_40_after_an_expiry_the_buyer_can_buy_again) {
  Shop shop{{.total = 5, .limit = 1}};
  shop.open();
  for (int round = 0; round < 3; ++round) {
    const auto ticket = shop.buy("u1", "r" + std::to_string(round));
    shop.clock.advance(std::chrono::milliseconds{60'001});
    shop.expire_all();
    EXPECT_EQ(shop.state_of(ticket), OrderState::expired);
  }
  shop.expect_sound();
}

TEST(TicketEnds, FS_40_with_one_chance_only_a_cancelled_buyer_is_refused_and_the_unit_goes_to_others) {
  Shop shop{{.total = 1, .limit = 1, .tickets_max = 1}};
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  EXPECT_EQ(shop.end(ticket, OrderEvent::cancel), EndResult::done);
  EXPECT_EQ(shop.admit("u1", "r2").answer, PurchaseAnswer::limit_reached);
  EXPECT_EQ(shop.admit("u2", "r1").answer, PurchaseAnswer::admitted);
  shop.expect_sound();
}

TEST(TicketEnds, FS_40_with_a_limit_of_two_a_cancel_gives_back_exactly_one) {
  Shop shop{{.total = 5, .limit = 2}};
  shop.open();
  const auto first = shop.buy("u1", "r1");
  shop.buy("u1", "r2");
  EXPECT_EQ(shop.end(first, OrderEvent::cancel), EndResult::done);
  shop.buy("u1", "r3");
  EXPECT_EQ(shop.admit("u1", "r4").answer, PurchaseAnswer::limit_reached);
  shop.expect_sound();
}

TEST(TicketEnds, FS_18_of_a_cancel_and_a_payment_at_the_same_moment_exactly_one_wins) {
  constexpr int rounds = 100;
  Shop shop{{.total = rounds}};
  shop.open();
  int paid = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto ticket = shop.buy("u" + std::to_string(round), "r");
    std::atomic<int> ready{0};
    EndResult cancel{};
    EndResult pay{};
    const auto race = [&](OrderEvent event, EndResult& result) {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      result = shop.end(ticket, event);
    };
    std::thread other{[&] { race(OrderEvent::cancel, cancel); }};
    race(OrderEvent::pay, pay);
    other.join();
    const bool paid_wins = pay == EndResult::done;
    EXPECT_EQ(cancel, paid_wins ? EndResult::illegal : EndResult::done);
    EXPECT_EQ(pay, paid_wins ? EndResult::done : EndResult::illegal);
    EXPECT_EQ(shop.state_of(ticket), paid_wins ? OrderState::paid : OrderState::cancelled);
    paid += paid_wins ? 1 : 0;
  }
  EXPECT_EQ(shop.stock().sold, paid);
  EXPECT_EQ(shop.stock().held, 0);
  EXPECT_EQ(shop.stock().available, rounds - paid);
  shop.expect_sound();
}

TEST(TicketEnds, FS_06_a_cancel_and_an_expiry_that_race_void_the_hold_once) {
  constexpr int rounds = 100;
  Shop shop{{.total = rounds}};
  shop.open();
  std::vector<model::Ticket> tickets;
  for (int round = 0; round < rounds; ++round) tickets.push_back(shop.buy("u" + std::to_string(round), "r"));
  shop.clock.advance(std::chrono::milliseconds{60'001});
  int won = 0;
  std::thread sweeper{[&] {
    for (int i = 0; i < 10; ++i) shop.deadlines().sweep();
  }};
  for (const auto& ticket : tickets) won += shop.end(ticket, OrderEvent::cancel) == EndResult::done ? 1 : 0;
  sweeper.join();
  shop.expire_all();
  EXPECT_EQ(shop.stock().available, rounds);
  EXPECT_EQ(shop.ends().counters().done, static_cast<std::uint64_t>(rounds));
  EXPECT_EQ(shop.deadlines().counters().expired, static_cast<std::uint64_t>(rounds - won));
  shop.expect_sound();
}

TEST(TicketEnds, FS_06_late_notices_never_reverse_a_finished_order) {
  Shop shop;
  shop.open();
  const auto paid = shop.buy("u1", "r1");
  EXPECT_EQ(shop.end(paid, OrderEvent::pay), EndResult::done);
  shop.clock.advance(std::chrono::milliseconds{3'600'000});
  EXPECT_EQ(shop.end(paid, OrderEvent::expire), EndResult::illegal);
  EXPECT_EQ(shop.end(paid, OrderEvent::refund), EndResult::done);
  EXPECT_EQ(shop.end(paid, OrderEvent::pay), EndResult::already_there);
  EXPECT_EQ(shop.end(paid, OrderEvent::cancel), EndResult::illegal);
  EXPECT_EQ(shop.state_of(paid), OrderState::refunded);
  EXPECT_EQ(shop.stock().sold, 1) << "a refund returns no unit by itself";
  shop.expect_sound();
}

TEST(TicketEnds, FS_18_what_has_ended_or_never_was_cannot_be_cancelled) {
  Shop shop;
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  EXPECT_EQ(shop.end(ticket, OrderEvent::cancel), EndResult::done);
  EXPECT_EQ(shop.end(ticket, OrderEvent::cancel), EndResult::already_there);
  EXPECT_EQ(shop.end(ticket, OrderEvent::pay), EndResult::illegal);
  EXPECT_EQ(shop.end(ticket, OrderEvent::expire), EndResult::illegal);
  base::Bytes16 unknown{};
  unknown[15] = 1;
  EXPECT_EQ(shop.end(model::Ticket{unknown}, OrderEvent::cancel), EndResult::not_found);
  EXPECT_EQ(shop.stock().available, 10);
  shop.expect_sound();
}

TEST(TicketEnds, FS_24_another_buyers_ticket_is_not_found) {
  Shop shop;
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  auto cancel = Shop::command(ticket, OrderEvent::cancel);
  cancel.buyer = test::buyer_named("u2");
  const auto ended = Shop::wait(shop.submit(std::move(cancel)));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->result, EndResult::not_found);
  EXPECT_EQ(shop.state_of(ticket), OrderState::awaiting_payment);
}

TEST(TicketEnds, within_one_batch_the_first_to_arrive_wins) {
  Shop shop;
  shop.open(false);
  const auto a = shop.buy("u1", "r1");
  const auto b = shop.buy("u2", "r1");
  auto cancel_a = shop.submit(Shop::command(a, OrderEvent::cancel));
  auto pay_a = shop.submit(Shop::command(a, OrderEvent::pay));
  auto pay_b = shop.submit(Shop::command(b, OrderEvent::pay));
  auto cancel_b = shop.submit(Shop::command(b, OrderEvent::cancel));
  shop.ends().start();
  EXPECT_EQ(Shop::wait(std::move(cancel_a))->result, EndResult::done);
  EXPECT_EQ(Shop::wait(std::move(pay_a))->result, EndResult::illegal);
  EXPECT_EQ(Shop::wait(std::move(pay_b))->result, EndResult::done);
  EXPECT_EQ(Shop::wait(std::move(cancel_b))->result, EndResult::illegal);
  EXPECT_EQ(shop.store().calls("end_tickets"), 1) << "what waits shares one transaction";
  shop.expect_sound();
}

TEST(TicketEnds, past_its_bound_a_move_is_refused_and_nothing_happens) {
  Shop shop;
  shop.open(false);
  const auto ticket = shop.buy("u1", "r1");
  std::atomic<int> answered{0};
  base::Bytes16 unknown{};
  unknown[15] = 1;
  for (std::size_t i = 0; i < base::limits::ends_waiting_max; ++i) {
    shop.ends().submit(Shop::command(model::Ticket{unknown}, OrderEvent::cancel),
                       [&answered](const base::Result<store::Ended>&) { ++answered; });
  }
  const auto refused = Shop::wait(shop.submit(Shop::command(ticket, OrderEvent::cancel)));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, base::Errc::limit);
  EXPECT_EQ(shop.ends().waiting(), base::limits::ends_waiting_max);
  shop.ends().start();
  shop.settle();
  EXPECT_EQ(answered, static_cast<int>(base::limits::ends_waiting_max));
  EXPECT_EQ(shop.end(ticket, OrderEvent::cancel), EndResult::done) << "asked again it works";
  shop.expect_sound();
}

TEST(TicketEnds, a_disk_that_recovers_in_time_is_never_noticed) {
  for (const auto code : {base::Errc::disk_full, base::Errc::unavailable, base::Errc::timeout}) {
    Shop shop;
    shop.open();
    const auto ticket = shop.buy("u1", "r1");
    shop.store().fail("end_tickets", code, 3);
    EXPECT_EQ(shop.end(ticket, OrderEvent::cancel), EndResult::done);
    EXPECT_EQ(shop.ends().counters().store_errors, 3U);
    shop.expect_sound();
  }
}

TEST(TicketEnds, a_disk_that_stays_full_is_said_and_repeating_is_harmless) {
  Shop shop{{.timing = {.store_retry_for = std::chrono::milliseconds{0}}}};
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  shop.store().fail("end_tickets", base::Errc::disk_full, 1'000'000);
  const auto refused = Shop::wait(shop.submit(Shop::command(ticket, OrderEvent::pay)));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, base::Errc::disk_full);
  EXPECT_EQ(shop.state_of(ticket), OrderState::awaiting_payment);
  EXPECT_EQ(shop.stock().held, 1) << "in doubt a unit stays held";
  shop.store().heal();
  EXPECT_EQ(shop.end(ticket, OrderEvent::pay), EndResult::done);
  shop.expect_sound();
}

TEST(TicketEnds, a_lost_answer_still_reaches_the_lane) {
  Shop shop{{.timing = {.outbox_every = std::chrono::milliseconds{1}}}};
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  shop.store().lose_answer("end_tickets");
  EXPECT_EQ(shop.end(ticket, OrderEvent::cancel), EndResult::already_there);
  shop.settle();
  EXPECT_EQ(shop.stock().available, 10);
  EXPECT_GE(shop.ends().counters().outbox_resent, 1U);
  shop.expect_sound();
}

TEST(TicketEnds, a_command_that_the_store_refuses_takes_no_other_along) {
  Shop shop;
  shop.open(false);
  std::vector<std::future<base::Result<store::Ended>>> answers;
  for (int i = 0; i < 8; ++i) {
    answers.push_back(shop.submit(Shop::command(shop.buy("u" + std::to_string(i), "r"), OrderEvent::cancel)));
  }
  shop.store().fail("end_tickets", base::Errc::constraint, 4);  // the batch, its half, its quarter, the first alone
  shop.ends().start();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto ended = Shop::wait(std::move(answers[i]));
    if (i == 0) {
      ASSERT_FALSE(ended.has_value());
      EXPECT_EQ(ended.error().code, base::Errc::constraint);
    } else {
      ASSERT_TRUE(ended.has_value());
      EXPECT_EQ(ended->result, EndResult::done);
    }
  }
  shop.expect_sound();
}

TEST(TicketEnds, a_closed_lane_is_told_when_it_is_rebuilt) {
  Shop shop{{.timing = {.outbox_every = std::chrono::milliseconds{1}}}};
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  const auto other = shop.buy("u2", "r1");
  shop.admission().close_lanes(shop.item, "for the test");
  EXPECT_EQ(shop.end(ticket, OrderEvent::cancel), EndResult::done) << "the order ends even so";
  EXPECT_FALSE(shop.store().pending_releases(10)->empty());
  shop.restart();
  shop.settle();
  EXPECT_TRUE(shop.store().pending_releases(10)->empty());
  EXPECT_EQ(shop.stock().available, 9);
  EXPECT_EQ(shop.state_of(other), OrderState::awaiting_payment);
  shop.expect_sound();
}

TEST(TicketEnds, an_acknowledgement_that_the_store_lost_is_made_good_from_the_outbox) {
  Shop shop{{.timing = {.outbox_every = std::chrono::milliseconds{1}}}};
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  shop.store().fail("acknowledge_released", base::Errc::disk_full, 3);
  EXPECT_EQ(shop.end(ticket, OrderEvent::cancel), EndResult::done);
  shop.settle();
  EXPECT_TRUE(shop.store().pending_releases(10)->empty());
  EXPECT_EQ(shop.stock().available, 10);
  shop.expect_sound();
}

TEST(TicketEnds, a_restart_sends_what_was_left_in_the_outbox_and_changes_nothing_twice) {
  Shop shop;
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  const auto paid = shop.buy("u2", "r1");
  // The process ends after the store's rows and before any lane was told: both rows are left in the outbox.
  const std::vector commands{Shop::command(ticket, OrderEvent::cancel), Shop::command(paid, OrderEvent::pay)};
  auto now_set = commands;
  for (auto& one : now_set) one.now = shop.clock.now_utc();
  ASSERT_TRUE(shop.store().end_tickets(now_set).has_value());
  ASSERT_EQ(shop.store().pending_releases(10)->size(), 2U);
  shop.restart();
  shop.settle();
  EXPECT_TRUE(shop.store().pending_releases(10)->empty());
  EXPECT_EQ(shop.stock().available, 9);
  EXPECT_EQ(shop.stock().sold, 1);
  shop.expect_sound();
}

TEST(TicketEnds, P4_FS_40_a_cancelled_request_and_his_one_chance_are_known_after_a_restart) {
  Shop shop{{.tickets_max = 1}};
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  EXPECT_EQ(shop.end(ticket, OrderEvent::cancel), EndResult::done);
  shop.restart();
  EXPECT_EQ(shop.admit("u1", "r2").answer, PurchaseAnswer::limit_reached) << "he had his one chance before";
  const auto again = shop.admit("u1", "r1");
  EXPECT_EQ(again.answer, PurchaseAnswer::replayed) << "the same request never buys twice";
  ASSERT_TRUE(again.ticket.has_value());
  EXPECT_EQ(again.ticket->ticket, ticket);
  EXPECT_FALSE(again.ticket->live);
  EXPECT_EQ(shop.stock().available, 10);
  shop.expect_sound();
}

TEST(TicketEnds, stop_finishes_what_waits_and_then_refuses) {
  Shop shop{{.total = 20}};
  shop.open(false);
  std::vector<std::future<base::Result<store::Ended>>> answers;
  for (int i = 0; i < 20; ++i) {
    answers.push_back(shop.submit(Shop::command(shop.buy("u" + std::to_string(i), "r"), OrderEvent::cancel)));
  }
  shop.ends().start();
  shop.ends().stop();
  for (auto& answer : answers) EXPECT_EQ(Shop::wait(std::move(answer))->result, EndResult::done);
  EXPECT_EQ(shop.stock().available, 20);
  base::Bytes16 unknown{};
  const auto refused = Shop::wait(shop.submit(Shop::command(model::Ticket{unknown}, OrderEvent::cancel)));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, base::Errc::unavailable);
}

TEST(TicketEnds, stopped_before_it_started_it_still_answers_everyone) {
  Shop shop;
  shop.open(false);
  auto answer = shop.submit(Shop::command(shop.buy("u1", "r1"), OrderEvent::cancel));
  shop.ends().stop();
  const auto refused = Shop::wait(std::move(answer));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, base::Errc::unavailable);
  EXPECT_EQ(shop.ends().waiting(), 0U);
}

TEST(TicketEnds, with_price_0_an_order_is_paid_at_once_and_cannot_be_cancelled) {
  Shop shop{{.price_minor = 0}};
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  EXPECT_EQ(shop.state_of(ticket), OrderState::paid);
  EXPECT_EQ(shop.end(ticket, OrderEvent::cancel), EndResult::illegal);
  EXPECT_EQ(shop.end(ticket, OrderEvent::pay), EndResult::illegal);
  shop.clock.advance(std::chrono::hours{1'000});
  EXPECT_EQ(shop.deadlines().sweep(), 0U) << "there is no deadline";
  EXPECT_EQ(shop.stock().sold, 1);
  shop.expect_sound();
}

}  // namespace
}  // namespace seckill::orders
