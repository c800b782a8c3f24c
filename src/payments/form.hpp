// application/x-www-form-urlencoded (WHATWG URL standard §5) and percent encoding, exact in both directions: decoded
// once, byte for byte, whatever the character set. Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seckill::payments {

struct FormField {
  std::string name;
  std::string value;
};

inline constexpr std::size_t form_fields_max = 64;

// The fields in their order. nullopt for a broken escape, a field without "=", an empty name, a name that comes twice
// (two readers of one text must never see two amounts), or more than form_fields_max.
[[nodiscard]] std::optional<std::vector<FormField>> parse_form(std::string_view text);

// "a=1&b=%E4%BD%A0": everything but RFC 3986's unreserved characters is escaped, a space as %20.
[[nodiscard]] std::string format_form(const std::vector<FormField>& fields);
[[nodiscard]] std::string percent_encode(std::string_view text);

// The value of the field of that name, or nullptr.
[[nodiscard]] const std::string* find_field(const std::vector<FormField>& fields, std::string_view name) noexcept;

}  // namespace seckill::payments
