#include "base/duration.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.hpp"

namespace seckill::base {
namespace {

constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> units{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::int64_t duration_ms_max = 36'500LL * 86'400'000;

}  // namespace

std::optional<std::int64_t> parse_duration_ms(std::string_view text) noexcept {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = parse_decimal(text.substr(0, digits));
  if (!count) return std::nullopt;
  for (const auto& [unit, ms] : units) {
    if (text.substr(digits) != unit) continue;
    if (*count > duration_ms_max / ms) return std::nullopt;
    return *count * ms;
  }
  return std::nullopt;
}

std::string format_duration(std::int64_t ms) {
  for (const auto& [unit, size] : units) {
    if (ms != 0 && ms % size == 0) return fmt::format("{}{}", ms / size, unit);
  }
  return "0s";
}

}  // namespace seckill::base
