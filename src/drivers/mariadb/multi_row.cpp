#include "drivers/mariadb/multi_row.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"

namespace seckill::drivers::mariadb {
namespace {

constexpr std::string_view before_group = "VALUES (";
constexpr std::size_t rows_max = 256;
constexpr std::size_t placeholders_max = 65'535;  // of one statement, by the protocol

struct Group {
  std::size_t from = std::string_view::npos;  // of its "("
  std::size_t size = 0;
};

Group group_of(std::string_view sql) noexcept {
  const std::size_t at = sql.find(before_group);
  if (at == std::string_view::npos) return {};
  const std::size_t from = at + before_group.size() - 1;
  const std::size_t end = sql.find(')', from);
  if (end == std::string_view::npos || sql.find('?', from) > end) return {};
  return {.from = from, .size = end + 1 - from};
}

}  // namespace

std::size_t rows_at_once(std::string_view sql, std::size_t width, std::size_t left) noexcept {
  if (group_of(sql).size == 0) return 1;
  return std::bit_floor(std::clamp<std::size_t>(std::min(left, placeholders_max / width), 1, rows_max));
}

std::string with_rows(std::string_view sql, std::size_t rows) {
  const Group group = group_of(sql);
  SECKILL_ASSERT(group.size > 0 && rows > 0, "the statement has a group of values");
  std::string text{sql.substr(0, group.from + group.size)};
  text.reserve(sql.size() + rows * (group.size + 2));
  for (std::size_t row = 1; row < rows; ++row) {
    text += ", ";
    text += sql.substr(group.from, group.size);
  }
  text += sql.substr(group.from + group.size);
  return text;
}

}  // namespace seckill::drivers::mariadb
