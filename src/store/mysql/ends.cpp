// How tickets end: every move by the one transition table and a conditional UPDATE whose WHERE decides (state and, for
// pay and expire, the deadline against the caller's clock). Of moves that race exactly one finds its row (FS-18,
// FS-59). Keeps P2, P6, P7.
#include <fmt/format.h>

#include "store/mysql/ends_batch.hpp"
#include "store/mysql/lists.hpp"
#include "store/mysql/store_impl.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;

base::Result<std::vector<Ended>> end_all(Work& work, std::span<const EndCommand> commands) {
  EndsBatch batch{work};
  if (auto ready = batch.prepare(commands); !ready) return std::unexpected(ready.error());
  std::vector<Ended> results;
  results.reserve(commands.size());
  for (const EndCommand& command : commands) {
    auto ended = batch.end(command);
    if (!ended) return std::unexpected(ended.error());
    results.push_back(std::move(*ended));
  }
  if (auto written = batch.write(); !written) return std::unexpected(written.error());
  return results;
}

}  // namespace

base::Result<std::vector<Ended>> MysqlStoreImpl::end_tickets(std::span<const EndCommand> commands) {
  if (commands.empty()) return std::vector<Ended>{};
  const auto attempt = [&] {
    return writes_.transaction("ending tickets", [&](Work& work) { return end_all(work, commands); });
  };
  auto ended = attempt();
  // Somebody else booked the same payment to another order since it was looked up: asked again, it is seen.
  const bool booked_meanwhile = !ended && ended.error().code == Errc::constraint &&
                                ended.error().cause.find("uk_payment_transaction") != std::string::npos;
  return booked_meanwhile ? attempt() : ended;
}

base::Result<std::vector<model::Ticket>> MysqlStoreImpl::due_tickets(base::UtcMs now, std::int64_t limit) {
  return reads_.reading("reading due tickets", [&](Work& work) -> base::Result<std::vector<model::Ticket>> {
    std::vector<model::Ticket> tickets;
    bool sound = true;
    const auto read = work.query(
        [&](const Row& row) {
          const auto ticket = ticket_from(row.text(0));
          sound = sound && ticket;
          if (ticket) tickets.push_back(*ticket);
        },
        "SELECT ticket FROM seckill_order FORCE INDEX (idx_seckill_order_due) "
        "WHERE state = 3 AND pay_before < ? ORDER BY pay_before LIMIT ?",
        now, std::max<std::int64_t>(limit, 0));
    if (!read) return std::unexpected(read.error());
    if (!sound) return corrupt_row(work.doing(), "a ticket");
    return tickets;
  });
}

base::Result<std::vector<PendingRelease>> MysqlStoreImpl::pending_releases(std::int64_t limit) {
  return reads_.reading("reading the outbox", [&](Work& work) -> base::Result<std::vector<PendingRelease>> {
    std::vector<PendingRelease> releases;
    bool sound = true;
    const auto read = work.query(
        [&](const Row& row) {
          const auto ticket = ticket_from(row.text(1));
          const auto item = item_from(row.text(2), row.text(3));
          const std::int64_t effect = row.integer(4);
          sound = sound && ticket && item && (effect == effect_post || effect == effect_void);
          if (!sound) return;
          releases.push_back({.id = row.integer(0),
                              .ticket = *ticket,
                              .item = *item,
                              .effect = effect == effect_post ? model::StockEffect::post : model::StockEffect::void_});
        },
        "SELECT STRAIGHT_JOIN e.event_id, o.ticket, i.sale, i.sku, e.effect FROM event_outbox e "
        "JOIN seckill_order o ON o.order_id = e.order_id JOIN sale_item i ON i.item_id = o.item_id "
        "ORDER BY e.event_id LIMIT ?",
        std::max<std::int64_t>(limit, 0));
    if (!read) return std::unexpected(read.error());
    if (!sound) return corrupt_row(work.doing(), "a pending release");
    return releases;
  });
}

base::Status MysqlStoreImpl::acknowledge_releases(std::span<const std::int64_t> ids) {
  if (ids.empty()) return {};
  return operating_.transaction("acknowledging releases", [&](Work& work) {
    const std::vector<Value> list(ids.begin(), ids.end());
    return run_list(work, "DELETE FROM event_outbox WHERE event_id IN {}", list);
  });
}

base::Status MysqlStoreImpl::acknowledge_released(std::span<const model::Ticket> tickets) {
  if (tickets.empty()) return {};
  return operating_.transaction("acknowledging releases", [&](Work& work) -> base::Status {
    std::vector<Value> list;
    list.reserve(tickets.size());
    for (const model::Ticket& ticket : tickets) list.emplace_back(bytes_of(ticket));
    std::vector<Value> orders;
    const auto found = query_list(
        work, [&](const Row& row) { orders.emplace_back(row.integer(0)); },
        "SELECT order_id FROM seckill_order WHERE ticket IN {}", list);
    if (!found) return found;
    return run_list(work, "DELETE FROM event_outbox WHERE order_id IN {}", orders);
  });
}

}  // namespace seckill::store::mysql
