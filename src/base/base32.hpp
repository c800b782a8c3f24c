// Crockford's base 32 for 128-bit values: 26 characters, no I, L, O, U (https://www.crockford.com/base32.html).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/crypto.hpp"

namespace seckill::base {

inline constexpr std::size_t base32_size = 26;

// Upper-case, most significant bits first; the two spare bits are the leading ones and zero. Any thread.
[[nodiscard]] std::string to_base32(const Bytes16& value);

// Exactly the 26 upper-case characters that to_base32 prints: one value has one spelling, so nothing is folded.
[[nodiscard]] std::optional<Bytes16> from_base32(std::string_view text) noexcept;

}  // namespace seckill::base
