// Strict readings of untrusted text: what a stranger may send is read exactly or refused, never guessed (FS-30 to
// FS-32).
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace seckill::base {
namespace {

using std::string_view_literals::operator""sv;

TEST(ParseDecimal, reads_digits_and_nothing_else) {
  EXPECT_EQ(parse_decimal("0"), 0);
  EXPECT_EQ(parse_decimal("7"), 7);
  EXPECT_EQ(parse_decimal("1700000000000"), 1'700'000'000'000);
  EXPECT_EQ(parse_decimal("9223372036854775807"), INT64_MAX);
}

TEST(ParseDecimal, FS_31_a_number_that_does_not_parse_or_fit_is_refused) {
  for (const std::string_view text : {""sv,
                                      "abc"sv,
                                      "1a"sv,
                                      "a1"sv,
                                      "+1"sv,
                                      "-1"sv,
                                      "-0"sv,
                                      "00"sv,
                                      "01"sv,
                                      "0x10"sv,
                                      " 1"sv,
                                      "1 "sv,
                                      "1.0"sv,
                                      "1e3"sv,
                                      "1,000"sv,
                                      "1'000"sv,
                                      "99999999999999999999"sv,
                                      "9223372036854775808"sv,
                                      "18446744073709551617"sv,
                                      "\u0661\u0662"sv,
                                      "\uff11"sv,
                                      "1\0"sv,
                                      "\0"sv,
                                      "\n1"sv}) {
    EXPECT_EQ(parse_decimal(text), std::nullopt) << '"' << text << '"';
  }
  EXPECT_EQ(parse_decimal(std::string(100'000, '9')), std::nullopt);
}

TEST(Utf8, counts_code_points) {
  EXPECT_EQ(utf8_length(""), 0U);
  EXPECT_EQ(utf8_length("abc"), 3U);
  EXPECT_EQ(utf8_length("\u79d2\u6740"), 2U);
  EXPECT_EQ(utf8_length("\U0001F600"), 1U);
  EXPECT_EQ(utf8_length("\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"), 9U);
}

TEST(Utf8, FS_32_invalid_bytes_are_refused) {
  for (const std::string_view text : {
           "\xC3\x28"sv,                                          // a lead byte without its tail
           "\xED\xA0\x80"sv,                                      // a surrogate
           "\xF0\x9F\x98"sv,                                      // cut short
           "\xFF"sv, "\xFE"sv,                                    // never valid
           "\x80"sv, "a\xBF"sv,                                   // a tail without its lead
           "\xC0\xAF"sv,                                          // '/' in two bytes
           "\xC1\xBF"sv, "\xE0\x9F\xBF"sv, "\xF0\x8F\xBF\xBF"sv,  // overlong
           "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv,            // above U+10FFFF
           "a\0b"sv,                                              // NUL ends strings elsewhere
       }) {
    EXPECT_EQ(utf8_length(text), std::nullopt);
    EXPECT_EQ(utf8_length("ok " + std::string{text}), std::nullopt);
  }
}

TEST(JsonString, escapes_what_must_be_escaped) {
  std::string out = "x";
  append_json_string(out, "a\"b\\c\nd\te\x01\x7F\u79d2");
  EXPECT_EQ(out, "x\"a\\\"b\\\\c\\nd\\u0009e\\u0001\\u007f\u79d2\"");
}

TEST(JsonString, FS_32_any_bytes_at_all_become_valid_json) {
  std::string all;
  for (int first = 0; first < 256; ++first) {
    for (const int second : {0x00, 0x28, 0x80, 0xA0, 0xBF, 0xC3, 0xFF}) {
      all.push_back(static_cast<char>(first));
      all.push_back(static_cast<char>(second));
    }
    std::string out;
    append_json_string(out, all.substr(all.size() - 14));
    EXPECT_TRUE(parse_json(out).has_value()) << "lead byte " << first;
  }
  std::string out;
  append_json_string(out, all);
  const auto value = parse_json(out);
  ASSERT_TRUE(value.has_value()) << value.error().text();
  EXPECT_TRUE(value->is_string());
}

TEST(Printable, FS_32_logs_carry_no_control_bytes_and_no_broken_text) {
  EXPECT_EQ(printable("a\nb\rc\x1b[31m\x7F"), "a?b?c?[31m?");
  EXPECT_EQ(printable("\xC3\x28"), "\xEF\xBF\xBD(");
  EXPECT_EQ(printable("\u79d2\u6740"), "\u79d2\u6740");
}

TEST(Printable, keeps_whole_characters_within_its_bound) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef...");
  EXPECT_EQ(printable("\u79d2\u6740", 4), "\u79d2...");
  EXPECT_EQ(printable("\xFF\xFF", 5), "\xEF\xBF\xBD...");
}

TEST(Instant, FS_30_one_instant_whatever_the_offset) {
  constexpr std::int64_t instant = 1'794'362'400'000;
  EXPECT_EQ(parse_instant("2026-11-11T02:00:00Z"), instant);
  EXPECT_EQ(parse_instant("2026-11-11T10:00:00+08:00"), instant);
  EXPECT_EQ(parse_instant("2026-11-10T21:00:00-05:00"), instant);
  EXPECT_EQ(parse_instant("2026-11-11 10:00:00.000+08:00"), instant);
  EXPECT_EQ(parse_instant("2026-11-11T07:45:00+05:45"), instant);
  EXPECT_EQ(format_instant(instant), "2026-11-11T02:00:00.000Z");
}

TEST(Instant, FS_30_a_time_without_an_offset_is_refused) {
  EXPECT_EQ(parse_instant("2026-11-11T10:00:00"), std::nullopt);
  EXPECT_EQ(parse_instant("2026-11-11 10:00:00"), std::nullopt);
  EXPECT_EQ(parse_instant("2026-11-11T10:00:00.500"), std::nullopt);
  EXPECT_EQ(parse_instant("2026-11-11"), std::nullopt);
  EXPECT_EQ(parse_instant("2026-11-11T10:00:00 Asia/Shanghai"), std::nullopt);
}

// Restores TZ at the end of a test that changes it; tests of one executable run one after another.
class ZoneGuard {
 public:
  explicit ZoneGuard(const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
  }
  ZoneGuard(const ZoneGuard&) = delete;
  ZoneGuard& operator=(const ZoneGuard&) = delete;
  ~ZoneGuard() {
    unsetenv("TZ");
    tzset();
  }
};

TEST(Instant, FS_30_the_machines_zone_and_daylight_saving_change_nothing) {
  for (const char* zone : {"UTC", "Asia/Shanghai", "America/New_York", "Europe/Berlin"}) {
    const ZoneGuard guard{zone};
    EXPECT_EQ(parse_instant("2026-11-11T10:00:00+08:00"), 1'794'362'400'000) << zone;
    // 02:30 does not exist in New York on 8 March 2026 and 01:30 happens twice on 1 November; the offset decides.
    EXPECT_EQ(format_instant(parse_instant("2026-03-08T02:30:00-05:00").value_or(0)), "2026-03-08T07:30:00.000Z");
    EXPECT_EQ(format_instant(parse_instant("2026-11-01T01:30:00-04:00").value_or(0)), "2026-11-01T05:30:00.000Z");
    EXPECT_EQ(format_instant(parse_instant("2026-11-01T01:30:00-05:00").value_or(0)), "2026-11-01T06:30:00.000Z");
  }
}

TEST(Instant, keeps_milliseconds_and_never_rounds) {
  EXPECT_EQ(parse_instant("1970-01-01T00:00:00.5Z"), 500);
  EXPECT_EQ(parse_instant("1970-01-01T00:00:00.05Z"), 50);
  EXPECT_EQ(parse_instant("1970-01-01T00:00:00.005Z"), 5);
  EXPECT_EQ(parse_instant("1970-01-01T00:00:00.0005Z"), std::nullopt);
  EXPECT_EQ(parse_instant("1970-01-01T00:00:00.Z"), std::nullopt);
}

TEST(Instant, refuses_dates_and_times_that_do_not_exist) {
  for (const std::string_view text : {"2026-02-29T00:00:00Z"sv,
                                      "2026-00-10T00:00:00Z"sv,
                                      "2026-13-10T00:00:00Z"sv,
                                      "2026-04-31T00:00:00Z"sv,
                                      "2026-04-00T00:00:00Z"sv,
                                      "2026-04-01T24:00:00Z"sv,
                                      "2026-04-01T00:60:00Z"sv,
                                      "2026-04-01T00:00:60Z"sv,
                                      "1969-12-31T23:59:59Z"sv,
                                      "2026-04-01T00:00:00+19:00"sv,
                                      "2026-04-01T00:00:00+08:60"sv,
                                      "2026-04-01T00:00:00+0800"sv,
                                      "2026-04-01T00:00:00+08"sv,
                                      "2026-04-01T00:00:00z"sv,
                                      "2026-04-01T00:00:00ZZ"sv,
                                      "2026-04-01t00:00:00Z"sv,
                                      "26-04-01T00:00:00Z"sv,
                                      " 2026-04-01T00:00:00Z"sv,
                                      "2026-04-01T00:00:00Z "sv,
                                      "+026-04-01T00:00:00Z"sv,
                                      ""sv,
                                      "Z"sv,
                                      "1700000000000"sv,
                                      "now"sv}) {
    EXPECT_EQ(parse_instant(text), std::nullopt) << text;
  }
  EXPECT_EQ(format_instant(parse_instant("2028-02-29T23:59:59.999Z").value_or(0)), "2028-02-29T23:59:59.999Z");
}

}  // namespace
}  // namespace seckill::base
