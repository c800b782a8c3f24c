// What a rebuild installs of the rows and of the closed lane's marks.
#include "admission/leading/taking_over.hpp"

#include <gtest/gtest.h>

namespace seckill::admission::leading {
namespace {

model::Ticket ticket(std::uint8_t number) {
  base::Bytes16 bytes{};
  bytes[15] = number;
  return model::Ticket{bytes};
}

store::TicketRow row(std::uint8_t number, const char* buyer, model::OrderState state, std::int64_t units = 1) {
  return {.ticket = ticket(number),
          .buyer = *model::BuyerId::parse(buyer),
          .request_id = *model::RequestId::parse("r" + std::to_string(number)),
          .digest = 0,
          .units = units,
          .state = state,
          .admitted_at = number};
}

model::OrderIntent mark(std::uint8_t number, const char* buyer, std::int64_t units = 1) {
  model::OrderIntent intent;
  intent.ticket = ticket(number);
  intent.buyer = *model::BuyerId::parse(buyer);
  intent.request_id = *model::RequestId::parse("r" + std::to_string(number));
  intent.units = units;
  intent.limit = 2;
  intent.admitted_at = number;
  return intent;
}

model::ItemTerms terms() {
  model::ItemTerms terms;
  terms.limit = 1;
  terms.tickets_max = 3;
  return terms;
}

TEST(TakingOver, WhatHasARowIsWhatItsRowSays) {
  const store::RebuiltLane rebuilt{
      .generation = 2,
      .stock = {.available = 5, .held = 1, .sold = 0},
      .tickets = {row(1, "ann", model::OrderState::awaiting_payment), row(2, "bob", model::OrderState::cancelled)}};
  const TakenOver taken = take_over(rebuilt, {mark(1, "ann"), mark(2, "bob")}, terms());
  EXPECT_EQ(taken.stock, rebuilt.stock);
  ASSERT_EQ(taken.tickets.size(), 2U);
  for (const InstallTicket& one : taken.tickets) EXPECT_FALSE(one.intent);
  EXPECT_TRUE(taken.refused.empty());
}

TEST(TakingOver, P5_AMarkWithoutARowIsLiveWithItsIntent) {
  const store::RebuiltLane rebuilt{.generation = 2, .stock = {.available = 5, .held = 0, .sold = 0}, .tickets = {}};
  const TakenOver taken = take_over(rebuilt, {mark(1, "ann", 2)}, terms());
  EXPECT_EQ(taken.stock, (ledger::LaneStock{.available = 3, .held = 2, .sold = 0}))
      << "by the limit that it was admitted under";
  ASSERT_EQ(taken.tickets.size(), 1U);
  EXPECT_TRUE(taken.tickets[0].intent);
  EXPECT_EQ(taken.tickets[0].row.units, 2);
  EXPECT_TRUE(model::is_held(taken.tickets[0].row.state));
}

TEST(TakingOver, P1_P3_AMarkThatFitsNeitherLimitNorStockIsRefused) {
  const store::RebuiltLane rebuilt{
      .generation = 2,
      .stock = {.available = 2, .held = 2, .sold = 0},
      .tickets = {row(1, "ann", model::OrderState::awaiting_payment, 2), row(2, "eve", model::OrderState::expired),
                  row(3, "eve", model::OrderState::expired), row(4, "eve", model::OrderState::expired)}};
  const TakenOver taken =
      take_over(rebuilt, {mark(9, "dan"), mark(8, "carl", 2), mark(7, "ann"), mark(6, "eve")}, terms());
  EXPECT_EQ(taken.stock, (ledger::LaneStock{.available = 0, .held = 4, .sold = 0}));
  ASSERT_EQ(taken.refused.size(), 3U);
  EXPECT_EQ(taken.refused[0].buyer.view(), "eve") << "as many tickets as a buyer may have";
  EXPECT_EQ(taken.refused[1].buyer.view(), "ann") << "limit";
  EXPECT_EQ(taken.refused[2].buyer.view(), "dan") << "stock: carl came first";
}

}  // namespace
}  // namespace seckill::admission::leading
