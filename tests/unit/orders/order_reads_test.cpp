// What a buyer is told became of a purchase: per ticket, never "failed" or "no record" on a guess.
#include "orders/order_reads.hpp"

#include <gtest/gtest.h>

#include "simulation/embedded/forwarding_admission.hpp"
#include "unit/orders/shop.hpp"

namespace seckill::orders {
namespace {

using model::OrderEvent;
using model::OrderState;
using model::TicketState;
using test::Shop;

TEST(OrderReads, an_outcome_follows_its_order) {
  Shop shop;
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  auto outcome = shop.outcome("u1", ticket);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->found);
  EXPECT_EQ(outcome->state, TicketState::ordered);
  EXPECT_EQ(outcome->units, 1);
  ASSERT_TRUE(outcome->order.has_value());
  EXPECT_EQ(outcome->order->state, OrderState::awaiting_payment);
  shop.end(ticket, OrderEvent::pay);
  outcome = shop.outcome("u1", ticket);
  EXPECT_EQ(outcome->order->state, OrderState::paid);
}

TEST(OrderReads, FS_12_unknown_is_no_record) {
  Shop shop;
  shop.open();
  const auto ticket = shop.admission().ticket_of(shop.item, test::buyer_named("nobody"), test::request_named("r1"));
  const auto outcome = shop.outcome("nobody", ticket.value());
  ASSERT_TRUE(outcome.has_value());
  EXPECT_FALSE(outcome->found);
  EXPECT_FALSE(outcome->order.has_value());
}

TEST(OrderReads, FS_24_another_buyers_ticket_reads_exactly_as_an_unknown_one) {
  Shop shop;
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  const auto outcome = shop.outcome("u2", ticket);
  ASSERT_TRUE(outcome.has_value());
  const auto unknown = shop.outcome(
      "u2", shop.admission().ticket_of(shop.item, test::buyer_named("u2"), test::request_named("r9")).value());
  ASSERT_TRUE(unknown.has_value());
  EXPECT_FALSE(outcome->found);
  EXPECT_EQ(outcome->state, unknown->state);
  EXPECT_EQ(outcome->units, unknown->units);
  EXPECT_FALSE(outcome->order.has_value());
}

TEST(OrderReads, FS_12_while_an_order_is_not_durable_nothing_is_claimed_about_it) {
  Shop shop;
  shop.open();
  shop.store().fail("land", base::Errc::disk_full, 1'000'000);
  const auto buyer = test::buyer_named("u1");
  std::promise<admission::AdmitReply> promise;
  auto reply = promise.get_future();
  shop.admission().admit(
      {.item = shop.item, .buyer = buyer, .request_id = test::request_named("r1"), .fields = nullptr},
      [&promise](admission::AdmitReply got) { promise.set_value(std::move(got)); });
  const auto ticket = shop.admission().ticket_of(shop.item, buyer, test::request_named("r1")).value();
  for (int i = 0; i < 20; ++i) {
    const auto outcome = shop.outcome("u1", ticket);
    ASSERT_FALSE(outcome.has_value()) << "neither failed nor no record";
    EXPECT_EQ(outcome.error().code, base::Errc::unavailable);
  }
  shop.store().heal();
  ASSERT_EQ(reply.wait_for(test::patience), std::future_status::ready);
  EXPECT_EQ(reply.get().answer, model::PurchaseAnswer::admitted);
  const auto outcome = shop.outcome("u1", ticket);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->state, TicketState::ordered);
  shop.expect_sound();
}

TEST(OrderReads, FS_12_only_the_ticket_that_failed_reads_failed_and_its_unit_is_back) {
  Shop shop{{.total = 20}};
  shop.open();
  shop.store().fail("land", base::Errc::constraint, 1);  // u1's order alone is refused by the store
  const auto guilty = shop.admit("u1", "r1");
  std::vector<model::Ticket> others;
  for (int i = 2; i <= 5; ++i) others.push_back(shop.buy("u" + std::to_string(i), "r1"));
  const auto ticket = shop.admission().ticket_of(shop.item, test::buyer_named("u1"), test::request_named("r1")).value();
  EXPECT_NE(guilty.answer, model::PurchaseAnswer::admitted);
  const auto outcome = shop.outcome("u1", ticket);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->state, TicketState::failed);
  ASSERT_TRUE(outcome->order.has_value());
  EXPECT_EQ(outcome->order->reason, model::FailReason::unreadable);
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_EQ(shop.outcome("u" + std::to_string(i + 2), others[i])->state, TicketState::ordered);
  }
  EXPECT_EQ(shop.stock().available, 16) << "failed implies that the unit is back";
  shop.restart();
  EXPECT_EQ(shop.outcome("u1", ticket)->state, TicketState::failed);
  EXPECT_EQ(shop.stock().available, 16);
  shop.expect_sound();
}

TEST(OrderReads, FS_12_a_failure_that_nobody_waited_for_any_longer_gives_its_unit_back) {
  Shop shop{{.timing = {.outbox_every = std::chrono::milliseconds{1}}}};
  shop.open();
  shop.store().fail("land", base::Errc::disk_full, 1'000'000);
  std::promise<admission::AdmitReply> promise;
  auto reply = promise.get_future();
  shop.admission().admit({.item = shop.item,
                          .buyer = test::buyer_named("u1"),
                          .request_id = test::request_named("r1"),
                          .digest = model::content_digest(1, nullptr),
                          .fields = nullptr},
                         [&promise](admission::AdmitReply got) { promise.set_value(std::move(got)); });
  shop.clock.advance(std::chrono::milliseconds{5'000});
  ASSERT_EQ(reply.wait_for(test::patience), std::future_status::ready);
  EXPECT_EQ(reply.get().answer, model::PurchaseAnswer::busy) << "unknown is not failed";
  EXPECT_EQ(shop.stock().held, 1) << "in doubt a unit stays held";
  shop.store().fail("land", base::Errc::constraint, 1);
  const auto give_up = std::chrono::steady_clock::now() + test::patience;
  while (shop.stock().held > 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "the unit never comes back";
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  shop.settle();
  const auto again = shop.admit("u1", "r1");
  EXPECT_EQ(again.answer, model::PurchaseAnswer::replayed);
  EXPECT_FALSE(again.ticket.value().live);
  EXPECT_EQ(shop.outcome("u1", again.ticket->ticket)->state, model::TicketState::failed);
  shop.expect_sound();
}

TEST(OrderReads, a_store_that_cannot_be_asked_is_an_error_and_never_no_record) {
  Shop shop;
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  shop.store().fail("find_order", base::Errc::unavailable, 1);
  const auto outcome = shop.outcome("u1", ticket);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, base::Errc::unavailable);
  EXPECT_TRUE(shop.outcome("u1", ticket)->found);
}

TEST(OrderReads, a_closed_lane_is_an_error_for_what_only_the_lane_can_know) {
  Shop shop;
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  shop.admission().close_lanes(shop.item, "for the test");
  EXPECT_TRUE(shop.outcome("u1", ticket)->found) << "its row answers";
  const auto unknown = shop.admission().ticket_of(shop.item, test::buyer_named("u2"), test::request_named("r1"));
  ASSERT_TRUE(unknown.has_value());
  const auto outcome = shop.outcome("u2", *unknown);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, base::Errc::unavailable);
}

TEST(OrderReads, past_its_bound_a_question_is_refused) {
  Shop shop;
  shop.open();
  std::promise<void> release;
  const auto released = release.get_future().share();
  std::atomic<int> ran{0};
  std::atomic<int> busy{0};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(shop.reads().run([&](store::Store&) {
      ++busy;
      released.wait();
    }));
  }
  while (busy < 2) std::this_thread::yield();  // both readers are held up
  for (std::size_t i = 0; i < base::limits::store_reads_waiting_max; ++i) {
    ASSERT_TRUE(shop.reads().run([&ran](store::Store&) { ++ran; }));
  }
  EXPECT_FALSE(shop.reads().run([](store::Store&) { FAIL() << "a refused question must not be run"; }));
  std::optional<base::Errc> refused;
  shop.reads().find(model::Ticket{}, [&refused](const base::Result<std::optional<store::Order>>& order) {
    if (!order) refused = order.error().code;
  });
  EXPECT_EQ(refused, base::Errc::limit);
  release.set_value();
  shop.reads().stop();
  EXPECT_EQ(ran, static_cast<int>(base::limits::store_reads_waiting_max)) << "what waits is answered before it ends";
  EXPECT_EQ(shop.reads().waiting(), 0U);
}

TEST(OrderReads, P9_a_question_that_waited_too_long_is_answered_without_being_asked) {
  Shop shop;
  shop.open();
  OrderReads reads{shop.store(), shop.admission(), 1, std::chrono::milliseconds{20}};
  reads.start();
  std::promise<void> release;
  std::promise<void> held_up;
  ASSERT_TRUE(reads.run([&](store::Store&) {
    held_up.set_value();
    release.get_future().wait();
  }));
  held_up.get_future().wait();  // as by a database that stands still
  int unavailable = 0;
  const auto tell = [&unavailable](const auto& answer) {
    ASSERT_FALSE(answer.has_value());
    if (answer.error().code == base::Errc::unavailable) ++unavailable;
  };
  reads.outcome(shop.item, test::buyer_named("u1"), model::Ticket{}, tell);
  reads.find(model::Ticket{}, tell);
  reads.list({}, tell);
  bool late = false;
  ASSERT_TRUE(reads.run([](store::Store&) { FAIL() << "nobody waits for it any more"; }, [&late] { late = true; }));
  std::this_thread::sleep_for(std::chrono::milliseconds{60});
  release.set_value();
  reads.stop();
  EXPECT_EQ(unavailable, 3);
  EXPECT_TRUE(late);
}

// Lanes on another machine: what they are asked waits until the test lets the answers go.
class SlowLanes final : public sim::ForwardingAdmission {
 public:
  using ForwardingAdmission::ForwardingAdmission;
  void find_ticket(const model::ItemKey& item, const model::BuyerId& buyer, const model::Ticket& ticket,
                   std::move_only_function<void(base::Result<std::optional<admission::TicketView>>)> done) override {
    const std::lock_guard lock{mutex_};
    asked_.emplace_back([this, item, buyer, ticket, done = std::move(done)]() mutable {
      inner_.find_ticket(item, buyer, ticket, std::move(done));
    });
  }
  [[nodiscard]] std::size_t asked() {
    const std::lock_guard lock{mutex_};
    return asked_.size();
  }
  void answer_all() {
    const std::lock_guard lock{mutex_};
    for (auto& answer : asked_) answer();
  }

 private:
  std::mutex mutex_;
  std::vector<std::move_only_function<void()>> asked_;
};

TEST(OrderReads, P9_questions_that_wait_for_their_lane_keep_their_places) {
  Shop shop;
  shop.open();
  SlowLanes lanes{shop.admission()};
  OrderReads reads{shop.store(), lanes, 2, test::patience};
  reads.start();
  std::atomic<std::size_t> told{0};
  const auto ask = [&](auto done) { reads.outcome(shop.item, test::buyer_named("u1"), model::Ticket{}, done); };
  for (std::size_t i = 0; i < base::limits::store_reads_waiting_max; ++i) {
    ask([&told](const base::Result<Outcome>& outcome) { told += outcome && !outcome->found ? 1U : 0U; });
  }
  while (lanes.asked() < base::limits::store_reads_waiting_max) std::this_thread::yield();
  std::optional<base::Errc> refused;
  ask([&refused](const base::Result<Outcome>& outcome) {
    if (!outcome) refused = outcome.error().code;
  });
  EXPECT_EQ(refused, base::Errc::limit);
  lanes.answer_all();
  reads.stop();
  EXPECT_EQ(told, base::limits::store_reads_waiting_max) << "each was answered all the same";
}

TEST(OrderReads, stopped_it_says_so) {
  Shop shop;
  shop.open();
  shop.reads().stop();
  std::optional<base::Errc> refused;
  shop.reads().list({}, [&refused](const base::Result<store::OrderPage>& page) {
    if (!page) refused = page.error().code;
  });
  EXPECT_EQ(refused, base::Errc::unavailable);
}

TEST(OrderReads, a_buyers_orders_are_listed_newest_first) {
  Shop shop{{.limit = 3}};
  shop.open();
  const auto first = shop.buy("u1", "r1");
  shop.buy("u2", "r1");
  const auto second = shop.buy("u1", "r2");
  std::promise<base::Result<store::OrderPage>> promise;
  auto got = promise.get_future();
  shop.reads().list({.buyer = test::buyer_named("u1"), .sale = std::nullopt, .state = std::nullopt},
                    [&promise](base::Result<store::OrderPage> page) { promise.set_value(std::move(page)); });
  ASSERT_EQ(got.wait_for(test::patience), std::future_status::ready);
  const auto page = got.get();
  ASSERT_TRUE(page.has_value());
  ASSERT_EQ(page->orders.size(), 2U);
  EXPECT_EQ(page->orders[0].ticket, second);
  EXPECT_EQ(page->orders[1].ticket, first);
}

}  // namespace
}  // namespace seckill::orders
