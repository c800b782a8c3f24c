// Sales and their items: create, read, edit, state.
#include <fmt/format.h>

#include "store/mysql/sales_rows.hpp"
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, "\n")); }

// Sales with their items, each sale's rows one after another, in one statement.
base::Status collect(Work& work, std::vector<model::Sale>& sales, std::string_view sql, const auto&... args) {
  bool sound = true;
  const auto read = work.query(
      [&](const Row& row) {
        if (sales.empty() || sales.back().id.view() != row.text(0)) {
          auto sale = sale_from(row);
          sound = sound && sale;
          if (!sale) return;
          sales.push_back(std::move(*sale));
        }
        if (row.is_null(item_columns_at)) return;  // a sale without items
        auto item = sale_item_from(row);
        sound = sound && item;
        if (item) sales.back().items.push_back(std::move(*item));
      },
      sql, args...);
  if (!read) return read;
  if (!sound) return corrupt_row(work.doing(), "a sale or its item");
  return {};
}

base::Result<std::optional<model::Sale>> read_sale(Work& work, const model::SaleId& id) {
  static const std::string sql =
      fmt::format("SELECT {}, {} FROM sale s LEFT JOIN sale_item i ON i.sale = s.id WHERE s.id = ? ORDER BY i.item_id",
                  sale_columns, sale_item_columns);
  std::vector<model::Sale> found;
  if (auto read = collect(work, found, sql, id.view()); !read) return std::unexpected(read.error());
  if (found.empty()) return std::optional<model::Sale>{};
  return std::optional{std::move(found.front())};
}

base::Result<bool> sale_exists(Work& work, const model::SaleId& sale) {
  return work.first([](const Row&) {}, "SELECT 1 FROM sale WHERE id = ?", sale.view());
}

base::Status insert_item(Work& work, const model::Sale& sale, const model::SaleItem& item) {
  const auto inserted = work.run(
      "INSERT INTO sale_item (sale, sku, title, price_minor, list_price_minor, total, pool, reserve, limit_units, "
      "tickets_max, pay_window_ms, lanes, order_fields) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      sale.id.view(), item.sku.view(), item.title, item.price_minor, item.list_price_minor, item.total, item.total,
      item.reserve, item.limit, item.tickets_max, item.pay_window_ms, item.lanes, joined(item.order_fields));
  if (!inserted) return std::unexpected(inserted.error());
  return {};
}

// An item's terms may be what they were before: then no row changes, and only a reading tells whether it exists
// (FS-59).
base::Status update_item(Work& work, const model::Sale& sale, const model::SaleItem& item) {
  const auto changed = work.run(
      "UPDATE sale_item SET title = ?, price_minor = ?, list_price_minor = ?, limit_units = ?, tickets_max = ?, "
      "pay_window_ms = ? WHERE sale = ? AND sku = ?",
      item.title, item.price_minor, item.list_price_minor, item.limit, item.tickets_max, item.pay_window_ms,
      sale.id.view(), item.sku.view());
  if (!changed) return std::unexpected(changed.error());
  if (*changed > 0) return {};
  const auto there = work.first([](const Row&) {}, "SELECT 1 FROM sale_item WHERE sale = ? AND sku = ?", sale.id.view(),
                                item.sku.view());
  if (!there) return std::unexpected(there.error());
  if (!*there) return work.fail(Errc::not_found, "there is no item " + item.sku.str() + " in this sale");
  return {};
}

}  // namespace

base::Status write_audit(Work& work, const AuditEntry& audit) {
  const auto written = work.run("INSERT INTO audit (actor, action, detail, made_at) VALUES (?, ?, ?, ?)", audit.actor,
                                audit.action, audit.detail, audit.at);
  if (!written) return std::unexpected(written.error());
  return {};
}

base::Status MysqlStoreImpl::create_sale(const model::Sale& sale, const AuditEntry& audit) {
  const std::string doing = "creating sale " + sale.id.str();
  return operating_.transaction(doing, [&](Work& work) -> base::Status {
    const auto exists = sale_exists(work, sale.id);
    if (!exists) return std::unexpected(exists.error());
    if (*exists) return work.fail(Errc::already_exists, "a sale with this id exists");
    const std::string_view key{reinterpret_cast<const char*>(sale.ticket_key.data()), sale.ticket_key.size()};
    const auto inserted = work.run(
        "INSERT INTO sale (id, title, kind, currency, starts_at, ends_at, state, version, ticket_key, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        sale.id.view(), sale.title, sale.kind, sale.currency.view(), sale.starts_at, sale.ends_at,
        model::SaleState::draft, sale.version, key, sale.created_at);
    if (!inserted && inserted.error().code == Errc::constraint &&
        inserted.error().cause.find("uk_sale_id") != std::string::npos) {
      // Somebody else committed it since the reading.
      return work.fail(Errc::already_exists, "a sale with this id exists");
    }
    if (!inserted) return std::unexpected(inserted.error());
    for (const model::SaleItem& item : sale.items) {
      if (auto added = insert_item(work, sale, item); !added) return added;
    }
    return write_audit(work, audit);
  });
}

base::Result<model::Sale> MysqlStoreImpl::find_sale(const model::SaleId& id) {
  const std::string doing = "reading sale " + id.str();
  return reads_.reading(doing, [&](Work& work) -> base::Result<model::Sale> {
    auto sale = read_sale(work, id);
    if (!sale) return std::unexpected(sale.error());
    if (!*sale) return work.fail(Errc::not_found, "there is no such sale");
    return std::move(**sale);
  });
}

base::Result<std::vector<model::Sale>> MysqlStoreImpl::list_sales(std::int64_t limit) {
  static const std::string sql = fmt::format(
      "SELECT {}, {} FROM (SELECT * FROM sale ORDER BY sale_id DESC LIMIT ?) s LEFT JOIN sale_item i ON i.sale = s.id "
      "ORDER BY s.sale_id DESC, i.item_id",
      sale_columns, sale_item_columns);
  return reads_.reading("listing sales", [&](Work& work) -> base::Result<std::vector<model::Sale>> {
    std::vector<model::Sale> sales;
    if (auto read = collect(work, sales, sql, std::max<std::int64_t>(limit, 0)); !read) {
      return std::unexpected(read.error());
    }
    return sales;
  });
}

base::Status MysqlStoreImpl::update_sale(const model::Sale& sale, const AuditEntry& audit) {
  const std::string doing = "updating sale " + sale.id.str();
  return operating_.transaction(doing, [&](Work& work) -> base::Status {
    const auto exists = sale_exists(work, sale.id);
    if (!exists) return std::unexpected(exists.error());
    if (!*exists) return work.fail(Errc::not_found, "there is no such sale");
    const auto updated =
        work.run("UPDATE sale SET title = ?, starts_at = ?, ends_at = ?, version = ? WHERE id = ? AND version = ?",
                 sale.title, sale.starts_at, sale.ends_at, sale.version, sale.id.view(), sale.version - 1);
    if (!updated) return std::unexpected(updated.error());
    if (*updated != 1) return work.fail(Errc::stale, "the sale has another version by now; read it again");
    for (const model::SaleItem& item : sale.items) {
      if (auto changed = update_item(work, sale, item); !changed) return changed;
    }
    return write_audit(work, audit);
  });
}

base::Status MysqlStoreImpl::set_sale_state(const model::SaleId& sale, model::SaleState from, model::SaleState to,
                                            const AuditEntry& audit) {
  const std::string doing = "setting the state of sale " + sale.str();
  return operating_.transaction(doing, [&](Work& work) -> base::Status {
    const auto exists = sale_exists(work, sale);
    if (!exists) return std::unexpected(exists.error());
    if (!*exists) return work.fail(Errc::not_found, "there is no such sale");
    const auto updated =
        work.run("UPDATE sale SET state = ?, version = version + 1 WHERE id = ? AND state = ?", to, sale.view(), from);
    if (!updated) return std::unexpected(updated.error());
    if (*updated != 1) return work.fail(Errc::stale, fmt::format("the sale is no longer {}", model::name(from)));
    return write_audit(work, audit);
  });
}

}  // namespace seckill::store::mysql
