#include "model/ids.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace seckill::model {
namespace {

bool alphanumeric(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool SaleIdTag::accepts(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return alphanumeric(c) || c == '_' || c == '-'; });
}

bool SkuTag::accepts(std::string_view text) noexcept { return SaleIdTag::accepts(text); }

bool BuyerTag::accepts(std::string_view text) noexcept {
  return base::utf8_length(text).has_value() &&
         std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

bool RequestIdTag::accepts(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return alphanumeric(c) || c == '_' || c == '.' || c == '-'; });
}

}  // namespace seckill::model
