// Reading JSON from outside: bounded depth, no duplicate keys, valid UTF-8 only, nothing after the value.
#pragma once

#include <boost/json/fwd.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace seckill::base {

inline constexpr std::size_t json_depth_max = 8;

// Errc::invalid with a sentence when `text` is not one JSON value within the bounds above. Duplicate keys are refused
// because two readers of one text must never see two quantities. Numbers keep their kind: 1 is an int64, 1.0 and 1e0
// are doubles, what exceeds 64 bits is a double, and what exceeds a double is refused. Never throws. Any thread.
[[nodiscard]] Result<boost::json::value> parse_json(std::string_view text);

// A member of an object, or empty / 0 when it is missing or of another kind: for answers of our own server, where a
// missing member has an obvious neutral value. What people send is read by stricter means. Any thread.
[[nodiscard]] std::string text_of(const boost::json::object& from, std::string_view key);
[[nodiscard]] std::int64_t number_of(const boost::json::object& from, std::string_view key) noexcept;

}  // namespace seckill::base
