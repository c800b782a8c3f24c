#include "app/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "base/text.hpp"

namespace seckill::app {
namespace {

// Columns a terminal gives to valid UTF-8: lead bytes of three and four byte sequences are mostly CJK here.
std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0xE2)
      columns += 2;
    else if (byte < 0x80 || byte >= 0xC0)
      columns += 1;
  }
  return columns;
}

const boost::json::value* find(const boost::json::object& object, std::string_view key) {
  return object.if_contains(boost::json::string_view{key.data(), key.size()});
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - width(row[i]) + 2, ' ');
    }
    out.push_back('\n');
  }
  return out;
}

std::string text_at(const boost::json::object& object, std::string_view key) {
  const auto* value = find(object, key);
  if (value == nullptr || !value->is_string()) return {};
  return base::printable(std::string{value->get_string()}, 1'024);
}

std::int64_t number_at(const boost::json::object& object, std::string_view key) {
  const auto* value = find(object, key);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

const boost::json::object& object_at(const boost::json::object& object, std::string_view key) {
  static const boost::json::object none;
  const auto* value = find(object, key);
  return value != nullptr && value->is_object() ? value->get_object() : none;
}

const boost::json::array& array_at(const boost::json::object& object, std::string_view key) {
  static const boost::json::array none;
  const auto* value = find(object, key);
  return value != nullptr && value->is_array() ? value->get_array() : none;
}

std::string money(std::int64_t minor, std::string_view currency) {
  return fmt::format("{}.{:02} {}", minor / 100, minor % 100, currency);
}

}  // namespace seckill::app
