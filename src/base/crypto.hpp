// The few cryptographic pieces the rules need, each one call into OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace seckill::base {

using Key128 = std::array<std::uint8_t, 16>;
using Bytes16 = std::array<std::uint8_t, 16>;
using Bytes32 = std::array<std::uint8_t, 32>;

// SipHash-2-4 with a 128-bit result (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012).
// Keyed and unguessable without the key. Any thread.
[[nodiscard]] Bytes16 siphash_128(const Key128& key, std::string_view bytes) noexcept;

// SHA-256 (FIPS 180-4). Any thread.
[[nodiscard]] Bytes32 sha_256(std::string_view bytes) noexcept;

// Fills `out` from the operating system's generator; aborts when it cannot: no secret may be guessable. Any thread.
void random_bytes(std::span<std::uint8_t> out) noexcept;
[[nodiscard]] std::uint64_t random_u64() noexcept;

// Compares in time that depends on the lengths only. Any thread.
[[nodiscard]] bool constant_time_equal(std::string_view a, std::string_view b) noexcept;

[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);
// False when `text` is not exactly 2 × out.size() hex digits; `out` is then unspecified.
[[nodiscard]] bool from_hex(std::string_view text, std::span<std::uint8_t> out) noexcept;

}  // namespace seckill::base
