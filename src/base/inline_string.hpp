// A string of at most Max bytes held in place: no allocation on the purchase path, trivially copyable, bounded by type.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/assert.hpp"

namespace seckill::base {

template <std::size_t Max>
  requires(Max <= 255)
class InlineString {
 public:
  constexpr InlineString() noexcept = default;

  // Requires: text.size() <= Max. Callers that hold untrusted input check the size first.
  explicit InlineString(std::string_view text) noexcept {
    SECKILL_ASSERT(text.size() <= Max, "an inline string never exceeds its bound");
    size_ = static_cast<std::uint8_t>(text.size());
    std::memcpy(bytes_.data(), text.data(), text.size());
  }

  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }
  [[nodiscard]] std::string str() const { return std::string{view()}; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  friend bool operator==(const InlineString& a, const InlineString& b) noexcept { return a.view() == b.view(); }
  friend std::strong_ordering operator<=>(const InlineString& a, const InlineString& b) noexcept {
    return a.view() <=> b.view();
  }

 private:
  std::array<char, Max> bytes_{};
  std::uint8_t size_ = 0;
};

}  // namespace seckill::base
