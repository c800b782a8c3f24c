// Strict readings of untrusted text. Nothing here throws; what does not fit is refused, never clamped or rounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace seckill::base {

// Decimal digits only: no sign, space, prefix or leading zero (but "0"); nullopt outside [0, 2^63). Any thread.
[[nodiscard]] std::optional<std::int64_t> parse_decimal(std::string_view text) noexcept;

// The number of code points when `text` is valid UTF-8 without NUL, else nullopt (RFC 3629: no surrogates, no
// overlong forms, nothing above U+10FFFF). Any thread.
[[nodiscard]] std::optional<std::size_t> utf8_length(std::string_view text) noexcept;

// Appends `text` as a quoted JSON string; invalid UTF-8 becomes U+FFFD, so the result is always valid JSON.
void append_json_string(std::string& out, std::string_view text);

// For logs: control bytes and invalid UTF-8 are replaced, and at most `bytes_max` bytes are kept.
[[nodiscard]] std::string printable(std::string_view text, std::size_t bytes_max = 200);

// An instant in RFC 3339 with an explicit offset or Z ("2026-11-11T10:00:00.500+08:00"), as UTC milliseconds.
// nullopt when the offset is missing, a field is out of range, or finer than a millisecond (never rounded).
[[nodiscard]] std::optional<std::int64_t> parse_instant(std::string_view text) noexcept;

// "2026-11-11T02:00:00.500Z"
[[nodiscard]] std::string format_instant(std::int64_t utc_ms);

}  // namespace seckill::base
