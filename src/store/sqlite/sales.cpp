// Sales and their items: create, read, edit, state.
#include <fmt/format.h>

#include "base/assert.hpp"
#include "store/sqlite/store_impl.hpp"

namespace seckill::store::sqlite {
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

base::Result<model::Sale> sale_from(const Cursor& row, std::string_view doing) {
  const auto kind = model::sale_kind_from(row.integer(2));
  const auto currency = model::Currency::parse(row.text(3));
  const auto state = model::sale_state_from(row.integer(6));
  const auto key = row.blob(8);
  const auto id = model::SaleId::parse(row.text(0));
  model::Sale sale;
  if (!id || !kind || !currency || !state || key.size() != sale.ticket_key.size()) return corrupt_row(doing, "a sale");
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
bool are_terms(const Cursor& row) noexcept {
  const auto within = [&](int column, std::int64_t low, std::int64_t high) {
    return row.integer(column) >= low && row.integer(column) <= high;
  };
  return are_units({row.integer(4), row.integer(5)}) && within(2, 0, INT64_MAX) && within(3, 0, INT64_MAX) &&
         within(6, 1, base::limits::limit_max) && within(7, 1, UINT32_MAX) && within(8, 1, INT64_MAX) &&
         within(9, 0, base::limits::lanes_max);
}

base::Status read_items(Connection& db, std::string_view doing, model::Sale& sale) {
  auto cursor = db.query(doing,
                         "SELECT sku, title, price_minor, list_price_minor, total, reserve, limit_units, tickets_max, "
                         "pay_window_ms, lanes, order_fields FROM sale_item WHERE sale = ? ORDER BY item_id",
                         sale.id.view());
  if (!cursor) return std::unexpected(cursor.error());
  for (;;) {
    const auto row = cursor->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    const auto sku = model::Sku::parse(cursor->text(0));
    if (!sku || !are_terms(*cursor)) return corrupt_row(doing, "an item of sale " + sale.id.str());
    sale.items.push_back({.sku = *sku,
                          .title = std::string{cursor->text(1)},
                          .price_minor = cursor->integer(2),
                          .list_price_minor = cursor->integer(3),
                          .total = cursor->integer(4),
                          .reserve = cursor->integer(5),
                          .limit = cursor->integer(6),
                          .tickets_max = static_cast<std::uint32_t>(cursor->integer(7)),
                          .pay_window_ms = cursor->integer(8),
                          .lanes = static_cast<std::uint32_t>(cursor->integer(9)),
                          .order_fields = split(cursor->text(10))});
  }
}

base::Result<bool> sale_exists(WriteWork& work, const model::SaleId& sale) {
  auto cursor = work.query("SELECT 1 FROM sale WHERE id = ?", sale.view());
  if (!cursor) return std::unexpected(cursor.error());
  return cursor->next();
}

base::Status insert_item(WriteWork& work, const model::Sale& sale, const model::SaleItem& item) {
  const auto inserted = work.run(
      "INSERT INTO sale_item (sale, sku, title, price_minor, list_price_minor, total, pool, reserve, limit_units, "
      "tickets_max, pay_window_ms, lanes, order_fields) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      sale.id.view(), item.sku.view(), std::string_view{item.title}, item.price_minor, item.list_price_minor,
      item.total, item.total, item.reserve, item.limit, std::int64_t{item.tickets_max}, item.pay_window_ms,
      std::int64_t{item.lanes}, std::string_view{joined(item.order_fields)});
  if (!inserted) return std::unexpected(inserted.error());
  return {};
}

}  // namespace

base::Status write_audit(WriteWork& work, const AuditEntry& audit) {
  const auto written =
      work.run("INSERT INTO audit (actor, action, detail, made_at) VALUES (?, ?, ?, ?)", std::string_view{audit.actor},
               std::string_view{audit.action}, std::string_view{audit.detail}, audit.at);
  if (!written) return std::unexpected(written.error());
  return {};
}

base::Status SqliteStore::create_sale(const model::Sale& sale, const AuditEntry& audit) {
  const std::string doing = "creating sale " + sale.id.str();
  auto work = begin_write(doing);
  if (!work) return std::unexpected(work.error());
  const auto exists = sale_exists(*work, sale.id);
  if (!exists) return std::unexpected(exists.error());
  if (*exists) return work->fail(Errc::already_exists, "a sale with this id exists");
  const auto inserted = work->run(
      "INSERT INTO sale (id, title, kind, currency, starts_at, ends_at, state, version, ticket_key, created_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      sale.id.view(), std::string_view{sale.title}, static_cast<std::int64_t>(sale.kind), sale.currency.view(),
      sale.starts_at, sale.ends_at, static_cast<std::int64_t>(model::SaleState::draft), sale.version,
      Blob{sale.ticket_key}, sale.created_at);
  if (!inserted) return std::unexpected(inserted.error());
  for (const model::SaleItem& item : sale.items) {
    if (auto added = insert_item(*work, sale, item); !added) return added;
  }
  if (auto audited = write_audit(*work, audit); !audited) return audited;
  return work->commit();
}

base::Result<model::Sale> SqliteStore::find_sale(const model::SaleId& id) {
  const std::string doing = "reading sale " + id.str();
  const auto reader = readers_.borrow();
  auto snapshot = Transaction::begin(*reader, Transaction::Kind::read, doing);
  if (!snapshot) return std::unexpected(snapshot.error());
  auto cursor = reader->query(doing, fmt::format("SELECT {} FROM sale WHERE id = ?", sale_columns), id.view());
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return base::fail(Errc::not_found, doing, "there is no such sale");
  auto sale = sale_from(*cursor, doing);
  if (!sale) return sale;
  if (auto items = read_items(*reader, doing, *sale); !items) return std::unexpected(items.error());
  return sale;
}

base::Result<std::vector<model::Sale>> SqliteStore::list_sales(std::int64_t limit) {
  constexpr std::string_view doing = "listing sales";
  const auto reader = readers_.borrow();
  auto snapshot = Transaction::begin(*reader, Transaction::Kind::read, doing);
  if (!snapshot) return std::unexpected(snapshot.error());
  auto cursor =
      reader->query(doing, fmt::format("SELECT {} FROM sale ORDER BY sale_id DESC LIMIT ?", sale_columns), limit);
  if (!cursor) return std::unexpected(cursor.error());
  std::vector<model::Sale> sales;
  for (;;) {
    const auto row = cursor->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return sales;
    auto sale = sale_from(*cursor, doing);
    if (!sale) return std::unexpected(sale.error());
    if (auto items = read_items(*reader, doing, *sale); !items) return std::unexpected(items.error());
    sales.push_back(std::move(*sale));
  }
}

base::Status SqliteStore::update_sale(const model::Sale& sale, const AuditEntry& audit) {
  const std::string doing = "updating sale " + sale.id.str();
  auto work = begin_write(doing);
  if (!work) return std::unexpected(work.error());
  const auto exists = sale_exists(*work, sale.id);
  if (!exists) return std::unexpected(exists.error());
  if (!*exists) return work->fail(Errc::not_found, "there is no such sale");
  const auto updated = work->run(
      "UPDATE sale SET title = ?, starts_at = ?, ends_at = ?, version = ? WHERE id = ? AND version = ?",
      std::string_view{sale.title}, sale.starts_at, sale.ends_at, sale.version, sale.id.view(), sale.version - 1);
  if (!updated) return std::unexpected(updated.error());
  if (*updated != 1) return work->fail(Errc::stale, "the sale has another version by now; read it again");
  for (const model::SaleItem& item : sale.items) {
    const auto changed = work->run(
        "UPDATE sale_item SET title = ?, price_minor = ?, list_price_minor = ?, limit_units = ?, tickets_max = ?, "
        "pay_window_ms = ? WHERE sale = ? AND sku = ?",
        std::string_view{item.title}, item.price_minor, item.list_price_minor, item.limit,
        std::int64_t{item.tickets_max}, item.pay_window_ms, sale.id.view(), item.sku.view());
    if (!changed) return std::unexpected(changed.error());
    if (*changed != 1) return work->fail(Errc::not_found, "there is no item " + item.sku.str() + " in this sale");
  }
  if (auto audited = write_audit(*work, audit); !audited) return audited;
  return work->commit();
}

base::Status SqliteStore::set_sale_state(const model::SaleId& sale, model::SaleState from, model::SaleState to,
                                         const AuditEntry& audit) {
  const std::string doing = "setting the state of sale " + sale.str();
  auto work = begin_write(doing);
  if (!work) return std::unexpected(work.error());
  const auto exists = sale_exists(*work, sale);
  if (!exists) return std::unexpected(exists.error());
  if (!*exists) return work->fail(Errc::not_found, "there is no such sale");
  const auto updated = work->run("UPDATE sale SET state = ?, version = version + 1 WHERE id = ? AND state = ?",
                                 static_cast<std::int64_t>(to), sale.view(), static_cast<std::int64_t>(from));
  if (!updated) return std::unexpected(updated.error());
  if (*updated != 1) return work->fail(Errc::stale, fmt::format("the sale is no longer {}", model::name(from)));
  if (auto audited = write_audit(*work, audit); !audited) return audited;
  return work->commit();
}

}  // namespace seckill::store::sqlite
