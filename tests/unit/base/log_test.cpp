// The log: one line an event whatever is logged, in both formats.
#include "base/log.hpp"

#include <gtest/gtest.h>

#include "base/duration.hpp"
#include "base/json.hpp"

namespace seckill::base {
namespace {

std::string logged(log::Format format, std::string_view message, log::Level level = log::Level::info) {
  ::testing::internal::CaptureStderr();
  log::start({.level = log::Level::info, .format = format});
  log::write(level, message);
  log::stop();
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, ATextLineNeverHoldsAControlByte) {
  const std::string line = logged(log::Format::text, "a\nb\x1b[31m\x07 \xff 茶");
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_NE(line.find("info a?b?[31m? \xEF\xBF\xBD 茶"), std::string::npos) << line;
}

TEST(Log, AJsonLineIsOneSoundObject) {
  std::string line = logged(log::Format::json, "a\n\"b\" \x01 \xff");
  ASSERT_TRUE(line.ends_with('\n'));
  line.pop_back();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto value = parse_json(line);
  ASSERT_TRUE(value) << line;
  EXPECT_EQ(value->at("level").as_string(), "info");
  EXPECT_EQ(value->at("msg").as_string(), "a\n\"b\" \x01 \xEF\xBF\xBD");
}

TEST(Log, LongLinesAreCutAndStayValid) {
  std::string text;
  while (text.size() < 10'000) text += "茶";
  EXPECT_LT(logged(log::Format::text, text).size(), 4'300u);
  std::string line = logged(log::Format::json, text);
  line.pop_back();
  EXPECT_TRUE(parse_json(line));
}

TEST(Log, LevelsBelowTheKeptOneAreDropped) {
  EXPECT_TRUE(logged(log::Format::text, "x").ends_with("info x\n"));
  ::testing::internal::CaptureStderr();
  log::start({.level = log::Level::warn});
  log::info("not {}", "this");
  log::warn("but {}", "this");
  log::stop();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("not this"), std::string::npos);
  EXPECT_NE(said.find("but this"), std::string::npos);
}

TEST(Log, AListenerHearsEachKeptLineAtOnceInsteadOfStandardError) {
  std::vector<std::string> heard;
  ::testing::internal::CaptureStderr();
  log::listen([&](log::Level level, std::string_view line) {
    heard.push_back((level == log::Level::error ? "error " : "other ") + std::string{line});
  });
  log::debug("not kept");
  log::error("disk {}", 7);
  EXPECT_EQ(heard, std::vector<std::string>{"error disk 7"});
  log::listen({});
  log::error("to standard error");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "to standard error\n");
  EXPECT_EQ(heard.size(), 1U);
}

TEST(Duration, NeedsAUnitAndIsNeverGuessed) {
  EXPECT_EQ(parse_duration_ms("500ms"), 500);
  EXPECT_EQ(parse_duration_ms("5s"), 5'000);
  EXPECT_EQ(parse_duration_ms("15m"), 900'000);
  EXPECT_EQ(parse_duration_ms("2h"), 7'200'000);
  EXPECT_EQ(parse_duration_ms("0s"), 0);
  for (const char* bad : {"", "5", "s", "-5s", "+5s", "5 s", "1.5s", "05s", "5S", "5sec", "5m5s",
                          "99999999999999999999s", "9223372036854775807d", "36501d"}) {
    EXPECT_FALSE(parse_duration_ms(bad)) << bad;
  }
  EXPECT_EQ(format_duration(900'000), "15m");
  EXPECT_EQ(format_duration(90'000), "90s");
  EXPECT_EQ(format_duration(1), "1ms");
  EXPECT_EQ(format_duration(0), "0s");
}

}  // namespace
}  // namespace seckill::base
