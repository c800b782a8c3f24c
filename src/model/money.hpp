// Money: whole minor units (分, cents) with an ISO 4217 currency. Never a floating-point number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/inline_string.hpp"

namespace seckill::model {

// Three upper-case letters.
class Currency {
 public:
  Currency() noexcept : code_{"CNY"} {}
  [[nodiscard]] static std::optional<Currency> parse(std::string_view text) noexcept {
    if (text.size() != 3) return std::nullopt;
    for (const char c : text) {
      if (c < 'A' || c > 'Z') return std::nullopt;
    }
    Currency currency;
    currency.code_ = base::InlineString<3>{text};
    return currency;
  }
  [[nodiscard]] std::string_view view() const noexcept { return code_.view(); }
  friend bool operator==(const Currency&, const Currency&) noexcept = default;

 private:
  base::InlineString<3> code_;
};

// price × units, or nullopt when it does not fit. Requires: both ≥ 0.
[[nodiscard]] inline std::optional<std::int64_t> amount_minor(std::int64_t price_minor, std::int64_t units) noexcept {
  std::int64_t amount = 0;
  if (__builtin_mul_overflow(price_minor, units, &amount)) return std::nullopt;
  return amount;
}

}  // namespace seckill::model
