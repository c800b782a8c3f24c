// Sales and their items: create, read, edit, state; the log of changes.
#include <fmt/format.h>

#include <algorithm>

#include "simulation/devices/store/sim_database.hpp"
#include "simulation/devices/store/transaction.hpp"

namespace seckill::sim {

using base::Errc;

base::Status SimDatabase::create_sale(const model::Sale& sale, const store::AuditEntry& audit) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = "creating sale " + sale.id.str();
  Transaction work{tables_, doing};
  if (tables_.find(sale.id) != nullptr) return work.fail(Errc::already_exists, "a sale with this id exists");
  work.insert(tables_.sale_by_id, sale.id, tables_.sales.size());
  SaleRow& row = work.append(tables_.sales, {.sale = sale, .items = {}});
  row.sale.items.clear();
  row.sale.state = model::SaleState::draft;
  for (const model::SaleItem& item : sale.items) {
    const model::ItemKey key{.sale = sale.id, .sku = item.sku};
    if (tables_.find(key) != nullptr) return work.fail(Errc::constraint, "two items " + key.text());
    const std::size_t place = tables_.items.size();
    work.insert(tables_.item_by_key, key, place);
    ItemRow added;
    added.key = key;
    added.place = place;
    added.terms = item;
    added.pool = item.total;
    work.append(tables_.items, std::move(added));
    row.items.push_back(place);
  }
  write_audit(work, audit);
  work.commit();
  return {};
}

base::Result<model::Sale> SimDatabase::find_sale(const model::SaleId& sale) {
  const std::scoped_lock lock{mutex_};
  const SaleRow* row = tables_.find(sale);
  if (row == nullptr) return base::fail(Errc::not_found, "reading sale " + sale.str(), "there is no such sale");
  return tables_.whole(*row);
}

base::Result<std::vector<model::Sale>> SimDatabase::list_sales(std::int64_t limit) {
  const std::scoped_lock lock{mutex_};
  std::vector<model::Sale> sales;
  for (auto row = tables_.sales.rbegin(); row != tables_.sales.rend() && std::ssize(sales) < limit; ++row) {
    sales.push_back(tables_.whole(*row));
  }
  return sales;
}

base::Status SimDatabase::update_sale(const model::Sale& sale, const store::AuditEntry& audit) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = "updating sale " + sale.id.str();
  Transaction work{tables_, doing};
  SaleRow* row = tables_.find(sale.id);
  if (row == nullptr) return work.fail(Errc::not_found, "there is no such sale");
  if (row->sale.version != sale.version - 1) {
    return work.fail(Errc::stale, "the sale has another version by now; read it again");
  }
  work.set(row->sale.title, sale.title);
  work.set(row->sale.starts_at, sale.starts_at);
  work.set(row->sale.ends_at, sale.ends_at);
  work.set(row->sale.version, sale.version);
  for (const model::SaleItem& item : sale.items) {
    ItemRow* found = tables_.find({.sale = sale.id, .sku = item.sku});
    if (found == nullptr) return work.fail(Errc::not_found, "there is no item " + item.sku.str() + " in this sale");
    work.set(found->terms.title, item.title);
    work.set(found->terms.price_minor, item.price_minor);
    work.set(found->terms.list_price_minor, item.list_price_minor);
    work.set(found->terms.limit, item.limit);
    work.set(found->terms.tickets_max, item.tickets_max);
    work.set(found->terms.pay_window_ms, item.pay_window_ms);
  }
  write_audit(work, audit);
  work.commit();
  return {};
}

base::Status SimDatabase::set_sale_state(const model::SaleId& sale, model::SaleState from, model::SaleState to,
                                         const store::AuditEntry& audit) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = "setting the state of sale " + sale.str();
  Transaction work{tables_, doing};
  SaleRow* row = tables_.find(sale);
  if (row == nullptr) return work.fail(Errc::not_found, "there is no such sale");
  if (row->sale.state != from) {
    return work.fail(Errc::stale, fmt::format("the sale is no longer {}", model::name(from)));
  }
  work.set(row->sale.state, to);
  work.set(row->sale.version, row->sale.version + 1);
  write_audit(work, audit);
  work.commit();
  return {};
}

base::Result<std::vector<store::AuditRow>> SimDatabase::audit_log(std::int64_t before_id, std::int64_t limit) {
  const std::scoped_lock lock{mutex_};
  const std::int64_t last = std::ssize(tables_.audit);
  std::vector<store::AuditRow> rows;
  for (std::int64_t id = before_id > 0 ? std::min(before_id - 1, last) : last; id > 0; --id) {
    if (std::ssize(rows) == limit) break;
    rows.push_back({.id = id, .entry = tables_.audit[static_cast<std::size_t>(id - 1)]});
  }
  return rows;
}

base::Status SimDatabase::append_audit(const store::AuditEntry& audit) {
  const std::scoped_lock lock{mutex_};
  Transaction work{tables_, "writing the audit log"};
  write_audit(work, audit);
  work.commit();
  return {};
}

base::Status SimDatabase::backup(const std::string& path) {
  const std::scoped_lock lock{mutex_};
  if (files_ == nullptr) return base::fail(Errc::unavailable, "backing up to " + path, "there is no place for files");
  if (!path.starts_with("backup/")) return base::fail(Errc::unavailable, "backing up to " + path, "no such folder");
  if (!files_->emplace(path, tables_).second) {
    return base::fail(Errc::already_exists, "backing up to " + path, "a file of this name exists");
  }
  return {};
}

}  // namespace seckill::sim
