#include "payments/alipay/alipay_signatures.hpp"

#include <algorithm>

namespace seckill::payments::alipay {
namespace {

std::string joined(std::vector<FormField> fields) {
  std::ranges::sort(fields, {}, &FormField::name);
  std::string text;
  for (const FormField& field : fields) {
    if (!text.empty()) text += '&';
    text.append(field.name).append("=").append(field.value);
  }
  return text;
}

bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Where the string that begins at `at` ends: the place after its closing quote.
std::size_t end_of_string(std::string_view json, std::size_t at) noexcept {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return std::min(at + 1, json.size());
}

// Where the value that begins at `at` ends: before the comma or bracket that follows it, or space.
std::size_t end_of_value(std::string_view json, std::size_t at) noexcept {
  int depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = end_of_string(json, at);
      if (depth == 0) return at;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || is_space(c))) return at;
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return at;
}

}  // namespace

std::string text_of_call(std::vector<FormField> fields) {
  std::erase_if(fields, [](const FormField& field) { return field.name == "sign" || field.value.empty(); });
  return joined(std::move(fields));
}

std::string text_of_notice(std::vector<FormField> fields) {
  std::erase_if(fields, [](const FormField& field) { return field.name == "sign" || field.name == "sign_type"; });
  return joined(std::move(fields));
}

bool signed_by_any(const std::vector<RsaPublicKey>& keys, std::string_view text, std::string_view signature) {
  const auto bytes = from_base64(signature);
  return bytes && std::ranges::any_of(keys, [&](const RsaPublicKey& key) { return key.verifies(text, *bytes); });
}

std::optional<std::string_view> raw_member(std::string_view json, std::string_view key) noexcept {
  std::size_t at = json.find('{');
  if (at == std::string_view::npos) return std::nullopt;
  ++at;
  while (at < json.size()) {
    while (at < json.size() && (is_space(json[at]) || json[at] == ',')) ++at;
    if (at >= json.size() || json[at] != '"') return std::nullopt;
    const std::size_t key_end = end_of_string(json, at);
    const std::string_view found = json.substr(at + 1, key_end - at - 2);
    at = json.find(':', key_end);
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
    while (at < json.size() && is_space(json[at])) ++at;
    const std::size_t end = end_of_value(json, at);
    if (found == key) return json.substr(at, end - at);
    at = end;
  }
  return std::nullopt;
}

}  // namespace seckill::payments::alipay
