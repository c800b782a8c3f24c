// A healthy picture of one item, to plant corruptions in.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "reconcile/identities.hpp"

namespace seckill::reconcile {

inline constexpr base::UtcMs now = 1'800'000'000'000;
inline constexpr base::UtcMs long_ago = now - 60'000;
inline constexpr std::int64_t grace_ms = 10'000;

[[nodiscard]] inline model::BuyerId buyer(std::string_view name) { return model::BuyerId::parse(name).value(); }

[[nodiscard]] inline model::Ticket ticket_of(model::LaneIndex lane, std::uint8_t number) {
  base::Bytes16 bytes{};
  bytes[0] = static_cast<std::uint8_t>(lane << 2);
  bytes[15] = number;
  return model::Ticket{bytes};
}

[[nodiscard]] inline Payment a_payment(std::string_view id, const model::Ticket& ticket, std::int64_t amount_minor) {
  Payment payment;
  payment.provider = "demo";
  payment.transaction_id = id;
  payment.ticket = ticket;
  payment.amount_minor = amount_minor;
  return payment;
}

// Two lanes of ten units and four in the pool, with one ticket in every state an order can have, all of them settled.
class Identities : public testing::Test {
 protected:
  Identities() {
    picture.item = {.sale = model::SaleId::parse("s1").value(), .sku = model::Sku::parse("sku1").value()};
    picture.now = now;
    picture.grace_ms = grace_ms;
    picture.store.total = 24;
    picture.store.pool = 4;
    for (model::LaneIndex lane : {0U, 1U}) {
      picture.store.lanes.push_back({.row = {.lane = lane, .generation = 3, .stock = {.available = 10}}});
      picture.lanes.push_back(
          {.lane = lane, .generation = 3, .open = true, .stock = {.available = 10}, .marks = {}, .transfers = {}});
    }
    waiting = add(0, "alice", 2, model::OrderState::awaiting_payment);
    add(0, "alice", 1, model::OrderState::closing);
    paid = add(0, "bob", 1, model::OrderState::paid);
    add(1, "carol", 1, model::OrderState::refunded);
    cancelled = add(1, "carol", 2, model::OrderState::cancelled);
    add(1, "dave", 1, model::OrderState::expired);
    add(1, "dave", 1, model::OrderState::parked);
    failed = add(1, "erin", 1, model::OrderState::failed, model::FailReason::limit_reached);
    add(1, "erin", 1, model::OrderState::failed, model::FailReason::discarded);
    free = add(0, "frank", 1, model::OrderState::paid, model::FailReason::none, 0);
  }

  // An order with all that belongs to it, in the store and in its lane.
  model::Ticket add(model::LaneIndex lane, std::string_view who, std::int64_t units, model::OrderState state,
                    model::FailReason reason = model::FailReason::none, std::int64_t price_minor = 100) {
    store::Order order;
    order.ticket = ticket_of(lane, ++tickets_);
    order.item = picture.item;
    order.buyer = buyer(who);
    order.lane = lane;
    order.units = units;
    order.price_minor = price_minor;
    order.amount_minor = price_minor * units;
    order.state = state;
    order.reason = reason;
    order.admitted_at = order.landed_at = long_ago;
    order.ended_at = state == model::OrderState::awaiting_payment ? 0 : long_ago;
    const bool held = model::is_held(state);
    const bool sold = model::is_sold(state);
    const bool ever_held = state != model::OrderState::failed || reason == model::FailReason::discarded;
    const auto note = [&](JournalEffect effect) {
      picture.store.journal.push_back({.ticket = order.ticket, .lane = lane, .units = units, .effect = effect});
    };
    if (ever_held) note(JournalEffect::hold);
    if (sold) note(JournalEffect::post);
    if (ever_held && !held && !sold) note(JournalEffect::void_);
    if (sold && price_minor > 0) {
      picture.store.payments.push_back({.provider = "demo",
                                        .transaction_id = order.ticket.str(),
                                        .ticket = order.ticket,
                                        .amount_minor = order.amount_minor,
                                        .currency = order.currency,
                                        .refunded = state == model::OrderState::refunded});
    }
    count(order);
    for (ledger::LaneStock* stock : {&row(lane).stock, &picture.lanes[lane].stock}) {
      if (held || sold) stock->available -= units;
      if (held) stock->held += units;
      if (sold) stock->sold += units;
    }
    const MarkUnits mark = held ? MarkUnits::held : sold ? MarkUnits::sold : MarkUnits::ended;
    picture.lanes[lane].marks.push_back({.ticket = order.ticket,
                                         .buyer = order.buyer,
                                         .units = units,
                                         .state = mark,
                                         .published = true,
                                         .admitted_at = long_ago});
    picture.store.orders.push_back(order);
    return order.ticket;
  }
  void count(const store::Order& order) {
    auto& buyers = picture.store.buyers;
    auto known = std::ranges::find(buyers, order.buyer, &BuyerUnits::buyer);
    if (known == buyers.end()) known = buyers.insert(known, {.buyer = order.buyer, .units = 0, .cap = 5});
    if (!model::is_ended(order.state)) known->units += order.units;
  }

  store::LaneRow& row(model::LaneIndex lane) { return picture.store.lanes[lane].row; }
  store::Order& order(const model::Ticket& ticket) {
    return *std::ranges::find(picture.store.orders, ticket, &store::Order::ticket);
  }
  Mark& mark(const model::Ticket& ticket) {
    return *std::ranges::find(picture.lanes[ticket.lane()].marks, ticket, &Mark::ticket);
  }
  Payment& payment(const model::Ticket& ticket) {
    return *std::ranges::find(picture.store.payments, ticket, &Payment::ticket);
  }
  void forget_row(const model::Ticket& ticket) {
    std::erase_if(picture.store.orders, [&](const store::Order& o) { return o.ticket == ticket; });
    std::erase_if(picture.store.journal, [&](const JournalEntry& e) { return e.ticket == ticket; });
  }

  Difference the_only() {
    const auto found = differences(picture);
    std::string all;
    for (const Difference& difference : found) all += difference.text + "\n";
    EXPECT_EQ(found.size(), 1U) << all;
    return found.empty() ? Difference{} : found[0];
  }
  void expect(DifferenceKind kind, std::int32_t lane, std::int64_t expected, std::int64_t was) {
    const Difference only = the_only();
    EXPECT_EQ(name(only.kind), name(kind)) << only.text;
    EXPECT_EQ(only.lane, lane) << only.text;
    EXPECT_EQ(only.expected, expected) << only.text;
    EXPECT_EQ(only.found, was) << only.text;
    EXPECT_NE(only.text.find(name(kind)), std::string::npos);
    EXPECT_NE(only.text.find("s1/sku1"), std::string::npos);
  }
  void expect_silence() {
    for (const Difference& difference : differences(picture)) ADD_FAILURE() << difference.text;
  }

  ItemPicture picture;
  model::Ticket waiting, paid, cancelled, failed, free;

 private:
  std::uint8_t tickets_ = 0;
};

}  // namespace seckill::reconcile
