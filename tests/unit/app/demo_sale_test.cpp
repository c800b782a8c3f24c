// A sample fitted to a demo keeps its character and gets the demo's units, times and payment window.
#include "app/demo_sale.hpp"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>

namespace seckill::app {
namespace {

boost::json::object sample(const std::vector<std::int64_t>& totals, std::int64_t price = 990) {
  boost::json::array items;
  for (const std::int64_t total : totals) {
    items.push_back(boost::json::object{{"sku", "s" + std::to_string(items.size())},
                                        {"title", "t"},
                                        {"price_minor", price},
                                        {"total", total},
                                        {"reserve", 5},
                                        {"lanes", 64},
                                        {"pay_window", "15m"},
                                        {"order_fields", {"receiver", "remark"}}});
  }
  return {{"id", "sample"}, {"title", "sale"}, {"kind", "goods"}, {"items", std::move(items)}};
}

DemoFit fit(std::int64_t units) {
  DemoFit out;
  out.id = "demo-1";
  out.starts_at = 1'000;
  out.ends_at = 9'000;
  out.units = units;
  out.pay_window_ms = 3'000;
  return out;
}

std::vector<std::int64_t> totals_of(const boost::json::object& sale) {
  std::vector<std::int64_t> totals;
  for (const auto& item : sale.at("items").as_array()) totals.push_back(item.at("total").as_int64());
  return totals;
}

TEST(DemoSale, GetsItsOwnIdTimesUnitsAndAShortPaymentWindow) {
  const auto sale = fit_sale(sample({40}), fit(100));
  ASSERT_TRUE(sale);
  EXPECT_EQ(sale->at("id").as_string(), "demo-1");
  EXPECT_EQ(sale->at("starts_at").as_int64(), 1'000);
  EXPECT_EQ(sale->at("ends_at").as_int64(), 9'000);
  const auto& item = sale->at("items").as_array()[0].as_object();
  EXPECT_EQ(item.at("total").as_int64(), 100);
  EXPECT_EQ(item.at("pay_window_ms").as_int64(), 3'000);
  for (const char* gone : {"pay_window", "reserve", "lanes"}) EXPECT_FALSE(item.contains(gone)) << gone;
}

TEST(DemoSale, SharesUnitsOutAsTheSampleDoesAndLosesNone) {
  EXPECT_EQ(totals_of(*fit_sale(sample({10, 30, 60}), fit(50))), (std::vector<std::int64_t>{5, 15, 30}));
  for (const std::int64_t units : {3, 4, 7, 100, 9'999}) {
    std::int64_t sum = 0;
    for (const std::int64_t total : totals_of(*fit_sale(sample({1, 1'000, 3}), fit(units)))) {
      EXPECT_GE(total, 1);
      sum += total;
    }
    EXPECT_EQ(sum, units);
  }
}

TEST(DemoSale, AFreeItemKeepsItsPaymentWindowBecauseNothingIsPaid) {
  const auto sale = fit_sale(sample({40}, 0), fit(100));
  ASSERT_TRUE(sale);
  EXPECT_FALSE(sale->at("items").as_array()[0].as_object().contains("pay_window_ms"));
  EXPECT_TRUE(describe_sale(*sale).free());
}

TEST(DemoSale, FewerUnitsThanItemsOrNoItemsAreRefusedWithASentence) {
  EXPECT_FALSE(fit_sale(sample({1, 1}), fit(1)));
  EXPECT_FALSE(fit_sale(sample({}), fit(1)));
  EXPECT_FALSE(fit_sale({{"items", 7}}, fit(1)));
  EXPECT_FALSE(fit_sale({{"items", {1}}}, fit(1)));
}

TEST(DemoSale, IsDescribedForTheCrowd) {
  const DemoSale sale = describe_sale(*fit_sale(sample({40, 60}), fit(100)));
  EXPECT_EQ(sale.kind, "goods");
  ASSERT_EQ(sale.items.size(), 2u);
  EXPECT_EQ(sale.items[1].sku, "s1");
  EXPECT_EQ(sale.items[1].order_field, "receiver");
  EXPECT_FALSE(sale.free());
  EXPECT_TRUE(describe_sale({{"items", "none"}}).items.empty());
}

}  // namespace
}  // namespace seckill::app
