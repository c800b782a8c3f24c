#include "ops/json_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/duration.hpp"
#include "base/text.hpp"

namespace seckill::ops {
namespace {

constexpr base::UtcMs instant_max = 253'402'300'799'999;  // the last millisecond of the year 9999

std::string shown(const boost::json::value& value) { return base::printable(boost::json::serialize(value), 60); }

}  // namespace

JsonFields::JsonFields(const boost::json::value& value, std::string path, std::vector<std::string>& problems)
    : object_{value.if_object()}, path_{std::move(path)}, problems_{&problems} {
  if (object_ == nullptr) {
    problems_->push_back(fmt::format("{} must be a JSON object", path_.empty() ? "the body" : path_));
  }
}

std::optional<std::string> JsonFields::text(std::string_view key, Need need) {
  const boost::json::value* value = find(key, need);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    problem(key, fmt::format("must be a text, not {}", shown(*value)));
    return std::nullopt;
  }
  return std::string{value->get_string()};
}

std::optional<std::int64_t> JsonFields::integer(std::string_view key, Need need) {
  const boost::json::value* value = find(key, need);
  if (value == nullptr) return std::nullopt;
  if (value->is_int64()) return value->get_int64();
  problem(key, value->is_uint64() ? fmt::format("{} does not fit: at most {}", shown(*value), INT64_MAX)
                                  : fmt::format("must be a whole number, not {}", shown(*value)));
  return std::nullopt;
}

std::optional<std::int64_t> JsonFields::integer(std::string_view key, Need need, std::int64_t low, std::int64_t high) {
  const auto value = integer(key, need);
  if (!value || (*value >= low && *value <= high)) return value;
  problem(key, fmt::format("must be {}..{}, not {}", low, high, *value));
  return std::nullopt;
}

std::optional<base::UtcMs> JsonFields::instant(std::string_view key, Need need) {
  const boost::json::value* value = find(key, need);
  if (value == nullptr) return std::nullopt;
  if (value->is_int64()) {
    const std::int64_t ms = value->get_int64();
    if (ms > 0 && ms <= instant_max) return ms;
    problem(key, fmt::format("{} is not an instant in UTC milliseconds", ms));
    return std::nullopt;
  }
  if (!value->is_string()) {
    problem(key, "must be RFC 3339 text with an offset, or whole UTC milliseconds, not " + shown(*value));
    return std::nullopt;
  }
  const std::string text{value->get_string()};
  if (const auto ms = base::parse_instant(text)) return ms;
  if (base::parse_instant(text + "Z")) {
    problem(key, fmt::format("{} has no offset, so it is no instant; write {}Z or, for China, {}+08:00", shown(*value),
                             text, text));
  } else {
    problem(key, fmt::format("{} is no instant; write RFC 3339 with an offset and at most three decimal places, as in "
                             "2026-11-11T10:00:00.500+08:00",
                             shown(*value)));
  }
  return std::nullopt;
}

std::optional<std::int64_t> JsonFields::duration_ms(std::string_view key) {
  const std::string ms_key = std::string{key} + "_ms";
  const auto ms = integer(ms_key, Need::optional);
  const auto words = text(key, Need::optional);
  if (!words) return ms;
  if (ms || failed(ms_key)) {
    problem(key, fmt::format("give {} or {}, not both", key, ms_key));
    return std::nullopt;
  }
  const auto parsed = base::parse_duration_ms(*words);
  if (!parsed) problem(key, fmt::format("{} is not a length of time like 30s or 15m", base::printable(*words, 60)));
  return parsed;
}

const boost::json::array* JsonFields::array(std::string_view key, Need need) {
  const boost::json::value* value = find(key, need);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) problem(key, "must be a list");
  return value->if_array();
}

std::optional<std::vector<std::string>> JsonFields::texts(std::string_view key) {
  const boost::json::array* list = array(key, Need::optional);
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> read;
  for (const boost::json::value& entry : *list) {
    if (!entry.is_string()) {
      problem(key, fmt::format("must be a list of texts; {} is none", shown(entry)));
      return std::nullopt;
    }
    read.emplace_back(entry.get_string());
  }
  return read;
}

void JsonFields::problem(std::string_view key, std::string_view what) {
  failed_.emplace(key);
  problems_->push_back(fmt::format("{} {}", full(key), what));
}

void JsonFields::finish() {
  if (object_ == nullptr) return;
  for (const auto& entry : *object_) {
    const std::string_view key{entry.key().data(), entry.key().size()};
    if (std::ranges::find(asked_, key) != asked_.end()) continue;
    problems_->push_back(
        fmt::format("{} is not a known key; known here: {}", full(base::printable(key, 60)), fmt::join(asked_, ", ")));
  }
}

const boost::json::value* JsonFields::find(std::string_view key, Need need) {
  asked_.emplace_back(key);
  if (object_ == nullptr) {
    failed_.emplace(key);
    return nullptr;
  }
  const boost::json::value* value = object_->if_contains(boost::json::string_view{key.data(), key.size()});
  if (value == nullptr && need == Need::required) problem(key, "is missing");
  return value;
}

std::string JsonFields::full(std::string_view key) const {
  return path_.empty() ? std::string{key} : path_ + "." + std::string{key};
}

}  // namespace seckill::ops
