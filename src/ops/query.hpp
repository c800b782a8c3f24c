// A query string's parameters, strictly: known names only, each at most once, percent-encoding decoded, valid UTF-8.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seckill::ops {

// Constant after construction.
class Query {
 public:
  // `known`: the names this endpoint takes. What is wrong goes to problems().
  Query(std::string_view text, std::initializer_list<std::string_view> known);

  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  // Decimal digits within [low, high]; `otherwise` when absent. Out of range or no number: a problem, and `otherwise`.
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t low, std::int64_t high,
                                     std::int64_t otherwise);

  void problem(std::string_view name, std::string_view what);
  [[nodiscard]] const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
  std::vector<std::string> problems_;
};

}  // namespace seckill::ops
