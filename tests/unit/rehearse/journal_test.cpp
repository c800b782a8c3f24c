// The crowd's own checks: they hold on a sound sale, and each finds the fault it is there for.
#include "rehearse/journal.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace seckill::rehearse {
namespace {

Answer admitted(std::string ticket) {
  Answer answer;
  answer.status = 202;
  answer.reason = "admitted";
  answer.ticket = std::move(ticket);
  answer.state = "queued";
  return answer;
}
Answer replayed(std::string ticket) {
  Answer answer = admitted(std::move(ticket));
  answer.status = 200;
  answer.reason = "replayed";
  return answer;
}
Answer refused(std::string reason, std::size_t bytes = 60) {
  Answer answer;
  answer.status = 409;
  answer.reason = std::move(reason);
  answer.body_bytes = bytes;
  return answer;
}
Answer status(std::string ticket, std::string order_state) {
  Answer answer;
  answer.status = 200;
  answer.ticket = std::move(ticket);
  answer.state = "ordered";
  answer.order_state = std::move(order_state);
  return answer;
}

// One buyer who paid, one who let it expire, and what an honest server says about them.
struct SoundSale {
  Journal journal;
  ServerFacts server;
  ReplayProbe probe{2, 2, 2, 2};

  SoundSale() {
    journal.note_click(1, 0, 0, admitted("A"), 900, 10);
    journal.note_click(1, 0, 0, replayed("A"), 950, 11);
    journal.note_click(2, 0, 0, admitted("B"), 800, 12);
    journal.note_click(3, 0, 0, refused("sold_out"), 300, 1'200);
    journal.note_pay(1, 0, status("A", "paid"));
    journal.note_status(2, 0, status("B", "expired"));
    server.orders = {{"A", buyer_name(1), "tea", "paid", 1, 990}, {"B", buyer_name(2), "tea", "expired", 1, 990}};
    server.items = {{"tea", 2, 1, 1, 0, 1, 0}};
  }

  [[nodiscard]] bool holds(std::string_view promise) const {
    const auto all = journal.judge(server, probe);
    const auto found = std::ranges::find(all, promise, &Evidence::promise);
    EXPECT_NE(found, all.end()) << promise;
    return found != all.end() && found->holds;
  }
};

TEST(Journal, ASoundSaleKeepsEveryPromiseTheCrowdCanSee) {
  const SoundSale sale;
  for (const char* promise : {"P1", "P3", "P4", "P5", "P6", "P7", "P9"}) EXPECT_TRUE(sale.holds(promise)) << promise;
  EXPECT_EQ(sale.journal.counts().clicks, 4u);
  EXPECT_EQ(sale.journal.counts().admitted, 2u);
  EXPECT_EQ(sale.journal.counts().replayed, 1u);
  EXPECT_EQ(sale.journal.counts().paid, 1u);
  EXPECT_EQ(sale.journal.counts().expired, 1u);
  EXPECT_EQ(sale.journal.refusals().at("sold_out"), 1u);
  EXPECT_EQ(sale.journal.by_second().at(0), 3u);
  EXPECT_EQ(sale.journal.by_second().at(1), 1u);
}

TEST(Journal, P1_MoreLiveUnitsThanTheSaleHasAreFound) {
  SoundSale sale;
  sale.server.orders.push_back({"C", buyer_name(4), "tea", "awaiting_payment", 2, 990});
  EXPECT_FALSE(sale.holds("P1"));
}

TEST(Journal, P3_ABuyerAboveTheLimitIsFoundAndEndedOrdersDoNotCount) {
  SoundSale sale;
  sale.server.orders.push_back({"C", buyer_name(2), "tea", "paid", 1, 990});
  EXPECT_TRUE(sale.holds("P3"));
  sale.server.orders.push_back({"D", buyer_name(2), "tea", "awaiting_payment", 1, 990});
  EXPECT_FALSE(sale.holds("P3"));
}

TEST(Journal, P4_ARequestIdThatGotTwoTicketsIsFound) {
  SoundSale sale;
  sale.journal.note_click(1, 0, 0, replayed("Z"), 10, 20);
  EXPECT_FALSE(sale.holds("P4"));
}

TEST(Journal, P4_ATicketGivenToTwoRequestsIsFound) {
  SoundSale sale;
  sale.journal.note_click(9, 0, 0, admitted("A"), 10, 20);
  EXPECT_FALSE(sale.holds("P4"));
}

TEST(Journal, P4_AReplayWithAnotherTicketAfterTheEndIsFound) {
  SoundSale sale;
  sale.probe.same = 1;
  EXPECT_FALSE(sale.holds("P4"));
  sale.probe = {2, 2, 2, 1};
  EXPECT_FALSE(sale.holds("P4"));
}

TEST(Journal, P5_AnAcknowledgedTicketTheServerForgotIsFound) {
  SoundSale sale;
  std::erase_if(sale.server.orders, [](const ServerOrder& order) { return order.ticket == "B"; });
  EXPECT_FALSE(sale.holds("P5"));
}

TEST(Journal, P5_ATicketThatWasOnlyNamedInABusyAnswerIsNotAcknowledged) {
  SoundSale sale;
  Answer busy = refused("busy");
  busy.status = 503;
  busy.ticket = "Q";
  sale.journal.note_click(7, 0, 0, busy, 10, 20);
  EXPECT_TRUE(sale.holds("P5"));
}

TEST(Journal, P6_ATicketWithoutAnEndIsFound) {
  SoundSale sale;
  sale.server.orders[1].state = "awaiting_payment";
  sale.server.items[0] = {"tea", 2, 1, 0, 1, 1, 0};
  EXPECT_FALSE(sale.holds("P6"));
}

TEST(Journal, P6_AnEndOtherThanTheBuyerWasToldIsFound) {
  SoundSale sale;
  sale.server.orders[1].state = "cancelled";
  EXPECT_FALSE(sale.holds("P6"));
}

TEST(Journal, P7_APaymentWithoutAPaidOrderIsFound) {
  SoundSale sale;
  sale.server.orders[0].state = "expired";
  EXPECT_FALSE(sale.holds("P7"));
}

TEST(Journal, P7_APaidOrderNobodyPaidForIsFoundUnlessItWasFreeOrTheAnswerWasLost) {
  SoundSale sale;
  sale.server.orders.push_back({"C", buyer_name(8), "tea", "paid", 1, 990});
  EXPECT_FALSE(sale.holds("P7"));
  sale.server.orders.back().amount_minor = 0;
  EXPECT_TRUE(sale.holds("P7"));
  sale.server.orders.back().amount_minor = 990;
  sale.journal.note_click(8, 0, 0, admitted("C"), 10, 20);
  sale.journal.note_pay(8, 0, Answer{});  // no answer came
  EXPECT_TRUE(sale.holds("P7"));
}

TEST(Journal, P9_AFatRefusalOrAnEarlyAdmissionIsFound) {
  SoundSale sale;
  sale.journal.note_click(5, 0, 0, refused("limit_reached", 140), 10, 20);  // may carry tickets
  EXPECT_TRUE(sale.holds("P9"));
  sale.journal.note_click(6, 0, 0, refused("sold_out", 97), 10, 20);
  EXPECT_FALSE(sale.holds("P9"));
  SoundSale early;
  early.journal.note_click(6, 0, 0, admitted("E"), 10, -1);
  EXPECT_FALSE(early.holds("P9"));
}

TEST(Journal, WhatEndedStaysEndedWhenAnOlderAnswerArrivesLate) {
  Journal journal;
  journal.note_click(1, 0, 0, admitted("A"), 10, 0);
  journal.note_pay(1, 0, status("A", "paid"));
  journal.note_click(1, 0, 0, replayed("A"), 10, 5);
  EXPECT_EQ(journal.find(1, 0)->progress, "paid");
}

TEST(Journal, LatencyIsTheNearestRankAndIgnoresLostAnswers) {
  Journal journal;
  EXPECT_EQ(journal.latency_us(99), 0u);
  for (std::uint32_t i = 1; i <= 100; ++i) journal.note_click(i, 0, 0, refused("sold_out"), i * 10, 0);
  journal.note_click(101, 0, 0, Answer{}, 1'000'000, 0);
  EXPECT_EQ(journal.latency_us(50), 500u);
  EXPECT_EQ(journal.latency_us(99), 990u);
  EXPECT_EQ(journal.latency_us(100), 1'000u);
  EXPECT_EQ(journal.counts().no_answer, 1u);
}

}  // namespace
}  // namespace seckill::rehearse
