// Sales and items as rows have them; private to this folder.
#pragma once

#include <optional>
#include <string_view>

#include "store/mysql/pool.hpp"

namespace seckill::store::mysql {

// The columns that sale_from() reads, of `sale s`, and where those of an item begin behind them.
inline constexpr std::string_view sale_columns =
    "s.id, s.title, s.kind, s.currency, s.starts_at, s.ends_at, s.state, s.version, s.ticket_key, s.created_at";
inline constexpr std::size_t item_columns_at = 10;
// The columns that sale_item_from() reads, of `sale_item i`.
inline constexpr std::string_view sale_item_columns =
    "i.sku, i.title, i.price_minor, i.list_price_minor, i.total, i.reserve, i.limit_units, i.tickets_max, "
    "i.pay_window_ms, i.lanes, i.order_fields";
inline constexpr std::size_t behind_item_columns = item_columns_at + 11;

// nullopt: a stored value cannot be what was written. Rows begin with sale_columns, sale_item_columns follow.
[[nodiscard]] std::optional<model::Sale> sale_from(const Row& row);  // without its items
[[nodiscard]] std::optional<model::SaleItem> sale_item_from(const Row& row);

}  // namespace seckill::store::mysql
