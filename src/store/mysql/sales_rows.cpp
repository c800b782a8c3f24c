#include "store/mysql/sales_rows.hpp"

#include <algorithm>

#include "store/mysql/rows.hpp"

namespace seckill::store::mysql {
namespace {

std::vector<std::string> split(std::string_view lines) {
  std::vector<std::string> names;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    names.emplace_back(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return names;
}

// What the schema's CHECKs say of an item's numbers, and what fits the types they are read into.
bool are_terms(const Row& row) noexcept {
  const auto within = [&](std::size_t column, std::int64_t low, std::int64_t high) {
    return row.integer(column) >= low && row.integer(column) <= high;
  };
  return are_units({row.integer(item_columns_at + 4), row.integer(item_columns_at + 5)}) &&
         within(item_columns_at + 2, 0, INT64_MAX) && within(item_columns_at + 3, 0, INT64_MAX) &&
         within(item_columns_at + 6, 1, base::limits::limit_max) && within(item_columns_at + 7, 1, UINT32_MAX) &&
         within(item_columns_at + 8, 1, INT64_MAX) && within(item_columns_at + 9, 0, base::limits::lanes_max);
}

}  // namespace

std::optional<model::Sale> sale_from(const Row& row) {
  const auto id = model::SaleId::parse(row.text(0));
  const auto kind = model::sale_kind_from(row.integer(2));
  const auto currency = model::Currency::parse(row.text(3));
  const auto state = model::sale_state_from(row.integer(6));
  const std::string_view key = row.text(8);
  model::Sale sale;
  if (!id || !kind || !currency || !state || key.size() != sale.ticket_key.size()) return std::nullopt;
  sale.id = *id;
  sale.title = row.text(1);
  sale.kind = *kind;
  sale.currency = *currency;
  sale.starts_at = row.integer(4);
  sale.ends_at = row.integer(5);
  sale.state = *state;
  sale.version = row.integer(7);
  std::ranges::copy(key, sale.ticket_key.begin());
  sale.created_at = row.integer(9);
  return sale;
}

std::optional<model::SaleItem> sale_item_from(const Row& row) {
  const auto sku = model::Sku::parse(row.text(item_columns_at + 0));
  if (!sku || !are_terms(row)) return std::nullopt;
  return model::SaleItem{.sku = *sku,
                         .title = std::string{row.text(item_columns_at + 1)},
                         .price_minor = row.integer(item_columns_at + 2),
                         .list_price_minor = row.integer(item_columns_at + 3),
                         .total = row.integer(item_columns_at + 4),
                         .reserve = row.integer(item_columns_at + 5),
                         .limit = row.integer(item_columns_at + 6),
                         .tickets_max = static_cast<std::uint32_t>(row.integer(item_columns_at + 7)),
                         .pay_window_ms = row.integer(item_columns_at + 8),
                         .lanes = static_cast<std::uint32_t>(row.integer(item_columns_at + 9)),
                         .order_fields = split(row.text(item_columns_at + 10))};
}

}  // namespace seckill::store::mysql
