// The demo's payment provider in a whole shop: one payment row for each paid order, however often it is asked (P7).
#include "payments/demo_provider.hpp"

#include <gtest/gtest.h>

#include "unit/orders/shop.hpp"

namespace seckill::payments {
namespace {

using store::EndResult;
using test::Shop;

base::Result<store::Ended> pay(DemoProvider& provider, const model::Ticket& ticket, const std::string& buyer) {
  std::promise<base::Result<store::Ended>> promise;
  auto got = promise.get_future();
  provider.pay(ticket, test::buyer_named(buyer),
               [&promise](base::Result<store::Ended> ended) { promise.set_value(std::move(ended)); });
  return Shop::wait(std::move(got));
}

TEST(DemoProvider, paying_twice_is_one_payment) {
  Shop shop;
  shop.open();
  DemoProvider provider{shop.ends()};
  const auto ticket = shop.buy("u1", "r1");
  EXPECT_EQ(pay(provider, ticket, "u1")->result, EndResult::done);
  EXPECT_EQ(pay(provider, ticket, "u1")->result, EndResult::already_there);
  EXPECT_EQ(shop.state_of(ticket), model::OrderState::paid);
  shop.expect_sound();
}

TEST(DemoProvider, paying_at_the_same_moment_from_two_devices_is_one_payment) {
  Shop shop;
  shop.open();
  DemoProvider provider{shop.ends()};
  const auto ticket = shop.buy("u1", "r1");
  EndResult other{};
  std::thread device{[&] { other = pay(provider, ticket, "u1")->result; }};
  const auto mine = pay(provider, ticket, "u1")->result;
  device.join();
  EXPECT_EQ((mine == EndResult::done) + (other == EndResult::done), 1);
  EXPECT_EQ((mine == EndResult::already_there) + (other == EndResult::already_there), 1);
  shop.expect_sound();
}

TEST(DemoProvider, FS_24_only_its_owner_pays_a_ticket) {
  Shop shop;
  shop.open();
  DemoProvider provider{shop.ends()};
  const auto ticket = shop.buy("u1", "r1");
  EXPECT_EQ(pay(provider, ticket, "u2")->result, EndResult::not_found);
  EXPECT_EQ(shop.state_of(ticket), model::OrderState::awaiting_payment);
}

TEST(DemoProvider, what_has_ended_is_not_paid) {
  Shop shop;
  shop.open();
  DemoProvider provider{shop.ends()};
  const auto cancelled = shop.buy("u1", "r1");
  shop.end(cancelled, model::OrderEvent::cancel);
  EXPECT_EQ(pay(provider, cancelled, "u1")->result, EndResult::illegal);
  const auto late = shop.buy("u2", "r1");
  shop.clock.advance(std::chrono::milliseconds{60'001});
  EXPECT_EQ(pay(provider, late, "u2")->result, EndResult::too_late);
  shop.expire_all();
  shop.expect_sound();
}

TEST(DemoProvider, its_transaction_names_the_ticket) {
  const model::Ticket ticket{base::Bytes16{4}};
  EXPECT_EQ(DemoProvider::transaction_id(ticket), "demo:" + ticket.str());
}

}  // namespace
}  // namespace seckill::payments
