// The report says what the numbers say, and a promise nobody judged is not kept.
#include "rehearse/report.hpp"

#include <gtest/gtest.h>

namespace seckill::rehearse {
namespace {

TEST(Report, GroupsDigitsByThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(12'345'678), "12,345,678");
  EXPECT_EQ(grouped(-1'234), "-1,234");
}

ReportNumbers numbers() {
  ReportNumbers out;
  out.title = "headphones";
  out.kind = "goods";
  out.people = 20'000;
  out.clickers = 18'800;
  out.units = 100;
  out.funnel.stages = {{"viewed", 20'000}, {"clicked", 24'000}, {"admitted", 132}, {"paid", 0}};
  out.refusals = {{"sold_out", 20'100}, {"not_started", 2'200}};
  out.server.items = {{"tea", 100, 1, 2, 0, 98, 0}};
  out.server.orders = {{"A", "b", "tea", "paid", 98, 990'050}, {"B", "c", "tea", "expired", 4, 10}};
  out.p50_us = 1'500;
  out.peak_per_s = 12'345;
  return out;
}

TEST(Report, TheFunnelNamesEveryStageWithItsCountAndShare) {
  const std::string text = funnel_text(numbers());
  for (const char* part : {"20,000 people, 100 units of headphones (goods)", "clicked", "24,000", "100.00 %",
                           "  0.55 %", "sold_out 20,100 · not_started 2,200", "18,800 of them clicked"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Report, TheOutcomeCountsOrdersMoneyReturnsAndResales) {
  const std::string text = outcome_text(numbers());
  for (const char* part : {"p50 1.5 ms", "at most 12,345 a second", "2 for 100 units", "paid 1", "expired 1",
                           "9,900.50", "2 units were sold again", "2 left"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Report, ProgressSpeaksOfEarlyClicksBeforeAndOfSalesAfterTheOpening) {
  ProgressNumbers progress;
  progress.people = 20'000;
  progress.since_opening_ms = -1'500;
  EXPECT_NE(progress_line(progress).find("20,000 looked in"), std::string::npos);
  progress.since_opening_ms = 1'500;
  progress.clicks_per_s = 9'000;
  EXPECT_NE(progress_line(progress).find("+1.5 s   9,000 clicks/s"), std::string::npos) << progress_line(progress);
  EXPECT_LE(progress_line(progress).size(), 110u);
}

Verdict all_held() {
  Verdict verdict;
  for (int i = 1; i <= 9; ++i) verdict.promises.push_back({"P" + std::to_string(i), "title", "detail", true});
  return verdict;
}

TEST(Report, APromiseHoldsOnlyWhenServerAndCrowdAgree) {
  EXPECT_TRUE(all_hold(put_together(all_held(), {})));
  EXPECT_TRUE(all_hold(put_together(all_held(), {{"P4", true, "fine"}})));
  const auto broken = put_together(all_held(), {{"P4", true, "fine"}, {"P4", false, "two tickets"}});
  EXPECT_FALSE(all_hold(broken));
  const std::string text = verdict_text(broken, {});
  EXPECT_NE(text.find("P4 BROKEN"), std::string::npos) << text;
  EXPECT_NE(text.find("BROKEN: two tickets"), std::string::npos);
  EXPECT_NE(text.find("P5 held"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(Report, APromiseTheServerDidNotJudgeIsNotKept) {
  Verdict verdict = all_held();
  verdict.promises.erase(verdict.promises.begin() + 2);
  const auto all = put_together(verdict, {});
  EXPECT_FALSE(all_hold(all));
  EXPECT_FALSE(all[2].holds());
  EXPECT_FALSE(all_hold({}));
}

}  // namespace
}  // namespace seckill::rehearse
