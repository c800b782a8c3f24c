// What nodes and the leader read each second: terms, and which generation of each lane is true. One statement, which is
// one consistent reading and one round trip, whether of an item or of a sale.
#include <fmt/format.h>

#include <algorithm>

#include "store/mysql/authority_rows.hpp"
#include "store/mysql/sales_rows.hpp"
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;

// The first half has the sale's items with the sale, the second the stock rows of the lanes asked for; each has NULL
// where the other has its columns. In one join of the two every lane's row would carry the texts of sale and item.
std::string statement(std::string_view lanes_asked_for) {
  std::string nulls;
  for (std::size_t i = 0; i < behind_item_columns; ++i) nulls += "NULL, ";
  return fmt::format(
      "SELECT {}, {}, i.item_id, i.pool, i.wanted, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL "
      "FROM sale s JOIN sale_item i ON i.sale = s.id WHERE s.id = ? "
      "UNION ALL SELECT {}i.item_id, NULL, NULL, {} "
      "FROM sale_item i JOIN lane_stock l ON l.item_id = i.item_id WHERE i.sale = ?{}",
      sale_columns, sale_item_columns, nulls, authority_columns, lanes_asked_for);
}
constexpr std::size_t item_id_at = behind_item_columns;
constexpr std::size_t lane_columns_at = item_id_at + 3;

// What the statement's rows say, in whatever order they come.
struct Read {
  struct Item {
    std::int64_t item_id = 0;
    model::SaleItem terms;
    std::int64_t pool = 0;
    LaneState wanted = LaneState::lane;
    std::vector<LaneAuthorityRow> lanes;
  };
  struct Lane {
    std::int64_t item_id = 0;
    LaneAuthorityRow row;
  };
  std::optional<model::Sale> sale;
  std::vector<Item> items;
  std::vector<Lane> lanes;
  bool sound = true;

  void add_item(const Row& row) {
    auto terms = sale_item_from(row);
    const auto wanted = lane_state_from(row.integer(item_id_at + 2));
    const std::int64_t pool = row.integer(item_id_at + 1);
    if (!sale) sale = sale_from(row);
    sound = sound && sale && terms && wanted && are_units({pool});
    if (!sound) return;
    items.push_back(
        {.item_id = row.integer(item_id_at), .terms = std::move(*terms), .pool = pool, .wanted = *wanted, .lanes = {}});
  }
  void add_lane(const Row& row) {
    auto lane = authority_row_from(row, lane_columns_at);
    sound = sound && lane;
    if (lane) lanes.push_back({.item_id = row.integer(item_id_at), .row = std::move(*lane)});
  }
  // Items as they were created, lanes ascending. False: a lane's item is missing.
  [[nodiscard]] bool put_together() {
    std::ranges::sort(items, {}, &Item::item_id);
    std::ranges::sort(lanes, {}, [](const Lane& lane) { return std::pair{lane.item_id, lane.row.row.lane}; });
    for (Lane& lane : lanes) {
      const auto item = std::ranges::lower_bound(items, lane.item_id, {}, &Item::item_id);
      if (item == items.end() || item->item_id != lane.item_id) return false;
      item->lanes.push_back(std::move(lane.row));
    }
    if (sale) {
      for (const Item& item : items) sale->items.push_back(item.terms);
    }
    return true;
  }
  [[nodiscard]] ItemAuthority authority(Item& item) const {
    return {
        .sku = item.terms.sku, .sale = *sale, .pool = item.pool, .lanes = std::move(item.lanes), .wanted = item.wanted};
  }
};

template <typename... Asked>
base::Status read(Work& work, Read& into, std::string_view sql, const model::SaleId& sale, const Asked&... asked) {
  const auto got = work.query(
      [&](const Row& row) {
        if (row.is_null(0)) {
          into.add_lane(row);
        } else {
          into.add_item(row);
        }
      },
      sql, sale.view(), sale.view(), asked...);
  if (!got) return got;
  if (!into.sound || !into.put_together()) return corrupt_row(work.doing(), "an item or a stock row");
  return {};
}

}  // namespace

base::Result<ItemAuthority> MysqlStoreImpl::item_authority(const model::ItemKey& item) {
  static const std::string sql = statement(" AND i.sku = ?");
  const std::string doing = "reading the authority on " + item.text();
  return reads_.reading(doing, [&](Work& work) -> base::Result<ItemAuthority> {
    Read rows;
    if (auto got = read(work, rows, sql, item.sale, item.sku.view()); !got) return std::unexpected(got.error());
    const auto asked =
        std::ranges::find(rows.items, item.sku.view(), [](const Read::Item& one) { return one.terms.sku.view(); });
    if (asked == rows.items.end()) return work.fail(Errc::not_found, "there is no such item");
    return rows.authority(*asked);
  });
}

base::Result<std::vector<ItemAuthority>> MysqlStoreImpl::sale_authority(const model::SaleId& sale) {
  static const std::string sql = statement("");
  const std::string doing = "reading the authority on sale " + sale.str();
  return reads_.reading(doing, [&](Work& work) -> base::Result<std::vector<ItemAuthority>> {
    Read rows;
    if (auto got = read(work, rows, sql, sale); !got) return std::unexpected(got.error());
    if (!rows.sale) return work.fail(Errc::not_found, "there is no such sale, or it has no items");
    std::vector<ItemAuthority> items;
    for (Read::Item& item : rows.items) items.push_back(rows.authority(item));
    return items;
  });
}

}  // namespace seckill::store::mysql
