#include "base/text.hpp"

#include <fmt/format.h>

#include <chrono>

namespace seckill::base {
namespace {

// The bytes of the sequence that starts at text[at], or 0 when it is not valid UTF-8 (RFC 3629, section 4).
std::size_t utf8_sequence(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(at + 1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return tail(at + 1, low, high) && tail(at + 2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return tail(at + 1, low, high) && tail(at + 2) && tail(at + 3) ? 4 : 0;
  }
  return 0;
}

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// Two or more digits at text[at, at+count) as a number, or -1.
int digits(std::string_view text, std::size_t at, std::size_t count) noexcept {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace

std::optional<std::int64_t> parse_decimal(std::string_view text) noexcept {
  if (text.empty() || text.size() > 19) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');  // 19 digits stay below 2^64
  }
  if (value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::size_t> utf8_length(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    const std::size_t size = utf8_sequence(text, at);
    if (size == 0 || text[at] == '\0') return std::nullopt;
    at += size;
  }
  return count;
}

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8_sequence(text, at);
    if (size == 0) {
      out += replacement;
      ++at;
      continue;
    }
    const char c = text[at];
    if (size > 1) {
      out.append(text.substr(at, size));
    } else if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out.push_back(c);
    }
    at += size;
  }
  out.push_back('"');
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8_sequence(text, at);
    if (out.size() + (size == 0 ? 3 : size) > bytes_max) {
      out += "...";
      break;
    }
    if (size == 0) {
      out += replacement;
      ++at;
      continue;
    }
    const auto c = static_cast<unsigned char>(text[at]);
    if (size == 1 && (c < 0x20 || c == 0x7F)) {
      out.push_back('?');
    } else {
      out.append(text.substr(at, size));
    }
    at += size;
  }
  return out;
}

std::optional<std::int64_t> parse_instant(std::string_view text) noexcept {
  // 0123456789012345678
  // YYYY-MM-DDTHH:MM:SS
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != ' ') || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (year < 1970 || month < 1 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 59) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  std::size_t at = 19;
  int milliseconds = 0;
  if (text[at] == '.') {
    std::size_t count = 0;
    while (at + 1 + count < text.size() && text[at + 1 + count] >= '0' && text[at + 1 + count] <= '9') ++count;
    if (count < 1 || count > 3) return std::nullopt;
    milliseconds = digits(text, at + 1, count) * (count == 1 ? 100 : count == 2 ? 10 : 1);
    at += 1 + count;
  }
  int offset_minutes = 0;
  if (at + 1 == text.size() && text[at] == 'Z') {
    offset_minutes = 0;
  } else if (at + 6 == text.size() && (text[at] == '+' || text[at] == '-') && text[at + 3] == ':') {
    const int hours = digits(text, at + 1, 2), minutes = digits(text, at + 4, 2);
    if (hours < 0 || hours > 18 || minutes < 0 || minutes > 59) return std::nullopt;
    offset_minutes = (hours * 60 + minutes) * (text[at] == '-' ? -1 : 1);
  } else {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const std::int64_t seconds = days * 86'400 + hour * 3'600 + minute * 60 + second - offset_minutes * 60;
  return seconds * 1'000 + milliseconds;
}

std::string format_instant(std::int64_t utc_ms) {
  using std::chrono::milliseconds;
  const std::chrono::sys_time<milliseconds> instant{milliseconds{utc_ms}};
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{instant - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int{date.year()}, unsigned{date.month()},
                     unsigned{date.day()}, time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

}  // namespace seckill::base
