#include "ops/query.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/crypto.hpp"
#include "base/text.hpp"

namespace seckill::ops {
namespace {

// '+' stands for itself: this is a URI's query (RFC 3986), not a form.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out.push_back(text[at]);
      continue;
    }
    std::uint8_t byte = 0;
    if (at + 2 >= text.size() || !base::from_hex(text.substr(at + 1, 2), {&byte, 1})) return std::nullopt;
    out.push_back(static_cast<char>(byte));
    at += 2;
  }
  if (!base::utf8_length(out)) return std::nullopt;
  return out;
}

}  // namespace

Query::Query(std::string_view text, std::initializer_list<std::string_view> known) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decoded(pair.substr(0, equals));
    const auto value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) {
      problems_.emplace_back("the query is not percent-encoded UTF-8");
    } else if (std::ranges::find(known, std::string_view{*name}) == known.end()) {
      problem(*name, fmt::format("is not a known parameter; known here: {}", fmt::join(known, ", ")));
    } else if (this->text(*name)) {
      problem(*name, "is given twice");
    } else {
      values_.emplace_back(*name, *value);
    }
  }
}

std::optional<std::string> Query::text(std::string_view name) const {
  const auto at = std::ranges::find_if(values_, [&](const auto& entry) { return entry.first == name; });
  if (at == values_.end()) return std::nullopt;
  return at->second;
}

std::int64_t Query::integer(std::string_view name, std::int64_t low, std::int64_t high, std::int64_t otherwise) {
  const auto given = text(name);
  if (!given) return otherwise;
  const auto value = base::parse_decimal(*given);
  if (value && *value >= low && *value <= high) return *value;
  problem(name, fmt::format("must be a whole number {}..{}", low, high));
  return otherwise;
}

void Query::problem(std::string_view name, std::string_view what) {
  problems_.push_back(fmt::format("{} {}", base::printable(name, 60), what));
}

}  // namespace seckill::ops
