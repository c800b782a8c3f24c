// Base 64 for URLs without padding (RFC 4648 §5), strict: one text for each value. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace seckill::gateway {

// The number of bytes written, or nullopt for a character outside the alphabet, padding, an impossible length, spare
// bits that are not zero, or a result that does not fit `out`. No allocation.
[[nodiscard]] std::optional<std::size_t> decode_base64url(std::string_view text, std::span<char> out) noexcept;

}  // namespace seckill::gateway
