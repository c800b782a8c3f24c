// A ticket that only its mark knows: what its buyer is told is what the mark can vouch for (DESIGN §4.1.4).
#include <gtest/gtest.h>

#include "orders/order_reads.hpp"
#include "simulation/embedded/forwarding_admission.hpp"
#include "unit/orders/shop.hpp"

namespace seckill::orders {
namespace {

using admission::TicketView;
using model::TicketState;
using test::Shop;

// Lanes whose marks say what the test wants.
class SaidByTheLane final : public sim::ForwardingAdmission {
 public:
  using ForwardingAdmission::ForwardingAdmission;
  void find_ticket(const model::ItemKey&, const model::BuyerId&, const model::Ticket&,
                   std::move_only_function<void(base::Result<std::optional<TicketView>>)> done) override {
    if (before_answering) before_answering();
    done(std::optional{view});
  }
  TicketView view;
  std::function<void()> before_answering;
};

class TicketDurable : public testing::Test {
 protected:
  TicketDurable() {
    shop_.open();
    ticket_ = shop_.admission().ticket_of(shop_.item, test::buyer_named("u1"), test::request_named("r1")).value();
    lanes_ = std::make_unique<SaidByTheLane>(shop_.admission());
    lanes_->view = {.ticket = ticket_, .units = 2, .state = TicketState::queued, .live = true, .durable = true};
  }
  base::Result<Outcome> outcome() {
    OrderReads reads{shop_.store(), *lanes_, 1, test::patience};
    reads.start();
    std::promise<base::Result<Outcome>> promise;
    auto got = promise.get_future();
    reads.outcome(shop_.item, test::buyer_named("u1"), ticket_,
                  [&promise](base::Result<Outcome> told) { promise.set_value(std::move(told)); });
    EXPECT_EQ(got.wait_for(test::patience), std::future_status::ready);
    auto told = got.get();
    reads.stop();
    return told;
  }
  Shop shop_;
  model::Ticket ticket_;
  std::unique_ptr<SaidByTheLane> lanes_;
};

TEST_F(TicketDurable, AConfirmedTicketThatHasNotLandedReadsQueued) {
  const auto told = outcome();
  ASSERT_TRUE(told.has_value()) << "not asked for patience: " << told.error().text();
  EXPECT_TRUE(told->found);
  EXPECT_EQ(told->state, TicketState::queued);
  EXPECT_EQ(told->units, 2);
  EXPECT_EQ(told->ticket, ticket_);
  EXPECT_FALSE(told->order.has_value());
}

TEST_F(TicketDurable, P5_ATicketThatIsNotKnownDurableIsNotAcknowledgedByAReading) {
  lanes_->view.durable = false;
  const auto told = outcome();
  ASSERT_FALSE(told.has_value());
  EXPECT_EQ(told.error().code, base::Errc::unavailable);
}

TEST_F(TicketDurable, P5_AQueuedTicketThatHoldsNothingIsNotAcknowledgedEither) {
  lanes_->view.live = false;
  const auto told = outcome();
  ASSERT_FALSE(told.has_value()) << "it has ended, and only its row knows how";
  EXPECT_EQ(told.error().code, base::Errc::unavailable);
}

TEST_F(TicketDurable, ATicketThatFailedReadsFailedWhetherOrNotItWasDurable) {
  for (const bool durable : {false, true}) {
    lanes_->view = {.ticket = ticket_, .units = 2, .state = TicketState::failed, .live = false, .durable = durable};
    const auto told = outcome();
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->state, TicketState::failed);
  }
}

TEST_F(TicketDurable, ATicketThatLandsWhileItsLaneIsAskedReadsAsItsOrder) {
  lanes_->before_answering = [this] { EXPECT_EQ(shop_.buy("u1", "r1"), ticket_); };
  const auto told = outcome();
  ASSERT_TRUE(told.has_value());
  ASSERT_TRUE(told->order.has_value()) << "queued would be old news";
  EXPECT_EQ(told->state, TicketState::ordered);
}

}  // namespace
}  // namespace seckill::orders
