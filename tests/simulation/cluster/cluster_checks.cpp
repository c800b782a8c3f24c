// What is watched at every event, and what must be true when the faults have stopped and everything has come to rest.
#include <fmt/format.h>

#include "simulation/cluster/cluster_world.hpp"
#include "simulation/devices/store/picture.hpp"

namespace seckill::sim {
namespace {

constexpr Time rest_longest = 240s;
constexpr std::uint64_t watch_lanes_every = 16;    // events
constexpr std::uint64_t identities_every = 1'024;  // events
constexpr std::int64_t identities_grace_ms = 3'600'000;

}  // namespace

const ItemRow& ClusterWorld::item_row() const { return tables_.items.front(); }

// The lane is on the server that the store's row names: what it says counts.
bool ClusterWorld::is_current(const store::LaneAuthorityRow& row) const {
  const admission::LaneKey key{.item = item_, .lane = row.row.lane};
  const admission::LaneServer& server = lanes_.server(lanes_.shard_of(key));
  return server.run_id == row.run_id && server.replication_id == row.replication_id;
}

void ClusterWorld::watch() {
  if (++watched_ % watch_lanes_every == 0) watch_lanes();
  // A mark may wait for its row as long as the faults last; everything else agrees at every instant.
  if (watched_ % identities_every == 0) check_identities("in flight", identities_grace_ms);
}

void ClusterWorld::watch_lanes() {
  std::int64_t free = 0;
  for (const store::LaneAuthorityRow& row : item_row().lanes) {
    const admission::steps::LaneState* lane = lanes_.lane({.item = item_, .lane = row.row.lane});
    if (lane == nullptr) continue;
    const ledger::LaneStock& stock = lane->stock;
    if (stock.available < 0 || stock.held < 0 || stock.sold < 0) {
      record_.broken(fmt::format("P1: lane {} has {} available, {} held, {} sold", row.row.lane, stock.available,
                                 stock.held, stock.sold));
    }
    tell_lane(row, *lane);
    const bool rules = lane->phase == admission::steps::LanePhase::open && row.state == store::LaneState::lane &&
                       lane->generation == row.row.generation && is_current(row);
    if (!rules) continue;
    free += stock.available;
    if (stock.available > row.row.stock.available) {
      record_.broken(fmt::format("P2: lane {} has {} available, its stock row {}", row.row.lane, stock.available,
                                 row.row.stock.available));
    }
  }
  record_.free_units(free);
}

// The story's line of a lane whose counts, generation or phase changed.
void ClusterWorld::tell_lane(const store::LaneAuthorityRow& row, const admission::steps::LaneState& lane) {
  const auto counts = [](const ledger::LaneStock& stock) {
    return fmt::format("{}/{}/{}", stock.available, stock.held, stock.sold);
  };
  std::string line = fmt::format("lane {}: row g{} {} {}, lane g{} {} {}{}", row.row.lane, row.row.generation,
                                 static_cast<int>(row.state), counts(row.row.stock), lane.generation,
                                 static_cast<int>(lane.phase), counts(lane.stock), is_current(row) ? "" : " foreign");
  std::string& told = lanes_told_[row.row.lane];
  if (told == line) return;
  kernel_.note(line);
  told = std::move(line);
}

// Everything that breaks has been mended, and nobody buys any more.
void ClusterWorld::come_to_rest() {
  resting_ = true;
  kernel_.note("the faults stop");
  kernel_.cancel_crashes();
  store_faults_ = {};
  lanes_.set_faults({});
  for (ShardIndex shard = 0; shard < lanes_.shards(); ++shard) lanes_.slow(shard, 0s);
  broker_.set_faults({});
  broker_.set_alarm(false);
  devices_.synchronous = false;
  for (const auto& host : hosts_) restart(*host);
  (void)database_.want_state(item_, store::LaneState::lane, {});
  // An operator who knows that the broker's content is gone has the lanes rebuilt: their marks are published again.
  if (broker_lost_content_) {
    for (const store::LaneAuthorityRow& row : item_row().lanes) {
      (void)database_.report_lane(item_, row.row.lane, row.row.generation, "the broker lost its content");
    }
  }
  std::string why;
  Time calm_since = Time::max();
  const bool rested = kernel_.run_until(
      [&] {
        watch();
        if (!record_.violation().empty()) return true;
        if (watched_ % 64 != 0) return false;
        // A pause may have been on its way to the store when the faults stopped.
        if (tables_.sales.front().sale.state == model::SaleState::paused) {
          (void)database_.set_sale_state(sale_.id, model::SaleState::paused, model::SaleState::preloaded, {});
          calm_since = Time::max();
          return false;
        }
        // So may admission by database.
        if (item_row().wanted != store::LaneState::lane) {
          (void)database_.want_state(item_, store::LaneState::lane, {});
          calm_since = Time::max();
          return false;
        }
        why = unrest();
        if (!why.empty()) {
          calm_since = Time::max();
          return false;
        }
        // Calm for longer than anything that is still on its way takes.
        if (calm_since == Time::max()) calm_since = kernel_.now();
        return kernel_.now() - calm_since >= 10s;
      },
      rest_longest);
  if (!rested) record_.broken(fmt::format("P6: after {} s of rest: {}", rest_longest / 1s, unrest()));
}

// What is still under way or does not agree; empty at rest.
std::string ClusterWorld::unrest() {
  if (!broker_.empty()) return "the broker holds messages";
  if (!tables_.outbox.empty()) return fmt::format("{} releases are owed to lanes", tables_.outbox.size());
  for (const auto& [id, row] : tables_.transfers) {
    if (row.state == store::TransferState::open) return "transfer " + id + " is open";
  }
  for (const OrderRow& row : tables_.orders) {
    if (model::is_held(row.order.state)) {
      return fmt::format("ticket {} is {}", row.order.ticket.str(), model::name(row.order.state));
    }
  }
  for (const store::LaneAuthorityRow& row : item_row().lanes) {
    const auto lane_is = [&](std::string what) { return fmt::format("lane {} {}", row.row.lane, what); };
    if (row.state != store::LaneState::lane) return lane_is("is not open in the store");
    const admission::steps::LaneState* lane = lanes_.lane({.item = item_, .lane = row.row.lane});
    if (lane == nullptr || lane->phase != admission::steps::LanePhase::open) return lane_is("is not open");
    if (lane->generation != row.row.generation || !is_current(row)) return lane_is("is not the one of its row");
    if (!lane->intents.empty()) return lane_is(fmt::format("has {} open intents", lane->intents.size()));
    if (lane->stock != row.row.stock) {
      return lane_is(fmt::format("has {}/{}/{} (available/held/sold), its row {}/{}/{}", lane->stock.available,
                                 lane->stock.held, lane->stock.sold, row.row.stock.available, row.row.stock.held,
                                 row.row.stock.sold));
    }
    for (const auto& [id, memory] : lane->transfers) {
      if (memory.closed_at == 0) return lane_is("remembers the open transfer " + id);
    }
  }
  return {};
}

// Reconcile's own check, of both sides as they are now. `grace_ms`: how long a mark may be without its row.
void ClusterWorld::check_identities(std::string_view when, std::int64_t grace_ms) {
  reconcile::ItemPicture picture{
      .item = item_, .store = store_picture(tables_, item_), .lanes = {}, .now = kernel_.utc(), .grace_ms = grace_ms};
  for (const store::LaneAuthorityRow& row : item_row().lanes) {
    const admission::steps::LaneState* lane = lanes_.lane({.item = item_, .lane = row.row.lane});
    const bool rules = is_current(row) && row.state == store::LaneState::lane;
    if (lane != nullptr) picture.lanes.push_back(lane_picture(*lane, rules));
  }
  for (const reconcile::Difference& one : reconcile::differences(picture)) {
    record_.broken(fmt::format("P2: {}: {}", when, one.text));
  }
}

void ClusterWorld::check_at_rest() {
  for (const auto& [ticket, one] : record_.acknowledged()) {
    if (tables_.find(ticket) == nullptr && !one.excused) {
      return record_.broken(
          fmt::format("P5: ticket {} of {} was acknowledged and has no row", ticket.str(), one.request.buyer.view()));
    }
  }
  check_identities("at rest", 0);
  const ItemRow& row = item_row();
  std::int64_t units = row.pool;
  for (const store::LaneAuthorityRow& lane : row.lanes) units += lane.row.stock.total();
  if (units != row.terms.total) {
    record_.broken(fmt::format("P2: pool and lanes have {} units, the item {}", units, row.terms.total));
  }
  for (const auto& [buyer, had] : row.buyers) {
    std::int64_t live = 0;
    for (const OrderRow& order : tables_.orders) {
      if (order.order.buyer == buyer && !model::is_ended(order.order.state)) live += order.order.units;
    }
    if (live > limit_max_) {
      record_.broken(fmt::format("P3: {} owns {} units, the limit was never above {}", buyer.view(), live, limit_max_));
    }
    if (live != had.units || live > had.cap) {
      record_.broken(
          fmt::format("P3: {} owns {} units, buyer_units says {} of {}", buyer.view(), live, had.units, had.cap));
    }
  }
}

// P8: whatever came back is on sale: as many new buyers as there are units get one each.
void ClusterWorld::sell_the_rest() {
  std::int64_t free = 0;
  for (const store::LaneAuthorityRow& row : item_row().lanes) free += row.row.stock.available;
  const auto before = static_cast<std::int64_t>(record_.acknowledged().size());
  const std::int64_t buyers = free + 3;
  for (std::int64_t i = 0; i < buyers; ++i) {
    for (int again = 0; again < 8; ++again) {  // busy is not no: what an orphaned transfer holds is settled within 10 s
      BuyersRequest request;
      request.buyer = *model::BuyerId::parse(fmt::format("late-{}", i));
      request.request_id = *model::RequestId::parse("r1");
      request.digest = model::content_digest(1, nullptr);
      kernel_.after(i * 20ms + again * 4s, [this, request]() mutable {
        request.sent_at = kernel_.now();
        buy(request);
      });
    }
  }
  kernel_.run_until(
      [this] {
        watch();
        return !record_.violation().empty();
      },
      buyers * 20ms + 32s);
  const std::int64_t sold = static_cast<std::int64_t>(record_.acknowledged().size()) - before;
  if (sold < free) {  // more: some of them did not pay in time, and what came back was sold again
    record_.broken(fmt::format("P8: {} units were free at rest, {} buyers asked, {} got one", free, buyers, sold));
  }
}

}  // namespace seckill::sim
