// Stock as it is, and whether a change of it was made before, by its id.
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {

base::Result<ItemStock> read_stock(Work& work, const model::ItemKey& item) {
  const auto about = find_item(work, item);
  if (!about) return std::unexpected(about.error());
  ItemStock stock{.total = about->total, .pool = about->pool, .lanes = {}};
  bool sound = true;
  const auto read = work.query(
      [&](const Row& row) {
        const auto lane = lane_from(row.integer(0));
        const auto generation = generation_from(row.integer(1));
        const ledger::LaneStock units{.available = row.integer(2), .held = row.integer(3), .sold = row.integer(4)};
        sound = sound && lane && generation && are_units({units.available, units.held, units.sold});
        if (sound) stock.lanes.push_back({.lane = *lane, .generation = *generation, .stock = units});
      },
      "SELECT lane, generation, available, held, sold FROM lane_stock WHERE item_id = ? ORDER BY lane", about->item_id);
  if (!read) return std::unexpected(read.error());
  if (!sound) return corrupt_row(work.doing(), "a stock row of " + item.text());
  return stock;
}

base::Result<ItemStock> MysqlStoreImpl::item_stock(const model::ItemKey& item) {
  const std::string doing = "reading the stock of " + item.text();
  return reads_.transaction(doing, [&](Work& work) { return read_stock(work, item); });
}

base::Result<std::optional<std::int64_t>> MysqlStoreImpl::pool_change(const model::ItemKey& item,
                                                                      const std::string& id) {
  const std::string doing = "looking up a stock change of " + item.text();
  return reads_.reading(doing, [&](Work& work) -> base::Result<std::optional<std::int64_t>> {
    std::optional<std::int64_t> units;
    const auto read = work.first([&](const Row& row) { units = row.integer(0); },
                                 "SELECT c.units FROM pool_change c JOIN sale_item i ON i.item_id = c.item_id "
                                 "WHERE i.sale = ? AND i.sku = ? AND c.id = ?",
                                 item.sale.view(), item.sku.view(), id);
    if (!read) return std::unexpected(read.error());
    return units;
  });
}

namespace {

std::optional<model::StockTransfer> transfer_from(const std::string& id, const Row& row) {
  const auto item = item_from(row.text(0), row.text(1));
  const std::int64_t from = row.integer(2);
  const std::int64_t to = row.integer(3);
  const auto is_end = [](std::int64_t place) {
    return place >= model::StockTransfer::pool && place < std::int64_t{base::limits::lanes_max};
  };
  // The record has one generation; between lanes it was the same of both when one process moved them.
  const auto generation = generation_from(from == model::StockTransfer::pool ? row.integer(6) : row.integer(5));
  if (!item || !generation || !is_end(from) || !is_end(to) || row.integer(4) < 1) return std::nullopt;
  return model::StockTransfer{.id = id,
                              .item = *item,
                              .from = static_cast<std::int32_t>(from),
                              .to = static_cast<std::int32_t>(to),
                              .units = row.integer(4),
                              .generation = *generation,
                              .at = row.integer(7)};
}

}  // namespace

base::Result<std::optional<model::StockTransfer>> MysqlStoreImpl::find_transfer(const std::string& id) {
  return reads_.reading("looking up a transfer", [&](Work& work) -> base::Result<std::optional<model::StockTransfer>> {
    std::optional<model::StockTransfer> transfer;
    // What was abandoned never moved: there is no committed transfer of that id.
    const auto found = work.first([&](const Row& row) { transfer = transfer_from(id, row); },
                                  "SELECT i.sale, i.sku, t.from_lane, t.to_lane, t.units, t.from_generation, "
                                  "t.to_generation, t.made_at FROM stock_transfer t "
                                  "JOIN sale_item i ON i.item_id = t.item_id WHERE t.id = ? AND t.state <> ?",
                                  id, TransferState::abandoned);
    if (!found) return std::unexpected(found.error());
    if (*found && !transfer) return corrupt_row(work.doing(), "a transfer");
    return transfer;
  });
}

}  // namespace seckill::store::mysql
