// Reading orders and tickets. Every answer comes from committed rows.
#include <fmt/format.h>

#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
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
bool are_amounts(const Row& row, OrderState state) noexcept {
  return (row.integer(8) >= 1 || state == OrderState::failed) && row.integer(9) >= 0 && row.integer(10) >= 0;
}

std::optional<PlacedOrder> order_from(const Row& row) {
  const auto ticket = ticket_from(row.text(1));
  const auto state = model::order_state_from(row.integer(12));
  const auto reason = model::fail_reason_from(row.integer(13));
  const auto currency = model::Currency::parse(row.text(11));
  const auto item = item_from(row.text(2), row.text(3));
  const auto buyer = model::BuyerId::stored(row.text(4));
  const auto request_id = model::RequestId::stored(row.text(5));
  const auto lane = lane_from(row.integer(7));
  if (!ticket || !state || !reason || !currency || !item || !buyer || !request_id || !lane ||
      !are_amounts(row, *state)) {
    return std::nullopt;
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

base::Status collect(Work& work, std::vector<PlacedOrder>& into, std::string_view sql, const auto&... args) {
  bool sound = true;
  const auto read = work.query(
      [&](const Row& row) {
        auto order = order_from(row);
        sound = sound && order;
        if (order) into.push_back(std::move(*order));
      },
      sql, args...);
  if (!read) return read;
  if (!sound) return corrupt_row(work.doing(), "an order");
  return {};
}

// States that few orders are in, so that their index is read rather than the newest orders. There, reading from the
// newest backwards would pass over most of the table.
bool is_rare(OrderState state) noexcept {
  return state == OrderState::parked || state == OrderState::failed || state == OrderState::closing ||
         state == OrderState::refunded;
}

// The state stands in the text: at most one text a state.
std::string state_clause(const std::optional<OrderState>& state) {
  return state ? fmt::format(" AND o.state = {}", static_cast<int>(*state)) : "";
}

constexpr std::string_view newest_first = " AND o.order_id < ? ORDER BY o.order_id DESC LIMIT ?";

// A buyer has few orders (tickets_max an item), so his key finds them and they are sorted.
base::Status collect_of_buyer(Work& work, const OrderQuery& query, std::int64_t before, std::int64_t limit,
                              std::vector<PlacedOrder>& into) {
  const std::string sql = fmt::format(
      "SELECT STRAIGHT_JOIN {} FROM seckill_order o FORCE INDEX (uk_seckill_order_request) "
      "JOIN sale_item i ON i.item_id = o.item_id WHERE o.buyer = ?{}{}{}",
      order_columns, query.sale ? " AND i.sale = ?" : "", state_clause(query.state), newest_first);
  if (query.sale) return collect(work, into, sql, query.buyer->view(), query.sale->view(), before, limit);
  return collect(work, into, sql, query.buyer->view(), before, limit);
}

// From the newest order backwards, or by state where that state is rare.
base::Status collect_any(Work& work, const OrderQuery& query, std::int64_t before, std::int64_t limit,
                         std::vector<PlacedOrder>& into) {
  const bool rare = query.state && is_rare(*query.state);
  const std::string sql = fmt::format(
      "SELECT STRAIGHT_JOIN {} FROM seckill_order o FORCE INDEX ({}) JOIN sale_item i ON i.item_id = o.item_id "
      "WHERE 1{}{}{}",
      order_columns, rare ? "idx_seckill_order_due" : "PRIMARY", query.sale ? " AND i.sale = ?" : "",
      state_clause(query.state), newest_first);
  if (query.sale) return collect(work, into, sql, query.sale->view(), before, limit);
  return collect(work, into, sql, before, limit);
}

}  // namespace

std::optional<model::Ticket> ticket_from(std::string_view bytes) noexcept {
  base::Bytes16 ticket{};
  if (bytes.size() != ticket.size()) return std::nullopt;
  std::ranges::copy(bytes, ticket.begin());
  return model::Ticket{ticket};
}

std::optional<TicketRow> ticket_row_from(const Row& row) {
  const auto ticket = ticket_from(row.text(0));
  const auto buyer = model::BuyerId::stored(row.text(1));
  const auto request_id = model::RequestId::stored(row.text(2));
  const auto state = model::order_state_from(row.integer(5));
  if (!ticket || !buyer || !request_id || !state) return std::nullopt;
  return TicketRow{.ticket = *ticket,
                   .buyer = *buyer,
                   .request_id = *request_id,
                   .digest = static_cast<std::uint64_t>(row.integer(3)),
                   .units = row.integer(4),
                   .state = *state,
                   .admitted_at = row.integer(6)};
}

base::Result<std::optional<Order>> MysqlStoreImpl::find_order(const model::Ticket& ticket) {
  static const std::string sql = fmt::format(
      "SELECT {} FROM seckill_order o JOIN sale_item i ON i.item_id = o.item_id WHERE o.ticket = ?", order_columns);
  return reads_.reading("reading an order", [&](Work& work) -> base::Result<std::optional<Order>> {
    std::vector<PlacedOrder> found;
    if (auto got = collect(work, found, sql, bytes_of(ticket)); !got) return std::unexpected(got.error());
    if (found.empty()) return std::optional<Order>{};
    return std::optional{std::move(found.front().order)};
  });
}

base::Result<OrderPage> MysqlStoreImpl::list_orders(const OrderQuery& query) {
  const std::int64_t limit = std::clamp<std::int64_t>(query.limit, 1, 1'000);
  const std::int64_t before = query.before > 0 ? query.before : INT64_MAX;
  return reads_.reading("listing orders", [&](Work& work) -> base::Result<OrderPage> {
    std::vector<PlacedOrder> found;
    // One more than asked tells whether there is a next page.
    const auto collected = query.buyer ? collect_of_buyer(work, query, before, limit + 1, found)
                                       : collect_any(work, query, before, limit + 1, found);
    if (!collected) return std::unexpected(collected.error());
    OrderPage page;
    const bool more = std::ssize(found) > limit;
    if (more) found.resize(static_cast<std::size_t>(limit));
    if (more) page.next = found.back().order_id;
    for (PlacedOrder& placed : found) page.orders.push_back(std::move(placed.order));
    return page;
  });
}

base::Status MysqlStoreImpl::visit_tickets(const model::ItemKey& item,
                                           const std::function<void(const TicketRow&)>& visitor) {
  const std::string doing = "reading the tickets of " + item.text();
  // A transaction, and no second attempt: what was visited cannot be taken back.
  return reads_.transaction(doing, [&](Work& work) -> base::Status {
    const auto about = find_item(work, item);
    if (!about) return std::unexpected(about.error());
    static const std::string sql = fmt::format(
        "SELECT {} FROM seckill_order FORCE INDEX (idx_seckill_order_lane) WHERE item_id = ?", ticket_columns);
    bool sound = true;
    const auto read = work.query(
        [&](const Row& row) {
          const auto ticket = ticket_row_from(row);
          sound = sound && ticket;
          if (sound) visitor(*ticket);
        },
        sql, about->item_id);
    if (!read) return read;
    if (!sound) return corrupt_row(work.doing(), "a ticket");
    return {};
  });
}

base::Result<std::vector<AuditRow>> MysqlStoreImpl::audit_log(std::int64_t before_id, std::int64_t limit) {
  return reads_.reading("reading the audit log", [&](Work& work) -> base::Result<std::vector<AuditRow>> {
    std::vector<AuditRow> rows;
    const auto read = work.query(
        [&](const Row& row) {
          rows.push_back({.id = row.integer(0),
                          .entry = {.actor = std::string{row.text(1)},
                                    .action = std::string{row.text(2)},
                                    .detail = std::string{row.text(3)},
                                    .at = row.integer(4)}});
        },
        "SELECT audit_id, actor, action, detail, made_at FROM audit WHERE audit_id < ? ORDER BY audit_id DESC LIMIT ?",
        before_id > 0 ? before_id : INT64_MAX, std::max<std::int64_t>(limit, 0));
    if (!read) return std::unexpected(read.error());
    return rows;
  });
}

}  // namespace seckill::store::mysql
