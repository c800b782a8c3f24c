#include "gateway/purchase_body.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace seckill::gateway {
namespace {

namespace json = boost::json;

// Exactly {"quantity":n} with n from 1 to 9999 and no spaces, as JSON.stringify writes it: a strict part of what the
// full reader accepts, so both agree on every text.
std::optional<std::int64_t> plain_quantity(std::string_view text) noexcept {
  constexpr std::string_view head = "{\"quantity\":";
  if (text.size() < head.size() + 2 || text.size() > head.size() + 5) return std::nullopt;
  if (!text.starts_with(head) || text.back() != '}') return std::nullopt;
  const std::string_view digits = text.substr(head.size(), text.size() - head.size() - 1);
  if (digits.front() == '0') return std::nullopt;
  std::int64_t value = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + (digit - '0');
  }
  return value;
}

bool read_fields(const json::value& value, PurchaseBody& into) {
  if (!value.is_object()) return false;
  const json::object& object = value.get_object();
  if (object.size() > base::limits::order_fields_max) return false;
  for (const auto& [name, field] : object) {
    if (!field.is_string() || name.empty() || name.size() > base::limits::order_field_name_bytes_max) return false;
    const json::string& text = field.get_string();
    // Characters are code points, as in every other length of this system.
    const auto characters = base::utf8_length({text.data(), text.size()});
    if (!characters || *characters > base::limits::order_field_characters_max) return false;
    into.fields.emplace_back(std::string{name.data(), name.size()}, std::string{text.data(), text.size()});
  }
  std::sort(into.fields.begin(), into.fields.end());
  return true;
}

}  // namespace

std::expected<PurchaseBody, Refusal> read_purchase_body(std::string_view text) {
  PurchaseBody body;
  if (const auto quantity = plain_quantity(text)) {
    body.quantity = *quantity;
    return body;
  }
  const base::Result<json::value> parsed = base::parse_json(text);
  if (!parsed || !parsed->is_object()) return std::unexpected(Refusal::bad_json);
  const json::value* quantity = nullptr;
  const json::value* fields = nullptr;
  for (const auto& [key, value] : parsed->get_object()) {
    if (key == "quantity") {
      quantity = &value;
    } else if (key == "fields") {
      fields = &value;
    } else {
      return std::unexpected(Refusal::bad_key);
    }
  }
  if (quantity == nullptr || !quantity->is_int64() || quantity->get_int64() < 1) {
    return std::unexpected(Refusal::bad_quantity);
  }
  body.quantity = quantity->get_int64();
  if (fields != nullptr && !read_fields(*fields, body)) return std::unexpected(Refusal::bad_fields);
  return body;
}

std::optional<Refusal> check_purchase(const PurchaseBody& body, const model::SaleItem& item) noexcept {
  if (body.quantity > item.limit) return Refusal::bad_quantity;
  for (const auto& field : body.fields) {
    const bool declared =
        std::find(item.order_fields.begin(), item.order_fields.end(), field.first) != item.order_fields.end();
    if (!declared) return Refusal::bad_fields;
  }
  return std::nullopt;
}

model::OrderFields canonical_fields(const PurchaseBody& body) {
  if (body.fields.empty()) return nullptr;
  std::string text = "{";
  for (const auto& [name, value] : body.fields) {
    if (text.size() > 1) text += ',';
    base::append_json_string(text, name);
    text += ':';
    base::append_json_string(text, value);
  }
  text += '}';
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace seckill::gateway
