// A node hears of sales that another node put on by asking the store, and of those it gave back only once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "unit/ops/admin_shop.hpp"

namespace seckill::ops::testing {
namespace {

// A second desk over the same store and lanes: what another node's would be.
struct OtherNode {
  explicit OtherNode(AdminShop& shop)
      : desk{shop.shop.store(), shop.shop.admission(), shop.shop.clock,
             [this](const model::SaleId& sale) { heard_of.push_back(sale.str()); }} {}
  [[nodiscard]] bool knows(std::string_view sale) const {
    const auto items = desk.installed();
    return std::ranges::any_of(items, [&](const model::ItemKey& item) { return item.sale.view() == sale; });
  }
  std::vector<std::string> heard_of;
  SaleDesk desk;
};

TEST(SalesKnown, ANewSaleIsHeardOfOnceWhenItHasLanes) {
  AdminShop shop;
  OtherNode other{shop};
  ASSERT_TRUE(other.desk.know_all());
  ASSERT_EQ(shop.call("POST", "/admin/v1/sales", shop.sale_json("a")).status, 201);
  ASSERT_TRUE(other.desk.know_newest());
  EXPECT_FALSE(other.knows("a")) << "a draft has no lanes";
  ASSERT_EQ(shop.call("POST", "/admin/v1/sales/a/preload").status, 200);
  ASSERT_TRUE(other.desk.know_newest());
  ASSERT_TRUE(other.desk.know_newest());
  EXPECT_TRUE(other.knows("a"));
  EXPECT_EQ(std::ranges::count(other.heard_of, "a"), 1);
}

TEST(SalesKnown, P6_AClosedSalesTicketsStillEndSoItIsKnownUntilItIsGivenBackForGood) {
  AdminShop shop;
  shop.make_sale("a");
  ASSERT_EQ(shop.call("POST", "/admin/v1/sales/a/close").status, 200);
  OtherNode other{shop};
  ASSERT_TRUE(other.desk.know_all());
  EXPECT_TRUE(other.knows("a"));
  ASSERT_TRUE(other.desk.retire_over()) << "the first round sees that it is closed";
  shop.shop.clock.advance(std::chrono::minutes{17});
  ASSERT_TRUE(other.desk.retire_over());
  EXPECT_FALSE(other.knows("a"));
  ASSERT_TRUE(other.desk.know_all());
  EXPECT_FALSE(other.knows("a")) << "it would be given back again and again";
}

TEST(SalesKnown, ASaleThatIsLongOverIsNotKnownAgain) {
  AdminShop shop;
  shop.make_sale("a");
  shop.shop.clock.advance(std::chrono::hours{3});
  OtherNode other{shop};
  ASSERT_TRUE(other.desk.know_all());
  EXPECT_FALSE(other.knows("a"));
}

}  // namespace
}  // namespace seckill::ops::testing
