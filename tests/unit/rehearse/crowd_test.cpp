// The crowd is repeatable from its seed, and shaped like one.
#include "rehearse/crowd.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace seckill::rehearse {
namespace {

CrowdShape shape_of(std::uint32_t buyers, std::uint16_t items = 1) {
  CrowdShape shape;
  shape.buyers = buyers;
  shape.items = items;
  return shape;
}

std::int64_t count(const std::vector<BuyerScript>& crowd, auto matches) {
  return std::ranges::count_if(crowd, matches);
}

TEST(Crowd, IsTheSameForTheSameSeedAndAnotherForAnother) {
  const auto a = make_crowd(shape_of(500), 42);
  const auto b = make_crowd(shape_of(500), 42);
  const auto c = make_crowd(shape_of(500), 43);
  ASSERT_EQ(a.size(), 500u);
  const auto same = [](const BuyerScript& x, const BuyerScript& y) {
    return x.click_ms == y.click_ms && x.look_ms == y.look_ms && x.clicking == y.clicking && x.after_win == y.after_win;
  };
  EXPECT_TRUE(std::ranges::equal(a, b, same));
  EXPECT_FALSE(std::ranges::equal(a, c, same));
}

TEST(Crowd, LooksBeforeTheOpeningAndClicksAfterItExceptTheImpatient) {
  for (const BuyerScript& buyer : make_crowd(shape_of(5'000), 1)) {
    EXPECT_LT(buyer.look_ms, 0);
    EXPECT_GE(buyer.look_ms, -2'500);
    EXPECT_LE(buyer.early_ms, 0);
    EXPECT_GE(buyer.click_ms, 0);
    EXPECT_LE(buyer.click_ms, 5'000);
    EXPECT_GT(buyer.decide_ms, 0);
  }
}

TEST(Crowd, HasEveryKindOfBuyerInTheSharesOfASale) {
  const auto crowd = make_crowd(shape_of(20'000), 7);
  EXPECT_NEAR(static_cast<double>(count(crowd, [](auto& b) { return b.click_ms <= 1'000; })) / 20'000, 0.6, 0.05);
  EXPECT_GT(count(crowd, [](auto& b) { return b.clicking == Clicking::never; }), 800);
  EXPECT_GT(count(crowd, [](auto& b) { return b.clicking == Clicking::twice; }), 1'500);
  EXPECT_GT(count(crowd, [](auto& b) { return b.clicking == Clicking::two_tabs; }), 700);
  EXPECT_GT(count(crowd, [](auto& b) { return b.early_ms != 0; }), 1'500);
  EXPECT_GT(count(crowd, [](auto& b) { return b.after_win == AfterWin::walk_away; }), 3'000);
  EXPECT_GT(count(crowd, [](auto& b) { return b.after_win == AfterWin::cancel; }), 1'500);
  EXPECT_GT(count(crowd, [](auto& b) { return b.comes_back > 0; }), 1'000);
}

TEST(Crowd, WhoOnlyLooksNeverClicksEarlyEither) {
  const auto crowd = make_crowd(shape_of(5'000), 3);
  EXPECT_EQ(count(crowd, [](auto& b) { return b.clicking == Clicking::never && b.early_ms != 0; }), 0);
}

TEST(Crowd, ChoosesAmongAllItemsOfTheSale) {
  const auto crowd = make_crowd(shape_of(3'000, 3), 5);
  for (std::uint16_t item = 0; item < 3; ++item) {
    EXPECT_GT(count(crowd, [&](auto& b) { return b.item == item; }), 800);
  }
  EXPECT_TRUE(make_crowd(shape_of(0), 5).empty());
}

TEST(Dice, CoversBothEndsOfItsRange) {
  Dice dice{9};
  bool low = false;
  bool high = false;
  for (int i = 0; i < 1'000; ++i) {
    const std::int32_t roll = dice.between(-2, 2);
    ASSERT_GE(roll, -2);
    ASSERT_LE(roll, 2);
    low = low || roll == -2;
    high = high || roll == 2;
  }
  EXPECT_TRUE(low && high);
}

}  // namespace
}  // namespace seckill::rehearse
