// How tickets end: every move of the transition table, its deadline, its payment, its rows, and races between moves.
#include <array>
#include <barrier>
#include <set>
#include <thread>

#include "store_contract.hpp"

namespace seckill::store::contract {
namespace {

using model::OrderEvent;
using model::OrderState;
using model::StockEffect;

class StoreEnds : public StoreSuite {};
SECKILL_FOR_EVERY_STORE(StoreEnds);

constexpr base::UtcMs landed_at = start_of_sale + 10;
constexpr base::UtcMs deadline = landed_at + pay_window_ms;

TEST_P(StoreEnds, a_payment_posts_the_units_and_ends_the_wait) {
  const Shop shop = a_shop(100);
  const auto ticket = shop.ordered(shop.intent("alice", "r1", 2));
  const Ended ended = shop.end(pay(ticket, "p1", deadline));
  EXPECT_EQ(ended.result, EndResult::done) << "the deadline itself is in time";
  EXPECT_EQ(ended.state, OrderState::paid);
  EXPECT_EQ(ended.effect, StockEffect::post);
  EXPECT_EQ(ended.item, shop.item());
  EXPECT_EQ(ended.units, 2);
  const Order order = shop.order(ticket);
  EXPECT_EQ(order.state, OrderState::paid);
  EXPECT_EQ(order.ended_at, deadline);
  EXPECT_EQ(order.pay_before, 0) << "no payment is awaited any more";
  EXPECT_EQ(shop.sums(), (ledger::LaneStock{.available = 98, .held = 0, .sold = 2}));
  EXPECT_EQ(shop.broken(INT64_MAX - 10'000), "");
}

TEST_P(StoreEnds, a_cancel_gives_units_and_allowance_back) {
  const Shop shop = a_shop(100, 2);
  const auto ticket = shop.ordered(shop.intent("alice", "r1", 2));
  const Ended ended = shop.end(cancel(ticket));
  EXPECT_EQ(ended.result, EndResult::done);
  EXPECT_EQ(ended.state, OrderState::cancelled);
  EXPECT_EQ(ended.effect, StockEffect::void_);
  EXPECT_EQ(shop.order(ticket).ended_at, start_of_sale + 20);
  EXPECT_EQ(shop.sums().available, 100);
  shop.ordered(shop.intent("alice", "r2", 2));
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreEnds, paying_after_the_deadline_and_expiring_before_it_are_too_late_and_change_nothing) {
  const Shop shop = a_shop(100);
  const auto ticket = shop.ordered(shop.intent("alice"));
  const Ended early = shop.end(expire(ticket, deadline));
  EXPECT_EQ(early.result, EndResult::too_late);
  EXPECT_EQ(early.state, OrderState::awaiting_payment);
  EXPECT_EQ(early.effect, StockEffect::none);
  const Ended late = shop.end(pay(ticket, "p1", deadline + 1));
  EXPECT_EQ(late.result, EndResult::too_late);
  EXPECT_EQ(shop.sums().held, 1);
  EXPECT_EQ(shop.order(ticket).state, OrderState::awaiting_payment);
  const Ended expired = shop.end(expire(ticket, deadline + 1));
  EXPECT_EQ(expired.result, EndResult::done);
  EXPECT_EQ(expired.state, OrderState::expired);
  EXPECT_EQ(shop.sums().available, 100);
  EXPECT_EQ(shop.end(pay(ticket, "p1", landed_at)).result, EndResult::illegal) << "a late notice reverses nothing";
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreEnds, P6_in_the_millisecond_of_its_deadline_an_order_may_be_paid_and_not_be_expired) {
  const Shop shop = a_shop(100);
  const auto ticket = shop.ordered(shop.intent("alice"));
  EXPECT_EQ(shop.end(expire(ticket, deadline)).result, EndResult::too_late);
  EXPECT_TRUE(store().due_tickets(deadline, 10).value().empty());
  EXPECT_EQ(shop.end(pay(ticket, "p1", deadline)).result, EndResult::done);
  EXPECT_EQ(shop.sums().sold, 1);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreEnds, the_same_payment_again_is_already_there_and_another_one_is_illegal) {
  const Shop shop = a_shop(100);
  const auto ticket = shop.ordered(shop.intent("alice"));
  const auto other = shop.ordered(shop.intent("bob"));
  ASSERT_EQ(shop.end(pay(ticket, "p1")).result, EndResult::done);
  const Ended again = shop.end(pay(ticket, "p1", deadline + 1'000));
  EXPECT_EQ(again.result, EndResult::already_there);
  EXPECT_EQ(again.state, OrderState::paid);
  EXPECT_EQ(again.effect, StockEffect::none);
  EXPECT_EQ(shop.end(pay(ticket, "p2")).result, EndResult::illegal);
  EXPECT_EQ(shop.end(pay(other, "p1")).result, EndResult::illegal) << "one transaction pays one order";
  EXPECT_EQ(shop.order(other).state, OrderState::awaiting_payment);
  auto elsewhere = pay(other, "p1");
  elsewhere.payment_provider = "another";
  EXPECT_EQ(shop.end(elsewhere).result, EndResult::done) << "ids are unique with their provider";
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreEnds, a_payment_without_a_name_is_illegal) {
  const Shop shop = a_shop(100);
  const auto ticket = shop.ordered(shop.intent("alice"));
  EXPECT_EQ(shop.end(pay(ticket, "")).result, EndResult::illegal);
  EXPECT_EQ(shop.end(event(ticket, OrderEvent::pay)).result, EndResult::illegal);
  EXPECT_EQ(shop.sums().held, 1);
}

TEST_P(StoreEnds, FS_24_another_buyers_order_is_not_found) {
  const Shop shop = a_shop(100);
  const auto ticket = shop.ordered(shop.intent("alice"));
  auto command = cancel(ticket);
  command.buyer = model::BuyerId::parse("Alice");
  const Ended ended = shop.end(command);
  EXPECT_EQ(ended.result, EndResult::not_found);
  EXPECT_TRUE(ended.item.sale.empty()) << "nothing is told about it";
  EXPECT_EQ(shop.order(ticket).state, OrderState::awaiting_payment);
  command.buyer = model::BuyerId::parse("alice");
  EXPECT_EQ(shop.end(command).result, EndResult::done);
}

TEST_P(StoreEnds, an_unknown_ticket_is_not_found) {
  const Shop shop = a_shop(100);
  EXPECT_EQ(shop.end(cancel(shop.intent("nobody").ticket)).result, EndResult::not_found);
  EXPECT_EQ(shop.end(cancel(model::Ticket{})).result, EndResult::not_found);
}

// Brings a fresh order of `buyer` to `state`, as far as the port reaches it.
model::Ticket brought_to(const Shop& shop, Store& store, std::string_view buyer, OrderState state) {
  const auto intent = shop.intent(buyer);
  if (state == OrderState::failed) {
    EXPECT_TRUE(store.fail_intent(intent, model::FailReason::unreadable, landed_at).has_value());
    return intent.ticket;
  }
  const auto ticket = shop.ordered(intent);
  const auto payment = "brought-" + std::string{buyer};
  if (state == OrderState::closing) EXPECT_EQ(shop.end(event(ticket, OrderEvent::close_begin)).result, EndResult::done);
  if (model::is_sold(state)) EXPECT_EQ(shop.end(pay(ticket, payment)).result, EndResult::done);
  if (state == OrderState::refunded) EXPECT_EQ(shop.end(event(ticket, OrderEvent::refund)).result, EndResult::done);
  if (state == OrderState::cancelled) EXPECT_EQ(shop.end(cancel(ticket)).result, EndResult::done);
  if (state == OrderState::expired) EXPECT_EQ(shop.end(expire(ticket, deadline + 1)).result, EndResult::done);
  EXPECT_EQ(shop.order(ticket).state, state);
  return ticket;
}

TEST_P(StoreEnds, FS_06_FS_18_every_move_is_the_tables_and_a_refused_one_changes_nothing) {
  const Shop shop = a_shop(1'000, 2);
  constexpr std::array states{OrderState::failed,  OrderState::awaiting_payment, OrderState::closing,
                              OrderState::paid,    OrderState::cancelled,        OrderState::expired,
                              OrderState::refunded};
  constexpr std::array events{OrderEvent::pay,    OrderEvent::cancel, OrderEvent::expire, OrderEvent::close_begin,
                              OrderEvent::refund, OrderEvent::replay, OrderEvent::discard};
  int number = 0;
  for (const OrderState state : states) {
    for (const OrderEvent tried : events) {
      SCOPED_TRACE(std::string{model::name(tried)} + " from " + std::string{model::name(state)});
      const std::string buyer = "b" + std::to_string(number++);
      const auto ticket = brought_to(shop, store(), buyer, state);
      const ledger::LaneStock before = shop.sums();
      auto command = event(ticket, tried, tried == OrderEvent::expire ? deadline + 1 : landed_at);
      command.payment_provider = "demo";
      command.payment_id = "tried-" + buyer;
      const Ended ended = shop.end(command);
      const auto move = model::transition(state, tried);
      const Order order = shop.order(ticket);
      if (move) {
        EXPECT_EQ(ended.result, EndResult::done);
        EXPECT_EQ(ended.effect, move->effect);
        EXPECT_EQ(order.state, move->to);
      } else {
        EXPECT_TRUE(ended.result == EndResult::illegal || ended.result == EndResult::already_there);
        EXPECT_EQ(ended.effect, StockEffect::none);
        EXPECT_EQ(order.state, state);
        EXPECT_EQ(shop.sums(), before);
      }
      EXPECT_EQ(ended.state, order.state);
      if (ended.result != EndResult::done || tried == OrderEvent::refund || tried == OrderEvent::close_begin) continue;
      EXPECT_EQ(shop.end(command).result, EndResult::already_there) << "repeating a move that was made";
    }
  }
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreEnds, a_repeated_cancel_expiry_close_or_refund_is_already_there) {
  const Shop shop = a_shop(100);
  for (const auto& [state, repeated] : {std::pair{OrderState::cancelled, OrderEvent::cancel},
                                        {OrderState::expired, OrderEvent::expire},
                                        {OrderState::closing, OrderEvent::close_begin},
                                        {OrderState::refunded, OrderEvent::refund}}) {
    const auto ticket = brought_to(shop, store(), "b-" + std::string{model::name(state)}, state);
    EXPECT_EQ(shop.end(event(ticket, repeated, deadline + 1)).result, EndResult::already_there) << model::name(state);
  }
}

TEST_P(StoreEnds, closing_still_takes_money_that_was_on_its_way) {
  const Shop shop = a_shop(100);
  const auto ticket = brought_to(shop, store(), "alice", OrderState::closing);
  EXPECT_EQ(shop.end(pay(ticket, "p1", deadline + 30'000)).result, EndResult::done);
  EXPECT_EQ(shop.sums().sold, 1);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreEnds, one_call_answers_each_command_in_order_and_by_itself) {
  const Shop shop = a_shop(100);
  const auto alice = shop.ordered(shop.intent("alice"));
  const auto bob = shop.ordered(shop.intent("bob"));
  const std::vector<EndCommand> commands{cancel(alice), cancel(model::Ticket{}), pay(alice, "p1"), pay(bob, "p2"),
                                         cancel(alice)};
  const auto ended = store().end_tickets(commands).value();
  ASSERT_EQ(ended.size(), 5U);
  EXPECT_EQ(ended[0].result, EndResult::done);
  EXPECT_EQ(ended[1].result, EndResult::not_found);
  EXPECT_EQ(ended[2].result, EndResult::illegal);
  EXPECT_EQ(ended[3].result, EndResult::done);
  EXPECT_EQ(ended[4].result, EndResult::already_there);
  EXPECT_TRUE(store().end_tickets({}).value().empty());
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreEnds, every_effect_waits_in_the_outbox_until_it_is_acknowledged) {
  const Shop shop = a_shop(100);
  const auto paid = shop.ordered(shop.intent("alice"));
  const auto cancelled = shop.ordered(shop.intent("bob"));
  const auto closing = shop.ordered(shop.intent("carol"));
  (void)store().end_tickets(std::vector{pay(paid, "p1"), cancel(cancelled), event(closing, OrderEvent::close_begin)});
  const auto pending = store().pending_releases(10).value();
  ASSERT_EQ(pending.size(), 2U) << "closing moves no unit";
  EXPECT_EQ(pending[0].ticket, paid);
  EXPECT_EQ(pending[0].effect, StockEffect::post);
  EXPECT_EQ(pending[1].ticket, cancelled);
  EXPECT_EQ(pending[1].effect, StockEffect::void_);
  EXPECT_EQ(pending[1].item, shop.item());
  EXPECT_EQ(store().pending_releases(1).value().size(), 1U);
  reopen();
  EXPECT_EQ(store().pending_releases(10).value().size(), 2U);
  ASSERT_TRUE(store().acknowledge_releases(std::vector{pending[0].id}).has_value());
  ASSERT_TRUE(store().acknowledge_released(std::vector{cancelled, model::Ticket{}}).has_value());
  EXPECT_TRUE(store().pending_releases(10).value().empty());
  ASSERT_TRUE(store().acknowledge_releases(std::vector{pending[0].id, pending[1].id}).has_value())
      << "again is harmless";
  ASSERT_TRUE(store().acknowledge_releases({}).has_value());
}

TEST_P(StoreEnds, an_acknowledged_id_never_names_a_later_event) {
  const Shop shop = a_shop(100);
  const auto first = shop.ordered(shop.intent("alice"));
  const auto second = shop.ordered(shop.intent("bob"));
  ASSERT_EQ(shop.end(cancel(first)).result, EndResult::done);
  const auto id = store().pending_releases(1).value()[0].id;
  ASSERT_TRUE(store().acknowledge_released(std::vector{first}).has_value());
  ASSERT_EQ(shop.end(cancel(second)).result, EndResult::done);
  ASSERT_TRUE(store().acknowledge_releases(std::vector{id}).has_value());
  EXPECT_EQ(store().pending_releases(10).value().size(), 1U);
}

TEST_P(StoreEnds, due_tickets_are_the_overdue_ones_oldest_first) {
  const Shop shop = a_shop(100);
  const auto late = shop.ordered(shop.intent("alice"), landed_at + 5);
  const auto early = shop.ordered(shop.intent("bob"), landed_at);
  const auto paid = shop.ordered(shop.intent("carol"), landed_at - 5);
  ASSERT_EQ(shop.end(pay(paid, "p1")).result, EndResult::done);
  EXPECT_TRUE(store().due_tickets(deadline, 10).value().empty()) << "the deadline itself is still in time";
  EXPECT_EQ(store().due_tickets(deadline + 1, 10).value(), std::vector{early});
  EXPECT_EQ(store().due_tickets(deadline + 6, 10).value(), (std::vector{early, late}));
  EXPECT_EQ(store().due_tickets(deadline + 6, 1).value(), std::vector{early});
}

// FS-18: on fresh orders cancel, pay and expire start together; one wins and the stock matches the winner.
TEST_P(StoreEnds, FS_18_of_a_cancel_a_payment_and_an_expiry_that_race_exactly_one_wins) {
  constexpr int orders = 100;
  const Shop shop = a_shop(1'000, 2);
  std::vector<model::Ticket> tickets;
  for (int i = 0; i < orders; ++i) tickets.push_back(shop.ordered(shop.intent("b" + std::to_string(i))));
  // The clocks of the three sides differ as clocks do: each finds its own move legal by its own time.
  std::array<std::vector<Ended>, 3> results;
  std::barrier start{3};
  const auto side = [&](std::size_t which, auto command) {
    for (int i = 0; i < orders; ++i) {
      start.arrive_and_wait();
      results[which].push_back(shop.end(command(tickets[static_cast<std::size_t>(i)], i)));
    }
  };
  {
    const std::jthread canceller{side, 0U, [](const model::Ticket& t, int) { return cancel(t); }};
    const std::jthread payer{side, 1U,
                             [](const model::Ticket& t, int i) { return pay(t, "p" + std::to_string(i), deadline); }};
    const std::jthread timer{side, 2U, [](const model::Ticket& t, int) { return expire(t, deadline + 1); }};
  }
  std::int64_t sold = 0;
  constexpr std::array wins{OrderState::cancelled, OrderState::paid, OrderState::expired};
  for (std::size_t i = 0; i < orders; ++i) {
    int winners = 0;
    for (std::size_t side_number = 0; side_number < 3; ++side_number) {
      const Ended& ended = results[side_number][i];
      if (ended.result != EndResult::done) continue;
      ++winners;
      EXPECT_EQ(shop.order(tickets[i]).state, wins[side_number]);
      sold += side_number == 1 ? 1 : 0;
    }
    EXPECT_EQ(winners, 1);
  }
  EXPECT_EQ(shop.sums(), (ledger::LaneStock{.available = 1'000 - sold, .held = 0, .sold = sold}));
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreEnds, landing_and_ending_from_several_threads_keep_every_sum) {
  constexpr int threads = 4;
  constexpr int rounds = 15;
  const Shop shop = a_shop(1'000, 2);
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        for (int i = 0; i < rounds; ++i) {
          const std::string buyer = "b" + std::to_string(t) + "-" + std::to_string(i);
          const auto own = shop.intent(buyer);
          const auto shared = shop.intent("shared" + std::to_string(i));
          ASSERT_TRUE(shop.land({own, shared}).has_value());
          (void)shop.end(i % 2 == 0 ? cancel(shared.ticket) : pay(own.ticket, buyer));
          ASSERT_TRUE(store().list_orders({.buyer = own.buyer, .sale = {}, .state = {}}).has_value());
        }
      });
    }
  }
  EXPECT_EQ(shop.broken(), "");
  EXPECT_EQ(shop.sums().held + shop.sums().sold + shop.sums().available, 1'000);
}

}  // namespace
}  // namespace seckill::store::contract
