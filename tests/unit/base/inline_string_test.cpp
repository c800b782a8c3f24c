// The bounded in-place string: equal, ordered and copied like the text it holds.
#include "base/inline_string.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <type_traits>

namespace seckill::base {
namespace {

using Id = InlineString<8>;

static_assert(std::is_trivially_copyable_v<Id>);
static_assert(sizeof(Id) == 9, "a bound of eight bytes costs nine");

TEST(InlineString, holds_up_to_its_bound) {
  EXPECT_TRUE(Id{}.empty());
  EXPECT_EQ(Id{""}, Id{});
  const Id full{"12345678"};
  EXPECT_EQ(full.view(), "12345678");
  EXPECT_EQ(full.str(), "12345678");
  EXPECT_EQ(full.size(), 8U);
  EXPECT_EQ(InlineString<255>{std::string(255, 'x')}.size(), 255U);
}

TEST(InlineString, compares_byte_for_byte) {
  EXPECT_EQ(Id{"abc"}, Id{"abc"});
  EXPECT_NE(Id{"abc"}, Id{"ABC"});
  EXPECT_NE(Id{"abc"}, Id{"abc "});
  EXPECT_NE((Id{std::string_view{"a\0", 2}}), Id{"a"});
  EXPECT_LT(Id{"a"}, Id{"ab"});
  EXPECT_LT(Id{"ab"}, Id{"b"});
}

TEST(InlineStringDeathTest, refuses_to_hold_more_than_its_bound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH({ const Id id{"123456789"}; }, "an inline string never exceeds its bound");
}

}  // namespace
}  // namespace seckill::base
