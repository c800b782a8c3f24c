#include "base/base32.hpp"

#include <array>

namespace seckill::base {
namespace {

constexpr std::string_view alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

constexpr std::array<std::int8_t, 256> value_of = [] {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  }
  return table;
}();

}  // namespace

std::string to_base32(const Bytes16& value) {
  std::string text(base32_size, '0');
  // 130 bits in 26 groups of 5: two zero bits stand before the value's 128.
  unsigned pending = 0;
  int bits = 2;
  std::size_t at = 0;
  for (const std::uint8_t byte : value) {
    pending = pending << 8 | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text[at++] = alphabet[pending >> bits & 31U];
    }
  }
  return text;
}

std::optional<Bytes16> from_base32(std::string_view text) noexcept {
  if (text.size() != base32_size) return std::nullopt;
  Bytes16 value{};
  unsigned pending = 0;
  int bits = -2;
  std::size_t at = 0;
  for (const char c : text) {
    const std::int8_t digit = value_of[static_cast<unsigned char>(c)];
    if (digit < 0) return std::nullopt;
    if (bits == -2 && digit > 7) return std::nullopt;  // the two spare bits are zero
    pending = pending << 5 | static_cast<unsigned>(digit);
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      value[at++] = static_cast<std::uint8_t>(pending >> bits & 255U);
    }
  }
  return value;
}

}  // namespace seckill::base
