// A sale in a file, YAML or JSON, as the JSON that the admin API takes. Samples may tell their times relative to now,
// `starts_in: 5s` and `duration: 2m`, which become starts_at and ends_at here.
#pragma once

#include <boost/json/object.hpp>
#include <expected>
#include <string>

#include "app/problems.hpp"
#include "base/clock.hpp"

namespace seckill::app {

// Keys and values are not judged here beyond their form: the server does, and tells every problem. Problems: the file
// cannot be read, is no map, writes a key twice, or mixes relative and absolute times.
[[nodiscard]] std::expected<boost::json::object, Problems> load_sale_file(const std::string& path, base::UtcMs now);
[[nodiscard]] std::expected<boost::json::object, Problems> parse_sale_text(const std::string& text,
                                                                           const std::string& name, base::UtcMs now);

}  // namespace seckill::app
