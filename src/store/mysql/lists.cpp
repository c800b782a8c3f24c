#include "store/mysql/lists.hpp"

#include "base/assert.hpp"

namespace seckill::store::mysql {
namespace {

constexpr std::size_t list_lengths[] = {1, 4, 16, 64, 256, 512};

std::size_t length_for(std::size_t wanted) noexcept {
  const auto* length = std::ranges::find_if(list_lengths, [&](std::size_t l) { return l >= wanted; });
  return length == std::end(list_lengths) ? std::end(list_lengths)[-1] : *length;
}

std::string with_list(std::string_view sql, std::size_t length) {
  const std::size_t at = sql.find("{}");
  SECKILL_ASSERT(at != std::string_view::npos, "the statement has a place for its list");
  std::string text{sql.substr(0, at)};
  text += "(?";
  for (std::size_t i = 1; i < length; ++i) text += ", ?";
  text += ")";
  text += sql.substr(at + 2);
  return text;
}

}  // namespace

base::Status for_list(std::span<const Value> list, std::string_view sql, std::span<const Value> before,
                      const UseList& use) {
  while (!list.empty()) {
    const std::size_t length = length_for(list.size());
    const auto part = list.first(std::min(length, list.size()));
    std::vector<Value> values(before.begin(), before.end());
    values.insert(values.end(), part.begin(), part.end());
    values.resize(before.size() + length, part.back());
    if (auto used = use(with_list(sql, length), values); !used) return used;
    list = list.subspan(part.size());
  }
  return {};
}

std::vector<Value> values_of(std::span<const model::Ticket* const> tickets) {
  std::vector<Value> values;
  values.reserve(tickets.size());
  for (const model::Ticket* ticket : tickets) values.emplace_back(bytes_of(*ticket));
  return values;
}

base::Status query_list(Work& work, const Visitor& visitor, std::string_view sql, std::span<const Value> list,
                        std::span<const Value> before) {
  return for_list(list, sql, before, [&](std::string_view text, std::span<const Value> values) {
    return work.query_values(visitor, text, values);
  });
}

base::Status run_list(Work& work, std::string_view sql, std::span<const Value> list) {
  return for_list(list, sql, {}, [&](std::string_view text, std::span<const Value> values) -> base::Status {
    const auto done = work.run_values(text, values);
    if (!done) return std::unexpected(done.error());
    return {};
  });
}

}  // namespace seckill::store::mysql
