#include "payments/yuan.hpp"

#include "base/assert.hpp"
#include "base/text.hpp"

namespace seckill::payments {
namespace {

constexpr std::size_t whole_digits_max = 13;  // × 100 stays far below 2^63

}  // namespace

std::optional<std::int64_t> parse_yuan(std::string_view text) noexcept {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  if (whole.size() > whole_digits_max) return std::nullopt;
  const auto yuan = base::parse_decimal(whole);
  if (!yuan) return std::nullopt;
  if (point == std::string_view::npos) return *yuan * 100;
  const std::string_view decimals = text.substr(point + 1);
  if (decimals.empty() || decimals.size() > 2) return std::nullopt;
  std::int64_t fen = 0;
  for (const char c : decimals) {
    if (c < '0' || c > '9') return std::nullopt;
    fen = fen * 10 + (c - '0');
  }
  return *yuan * 100 + (decimals.size() == 1 ? fen * 10 : fen);
}

std::string format_yuan(std::int64_t minor) {
  SECKILL_ASSERT(minor >= 0, "no amount is negative (P7)");
  const auto fen = static_cast<int>(minor % 100);
  std::string text = std::to_string(minor / 100);
  text += '.';
  text += static_cast<char>('0' + fen / 10);
  text += static_cast<char>('0' + fen % 10);
  return text;
}

}  // namespace seckill::payments
