// Lengths of time as operators write them: a whole number and its unit, "500ms", "5s", "15m", "2h", "7d".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace seckill::base {

// Milliseconds. nullopt without a unit, with a sign, space or fraction, or past 100 years: nothing is guessed or
// clamped. Any thread.
[[nodiscard]] std::optional<std::int64_t> parse_duration_ms(std::string_view text) noexcept;

// In the largest unit that divides it: 900'000 → "15m". Requires: ms >= 0.
[[nodiscard]] std::string format_duration(std::int64_t ms);

}  // namespace seckill::base
