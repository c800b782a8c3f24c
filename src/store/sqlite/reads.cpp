// Reading orders and tickets. Every answer comes from committed rows on a read connection.
#include <fmt/format.h>

#include <algorithm>

#include "store/sqlite/store_impl.hpp"

namespace seckill::store::sqlite {
namespace {

using base::Errc;
using model::OrderState;

constexpr std::string_view order_columns =
    "o.order_id, o.ticket, i.sale, i.sku, o.buyer, o.request_id, o.digest, o.lane, o.units, o.price_minor, "
    "o.amount_minor, o.currency, o.state, o.reason, o.admitted_at, o.landed_at, o.pay_before, o.ended_at, o.fields";

// An order with its place in the order of landing.
struct PlacedOrder {
  std::int64_t order_id = 0;
  Order order;
};

// Units, price and amount as the schema's CHECKs have them: a failed row may record that there were no units.
bool are_amounts(const Cursor& row, OrderState state) noexcept {
  return (row.integer(8) >= 1 || state == OrderState::failed) && row.integer(9) >= 0 && row.integer(10) >= 0;
}

base::Result<PlacedOrder> order_from(const Cursor& row, std::string_view doing) {
  const auto ticket = ticket_from(row.blob(1), doing);
  if (!ticket) return std::unexpected(ticket.error());
  const auto state = model::order_state_from(row.integer(12));
  const auto reason = model::fail_reason_from(row.integer(13));
  const auto currency = model::Currency::parse(row.text(11));
  const auto item = item_from(row.text(2), row.text(3));
  const auto buyer = model::BuyerId::stored(row.text(4));
  const auto request_id = model::RequestId::stored(row.text(5));
  const auto lane = lane_from(row.integer(7));
  if (!state || !reason || !currency || !item || !buyer || !request_id || !lane || !are_amounts(row, *state)) {
    return corrupt_row(doing, "ticket " + ticket->str());
  }
  const bool awaited = *state == OrderState::awaiting_payment || *state == OrderState::closing;
  return PlacedOrder{
      .order_id = row.integer(0),
      .order = {.ticket = *ticket,
                .item = *item,
                .buyer = *buyer,
                .request_id = *request_id,
                .digest = static_cast<std::uint64_t>(row.integer(6)),
                .lane = *lane,
                .units = row.integer(8),
                .price_minor = row.integer(9),
                .amount_minor = row.integer(10),
                .currency = *currency,
                .state = *state,
                .reason = *reason,
                .admitted_at = row.integer(14),
                .landed_at = row.integer(15),
                // The column keeps the deadline that was; the order has one only while a payment is awaited.
                .pay_before = awaited ? row.integer(16) : 0,
                .ended_at = row.integer(17),
                .fields = std::string{row.text(18)}}};
}

base::Status collect(base::Result<Cursor> cursor, std::string_view doing, std::vector<PlacedOrder>& into) {
  if (!cursor) return std::unexpected(cursor.error());
  for (;;) {
    const auto row = cursor->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    auto order = order_from(*cursor, doing);
    if (!order) return std::unexpected(order.error());
    into.push_back(std::move(*order));
  }
}

// States that idx_seckill_order_rare holds. The state stands in the text, not in an argument: only so can SQLite prove
// that a partial index applies. At most one text a state.
bool is_rare(OrderState state) noexcept {
  return state == OrderState::parked || state == OrderState::failed || state == OrderState::closing ||
         state == OrderState::refunded;
}

// "+" keeps a common state from choosing the deadline index and sorting most of the table.
std::string state_clause(const std::optional<OrderState>& state) {
  if (!state) return "";
  return fmt::format(" AND {}o.state = {}", is_rare(*state) ? "" : "+", static_cast<int>(*state));
}

constexpr std::string_view newest_first = " AND o.order_id < ? ORDER BY o.order_id DESC LIMIT ?";

base::Result<std::vector<std::int64_t>> item_ids_of(Connection& db, std::string_view doing, const model::SaleId& sale) {
  auto cursor = db.query(doing, "SELECT item_id FROM sale_item WHERE sale = ?", sale.view());
  if (!cursor) return std::unexpected(cursor.error());
  std::vector<std::int64_t> ids;
  for (;;) {
    const auto row = cursor->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return ids;
    ids.push_back(cursor->integer(0));
  }
}

// A buyer has few orders (tickets_max an item), so his key finds them and they are sorted.
base::Status collect_of_buyer(Connection& db, std::string_view doing, const OrderQuery& query, std::int64_t before,
                              std::int64_t limit, std::vector<PlacedOrder>& into) {
  const std::string sql = fmt::format(
      "SELECT {} FROM seckill_order o INDEXED BY uk_seckill_order_request JOIN sale_item i ON i.item_id = o.item_id "
      "WHERE o.buyer = ?{}{}{}",
      order_columns, query.sale ? " AND i.sale = ?" : "",
      query.state ? fmt::format(" AND +o.state = {}", static_cast<int>(*query.state)) : "", newest_first);
  if (query.sale)
    return collect(db.query(doing, sql, query.buyer->view(), query.sale->view(), before, limit), doing, into);
  return collect(db.query(doing, sql, query.buyer->view(), before, limit), doing, into);
}

// The newest of each item in turn, merged by the caller: each is read through its item's index and no further.
base::Status collect_of_sale(Connection& db, std::string_view doing, const OrderQuery& query, std::int64_t before,
                             std::int64_t limit, std::vector<PlacedOrder>& into) {
  const auto items = item_ids_of(db, doing, *query.sale);
  if (!items) return std::unexpected(items.error());
  const bool rare = query.state && is_rare(*query.state);
  const std::string sql = fmt::format(
      "SELECT {} FROM seckill_order o INDEXED BY {} CROSS JOIN sale_item i ON i.item_id = o.item_id "
      "WHERE {}o.item_id = ?{}{}",
      order_columns, rare ? "idx_seckill_order_rare" : "idx_seckill_order_item", rare ? "+" : "",
      state_clause(query.state), newest_first);
  for (const std::int64_t item_id : *items) {
    if (auto got = collect(db.query(doing, sql, item_id, before, limit), doing, into); !got) return got;
  }
  return {};
}

base::Status collect_any(Connection& db, std::string_view doing, const OrderQuery& query, std::int64_t before,
                         std::int64_t limit, std::vector<PlacedOrder>& into) {
  const bool rare = query.state && is_rare(*query.state);
  const std::string sql = fmt::format(
      "SELECT {} FROM seckill_order o {} CROSS JOIN sale_item i ON i.item_id = o.item_id WHERE 1{}{}", order_columns,
      rare ? "INDEXED BY idx_seckill_order_rare" : "NOT INDEXED", state_clause(query.state), newest_first);
  return collect(db.query(doing, sql, before, limit), doing, into);
}

}  // namespace

base::Result<model::Ticket> ticket_from(std::span<const std::uint8_t> bytes, std::string_view doing) {
  base::Bytes16 ticket{};
  if (bytes.size() != ticket.size()) return corrupt_row(doing, "a ticket");
  std::ranges::copy(bytes, ticket.begin());
  return model::Ticket{ticket};
}

base::Result<std::int64_t> find_item_id(Connection& connection, std::string_view doing, const model::ItemKey& item) {
  auto cursor = connection.query(doing, "SELECT item_id FROM sale_item WHERE sale = ? AND sku = ?", item.sale.view(),
                                 item.sku.view());
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return base::fail(Errc::not_found, std::string{doing}, "there is no item " + item.text());
  return cursor->integer(0);
}

base::Result<std::optional<Order>> SqliteStore::find_order(const model::Ticket& ticket) {
  constexpr std::string_view doing = "reading an order";
  const auto reader = readers_.borrow();
  static const std::string sql = fmt::format(
      "SELECT {} FROM seckill_order o JOIN sale_item i ON i.item_id = o.item_id WHERE o.ticket = ?", order_columns);
  std::vector<PlacedOrder> found;
  if (auto got = collect(reader->query(doing, sql, blob_of(ticket)), doing, found); !got) {
    return std::unexpected(got.error());
  }
  if (found.empty()) return std::optional<Order>{};
  return std::optional{std::move(found.front().order)};
}

base::Result<OrderPage> SqliteStore::list_orders(const OrderQuery& query) {
  constexpr std::string_view doing = "listing orders";
  const std::int64_t limit = std::clamp<std::int64_t>(query.limit, 1, 1'000);
  const std::int64_t before = query.before > 0 ? query.before : INT64_MAX;
  const auto reader = readers_.borrow();
  auto snapshot = Transaction::begin(*reader, Transaction::Kind::read, doing);
  if (!snapshot) return std::unexpected(snapshot.error());
  std::vector<PlacedOrder> found;
  // One more than asked tells whether there is a next page.
  const auto collected = query.buyer  ? collect_of_buyer(*reader, doing, query, before, limit + 1, found)
                         : query.sale ? collect_of_sale(*reader, doing, query, before, limit + 1, found)
                                      : collect_any(*reader, doing, query, before, limit + 1, found);
  if (!collected) return std::unexpected(collected.error());
  std::ranges::sort(found, std::greater{}, &PlacedOrder::order_id);
  OrderPage page;
  const bool more = std::ssize(found) > limit;
  if (more) found.resize(static_cast<std::size_t>(limit));
  if (more) page.next = found.back().order_id;
  for (PlacedOrder& placed : found) page.orders.push_back(std::move(placed.order));
  return page;
}

base::Status SqliteStore::visit_tickets(const model::ItemKey& item,
                                        const std::function<void(const TicketRow&)>& visitor) {
  const std::string doing = "reading the tickets of " + item.text();
  const auto reader = readers_.borrow();
  auto snapshot = Transaction::begin(*reader, Transaction::Kind::read, doing);
  if (!snapshot) return std::unexpected(snapshot.error());
  const auto item_id = find_item_id(*reader, doing, item);
  if (!item_id) return std::unexpected(item_id.error());
  auto cursor = reader->query(doing,
                              "SELECT ticket, buyer, request_id, digest, units, state, admitted_at FROM seckill_order "
                              "INDEXED BY idx_seckill_order_item WHERE item_id = ?",
                              *item_id);
  if (!cursor) return std::unexpected(cursor.error());
  TicketRow row;
  for (;;) {
    const auto more = cursor->next();
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    const auto ticket = ticket_from(cursor->blob(0), doing);
    const auto state = model::order_state_from(cursor->integer(5));
    const auto buyer = model::BuyerId::stored(cursor->text(1));
    const auto request_id = model::RequestId::stored(cursor->text(2));
    if (!ticket || !state || !buyer || !request_id) return corrupt_row(doing, "a ticket");
    row.ticket = *ticket;
    row.buyer = *buyer;
    row.request_id = *request_id;
    row.digest = static_cast<std::uint64_t>(cursor->integer(3));
    row.units = cursor->integer(4);
    row.state = *state;
    row.admitted_at = cursor->integer(6);
    visitor(row);
  }
}

base::Result<std::vector<AuditRow>> SqliteStore::audit_log(std::int64_t before_id, std::int64_t limit) {
  constexpr std::string_view doing = "reading the audit log";
  const auto reader = readers_.borrow();
  auto cursor = reader->query(doing,
                              "SELECT audit_id, actor, action, detail, made_at FROM audit WHERE audit_id < ? "
                              "ORDER BY audit_id DESC LIMIT ?",
                              before_id > 0 ? before_id : INT64_MAX, limit);
  if (!cursor) return std::unexpected(cursor.error());
  std::vector<AuditRow> rows;
  for (;;) {
    const auto row = cursor->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return rows;
    rows.push_back({.id = cursor->integer(0),
                    .entry = {.actor = std::string{cursor->text(1)},
                              .action = std::string{cursor->text(2)},
                              .detail = std::string{cursor->text(3)},
                              .at = cursor->integer(4)}});
  }
}

}  // namespace seckill::store::sqlite
