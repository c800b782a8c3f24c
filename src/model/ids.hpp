// Names that cross every boundary of the system, as distinct types: no two of them can be confused in a call.
// All are compared byte for byte everywhere (FS-68): nothing folds case, trims or normalises.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "base/inline_string.hpp"
#include "base/limits.hpp"

namespace seckill::model {

// A text id of at most Max bytes. `parse` is the only way in from outside and applies the rule of its tag.
template <typename Tag, std::size_t Max>
class TextId {
 public:
  TextId() noexcept = default;

  // nullopt when the text breaks the tag's rule. Any thread.
  [[nodiscard]] static std::optional<TextId> parse(std::string_view text) noexcept {
    if (text.empty() || text.size() > Max || !Tag::accepts(text)) return std::nullopt;
    return TextId{text};
  }

  // For what is read back from storage: nullopt (corruption) when no id of this type can be so. Its tag's rule was
  // applied before it was written, if it applies: requests of the system's own carry a colon.
  [[nodiscard]] static std::optional<TextId> stored(std::string_view text) noexcept {
    if (text.empty() || text.size() > Max) return std::nullopt;
    return TextId{text};
  }

  // Requires: `text` was accepted by parse() or stored() before.
  [[nodiscard]] static TextId trusted(std::string_view text) noexcept { return TextId{text}; }

  [[nodiscard]] std::string_view view() const noexcept { return text_.view(); }
  [[nodiscard]] std::string str() const { return text_.str(); }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  friend bool operator==(const TextId&, const TextId&) noexcept = default;
  friend std::strong_ordering operator<=>(const TextId& a, const TextId& b) noexcept { return a.view() <=> b.view(); }

 private:
  explicit TextId(std::string_view text) noexcept : text_{text} {}
  base::InlineString<Max> text_;
};

struct SaleIdTag {
  static bool accepts(std::string_view text) noexcept;  // [A-Za-z0-9_-]
};
struct SkuTag {
  static bool accepts(std::string_view text) noexcept;  // [A-Za-z0-9_-]
};
struct BuyerTag {
  static bool accepts(std::string_view text) noexcept;  // valid UTF-8 without control characters
};
struct RequestIdTag {
  static bool accepts(std::string_view text) noexcept;  // [A-Za-z0-9_.-]; a client's, so never with a colon
};

using SaleId = TextId<SaleIdTag, base::limits::sale_id_bytes_max>;
using Sku = TextId<SkuTag, base::limits::sku_bytes_max>;
using BuyerId = TextId<BuyerTag, base::limits::buyer_bytes_max>;
using RequestId = TextId<RequestIdTag, base::limits::request_id_bytes_max>;

// One SKU in one sale: what stock, limits and lanes belong to.
struct ItemKey {
  SaleId sale;
  Sku sku;
  friend bool operator==(const ItemKey&, const ItemKey&) noexcept = default;
  friend auto operator<=>(const ItemKey&, const ItemKey&) noexcept = default;
  [[nodiscard]] std::string text() const { return sale.str() + "/" + sku.str(); }
};

struct ItemKeyHash {
  std::size_t operator()(const ItemKey& key) const noexcept {
    return base::xxh3_64(key.sku.view()) * 31 + base::xxh3_64(key.sale.view());
  }
};

// Which of an item's slices; 0 … lanes_max−1.
using LaneIndex = std::uint32_t;

// Raised by each rebuild of a lane; fences what was decided before (DESIGN: generations).
using Generation = std::uint32_t;

// lane = XXH3-64(buyer) mod lanes. Fixed for the sale: everything about a buyer in an item lives there.
[[nodiscard]] inline LaneIndex lane_of(std::string_view buyer, std::uint32_t lanes) noexcept {
  return static_cast<LaneIndex>(base::xxh3_64(buyer) % lanes);
}

}  // namespace seckill::model
