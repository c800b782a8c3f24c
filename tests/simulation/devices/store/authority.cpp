// Who leads, and which generation of a lane is true (DESIGN §4.5): the stock row decides, the leader's token and the
// generation fence what comes late.
#include <fmt/format.h>

#include "simulation/devices/store/sim_database.hpp"
#include "simulation/devices/store/transaction.hpp"

namespace seckill::sim {
namespace {

using base::Errc;
using store::LaneState;

struct FoundLane {
  ItemRow* item = nullptr;
  store::LaneAuthorityRow* lane = nullptr;
};

base::Result<FoundLane> find_lane(Transaction& work, const model::ItemKey& key, model::LaneIndex lane) {
  ItemRow* item = work.tables().find(key);
  if (item == nullptr) return work.fail(Errc::not_found, "there is no item " + key.text());
  store::LaneAuthorityRow* row = lane_of(*item, lane);
  if (row == nullptr) return work.fail(Errc::not_found, fmt::format("{} has no lane {}", key.text(), lane));
  return FoundLane{.item = item, .lane = row};
}

// Whoever took the lease since has raised its token, so equality is all that fencing needs, expired or not; tokens
// begin at one.
base::Status check_token(const Transaction& work, const Tables& tables, std::uint64_t token) {
  const auto leader = tables.leases.find(store::leader_lease);
  if (leader != tables.leases.end() && leader->second.lease.token == token) return {};
  return work.fail(Errc::stale, fmt::format("token {} is not the leader's", token));
}

store::ItemAuthority authority_of(const Tables& tables, const SaleRow& sale, const ItemRow& item) {
  return {
      .sku = item.key.sku, .sale = tables.whole(sale), .pool = item.pool, .lanes = item.lanes, .wanted = item.wanted};
}

}  // namespace

base::Result<store::ItemAuthority> SimDatabase::item_authority(const model::ItemKey& key) {
  const std::scoped_lock lock{mutex_};
  const ItemRow* item = tables_.find(key);
  const SaleRow* sale = tables_.find(key.sale);
  if (item == nullptr || sale == nullptr) {
    return base::fail(Errc::not_found, "reading the authority on " + key.text(), "there is no such item");
  }
  return authority_of(tables_, *sale, *item);
}

base::Result<std::vector<store::ItemAuthority>> SimDatabase::sale_authority(const model::SaleId& id) {
  const std::scoped_lock lock{mutex_};
  const SaleRow* sale = tables_.find(id);
  if (sale == nullptr) {
    return base::fail(Errc::not_found, "reading the authority on sale " + id.str(), "there is no such sale");
  }
  std::vector<store::ItemAuthority> items;
  for (const std::size_t place : sale->items) items.push_back(authority_of(tables_, *sale, tables_.items[place]));
  return items;
}

base::Status SimDatabase::want_state(const model::ItemKey& key, LaneState wanted, const store::AuditEntry& audit) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = "choosing who admits for " + key.text();
  Transaction work{tables_, doing};
  ItemRow* item = tables_.find(key);
  if (item == nullptr) return work.fail(Errc::not_found, "there is no such item");
  if (item->wanted == wanted) return {};
  work.set(item->wanted, wanted);
  write_audit(work, audit);
  work.commit();
  return {};
}

base::Result<std::optional<store::Lease>> SimDatabase::acquire_lease(const std::string& name, const std::string& holder,
                                                                     std::chrono::milliseconds ttl) {
  const std::scoped_lock lock{mutex_};
  Transaction work{tables_, "taking a lease"};
  if (name.empty() || holder.empty() || ttl.count() < 1)
    return work.fail(Errc::invalid, "a lease needs a name, a holder and a time");
  const base::UtcMs now = clock_.now_utc();
  if (!tables_.leases.contains(name)) work.insert(tables_.leases, name, {});
  LeaseRow& row = tables_.leases.find(name)->second;
  const bool runs = row.lease.until > now;
  if (runs && row.holder != holder) return std::optional<store::Lease>{};
  // Also when the same holder comes back to a lease that had run out: he does not know what he missed.
  const std::uint64_t token = runs ? row.lease.token : row.lease.token + 1;
  work.set(row, {.holder = holder, .lease = {.token = token, .until = now + ttl.count()}});
  work.commit();
  return std::optional{row.lease};
}

base::Status SimDatabase::report_lane(const model::ItemKey& key, model::LaneIndex index, model::Generation generation,
                                      const std::string& why) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = fmt::format("reporting lane {} of {}", index, key.text());
  Transaction work{tables_, doing};
  const auto found = find_lane(work, key, index);
  if (!found) return std::unexpected(found.error());
  store::LaneAuthorityRow& lane = *found->lane;
  if (lane.row.generation != generation || lane.state != LaneState::lane) return {};
  work.set(lane.state, LaneState::closed);
  write_audit(work, {.actor = "system",
                     .action = "lane.report",
                     .detail = fmt::format(R"({{"item":"{}","lane":{},"generation":{},"why":"{}"}})", key.text(), index,
                                           generation, why),
                     .at = clock_.now_utc()});
  work.commit();
  return {};
}

base::Status SimDatabase::close_lane(const model::ItemKey& key, model::LaneIndex index, std::uint64_t token) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = fmt::format("closing lane {} of {}", index, key.text());
  Transaction work{tables_, doing};
  const auto found = find_lane(work, key, index);
  if (!found) return std::unexpected(found.error());
  if (auto leads = check_token(work, tables_, token); !leads) return leads;
  store::LaneAuthorityRow& lane = *found->lane;
  if (lane.state == LaneState::store) work.set(lane.row.generation, lane.row.generation + 1);
  work.set(lane.state, LaneState::closed);
  work.commit();
  return {};
}

base::Result<store::RebuiltLane> SimDatabase::rebuild_lane(const model::ItemKey& key, model::LaneIndex index,
                                                           std::uint64_t token) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = fmt::format("rebuilding lane {} of {}", index, key.text());
  Transaction work{tables_, doing};
  const auto found = find_lane(work, key, index);
  if (!found) return std::unexpected(found.error());
  if (auto leads = check_token(work, tables_, token); !leads) return std::unexpected(leads.error());
  store::LaneAuthorityRow& lane = *found->lane;
  work.set(lane.row.generation, lane.row.generation + 1);
  work.set(lane.state, LaneState::closed);
  for (auto& [id, row] : tables_.transfers) {
    const bool comes_here = row.transfer.item == key && row.transfer.to == static_cast<std::int32_t>(index);
    if (row.state == store::TransferState::open && comes_here) work.set(row.state, store::TransferState::closed);
  }
  store::RebuiltLane rebuilt{.generation = lane.row.generation, .stock = lane.row.stock, .tickets = {}};
  for (const std::int64_t order_id : found->item->orders) {
    const store::Order& order = tables_.orders[static_cast<std::size_t>(order_id - 1)].order;
    if (order.lane == index) rebuilt.tickets.push_back(ticket_row(order));
  }
  work.commit();
  return rebuilt;
}

base::Status SimDatabase::open_lane(const model::ItemKey& key, model::LaneIndex index, model::Generation generation,
                                    LaneState to, const std::string& run_id, const std::string& replication_id,
                                    std::uint64_t token) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = fmt::format("opening lane {} of {}", index, key.text());
  Transaction work{tables_, doing};
  if (to == LaneState::closed) return work.fail(Errc::invalid, "a lane is opened as lane or store");
  const auto found = find_lane(work, key, index);
  if (!found) return std::unexpected(found.error());
  if (auto leads = check_token(work, tables_, token); !leads) return leads;
  store::LaneAuthorityRow& lane = *found->lane;
  if (lane.row.generation != generation) {
    return work.fail(Errc::stale, fmt::format("the lane is of generation {}, not {}", lane.row.generation, generation));
  }
  const bool same = lane.state == to && lane.run_id == run_id && lane.replication_id == replication_id;
  if (lane.state != LaneState::closed && !same) {
    return work.fail(Errc::stale, "the lane is open otherwise; it must be rebuilt first");
  }
  work.set(lane.state, to);
  work.set(lane.run_id, run_id);
  work.set(lane.replication_id, replication_id);
  work.commit();
  return {};
}

base::Status SimDatabase::drain_lane(const model::ItemKey& key, model::LaneIndex index, model::Generation generation,
                                     std::uint64_t strays, std::uint64_t token) {
  const std::scoped_lock lock{mutex_};
  const std::string doing = fmt::format("noting that lane {} of {} is drained", index, key.text());
  Transaction work{tables_, doing};
  const auto found = find_lane(work, key, index);
  if (!found) return std::unexpected(found.error());
  if (auto leads = check_token(work, tables_, token); !leads) return leads;
  store::LaneAuthorityRow& lane = *found->lane;
  if (lane.row.generation != generation || lane.strays != strays) return {};
  work.set(lane.drained_generation, generation);
  work.commit();
  return {};
}

}  // namespace seckill::sim
