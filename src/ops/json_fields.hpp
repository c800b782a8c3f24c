// Strict reading of one JSON object that an operator sent: every key is asked for by name, numbers are whole and are
// never rounded or clamped, and every problem is collected, so that one answer tells all of them (FS-17, FS-31).
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace seckill::ops {

enum class Need : std::uint8_t { required, optional };

// One thread. Borrows the object and the list of problems.
class JsonFields {
 public:
  // `path` stands before the keys in problems ("items.tea"); empty at the top. A value that is no object is a problem.
  JsonFields(const boost::json::value& value, std::string path, std::vector<std::string>& problems);

  // Each leaves nullopt and adds a problem when the field is missing though required, or is not what is asked for.
  [[nodiscard]] std::optional<std::string> text(std::string_view key, Need need);
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key, Need need);
  // Also checked against a range that the answer names.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key, Need need, std::int64_t low,
                                                    std::int64_t high);
  // Whole UTC milliseconds, or RFC 3339 text with an explicit offset; a time without offset is refused (FS-30).
  [[nodiscard]] std::optional<base::UtcMs> instant(std::string_view key, Need need);
  // `key`_ms as whole milliseconds, or `key` as text ("15m"); not both.
  [[nodiscard]] std::optional<std::int64_t> duration_ms(std::string_view key);
  [[nodiscard]] const boost::json::array* array(std::string_view key, Need need);
  [[nodiscard]] std::optional<std::vector<std::string>> texts(std::string_view key);

  void problem(std::string_view key, std::string_view what);
  // True when `key` was asked for and had a problem.
  [[nodiscard]] bool failed(std::string_view key) const { return failed_.contains(std::string{key}); }
  // Reports every key that nobody asked for.
  void finish();

 private:
  [[nodiscard]] const boost::json::value* find(std::string_view key, Need need);
  [[nodiscard]] std::string full(std::string_view key) const;

  const boost::json::object* object_ = nullptr;
  std::string path_;
  std::vector<std::string>* problems_;
  std::vector<std::string> asked_;
  std::set<std::string> failed_;
};

}  // namespace seckill::ops
