// JSON from outside: bounded, unambiguous and never fatal (FS-31, FS-32, FS-33).
#include "base/json.hpp"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace seckill::base {
namespace {

std::string nested(std::size_t depth, std::string_view open, std::string_view close, std::string_view core = "1") {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  text += core;
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(ParseJson, reads_a_value) {
  const auto value = parse_json(R"({"quantity": 2, "fields": {"name": "\u79d2", "flat": [true, null]}})");
  ASSERT_TRUE(value.has_value()) << value.error().text();
  const auto& object = value->as_object();
  EXPECT_EQ(object.at("quantity").as_int64(), 2);
  EXPECT_EQ(object.at("fields").as_object().at("name").as_string(), "\u79d2");
}

TEST(ParseJson, keeps_the_kind_of_a_number_so_that_readers_can_refuse_it) {
  EXPECT_TRUE(parse_json("1")->is_int64());
  EXPECT_TRUE(parse_json("-1")->is_int64());
  EXPECT_TRUE(parse_json("1.0")->is_double());
  EXPECT_TRUE(parse_json("1e0")->is_double());
  EXPECT_TRUE(parse_json("9223372036854775807")->is_int64());
  EXPECT_TRUE(parse_json("9223372036854775808")->is_uint64());
  EXPECT_TRUE(parse_json("99999999999999999999")->is_double());
}

TEST(ParseJson, FS_31_numbers_that_are_not_json_are_refused) {
  for (const std::string_view text :
       {"01", "+1", "0x10", "1a", ".5", "1.", "1e", "--1", "NaN", "Infinity", "\u0661", "1_000", "1 2"}) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().code, Errc::invalid);
    EXPECT_FALSE(value.error().cause.empty());
  }
}

TEST(ParseJson, FS_31_a_number_that_would_be_infinite_is_refused) {
  for (const std::string_view text : {"1e309", "-1e309", "[0, 1e999]", R"({"exp":1e99999999})"}) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().code, Errc::invalid);
    EXPECT_NE(value.error().cause.find("larger than any"), std::string::npos) << value.error().cause;
  }
  EXPECT_TRUE(parse_json("1.7976931348623157e308").has_value());
  EXPECT_TRUE(parse_json("1e-999").has_value());
}

TEST(ParseJson, a_key_that_appears_twice_is_refused) {
  for (const std::string_view text : {
           R"({"quantity":1,"quantity":100})",
           R"({"quantity":1,"other":2,"quantity":1})",
           R"({"a":{"b":1,"b":2}})",
           R"([{"a":1},{"b":1,"b":2}])",
           R"({"quantity":1,"\u0071uantity":100})",  // the same key, spelled with an escape
           R"({"":1,"":2})",
       }) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().cause, "a key appears twice");
  }
}

TEST(ParseJson, the_same_key_in_different_objects_is_fine) {
  EXPECT_TRUE(parse_json(R"({"a":{"a":1},"b":[{"a":1},{"a":2}],"A":3})").has_value());
}

TEST(ParseJson, FS_33_nesting_is_refused_beyond_a_small_depth) {
  EXPECT_TRUE(parse_json(nested(json_depth_max, "[", "]")).has_value());
  EXPECT_TRUE(parse_json(nested(json_depth_max, R"({"a":)", "}")).has_value());
  for (const std::size_t depth :
       {json_depth_max + 1, std::size_t{100}, std::size_t{1'200}, std::size_t{10'000}, std::size_t{500'000}}) {
    EXPECT_FALSE(parse_json(nested(depth, "[", "]")).has_value()) << depth;
    EXPECT_FALSE(parse_json(nested(depth, R"({"a":)", "}")).has_value()) << depth;
    EXPECT_FALSE(parse_json(nested(depth, "[", "")).has_value()) << depth;             // cut off
    EXPECT_FALSE(parse_json(nested(depth, R"({"a":)", "", "")).has_value()) << depth;  // cut off
    EXPECT_FALSE(parse_json(R"({"quantity":1,"ignored":)" + nested(depth, "[", "]") + "}").has_value()) << depth;
  }
}

TEST(ParseJson, FS_32_invalid_utf8_is_refused_in_keys_and_values) {
  for (const std::string bad : {"\xC3\x28", "\xED\xA0\x80", "\xF0\x9F\x98", "\xFF", "\xC0\xAF"}) {
    EXPECT_FALSE(parse_json("\"" + bad + "\"").has_value());
    EXPECT_FALSE(parse_json("{\"" + bad + "\":1}").has_value());
    EXPECT_FALSE(parse_json("{\"ignored\":[\"" + bad + "\"]}").has_value());
  }
  EXPECT_FALSE(parse_json(R"("\ud800")").has_value()) << "half a surrogate pair";
  EXPECT_FALSE(parse_json(R"("\udc00\ud800")").has_value()) << "a pair in the wrong order";
}

TEST(ParseJson, nothing_may_stand_around_the_value) {
  for (const std::string_view text : {"", " ", "{", "{}x", "{} {}", "\"a", "tru", "// c\n1", "[1,]", "{\"a\":1,}",
                                      "'a'", "{a:1}", "\xEF\xBB\xBF{}"}) {
    EXPECT_FALSE(parse_json(text).has_value()) << text;
  }
  EXPECT_TRUE(parse_json(" \r\n\t{} \n").has_value());
}

TEST(ParseJson, every_cut_of_a_good_body_is_an_error_and_not_a_crash) {
  const std::string body = R"({"quantity":2,"fields":{"remark":"\u79d2\ud83d\ude00","n":-1.5e3},"list":[null,true]})";
  ASSERT_TRUE(parse_json(body).has_value());
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(parse_json(std::string_view{body}.substr(0, size)).has_value()) << size;
  }
}

}  // namespace
}  // namespace seckill::base
