// Statements with "IN (?, …)": lists come in few lengths, so that their texts stay prepared; what is left of a list is
// filled by its last value.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "store/mysql/rows.hpp"

namespace seckill::store::mysql {

// `sql` with "{}" replaced by the list, and its values.
using UseList = std::function<base::Status(std::string_view sql, std::span<const Value> values)>;

// Calls `use` for parts of the list, in order, until one fails. `before` are the values of the parameters that stand
// before the list. Nothing for an empty list.
[[nodiscard]] base::Status for_list(std::span<const Value> list, std::string_view sql, std::span<const Value> before,
                                    const UseList& use);

[[nodiscard]] std::vector<Value> values_of(std::span<const model::Ticket* const> tickets);

// for_list() for a query whose rows `visitor` sees, and for a statement that changes rows.
[[nodiscard]] base::Status query_list(Work& work, const Visitor& visitor, std::string_view sql,
                                      std::span<const Value> list, std::span<const Value> before = {});
[[nodiscard]] base::Status run_list(Work& work, std::string_view sql, std::span<const Value> list);

}  // namespace seckill::store::mysql
