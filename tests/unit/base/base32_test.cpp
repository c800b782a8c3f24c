// Tickets are printed in base 32: one value, one spelling, both ways.
#include "base/base32.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>

namespace seckill::base {
namespace {

TEST(Base32, prints_26_characters_most_significant_bits_first) {
  Bytes16 value{};
  EXPECT_EQ(to_base32(value), "00000000000000000000000000");
  value.back() = 1;
  EXPECT_EQ(to_base32(value), "00000000000000000000000001");
  value.back() = 31;
  EXPECT_EQ(to_base32(value), "0000000000000000000000000Z");
  value.back() = 32;
  EXPECT_EQ(to_base32(value), "00000000000000000000000010");
  value.fill(0xFF);
  EXPECT_EQ(to_base32(value), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
}

TEST(Base32, order_of_text_is_order_of_values) {
  Bytes16 low{}, high{};
  low[0] = 0x10;
  high[0] = 0x11;
  EXPECT_LT(to_base32(low), to_base32(high));
}

RC_GTEST_PROP(Base32, every_value_comes_back, (const Bytes16& value)) {
  const std::string text = to_base32(value);
  RC_ASSERT(text.size() == base32_size);
  RC_ASSERT(from_base32(text) == value);
}

TEST(Base32, only_the_printed_spelling_is_read) {
  const std::string good = "7ZZZZZZZZZZZZZZZZZZZZZZZZ0";
  ASSERT_TRUE(from_base32(good).has_value());
  for (const char c : std::string_view{"ILOUilouaz-_ .+/=\0\x80\xFF", 20}) {
    std::string bad = good;
    bad[10] = c;
    EXPECT_EQ(from_base32(bad), std::nullopt) << static_cast<int>(c);
  }
}

TEST(Base32, other_lengths_and_spare_bits_are_refused) {
  EXPECT_EQ(from_base32(""), std::nullopt);
  EXPECT_EQ(from_base32(std::string(25, '0')), std::nullopt);
  EXPECT_EQ(from_base32(std::string(27, '0')), std::nullopt);
  EXPECT_EQ(from_base32(std::string(100'000, '0')), std::nullopt);
  EXPECT_EQ(from_base32("8" + std::string(25, '0')), std::nullopt) << "129 bits";
  EXPECT_EQ(from_base32("Z" + std::string(25, '0')), std::nullopt) << "130 bits";
}

}  // namespace
}  // namespace seckill::base
