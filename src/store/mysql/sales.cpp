// Sales and their items: create, read, edit, state.
#include <fmt/format.h>

#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;

constexpr std::string_view sale_columns =
    "id, title, kind, currency, starts_at, ends_at, state, version, ticket_key, created_at";

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, "\n")); }

std::vector<std::string> split(std::string_view lines) {
  std::vector<std::string> names;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    names.emplace_back(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return names;
}

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

// What the schema's CHECKs say of an item's numbers, and what fits the types they are read into.
bool are_terms(const Row& row) noexcept {
  const auto within = [&](std::size_t column, std::int64_t low, std::int64_t high) {
    return row.integer(column) >= low && row.integer(column) <= high;
  };
  return are_units({row.integer(4), row.integer(5)}) && within(2, 0, INT64_MAX) && within(3, 0, INT64_MAX) &&
         within(6, 1, base::limits::limit_max) && within(7, 1, UINT32_MAX) && within(8, 1, INT64_MAX) &&
         within(9, 0, base::limits::lanes_max);
}

std::optional<model::SaleItem> sale_item_from(const Row& row) {
  const auto sku = model::Sku::parse(row.text(0));
  if (!sku || !are_terms(row)) return std::nullopt;
  return model::SaleItem{.sku = *sku,
                         .title = std::string{row.text(1)},
                         .price_minor = row.integer(2),
                         .list_price_minor = row.integer(3),
                         .total = row.integer(4),
                         .reserve = row.integer(5),
                         .limit = row.integer(6),
                         .tickets_max = static_cast<std::uint32_t>(row.integer(7)),
                         .pay_window_ms = row.integer(8),
                         .lanes = static_cast<std::uint32_t>(row.integer(9)),
                         .order_fields = split(row.text(10))};
}

base::Status read_items(Work& work, model::Sale& sale) {
  bool sound = true;
  const auto read = work.query(
      [&](const Row& row) {
        auto item = sale_item_from(row);
        sound = sound && item.has_value();
        if (item) sale.items.push_back(std::move(*item));
      },
      "SELECT sku, title, price_minor, list_price_minor, total, reserve, limit_units, tickets_max, pay_window_ms, "
      "lanes, order_fields FROM sale_item WHERE sale = ? ORDER BY item_id",
      sale.id.view());
  if (!read) return read;
  if (!sound) return corrupt_row(work.doing(), "an item of sale " + sale.id.str());
  return {};
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

base::Result<std::optional<model::Sale>> read_sale(Work& work, const model::SaleId& id) {
  static const std::string sql = fmt::format("SELECT {} FROM sale WHERE id = ?", sale_columns);
  std::optional<model::Sale> sale;
  const auto found = work.first([&](const Row& row) { sale = sale_from(row); }, sql, id.view());
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::optional<model::Sale>{};
  if (!sale) return corrupt_row(work.doing(), "a sale");
  if (auto items = read_items(work, *sale); !items) return std::unexpected(items.error());
  return sale;
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
  return reads_.transaction(doing, [&](Work& work) -> base::Result<model::Sale> {
    auto sale = read_sale(work, id);
    if (!sale) return std::unexpected(sale.error());
    if (!*sale) return work.fail(Errc::not_found, "there is no such sale");
    return std::move(**sale);
  });
}

base::Result<std::vector<model::Sale>> MysqlStoreImpl::list_sales(std::int64_t limit) {
  return reads_.transaction("listing sales", [&](Work& work) -> base::Result<std::vector<model::Sale>> {
    static const std::string sql = fmt::format("SELECT {} FROM sale ORDER BY sale_id DESC LIMIT ?", sale_columns);
    std::vector<model::Sale> sales;
    bool sound = true;
    const auto read = work.query(
        [&](const Row& row) {
          auto sale = sale_from(row);
          sound = sound && sale.has_value();
          if (sale) sales.push_back(std::move(*sale));
        },
        sql, std::max<std::int64_t>(limit, 0));
    if (!read) return std::unexpected(read.error());
    if (!sound) return corrupt_row(work.doing(), "a sale");
    for (model::Sale& sale : sales) {
      if (auto items = read_items(work, sale); !items) return std::unexpected(items.error());
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
