// The transition table, exhaustively: 8 states by 7 events, and what each state means for units and for the buyer.
#include "model/order_state.hpp"

#include <gtest/gtest.h>

namespace seckill::model {
namespace {

constexpr std::array all_states{OrderState::parked,  OrderState::failed,  OrderState::awaiting_payment,
                                OrderState::closing, OrderState::paid,    OrderState::cancelled,
                                OrderState::expired, OrderState::refunded};
constexpr std::array all_events{OrderEvent::pay,    OrderEvent::cancel, OrderEvent::expire, OrderEvent::close_begin,
                                OrderEvent::refund, OrderEvent::replay, OrderEvent::discard};

// Every legal move; whatever is not here must be refused.
const std::map<std::pair<OrderState, OrderEvent>, std::pair<OrderState, StockEffect>> legal{
    {{OrderState::awaiting_payment, OrderEvent::pay}, {OrderState::paid, StockEffect::post}},
    {{OrderState::closing, OrderEvent::pay}, {OrderState::paid, StockEffect::post}},
    {{OrderState::awaiting_payment, OrderEvent::cancel}, {OrderState::cancelled, StockEffect::void_}},
    {{OrderState::closing, OrderEvent::cancel}, {OrderState::cancelled, StockEffect::void_}},
    {{OrderState::awaiting_payment, OrderEvent::expire}, {OrderState::expired, StockEffect::void_}},
    {{OrderState::closing, OrderEvent::expire}, {OrderState::expired, StockEffect::void_}},
    {{OrderState::awaiting_payment, OrderEvent::close_begin}, {OrderState::closing, StockEffect::none}},
    {{OrderState::paid, OrderEvent::refund}, {OrderState::refunded, StockEffect::none}},
    {{OrderState::parked, OrderEvent::replay}, {OrderState::awaiting_payment, StockEffect::none}},
    {{OrderState::parked, OrderEvent::discard}, {OrderState::failed, StockEffect::void_}},
};

TEST(Transition, FS_06_FS_18_exactly_the_listed_moves_are_legal) {
  std::size_t allowed = 0;
  for (const OrderState from : all_states) {
    for (const OrderEvent event : all_events) {
      const auto expected = legal.find({from, event});
      const std::optional<Transition> move = transition(from, event);
      EXPECT_EQ(move.has_value(), expected != legal.end()) << name(from) << " " << name(event);
      if (!move || expected == legal.end()) continue;
      ++allowed;
      EXPECT_EQ(move->to, expected->second.first) << name(from) << " " << name(event);
      EXPECT_EQ(move->effect, expected->second.second) << name(from) << " " << name(event);
    }
  }
  EXPECT_EQ(allowed, legal.size());
}

TEST(Transition, P6_units_move_exactly_when_the_meaning_of_the_state_changes) {
  for (const auto& [from, to] : legal) {
    const StockEffect effect = to.second;
    EXPECT_EQ(effect == StockEffect::post, is_held(from.first) && is_sold(to.first));
    EXPECT_EQ(effect == StockEffect::void_, is_held(from.first) && is_ended(to.first));
    EXPECT_FALSE(is_ended(from.first)) << "what ended stays ended";
  }
}

TEST(OrderStates, each_state_is_held_or_sold_or_ended) {
  for (const OrderState state : all_states) {
    EXPECT_EQ(int{is_held(state)} + int{is_sold(state)} + int{is_ended(state)}, 1) << name(state);
  }
}

TEST(OrderStates, names_and_stored_numbers_are_distinct_and_read_back) {
  std::set<std::string_view> names;
  for (const OrderState state : all_states) {
    EXPECT_TRUE(names.insert(name(state)).second);
    EXPECT_EQ(order_state_from(static_cast<std::int64_t>(state)), state);
  }
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{9}, std::int64_t{-1}, std::int64_t{259}}) {
    EXPECT_FALSE(order_state_from(bad).has_value()) << bad;
  }
  std::set<std::string_view> reasons;
  for (std::int64_t stored = 0; stored <= 6; ++stored) {
    ASSERT_TRUE(fail_reason_from(stored).has_value());
    EXPECT_TRUE(reasons.insert(name(*fail_reason_from(stored))).second);
  }
  EXPECT_FALSE(fail_reason_from(7).has_value());
  EXPECT_FALSE(fail_reason_from(-1).has_value());
  std::set<std::string_view> events;
  for (const OrderEvent event : all_events) EXPECT_TRUE(events.insert(name(event)).second);
}

TEST(OrderStates, the_buyer_sees_ordered_parked_or_failed) {
  EXPECT_EQ(ticket_state(OrderState::parked), TicketState::parked);
  EXPECT_EQ(ticket_state(OrderState::failed), TicketState::failed);
  for (const OrderState state : {OrderState::awaiting_payment, OrderState::closing, OrderState::paid,
                                 OrderState::cancelled, OrderState::expired, OrderState::refunded}) {
    EXPECT_EQ(ticket_state(state), TicketState::ordered) << name(state);
  }
  EXPECT_EQ(name(TicketState::queued), "queued");
  EXPECT_EQ(name(TicketState::parked), "parked");
}

}  // namespace
}  // namespace seckill::model
