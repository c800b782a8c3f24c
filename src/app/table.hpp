// Tables for people: columns as wide as their widest cell, Chinese characters counted as two.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seckill::app {

// The first row is the head. Numbers are the caller's to format.
[[nodiscard]] std::string table(const std::vector<std::vector<std::string>>& rows);

// Fields of a server's answer as text; "" when absent or of another kind. Control bytes never pass.
[[nodiscard]] std::string text_at(const boost::json::object& object, std::string_view key);
[[nodiscard]] std::int64_t number_at(const boost::json::object& object, std::string_view key);
[[nodiscard]] const boost::json::object& object_at(const boost::json::object& object, std::string_view key);
[[nodiscard]] const boost::json::array& array_at(const boost::json::object& object, std::string_view key);

// 9900 and "CNY" → "99.00 CNY". Currencies with other than two decimals are shown in hundredths all the same.
[[nodiscard]] std::string money(std::int64_t minor, std::string_view currency);

}  // namespace seckill::app
