// Whether a stock change was made before, by its id.
#include "store/sqlite/store_impl.hpp"

namespace seckill::store::sqlite {

base::Result<std::optional<std::int64_t>> SqliteStore::pool_change(const model::ItemKey& item, const std::string& id) {
  const std::string doing = "looking up a stock change of " + item.text();
  const auto reader = readers_.borrow();
  auto cursor = reader->query(doing,
                              "SELECT c.units FROM pool_change c JOIN sale_item i ON i.item_id = c.item_id "
                              "WHERE i.sale = ? AND i.sku = ? AND c.id = ?",
                              item.sale.view(), item.sku.view(), std::string_view{id});
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::nullopt;
  return cursor->integer(0);
}

base::Result<std::optional<model::StockTransfer>> SqliteStore::find_transfer(const std::string& id) {
  constexpr std::string_view doing = "looking up a transfer";
  const auto reader = readers_.borrow();
  auto cursor = reader->query(doing,
                              "SELECT i.sale, i.sku, t.from_lane, t.to_lane, t.units, t.generation, t.made_at "
                              "FROM stock_transfer t JOIN sale_item i ON i.item_id = t.item_id WHERE t.id = ?",
                              std::string_view{id});
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::nullopt;
  return model::StockTransfer{.id = id,
                              .item = {model::SaleId::trusted(cursor->text(0)), model::Sku::trusted(cursor->text(1))},
                              .from = static_cast<std::int32_t>(cursor->integer(2)),
                              .to = static_cast<std::int32_t>(cursor->integer(3)),
                              .units = cursor->integer(4),
                              .generation = static_cast<model::Generation>(cursor->integer(5)),
                              .at = cursor->integer(6)};
}

}  // namespace seckill::store::sqlite
