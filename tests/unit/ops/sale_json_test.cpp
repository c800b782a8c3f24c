// Sales as an operator sends them: strict numbers (FS-17, FS-31), instants with an offset only (FS-30, FS-72), and
// every problem in one answer.
#include "ops/sale_json.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace seckill::ops {
namespace {

std::string sale_text(std::string_view item_extra = {}, std::string_view starts = R"("2026-11-11T10:00:00.500+08:00")",
                      std::string_view ends = R"("2026-11-11T23:59:59.999+08:00")") {
  return fmt::format(R"({{"id":"s1","title":"茶","starts_at":{},"ends_at":{},"items":[{{"sku":"tea","title":"龙井",)"
                     R"("price_minor":9900,"total":80{}}}]}})",
                     starts, ends, item_extra);
}

// The one problem of a sale that has exactly one.
std::string only_problem(const std::string& json) {
  const auto sale = read_sale(json);
  if (sale) return "accepted";
  EXPECT_EQ(sale.error().size(), 1u) << fmt::format("{}", fmt::join(sale.error(), " | "));
  return sale.error().front();
}

bool mentions(const Complaints& complaints, std::string_view part) {
  return std::ranges::any_of(complaints, [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

TEST(ReadSale, AcceptsASaleAndFillsDefaults) {
  const auto sale = read_sale(sale_text(R"(,"pay_window":"30m","order_fields":["receiver"])"));
  ASSERT_TRUE(sale) << sale.error().front();
  EXPECT_EQ(sale->kind, model::SaleKind::goods);
  EXPECT_EQ(sale->currency.view(), "CNY");
  EXPECT_EQ(sale->items.at(0).limit, 1);
  EXPECT_EQ(sale->items.at(0).pay_window_ms, 30 * 60'000);
  EXPECT_EQ(sale->items.at(0).order_fields, std::vector<std::string>{"receiver"});
}

TEST(ReadSale, FS_72_InstantsAreKeptToTheMillisecond) {
  const auto sale = read_sale(sale_text());
  ASSERT_TRUE(sale);
  EXPECT_EQ(sale->starts_at % 1'000, 500);
  EXPECT_EQ(sale->ends_at % 1'000, 999);
  const auto object = sale_object(*sale, 0, {});
  EXPECT_EQ(object.at("ends_at_text").as_string(), "2026-11-11T15:59:59.999Z");
  EXPECT_NE(only_problem(sale_text("", R"("2026-11-11T10:00:00.0005Z")")).find("at most three decimal places"),
            std::string::npos);
}

TEST(ReadSale, FS_30_TheSameInstantInEveryOffset) {
  const auto china = read_sale(sale_text("", R"("2026-11-11T10:00:00+08:00")"));
  const auto utc = read_sale(sale_text("", R"("2026-11-11T02:00:00Z")"));
  const auto york = read_sale(sale_text("", R"("2026-11-10T21:00:00-05:00")"));
  const auto ms = read_sale(sale_text("", "1794362400000"));
  ASSERT_TRUE(china && utc && york && ms);
  EXPECT_EQ(china->starts_at, utc->starts_at);
  EXPECT_EQ(york->starts_at, utc->starts_at);
  EXPECT_EQ(ms->starts_at, utc->starts_at);
}

TEST(ReadSale, FS_30_ATimeWithoutOffsetIsRefusedWithWhatToWrite) {
  const std::string problem = only_problem(sale_text("", R"("2026-11-11T10:00:00")"));
  EXPECT_NE(problem.find("has no offset"), std::string::npos) << problem;
  EXPECT_NE(problem.find("2026-11-11T10:00:00+08:00"), std::string::npos) << problem;
  for (const char* bad : {R"("tomorrow")", R"("2026-02-30T10:00:00Z")", R"("2026-11-11")", "\"\"", "0", "-1", "1.5",
                          "true", "null", "99999999999999999"}) {
    EXPECT_TRUE(only_problem(sale_text("", bad)).starts_with("starts_at ")) << bad;
  }
}

TEST(ReadSale, FS_17_EveryNumberIsWholeAndInRange) {
  for (const char* field :
       {"total", "price_minor", "limit", "pay_window_ms", "tickets_max", "reserve", "lanes", "list_price_minor"}) {
    for (const char* number : {"-1", "0.1", "1.5", "1e2", "\"1\"", "\" 1\"", "true", "null", "[]", "{}",
                               "9223372036854775807", "9223372036854775808", "18446744073709551617", "1e400"}) {
      const std::string json =
          fmt::format(R"({{"id":"s1","title":"t","starts_at":1000,"ends_at":2000,"items":[{{"sku":"tea","title":"t",)"
                      R"({}{}"{}":{}}}]}})",
                      std::string_view{field} == "price_minor" ? "" : R"("price_minor":1,)",
                      std::string_view{field} == "total" ? "" : R"("total":80,)", field, number);
      const auto sale = read_sale(json);
      ASSERT_FALSE(sale) << json;
      EXPECT_TRUE(mentions(sale.error(), fmt::format("items.tea.{} ", field)) || mentions(sale.error(), "JSON"))
          << json << ": " << sale.error().front();
    }
  }
}

TEST(ReadSale, FS_31_WhatIsNoJsonIsRefusedAndNothingThrows) {
  for (const char* bad : {"", "{", "[]", "1", "null", "{\"id\":}", "{\"a\":1,\"a\":2}", "{\"id\":\"\xff\"}", "{} {}",
                          "[[[[[[[[[[[[1]]]]]]]]]]]]"}) {
    EXPECT_FALSE(read_sale(bad)) << bad;
    EXPECT_FALSE(read_edit(bad)) << bad;
    EXPECT_FALSE(read_stock_change(bad, StockChangeKind::top_up)) << bad;
  }
}

TEST(ReadSale, TellsEveryProblemAtOnceAndEachOnlyOnce) {
  const auto sale =
      read_sale(R"({"id":"a b","title":"","kind":"gold","currency":"yuan","starts_at":"x","nonsense":1,)"
                R"("items":[{"sku":"tea","title":"t","price_minor":-1,"total":"many","limit":0,"colour":"green"},)"
                R"({"sku":"tea","title":"t","price_minor":1,"total":1},{"title":"t","price_minor":1,"total":1}]})");
  ASSERT_FALSE(sale);
  const Complaints& told = sale.error();
  for (const char* part : {"id must be", "title must be", "kind ", "currency ", "starts_at ", "ends_at is missing",
                           "nonsense is not a known", "items.tea.price_minor must be 0..",
                           "items.tea.total must be a whole number", "items.tea.limit must be 1..",
                           "items.tea.colour is not a known key", "sku tea appears twice", "items[2].sku is missing"}) {
    EXPECT_TRUE(mentions(told, part)) << part << " in " << fmt::format("{}", fmt::join(told, " | "));
  }
  EXPECT_EQ(told.size(), 13u) << fmt::format("{}", fmt::join(told, " | "));
}

TEST(ReadSale, TooManyItemsAreRefusedWithoutReadingThem) {
  std::string items = "[0";
  for (int i = 0; i < 300; ++i) items += ",0";
  const auto sale = read_sale(R"({"id":"s1","title":"t","starts_at":1000,"ends_at":2000,"items":)" + items + "]}");
  ASSERT_FALSE(sale);
  EXPECT_EQ(sale.error().size(), 1u);
  EXPECT_TRUE(mentions(sale.error(), "items are 301; at most 200"));
}

TEST(ReadEdit, FS_53_CarriesTheVersionItWasMadeOnAndNeverStock) {
  const auto edit = read_edit(R"({"version":3,"ends_at":"2026-11-11T12:00:00Z","items":[{"sku":"tea","limit":2}]})");
  ASSERT_TRUE(edit);
  EXPECT_EQ(edit->version, 3);
  EXPECT_EQ(edit->items.at(0).limit, 2);
  EXPECT_FALSE(read_edit(R"({"title":"x"})"));
  for (const char* body :
       {R"({"version":1,"currency":"USD"})", R"({"version":1,"items":[{"sku":"tea","total":5}]})",
        R"({"version":1,"items":[{"sku":"tea","lanes":5}]})", R"({"version":1,"items":[{"sku":"tea"},{"sku":"tea"}]})",
        R"({"version":0})", R"({"version":1.0})"}) {
    EXPECT_FALSE(read_edit(body)) << body;
  }
}

TEST(ReadStockChange, NamesItsIdItsUnitsAndWhereTheyComeFrom) {
  const auto change = read_stock_change(R"({"units":5,"id":"t-1","from":"reserve"})", StockChangeKind::top_up);
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->from_reserve);
  EXPECT_FALSE(read_stock_change(R"({"units":5,"id":"t-1"})", StockChangeKind::top_up));
  EXPECT_TRUE(read_stock_change(R"({"units":5,"id":"t-1"})", StockChangeKind::reduce));
  EXPECT_FALSE(read_stock_change(R"({"units":5,"id":"t-1","from":"new"})", StockChangeKind::reduce));
  for (const char* units : {"0", "-1", "1.5", "\"5\"", "100000001", "9223372036854775808"}) {
    EXPECT_FALSE(
        read_stock_change(fmt::format(R"({{"units":{},"id":"x","from":"new"}})", units), StockChangeKind::top_up));
  }
  EXPECT_FALSE(read_stock_change(R"({"units":5,"id":"a:b","from":"new"})", StockChangeKind::top_up));
}

}  // namespace
}  // namespace seckill::ops
