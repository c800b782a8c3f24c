#include "gateway/login/base64url.hpp"

#include <array>
#include <cstdint>

namespace seckill::gateway {
namespace {

constexpr std::uint8_t bad = 0xFF;

consteval std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(bad);
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (std::size_t index = 0; index < alphabet.size(); ++index) {
    values[static_cast<unsigned char>(alphabet[index])] = static_cast<std::uint8_t>(index);
  }
  return values;
}

constexpr std::array<std::uint8_t, 256> values = make_values();

std::uint32_t value_of(char c) noexcept { return values[static_cast<unsigned char>(c)]; }

}  // namespace

std::optional<std::size_t> decode_base64url(std::string_view text, std::span<char> out) noexcept {
  const std::size_t tail = text.size() % 4;
  if (tail == 1) return std::nullopt;
  const std::size_t size = text.size() / 4 * 3 + (tail == 0 ? 0 : tail - 1);
  if (size > out.size()) return std::nullopt;
  std::size_t at = 0;
  std::size_t in = 0;
  for (; in + 4 <= text.size(); in += 4) {
    const std::uint32_t a = value_of(text[in]);
    const std::uint32_t b = value_of(text[in + 1]);
    const std::uint32_t c = value_of(text[in + 2]);
    const std::uint32_t d = value_of(text[in + 3]);
    if (((a | b | c | d) & 0xC0U) != 0) return std::nullopt;
    const std::uint32_t word = a << 18 | b << 12 | c << 6 | d;
    out[at++] = static_cast<char>(word >> 16);
    out[at++] = static_cast<char>(word >> 8 & 0xFF);
    out[at++] = static_cast<char>(word & 0xFF);
  }
  if (tail == 0) return at;
  std::uint32_t word = 0;
  for (std::size_t index = 0; index < tail; ++index) {
    const std::uint32_t value = value_of(text[in + index]);
    if (value == bad) return std::nullopt;
    word |= value << (18 - 6 * index);
  }
  const std::uint32_t spare = tail == 2 ? 0xFFFFU : 0xFFU;
  if ((word & spare) != 0) return std::nullopt;
  out[at++] = static_cast<char>(word >> 16);
  if (tail == 3) out[at++] = static_cast<char>(word >> 8 & 0xFF);
  return at;
}

}  // namespace seckill::gateway
