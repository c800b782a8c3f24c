// Reading a token's `sub` without checking its signature, for the first filter only. The reading must be certain:
// whoever reads another subject than the login would might deny a buyer who holds a ticket. So it takes the plainest
// tokens and leaves every other to the login, which costs that buyer time and nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace seckill::gateway {

inline constexpr std::size_t peek_payload_bytes_max = 768;
using PeekBuffer = std::array<char, peek_payload_bytes_max>;

// The value of the one "sub" key when the payload of `token` (three parts, compact form) is one flat JSON object of
// strings, numbers and literals without any backslash; nullopt for everything else. The view points into `buffer`.
// No allocation. Any thread.
[[nodiscard]] std::optional<std::string_view> peek_subject(std::string_view token, PeekBuffer& buffer) noexcept;

// The same for a payload that is decoded already.
[[nodiscard]] std::optional<std::string_view> flat_subject(std::string_view payload) noexcept;

}  // namespace seckill::gateway
