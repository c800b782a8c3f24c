#include "simulation/devices/store/sim_store.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace seckill::sim {

using base::Errc;
using base::Result;
using base::Status;

// What a method asks: its words in errors and stories, and the points around its commit (nullptr: a reading).
struct SimStore::Call {
  std::string doing;
  const char* asked = nullptr;
  const char* committed = nullptr;
};

// What becomes of one call.
struct SimStore::Fate {
  std::optional<Errc> refused;  // not executed, told after `there`
  std::optional<Time> there;    // when it is executed; nullopt: never
  std::optional<Time> back;     // when its answer arrives after that; nullopt: never, told `timeout` at the deadline
};

template <typename T>
struct SimStore::Exchange {
  std::string doing;
  std::move_only_function<T(SimDatabase&)> execute;
  std::move_only_function<void(T)> done;
  bool told = false;

  void tell(T result) {
    if (!std::exchange(told, true)) done(std::move(result));
  }
};

SimStore::SimStore(Kernel* kernel, SimDatabase& database, Node* node, const StoreFaults& faults)
    : link_{.kernel = kernel, .database = &database, .node = node, .faults = &faults},
      random_{kernel == nullptr ? Random{0}
                                : kernel->random().fork("store " + (node == nullptr ? "of nobody" : node->name()))} {}

SimStore::Fate SimStore::draw(const Call& what) {
  const auto between = [&](Time lowest, Time highest) {
    return Time{random_.between(lowest.count(), std::max(lowest, highest).count())};
  };
  std::uint32_t roll = static_cast<std::uint32_t>(random_.below(1000));
  const Time there = between(link_.faults->delay_lowest, link_.faults->delay_highest);
  const Time back = between(link_.faults->delay_lowest, link_.faults->delay_highest);
  const Time slowly = between(Time{0}, link_.faults->slow_highest);
  const Time later = between(Time{0}, link_.faults->late_highest);
  const auto strikes = [&](std::uint32_t rate) {
    const bool hit = roll < rate;
    roll = hit ? UINT32_MAX : roll - rate;
    return hit;
  };
  Fate fate{.refused = {}, .there = there, .back = back};
  if (link_.faults->down || strikes(link_.faults->unavailable)) {
    fate.refused = Errc::unavailable;
  } else if (strikes(link_.faults->disk_full)) {
    if (what.asked != nullptr) fate.refused = Errc::disk_full;
  } else if (strikes(link_.faults->slow)) {
    fate.there = there + slowly;
  } else if (link_.faults->in_process) {
    return fate;
  } else if (strikes(link_.faults->lost_request)) {
    fate.there = std::nullopt;
  } else if (strikes(link_.faults->lost_reply)) {
    fate.back = std::nullopt;
  } else if (strikes(link_.faults->late)) {
    fate.there = link_.faults->deadline + later;
  }
  return fate;
}

void SimStore::pass(const char* point) {
  if (point == nullptr) return;
  link_.kernel->passing(point);
  if (link_.node != nullptr && !link_.node->alive() && link_.kernel->on_fiber()) link_.kernel->sleep(Time{0});
}

void SimStore::Link::in_clients_name(Time delay, std::move_only_function<void()> event) const {
  if (node == nullptr) return kernel->after(delay, std::move(event));
  kernel->after(*node, delay, std::move(event));
}

template <typename T>
void SimStore::Link::send(std::shared_ptr<Exchange<T>> exchange, const Fate& fate) const {
  const auto fail_after = [link = *this, exchange](Time delay, Errc code) {
    link.kernel->note(fmt::format("store: {}: {}", exchange->doing, base::name(code)));
    link.in_clients_name(delay, [exchange, code] { exchange->tell(base::fail(code, exchange->doing, "simulated")); });
  };
  if (fate.refused) return fail_after(*fate.there, *fate.refused);
  const bool in_time = fate.there && fate.back && (faults->in_process || *fate.there + *fate.back <= faults->deadline);
  if (!in_time) fail_after(faults->deadline, Errc::timeout);
  if (!fate.there) return;
  auto arrival = [link = *this, exchange, fail_after, in_time, back = fate.back] {
    if (link.faults->down) {
      if (in_time) fail_after(link.faults->deadline, link.faults->in_process ? Errc::unavailable : Errc::timeout);
      return;
    }
    T result = exchange->execute(*link.database);
    if (!in_time) return link.kernel->note(fmt::format("store: {}: executed, nobody is told", exchange->doing));
    link.in_clients_name(*back,
                         [exchange, result = std::move(result)]() mutable { exchange->tell(std::move(result)); });
  };
  if (faults->in_process) return in_clients_name(*fate.there, std::move(arrival));
  kernel->after(*fate.there, std::move(arrival));
}

template <typename T>
T SimStore::call(const Call& what, std::move_only_function<T(SimDatabase&)> execute) {
  if (link_.kernel == nullptr) return execute(*link_.database);
  pass(what.asked);
  const Fate fate = draw(what);
  T result = link_.kernel->await<T>([&](std::move_only_function<void(T)> done) {
    auto exchange = std::make_shared<Exchange<T>>();
    exchange->doing = what.doing;
    exchange->execute = std::move(execute);
    exchange->done = std::move(done);
    link_.send(std::move(exchange), fate);
  });
  if (result) pass(what.committed);
  return result;
}

// --- sales ---

Status SimStore::create_sale(const model::Sale& sale, const store::AuditEntry& audit) {
  return call<Status>({.doing = "creating sale " + sale.id.str(), .asked = "sale.asked", .committed = "sale.committed"},
                      [=](SimDatabase& database) { return database.create_sale(sale, audit); });
}
Result<model::Sale> SimStore::find_sale(const model::SaleId& sale) {
  return call<Result<model::Sale>>({.doing = "reading sale " + sale.str()},
                                   [=](SimDatabase& database) { return database.find_sale(sale); });
}
Result<std::vector<model::Sale>> SimStore::list_sales(std::int64_t limit) {
  return call<Result<std::vector<model::Sale>>>({.doing = "listing sales"},
                                                [=](SimDatabase& database) { return database.list_sales(limit); });
}
Status SimStore::update_sale(const model::Sale& sale, const store::AuditEntry& audit) {
  return call<Status>({.doing = "updating sale " + sale.id.str(), .asked = "sale.asked", .committed = "sale.committed"},
                      [=](SimDatabase& database) { return database.update_sale(sale, audit); });
}
Status SimStore::set_sale_state(const model::SaleId& sale, model::SaleState from, model::SaleState to,
                                const store::AuditEntry& audit) {
  return call<Status>(
      {.doing = "setting the state of sale " + sale.str(), .asked = "sale.asked", .committed = "sale.committed"},
      [=](SimDatabase& database) { return database.set_sale_state(sale, from, to, audit); });
}

// --- stock ---

Status SimStore::preload(const model::SaleId& sale, base::UtcMs now, const store::AuditEntry& audit) {
  return call<Status>(
      {.doing = "preloading sale " + sale.str(), .asked = "preload.asked", .committed = "preload.committed"},
      [=](SimDatabase& database) { return database.preload(sale, now, audit); });
}
Result<store::ItemStock> SimStore::item_stock(const model::ItemKey& item) {
  return call<Result<store::ItemStock>>({.doing = "reading the stock of " + item.text()},
                                        [=](SimDatabase& database) { return database.item_stock(item); });
}
Status SimStore::add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                             const store::AuditEntry& audit) {
  return call<Status>({.doing = "adding units to " + item.text(), .asked = "pool.asked", .committed = "pool.committed"},
                      [=](SimDatabase& database) { return database.add_to_pool(item, units, id, audit); });
}
Status SimStore::take_from_pool(const model::ItemKey& item, std::int64_t units, const std::string& id,
                                const store::AuditEntry& audit) {
  return call<Status>(
      {.doing = "taking units from " + item.text(), .asked = "pool.asked", .committed = "pool.committed"},
      [=](SimDatabase& database) { return database.take_from_pool(item, units, id, audit); });
}
Status SimStore::pool_to_lanes(std::span<const model::StockTransfer> transfers, const store::AuditEntry& audit) {
  return call<Status>(
      {.doing = "moving units from the pool to lanes", .asked = "lanes.asked", .committed = "lanes.committed"},
      [own = std::vector(transfers.begin(), transfers.end()), audit](SimDatabase& database) {
        return database.pool_to_lanes(own, audit);
      });
}
Result<std::optional<std::int64_t>> SimStore::pool_change(const model::ItemKey& item, const std::string& id) {
  return call<Result<std::optional<std::int64_t>>>(
      {.doing = "looking up a stock change"}, [=](SimDatabase& database) { return database.pool_change(item, id); });
}
Result<std::optional<model::StockTransfer>> SimStore::find_transfer(const std::string& id) {
  return call<Result<std::optional<model::StockTransfer>>>(
      {.doing = "looking up transfer " + id}, [=](SimDatabase& database) { return database.find_transfer(id); });
}

// --- landing and ends ---

Result<std::vector<store::Landed>> SimStore::land(std::span<const model::LaneRecord> records, base::UtcMs now) {
  return call<Result<std::vector<store::Landed>>>(
      {.doing = fmt::format("landing {} records", records.size()), .asked = "c3", .committed = "c4"},
      [own = std::vector(records.begin(), records.end()), now](SimDatabase& database) {
        return database.land(own, now);
      });
}
Status SimStore::fail_intent(const model::OrderIntent& intent, model::FailReason reason, base::UtcMs now) {
  return call<Status>(
      {.doing = "failing ticket " + intent.ticket.str(), .asked = "fail.asked", .committed = "fail.committed"},
      [=](SimDatabase& database) { return database.fail_intent(intent, reason, now); });
}
Result<std::vector<store::Ended>> SimStore::end_tickets(std::span<const store::EndCommand> commands) {
  return call<Result<std::vector<store::Ended>>>(
      {.doing = fmt::format("ending {} tickets", commands.size()), .asked = "c6", .committed = "c7"},
      [own = std::vector(commands.begin(), commands.end())](SimDatabase& database) {
        return database.end_tickets(own);
      });
}
Result<std::vector<model::Ticket>> SimStore::due_tickets(base::UtcMs now, std::int64_t limit) {
  return call<Result<std::vector<model::Ticket>>>(
      {.doing = "reading due tickets"}, [=](SimDatabase& database) { return database.due_tickets(now, limit); });
}
Result<std::vector<store::PendingRelease>> SimStore::pending_releases(std::int64_t limit) {
  return call<Result<std::vector<store::PendingRelease>>>(
      {.doing = "reading the outbox"}, [=](SimDatabase& database) { return database.pending_releases(limit); });
}
Status SimStore::acknowledge_releases(std::span<const std::int64_t> ids) {
  return call<Status>({.doing = "acknowledging releases", .asked = "c8", .committed = "c9"},
                      [own = std::vector(ids.begin(), ids.end())](SimDatabase& database) {
                        return database.acknowledge_releases(own);
                      });
}
Status SimStore::acknowledge_released(std::span<const model::Ticket> tickets) {
  return call<Status>({.doing = "acknowledging releases", .asked = "c8", .committed = "c9"},
                      [own = std::vector(tickets.begin(), tickets.end())](SimDatabase& database) {
                        return database.acknowledge_released(own);
                      });
}

// --- reading ---

Result<std::optional<store::Order>> SimStore::find_order(const model::Ticket& ticket) {
  return call<Result<std::optional<store::Order>>>({.doing = "reading an order"},
                                                   [=](SimDatabase& database) { return database.find_order(ticket); });
}
Result<store::OrderPage> SimStore::list_orders(const store::OrderQuery& query) {
  return call<Result<store::OrderPage>>({.doing = "listing orders"},
                                        [=](SimDatabase& database) { return database.list_orders(query); });
}
Status SimStore::visit_tickets(const model::ItemKey& item,
                               const std::function<void(const store::TicketRow&)>& visitor) {
  using Rows = std::vector<store::TicketRow>;
  const auto rows = call<Result<Rows>>(
      {.doing = "reading the tickets of " + item.text()}, [=](SimDatabase& database) -> Result<Rows> {
        Rows read;
        const auto visited = database.visit_tickets(item, [&](const store::TicketRow& row) { read.push_back(row); });
        if (!visited) return std::unexpected(visited.error());
        return read;
      });
  if (!rows) return std::unexpected(rows.error());
  for (const store::TicketRow& row : *rows) visitor(row);
  return {};
}
Result<store::ItemAudit> SimStore::audit_item(const model::ItemKey& item, base::UtcMs now) {
  return call<Result<store::ItemAudit>>({.doing = "auditing " + item.text()},
                                        [=](SimDatabase& database) { return database.audit_item(item, now); });
}
Result<std::vector<store::AuditRow>> SimStore::audit_log(std::int64_t before_id, std::int64_t limit) {
  return call<Result<std::vector<store::AuditRow>>>(
      {.doing = "reading the audit log"}, [=](SimDatabase& database) { return database.audit_log(before_id, limit); });
}

// --- keeping ---

Status SimStore::append_audit(const store::AuditEntry& audit) {
  return call<Status>({.doing = "writing the audit log", .asked = "audit.asked", .committed = "audit.committed"},
                      [=](SimDatabase& database) { return database.append_audit(audit); });
}
Status SimStore::backup(const std::string& path) {
  return call<Status>({.doing = "backing up to " + path}, [=](SimDatabase& database) { return database.backup(path); });
}
Status SimStore::probe() {
  return call<Status>({.doing = "probing the disk", .asked = "probe.asked", .committed = "probe.committed"},
                      [](SimDatabase& database) { return database.probe(); });
}

// --- who admits, who leads ---

Result<store::ItemAuthority> SimStore::item_authority(const model::ItemKey& item) {
  return call<Result<store::ItemAuthority>>({.doing = "reading the authority on " + item.text()},
                                            [=](SimDatabase& database) { return database.item_authority(item); });
}
Result<std::vector<store::ItemAuthority>> SimStore::sale_authority(const model::SaleId& sale) {
  return call<Result<std::vector<store::ItemAuthority>>>(
      {.doing = "reading the authority on sale " + sale.str()},
      [=](SimDatabase& database) { return database.sale_authority(sale); });
}
Status SimStore::want_state(const model::ItemKey& item, store::LaneState wanted, const store::AuditEntry& audit) {
  return call<Status>(
      {.doing = "choosing who admits for " + item.text(), .asked = "want.asked", .committed = "want.committed"},
      [=](SimDatabase& database) { return database.want_state(item, wanted, audit); });
}
Result<std::optional<store::Lease>> SimStore::acquire_lease(const std::string& name, const std::string& holder,
                                                            std::chrono::milliseconds ttl) {
  return call<Result<std::optional<store::Lease>>>(
      {.doing = "taking lease " + name, .asked = "lease.asked", .committed = "lease.committed"},
      [=](SimDatabase& database) { return database.acquire_lease(name, holder, ttl); });
}
Status SimStore::report_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                             const std::string& why) {
  return call<Status>({.doing = fmt::format("reporting lane {} of {}", lane, item.text()),
                       .asked = "report.asked",
                       .committed = "report.committed"},
                      [=](SimDatabase& database) { return database.report_lane(item, lane, generation, why); });
}
Status SimStore::close_lane(const model::ItemKey& item, model::LaneIndex lane, std::uint64_t token) {
  return call<Status>({.doing = fmt::format("closing lane {} of {}", lane, item.text()),
                       .asked = "close.asked",
                       .committed = "close.committed"},
                      [=](SimDatabase& database) { return database.close_lane(item, lane, token); });
}
Result<store::RebuiltLane> SimStore::rebuild_lane(const model::ItemKey& item, model::LaneIndex lane,
                                                  std::uint64_t token) {
  return call<Result<store::RebuiltLane>>(
      {.doing = fmt::format("rebuilding lane {} of {}", lane, item.text()),
       .asked = "rebuild.asked",
       .committed = "rebuild.committed"},
      [=](SimDatabase& database) { return database.rebuild_lane(item, lane, token); });
}
Status SimStore::open_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                           store::LaneState to, const std::string& run_id, const std::string& replication_id,
                           std::uint64_t token) {
  return call<Status>({.doing = fmt::format("opening lane {} of {}", lane, item.text()),
                       .asked = "open.asked",
                       .committed = "open.committed"},
                      [=](SimDatabase& database) {
                        return database.open_lane(item, lane, generation, to, run_id, replication_id, token);
                      });
}

Status SimStore::drain_lane(const model::ItemKey& item, model::LaneIndex lane, model::Generation generation,
                            std::uint64_t strays, std::uint64_t token) {
  return call<Status>(
      {.doing = fmt::format("noting that lane {} of {} is drained", lane, item.text()),
       .asked = "drain.asked",
       .committed = "drain.committed"},
      [=](SimDatabase& database) { return database.drain_lane(item, lane, generation, strays, token); });
}

// --- transfers ---

Result<store::TransferResult> SimStore::commit_transfer(const store::LaneTransfer& transfer) {
  return call<Result<store::TransferResult>>(
      {.doing = "committing transfer " + transfer.id, .asked = "transfer.asked", .committed = "transfer.committed"},
      [=](SimDatabase& database) { return database.commit_transfer(transfer); });
}
Result<store::TransferResult> SimStore::abandon_transfer(const store::LaneTransfer& transfer) {
  return call<Result<store::TransferResult>>(
      {.doing = "abandoning transfer " + transfer.id, .asked = "abandon.asked", .committed = "abandon.committed"},
      [=](SimDatabase& database) { return database.abandon_transfer(transfer); });
}
Status SimStore::close_transfer(const std::string& id) {
  return call<Status>({.doing = "closing transfer " + id, .asked = "settle.asked", .committed = "settle.committed"},
                      [=](SimDatabase& database) { return database.close_transfer(id); });
}
Result<std::optional<store::TransferState>> SimStore::transfer_state(const std::string& id) {
  return call<Result<std::optional<store::TransferState>>>(
      {.doing = "reading transfer " + id}, [=](SimDatabase& database) { return database.transfer_state(id); });
}
Result<std::vector<store::LaneTransfer>> SimStore::open_transfers(const model::ItemKey& item) {
  return call<Result<std::vector<store::LaneTransfer>>>(
      {.doing = "reading the open transfers of " + item.text()},
      [=](SimDatabase& database) { return database.open_transfers(item); });
}

}  // namespace seckill::sim
