// The identities of one item in one snapshot: stock, orders, journal, buyers and payments against each other (DESIGN
// §9).
#include <fmt/format.h>

#include "store/sqlite/store_impl.hpp"

namespace seckill::store::sqlite {
namespace {

// Buyers whose counter differs from their live orders (held or sold).
constexpr std::string_view buyer_units_mismatch_sql =
    "SELECT count(*) FROM (SELECT 1 FROM (SELECT buyer, units FROM buyer_units WHERE item_id = ?1 UNION ALL "
    "SELECT buyer, -units FROM seckill_order WHERE item_id = ?1 AND +state IN (1, 3, 4, 5, 8)) "
    "GROUP BY buyer HAVING sum(units) <> 0)";

// Expected hold: every row but a failed one; a discarded ticket (reason 4) was parked and held before. Expected end:
// post for paid and refunded, void for cancelled, expired and discarded, none while held.
constexpr std::string_view journal_mismatch_sql =
    "SELECT count(*) FROM seckill_order o LEFT JOIN stock_journal h ON h.entry_id = 2 * o.order_id "
    "LEFT JOIN stock_journal e ON e.entry_id = 2 * o.order_id + 1 WHERE o.item_id = ?1 AND ("
    "(h.entry_id IS NOT NULL) <> (o.state <> 2 OR o.reason = 4) OR coalesce(e.effect, 0) <> "
    "CASE WHEN o.state IN (5, 8) THEN 2 WHEN o.state IN (6, 7) OR (o.state = 2 AND o.reason = 4) THEN 3 ELSE 0 END "
    "OR coalesce(h.units, o.units) <> o.units OR coalesce(e.units, o.units) <> o.units "
    "OR coalesce(h.lane, o.lane) <> o.lane OR coalesce(e.lane, o.lane) <> o.lane "
    "OR coalesce(h.item_id, o.item_id) <> o.item_id OR coalesce(e.item_id, o.item_id) <> o.item_id)";

constexpr std::string_view lane_mismatch_sql =
    "SELECT count(*) FROM (SELECT 1 FROM (SELECT lane, held, sold FROM lane_stock WHERE item_id = ?1 UNION ALL "
    "SELECT lane, CASE WHEN +state IN (1, 3, 4) THEN -units ELSE 0 END, CASE WHEN +state IN (5, 8) THEN -units ELSE 0 "
    "END "
    "FROM seckill_order WHERE item_id = ?1) GROUP BY lane HAVING sum(held) <> 0 OR sum(sold) <> 0)";

base::Status count(Connection& db, std::string_view doing, std::int64_t& into, std::string_view sql,
                   const auto&... args) {
  auto cursor = db.query(doing, sql, args...);
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  into = *row ? cursor->integer(0) : 0;
  return {};
}

base::Status count_orders(Connection& db, std::string_view doing, std::int64_t item_id, ItemAudit& audit) {
  auto cursor = db.query(
      doing, "SELECT state, count(*), sum(units) FROM seckill_order WHERE item_id = ? GROUP BY state", item_id);
  if (!cursor) return std::unexpected(cursor.error());
  for (;;) {
    const auto row = cursor->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    const auto state = model::order_state_from(cursor->integer(0));
    if (!state) return corrupt_row(doing, "the state of an order");
    audit.orders_by_state[static_cast<std::size_t>(*state)] = cursor->integer(1);
    if (model::is_ended(*state)) continue;
    if (!are_units({cursor->integer(2)})) return corrupt_row(doing, "the units of an order");
    (model::is_held(*state) ? audit.orders_held_units : audit.orders_sold_units) += cursor->integer(2);
  }
}

}  // namespace

base::Result<ItemStock> read_stock(Connection& db, std::string_view doing, const model::ItemKey& item) {
  auto about = db.query(doing, "SELECT item_id, total, pool FROM sale_item WHERE sale = ? AND sku = ?",
                        item.sale.view(), item.sku.view());
  if (!about) return std::unexpected(about.error());
  const auto found = about->next();
  if (!found) return std::unexpected(found.error());
  if (!*found) return base::fail(base::Errc::not_found, std::string{doing}, "there is no item " + item.text());
  if (!are_units({about->integer(1), about->integer(2)})) return corrupt_row(doing, "the units of " + item.text());
  ItemStock stock{.total = about->integer(1), .pool = about->integer(2), .lanes = {}};
  auto cursor =
      db.query(doing, "SELECT lane, generation, available, held, sold FROM lane_stock WHERE item_id = ? ORDER BY lane",
               about->integer(0));
  if (!cursor) return std::unexpected(cursor.error());
  for (;;) {
    const auto row = cursor->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return stock;
    const auto lane = lane_from(cursor->integer(0));
    const auto generation = generation_from(cursor->integer(1));
    if (!lane || !generation || !are_units({cursor->integer(2), cursor->integer(3), cursor->integer(4)})) {
      return corrupt_row(doing, "a stock row of " + item.text());
    }
    stock.lanes.push_back(
        {.lane = *lane,
         .generation = *generation,
         .stock = {.available = cursor->integer(2), .held = cursor->integer(3), .sold = cursor->integer(4)}});
  }
}

base::Result<ItemAudit> SqliteStore::audit_item(const model::ItemKey& item, base::UtcMs now) {
  const std::string doing = "auditing " + item.text();
  const auto reader = readers_.borrow();
  Connection& db = *reader;
  auto snapshot = Transaction::begin(db, Transaction::Kind::read, doing);
  if (!snapshot) return std::unexpected(snapshot.error());
  const auto item_id = find_item_id(db, doing, item);
  if (!item_id) return std::unexpected(item_id.error());
  auto stock = read_stock(db, doing, item);
  if (!stock) return std::unexpected(stock.error());
  ItemAudit audit{.item = item, .stock = std::move(*stock)};
  if (auto counted = count_orders(db, doing, *item_id, audit); !counted) return std::unexpected(counted.error());
  struct Question {
    std::int64_t& answer;
    std::string_view sql;
  };
  const Question questions[] = {
      {audit.buyers_over_cap, "SELECT count(*) FROM buyer_units WHERE item_id = ?1 AND units > cap"},
      {audit.buyer_units_mismatch, buyer_units_mismatch_sql},
      {audit.journal_mismatch, journal_mismatch_sql},
      {audit.lane_mismatch, lane_mismatch_sql},
      {audit.paid_without_payment,
       "SELECT count(*) FROM seckill_order o WHERE o.item_id = ?1 AND +o.state IN (5, 8) AND o.price_minor > 0 "
       "AND NOT EXISTS (SELECT 1 FROM payment p WHERE p.order_id = o.order_id)"},
      {audit.payment_without_order,
       "SELECT count(*) FROM payment p JOIN seckill_order o ON o.order_id = p.order_id WHERE o.item_id = ?1 "
       "AND p.state = 2 AND o.state NOT IN (5, 8)"},
  };
  for (const Question& question : questions) {
    if (auto counted = count(db, doing, question.answer, question.sql, *item_id); !counted) {
      return std::unexpected(counted.error());
    }
  }
  constexpr std::int64_t overdue_grace_ms = 5'000;
  const auto overdue = count(db, doing, audit.overdue,
                             "SELECT count(*) FROM seckill_order INDEXED BY idx_seckill_order_due "
                             "WHERE state = 3 AND pay_before < ?1 AND item_id = ?2",
                             now - overdue_grace_ms, *item_id);
  if (!overdue) return std::unexpected(overdue.error());
  return audit;
}

}  // namespace seckill::store::sqlite
