// Amounts written as decimal yuan ("88.88"), as Alipay writes them. Exact both ways: no floating point, no rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace seckill::payments {

// Minor units (分) of 1 to 13 digits with at most two decimals: "0.1" is 10 and "0.01" is 1. nullopt for a sign, an
// exponent, a space, a leading zero, a third decimal (even a zero) or a point without digits on both sides. Any thread.
[[nodiscard]] std::optional<std::int64_t> parse_yuan(std::string_view text) noexcept;

// Always two decimals: 1 is "0.01". Requires: minor >= 0. Any thread.
[[nodiscard]] std::string format_yuan(std::int64_t minor);

}  // namespace seckill::payments
