// The body of a purchase, hostile inputs first.
#include "gateway/purchase_body.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.hpp"

namespace seckill::gateway {
namespace {

model::SaleItem item_with_limit(std::int64_t limit) {
  model::SaleItem item;
  item.sku = *model::Sku::parse("sku");
  item.limit = limit;
  item.order_fields = {"receiver", "remark"};
  return item;
}

// What a purchase of this text gets from an item with limit 2; nullopt: it may go on.
std::optional<Refusal> refusal_for(std::string_view text) {
  const auto body = read_purchase_body(text);
  if (!body) return body.error();
  return check_purchase(*body, item_with_limit(2));
}

std::string with_quantity(std::string_view value) { return "{\"quantity\":" + std::string{value} + "}"; }

TEST(PurchaseBody, FS_17_OnlyWholeNumbersFromOneToTheLimitPass) {
  for (const std::string_view value : {"-1",
                                       "0",
                                       "-0",
                                       "0.1",
                                       "1.5",
                                       "1e2",
                                       "1.0",
                                       "1e0",
                                       "\"1\"",
                                       "\" 1\"",
                                       "true",
                                       "null",
                                       "[]",
                                       "[1]",
                                       "{}",
                                       "2147483647",
                                       "2147483648",
                                       "4294967297",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "18446744073709551617",
                                       "99999999999999999999",
                                       "3",
                                       "10",
                                       "9999",
                                       "10000"}) {
    EXPECT_EQ(refusal_for(with_quantity(value)), Refusal::bad_quantity) << value;
  }
  for (const std::string_view value :
       {"NaN", "01", "+1", "0x10", "1a", "abc", "", "\xD9\xA1", "1,", "1 1", "Infinity"}) {
    EXPECT_EQ(refusal_for(with_quantity(value)), Refusal::bad_json) << value;
  }
  EXPECT_EQ(refusal_for("{}"), Refusal::bad_quantity);
  EXPECT_EQ(refusal_for("{\"fields\":{}}"), Refusal::bad_quantity);
  EXPECT_EQ(refusal_for("{\"quantity\":1,\"quantity\":100}"), Refusal::bad_json);
  EXPECT_EQ(refusal_for("{\"quantity\":1}"), std::nullopt);
  EXPECT_EQ(refusal_for(" { \"quantity\" : 2 } "), std::nullopt);
}

TEST(PurchaseBody, TheFastReadingAndTheFullOneAgree) {
  for (const std::string_view value : {"1", "2", "9", "10", "99", "999", "9999"}) {
    const auto fast = read_purchase_body(with_quantity(value));
    const auto full = read_purchase_body(" " + with_quantity(value));
    ASSERT_TRUE(fast && full) << value;
    EXPECT_EQ(fast->quantity, full->quantity);
  }
}

TEST(PurchaseBody, FS_61_ArraysBasketsAndUnknownKeysAreRefused) {
  for (const std::string_view text : {"[]", "[{\"quantity\":1}]", "1", "\"x\"", "null", "true"}) {
    EXPECT_EQ(refusal_for(text), Refusal::bad_json) << text;
  }
  for (const std::string_view text :
       {"{\"quantity\":1,\"items\":[{\"sku\":\"a\",\"quantity\":5}]}", "{\"quantity\":1,\"Quantity\":1}",
        "{\"quantity\":1,\"userId\":\"u2\"}", "{\"quantity\":1,\"sub\":\"u2\"}", "{\"\":1,\"quantity\":1}"}) {
    EXPECT_EQ(refusal_for(text), Refusal::bad_key) << text;
  }
}

TEST(PurchaseBody, FS_33_DeepNestingIsRefusedWhereverItStands) {
  for (const std::size_t depth : {std::size_t{9}, std::size_t{100}, std::size_t{1'200}, std::size_t{8'000}}) {
    for (const char open : {'[', '{'}) {
      const std::string opening(depth, open);
      EXPECT_EQ(refusal_for(opening), Refusal::bad_json);
      EXPECT_EQ(refusal_for("{\"quantity\":1,\"x\":" + opening), Refusal::bad_json);
    }
    const std::string nested = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_EQ(refusal_for(nested), Refusal::bad_json);
    EXPECT_EQ(refusal_for("{\"quantity\":1,\"ignored\":" + nested + "}"), Refusal::bad_json);
    EXPECT_EQ(refusal_for("{\"quantity\":1,\"fields\":{\"receiver\":" + nested + "}}"), Refusal::bad_json);
  }
}

TEST(PurchaseBody, FS_32_InvalidUtf8IsRefused) {
  for (const std::string_view bytes :
       {"\xC3\x28", "\xED\xA0\x80", "\xF0\x9F\x98", "\xFF", "\xC0\xAF", "\xF4\x90\x80\x80"}) {
    EXPECT_TRUE(refusal_for("{\"quantity\":1,\"fields\":{\"receiver\":\"" + std::string{bytes} + "\"}}")) << bytes;
    EXPECT_TRUE(refusal_for("{\"quantity\":1,\"" + std::string{bytes} + "\":1}"));
    EXPECT_TRUE(refusal_for(bytes));
  }
  EXPECT_TRUE(refusal_for("{\"quantity\":1,\"fields\":{\"receiver\":\"\\ud800\"}}"));
}

TEST(PurchaseBody, FS_54_TextsAreKeptWholeOrRefusedBeforeAnythingIsTaken) {
  const auto with = [](std::string_view text) {
    return "{\"quantity\":1,\"fields\":{\"receiver\":\"" + std::string{text} + "\"}}";
  };
  for (const std::string_view text :
       {"\xF0\x9F\x98\x80", "\xF0\xA0\xAE\xB7", "e\xCC\x81", "\xE2\x80\xAE", "\xE2\x80\x8B", ""}) {
    const auto body = read_purchase_body(with(text));
    ASSERT_TRUE(body) << text;
    ASSERT_EQ(body->fields.size(), 1U);
    EXPECT_EQ(body->fields[0].second, text);
  }
  std::string longest;
  for (int i = 0; i < 255; ++i) longest += "\xF0\x9F\x98\x80";
  EXPECT_EQ(refusal_for(with(longest)), std::nullopt) << "255 characters, whatever their bytes";
  EXPECT_EQ(refusal_for(with(longest + "a")), Refusal::bad_fields);
  EXPECT_EQ(refusal_for(with("a\\u0000b")), Refusal::bad_fields);
}

TEST(PurchaseBody, FieldsMustBeDeclaredTexts) {
  EXPECT_EQ(refusal_for("{\"quantity\":1,\"fields\":{\"address\":\"x\"}}"), Refusal::bad_fields);
  for (const std::string_view value : {"[]", "1", "\"x\"", "null", "{\"receiver\":1}", "{\"receiver\":null}",
                                       "{\"receiver\":[\"x\"]}", "{\"\":\"x\"}"}) {
    EXPECT_EQ(refusal_for("{\"quantity\":1,\"fields\":" + std::string{value} + "}"), Refusal::bad_fields) << value;
  }
  std::string many = "{\"quantity\":1,\"fields\":{";
  for (std::size_t i = 0; i <= base::limits::order_fields_max; ++i) {
    many += (i == 0 ? "\"f" : ",\"f") + std::to_string(i) + "\":\"x\"";
  }
  EXPECT_EQ(refusal_for(many + "}}"), Refusal::bad_fields);
}

TEST(PurchaseBody, FieldsAreCanonicalWhateverTheirOrderAndEscapes) {
  const auto a = read_purchase_body("{\"quantity\":1,\"fields\":{\"remark\":\"b\",\"receiver\":\"a\\u4e2d\"}}");
  const auto b =
      read_purchase_body("{\"fields\":{ \"receiver\" : \"a\xE4\xB8\xAD\", \"remark\":\"b\" },\"quantity\":1}");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*canonical_fields(*a), *canonical_fields(*b));
  EXPECT_EQ(*canonical_fields(*a), "{\"receiver\":\"a\xE4\xB8\xAD\",\"remark\":\"b\"}");
  const auto none = read_purchase_body("{\"quantity\":1,\"fields\":{}}");
  ASSERT_TRUE(none);
  EXPECT_EQ(canonical_fields(*none), nullptr) << "no fields and empty fields are the same purchase";
}

}  // namespace
}  // namespace seckill::gateway
