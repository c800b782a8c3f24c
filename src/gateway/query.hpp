// Reading a query string's values. The values of this API need no %-escapes, so there are none: what is escaped is not
// understood and refused, and no two spellings mean the same.
#pragma once

#include <expected>
#include <optional>
#include <string_view>

namespace seckill::gateway {

struct BadQuery {};

// The value of `key`; nullopt when it does not appear; BadQuery when it appears twice or carries '%' or '+'. Keys that
// nobody asks for are ignored: an identity among them is, too (FS-15). No allocation. Any thread.
[[nodiscard]] inline std::expected<std::optional<std::string_view>, BadQuery> query_value(
    std::string_view query, std::string_view key) noexcept {
  std::optional<std::string_view> value;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) == key) {
      if (value) return std::unexpected(BadQuery{});
      value = equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
      if (value->find_first_of("%+") != std::string_view::npos) return std::unexpected(BadQuery{});
    }
    if (end == std::string_view::npos) break;
    query.remove_prefix(end + 1);
  }
  return value;
}

}  // namespace seckill::gateway
