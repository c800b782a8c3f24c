// How tickets end while their lane is closed: the outbox keeps what no lane has taken.
#include <gtest/gtest.h>

#include "orders/ticket_ends.hpp"
#include "unit/orders/shop.hpp"

namespace seckill::orders {
namespace {

using test::Shop;

TEST(TicketEndsClosedLane, P6_what_a_closed_lane_refused_stays_in_the_outbox) {
  Shop shop{{.timing = {.outbox_every = std::chrono::milliseconds{1}}}};
  shop.open();
  const auto ticket = shop.buy("u1", "r1");
  shop.admission().close_lanes(shop.item, "for the test");
  EXPECT_EQ(shop.end(ticket, model::OrderEvent::cancel), store::EndResult::done);
  // After some rounds of the outbox whatever was to be struck off has been.
  const int rounds = shop.store().calls("pending_releases") + 3;
  while (shop.store().calls("pending_releases") < rounds) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  EXPECT_EQ(shop.store().pending_releases(10)->size(), 1U) << "only a lane that took it acknowledges";
  EXPECT_GE(shop.ends().counters().lane_closed, 1U);
}

}  // namespace
}  // namespace seckill::orders
