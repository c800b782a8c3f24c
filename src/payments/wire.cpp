#include "payments/wire.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "base/text.hpp"

namespace seckill::payments {
namespace {

constexpr std::int64_t year_10000_s = 253'402'300'800;

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::optional<std::string_view> header_of(std::span<const Header> headers, std::string_view name) noexcept {
  std::optional<std::string_view> found;
  for (const Header& header : headers) {
    if (!same_name(header.name, name)) continue;
    // Two readers of one request must never see two signatures.
    if (found || header.value.size() > header_value_bytes_max) return std::nullopt;
    found = header.value;
  }
  return found;
}

std::optional<NoticeFault> beyond_bounds(const NoticeRequest& request) noexcept {
  if (request.body.size() > notice_body_bytes_max || request.headers.size() > headers_max) {
    return NoticeFault::too_large;
  }
  return std::nullopt;
}

bool within_bounds(const CallAnswer& answer) noexcept {
  return answer.body.size() <= answer_body_bytes_max && answer.headers.size() <= headers_max;
}

bool is_id(std::string_view text, std::size_t bytes_max) noexcept {
  return !text.empty() && text.size() <= bytes_max &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

std::string short_code(std::string_view text) {
  // Of what it cuts, printable() keeps as much as asked for, and adds three dots.
  return text.size() <= code_bytes_max && is_id(text) ? std::string{text} : base::printable(text, code_bytes_max - 3);
}

std::optional<base::UtcMs> parse_seconds(std::string_view text) noexcept {
  const auto seconds = base::parse_decimal(text);
  if (!seconds || *seconds >= year_10000_s) return std::nullopt;
  return *seconds * 1'000;
}

bool is_stale(base::UtcMs signed_at, base::UtcMs now) noexcept {
  return signed_at < now - signature_age_ms_max || signed_at > now + signature_age_ms_max;
}

std::optional<Fields> Fields::parse(std::string_view text) {
  auto value = base::parse_json(text);
  if (!value || !value->is_object()) return std::nullopt;
  return Fields{std::move(value->get_object())};
}

const boost::json::value* Fields::find(std::string_view key) const noexcept {
  return object_.if_contains({key.data(), key.size()});
}

bool Fields::has(std::string_view key) const noexcept { return find(key) != nullptr; }

std::string_view Fields::text(std::string_view key) const noexcept {
  const auto* value = find(key);
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

std::optional<std::string> Fields::id(std::string_view key, std::size_t bytes_max) const {
  const std::string_view found = text(key);
  if (!is_id(found, bytes_max)) return std::nullopt;
  return std::string{found};
}

std::optional<std::int64_t> Fields::amount(std::string_view key) const noexcept {
  const auto* value = find(key);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return std::nullopt;
  return value->get_int64();
}

std::optional<base::UtcMs> Fields::instant(std::string_view key) const { return base::parse_instant(text(key)); }

std::optional<model::Currency> Fields::currency(std::string_view key) const noexcept {
  return model::Currency::parse(text(key));
}

std::optional<Fields> Fields::object(std::string_view key) const {
  const auto* value = find(key);
  if (value == nullptr || !value->is_object()) return std::nullopt;
  return Fields{value->get_object()};
}

void JsonText::begin(std::string_view key) {
  if (text_.size() > 1) text_ += ',';
  text_ += '"';
  text_ += key;
  text_ += "\":";
}

JsonText& JsonText::text(std::string_view key, std::string_view value) {
  begin(key);
  base::append_json_string(text_, value);
  return *this;
}

JsonText& JsonText::number(std::string_view key, std::int64_t value) {
  begin(key);
  text_ += std::to_string(value);
  return *this;
}

JsonText& JsonText::raw(std::string_view key, std::string_view json) {
  begin(key);
  text_ += json;
  return *this;
}

}  // namespace seckill::payments
