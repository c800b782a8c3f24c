// The body of a purchase: {"quantity":1,"fields":{"receiver":"…"}}. Strict, because what is guessed here becomes an
// order: a quantity is a whole number from 1 to the item's limit and nothing else, whatever else was sent is refused
// with 400 before anything is touched, and nothing is rounded or clamped (FS-17, FS-31, FS-33, FS-54, FS-61).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/replies.hpp"
#include "model/purchase.hpp"
#include "model/sale.hpp"

namespace seckill::gateway {

struct PurchaseBody {
  std::int64_t quantity = 0;
  std::vector<std::pair<std::string, std::string>> fields;  // sorted by name; empty when none were sent
};

// Reads the body's form. bad_json, bad_key, bad_quantity or bad_fields. `{"quantity":n}` costs no allocation.
[[nodiscard]] std::expected<PurchaseBody, Refusal> read_purchase_body(std::string_view text);

// Holds it against the item: nothing, or bad_quantity (above the limit) or bad_fields (a name the item does not
// declare).
[[nodiscard]] std::optional<Refusal> check_purchase(const PurchaseBody& body, const model::SaleItem& item) noexcept;

// The canonical form that digest, queue and store use: {"receiver":"…"}, names sorted, no spaces; null when there are
// none.
[[nodiscard]] model::OrderFields canonical_fields(const PurchaseBody& body);

}  // namespace seckill::gateway
