// Writing small JSON by hand: a reply of a few known keys needs no document tree.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/base32.hpp"
#include "base/text.hpp"
#include "model/ticket.hpp"

namespace seckill::gateway {

inline void append_number(std::string& out, std::int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

// `"key":` with the comma before it when it is not the object's first.
inline void append_key(std::string& out, std::string_view key) {
  if (!out.empty() && out.back() != '{' && out.back() != '[') out += ',';
  out += '"';
  out += key;
  out += "\":";
}
inline void append_member(std::string& out, std::string_view key, std::int64_t value) {
  append_key(out, key);
  append_number(out, value);
}
inline void append_flag(std::string& out, std::string_view key, bool value) {
  append_key(out, key);
  out += value ? "true" : "false";
}
// `word` is one of our own names: nothing in it needs escaping.
inline void append_word(std::string& out, std::string_view key, std::string_view word) {
  append_key(out, key);
  out += '"';
  out += word;
  out += '"';
}
inline void append_text(std::string& out, std::string_view key, std::string_view text) {
  append_key(out, key);
  base::append_json_string(out, text);
}
inline void append_ticket(std::string& out, std::string_view key, const model::Ticket& ticket) {
  append_word(out, key, ticket.str());
}

}  // namespace seckill::gateway
