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
  const auto item = item_from(cursor->text(0), cursor->text(1));
  const auto generation = generation_from(cursor->integer(5));
  const auto is_end = [](std::int64_t place) {
    return place >= model::StockTransfer::pool && place < std::int64_t{base::limits::lanes_max};
  };
  if (!item || !generation || !is_end(cursor->integer(2)) || !is_end(cursor->integer(3)) || cursor->integer(4) < 1) {
    return corrupt_row(doing, "a transfer");
  }
  return model::StockTransfer{.id = id,
                              .item = *item,
                              .from = static_cast<std::int32_t>(cursor->integer(2)),
                              .to = static_cast<std::int32_t>(cursor->integer(3)),
                              .units = cursor->integer(4),
                              .generation = *generation,
                              .at = cursor->integer(6)};
}

}  // namespace seckill::store::sqlite
