// The identities of one item in one snapshot: stock, orders, journal, buyers and payments against each other (DESIGN
// §9).
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

// Each question has the item's id as every one of its values.
constexpr std::string_view buyers_over_cap_sql = "SELECT count(*) FROM buyer_units WHERE item_id = ? AND units > cap";

// Buyers whose counter differs from their live orders (held or sold).
constexpr std::string_view buyer_units_mismatch_sql =
    "SELECT count(*) FROM (SELECT 1 FROM (SELECT buyer, units FROM buyer_units WHERE item_id = ? UNION ALL "
    "SELECT buyer, -units FROM seckill_order WHERE item_id = ? AND state IN (1, 3, 4, 5, 8)) counted "
    "GROUP BY buyer HAVING sum(units) <> 0) wrong";

// Expected hold: every row but a failed one; a discarded ticket (reason 4) was parked and held before. Expected end:
// post for paid and refunded, void for cancelled, expired and discarded, none while held.
constexpr std::string_view journal_mismatch_sql =
    "SELECT count(*) FROM seckill_order o LEFT JOIN stock_journal h ON h.entry_id = 2 * o.order_id "
    "LEFT JOIN stock_journal e ON e.entry_id = 2 * o.order_id + 1 WHERE o.item_id = ? AND ("
    "(h.entry_id IS NOT NULL) <> (o.state <> 2 OR o.reason = 4) OR coalesce(e.effect, 0) <> "
    "CASE WHEN o.state IN (5, 8) THEN 2 WHEN o.state IN (6, 7) OR (o.state = 2 AND o.reason = 4) THEN 3 ELSE 0 END "
    "OR coalesce(h.units, o.units) <> o.units OR coalesce(e.units, o.units) <> o.units "
    "OR coalesce(h.lane, o.lane) <> o.lane OR coalesce(e.lane, o.lane) <> o.lane "
    "OR coalesce(h.item_id, o.item_id) <> o.item_id OR coalesce(e.item_id, o.item_id) <> o.item_id)";

constexpr std::string_view lane_mismatch_sql =
    "SELECT count(*) FROM (SELECT 1 FROM (SELECT lane, held, sold FROM lane_stock WHERE item_id = ? UNION ALL "
    "SELECT lane, CASE WHEN state IN (1, 3, 4) THEN -units ELSE 0 END, CASE WHEN state IN (5, 8) THEN -units ELSE 0 "
    "END FROM seckill_order WHERE item_id = ?) counted GROUP BY lane HAVING sum(held) <> 0 OR sum(sold) <> 0) wrong";

constexpr std::string_view paid_without_payment_sql =
    "SELECT count(*) FROM seckill_order o WHERE o.item_id = ? AND o.state IN (5, 8) AND o.price_minor > 0 "
    "AND NOT EXISTS (SELECT 1 FROM payment p WHERE p.order_id = o.order_id)";

constexpr std::string_view payment_without_order_sql =
    "SELECT count(*) FROM payment p JOIN seckill_order o ON o.order_id = p.order_id WHERE o.item_id = ? "
    "AND p.state = 2 AND o.state NOT IN (5, 8)";

constexpr std::int64_t overdue_grace_ms = 5'000;
constexpr std::string_view overdue_sql =
    "SELECT count(*) FROM seckill_order FORCE INDEX (idx_seckill_order_due) "
    "WHERE state = 3 AND pay_before < ? AND item_id = ?";

base::Status count(Work& work, std::int64_t& into, std::string_view sql, std::int64_t item_id) {
  const std::vector<Value> values(static_cast<std::size_t>(std::ranges::count(sql, '?')), item_id);
  return work.query_values([&](const Row& row) { into = row.integer(0); }, sql, values);
}

base::Status count_orders(Work& work, std::int64_t item_id, ItemAudit& audit) {
  bool sound = true;
  const auto read = work.query(
      [&](const Row& row) {
        const auto state = model::order_state_from(row.integer(0));
        const std::int64_t units = row.integer(2);
        sound = sound && state && (model::is_ended(*state) || are_units({units}));
        if (!sound) return;
        audit.orders_by_state[static_cast<std::size_t>(*state)] = row.integer(1);
        if (model::is_ended(*state)) return;
        (model::is_held(*state) ? audit.orders_held_units : audit.orders_sold_units) += units;
      },
      "SELECT state, count(*), sum(units) FROM seckill_order WHERE item_id = ? GROUP BY state", item_id);
  if (!read) return read;
  if (!sound) return corrupt_row(work.doing(), "the state or units of an order");
  return {};
}

base::Result<ItemAudit> read_audit(Work& work, const model::ItemKey& key, base::UtcMs now) {
  const auto item = find_item(work, key);
  if (!item) return std::unexpected(item.error());
  auto stock = read_stock(work, key);
  if (!stock) return std::unexpected(stock.error());
  ItemAudit audit{.item = key, .stock = std::move(*stock)};
  if (auto counted = count_orders(work, item->item_id, audit); !counted) return std::unexpected(counted.error());
  struct Question {
    std::int64_t& answer;
    std::string_view sql;
  };
  const Question questions[] = {
      {.answer = audit.buyers_over_cap, .sql = buyers_over_cap_sql},
      {.answer = audit.buyer_units_mismatch, .sql = buyer_units_mismatch_sql},
      {.answer = audit.journal_mismatch, .sql = journal_mismatch_sql},
      {.answer = audit.lane_mismatch, .sql = lane_mismatch_sql},
      {.answer = audit.paid_without_payment, .sql = paid_without_payment_sql},
      {.answer = audit.payment_without_order, .sql = payment_without_order_sql},
  };
  for (const Question& question : questions) {
    if (auto counted = count(work, question.answer, question.sql, item->item_id); !counted) {
      return std::unexpected(counted.error());
    }
  }
  const auto overdue = work.query([&](const Row& row) { audit.overdue = row.integer(0); }, overdue_sql,
                                  now - overdue_grace_ms, item->item_id);
  if (!overdue) return std::unexpected(overdue.error());
  return audit;
}

}  // namespace

base::Result<ItemAudit> MysqlStoreImpl::audit_item(const model::ItemKey& item, base::UtcMs now) {
  const std::string doing = "auditing " + item.text();
  return reads_.transaction(doing, [&](Work& work) { return read_audit(work, item, now); });
}

}  // namespace seckill::store::mysql
