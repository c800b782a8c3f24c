#include "simulation/leading/leading_world.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace seckill::sim {
namespace {

admission::leading::LeaderConfig leader_config(Node& node) {
  admission::leading::LeaderConfig config;
  config.lease.holder = fmt::format("{}#{}", node.name(), node.life());
  config.rebuild.partitions = 1;
  config.rebuild.batch_max = 3;  // so that a few tickets make several batches
  return config;
}

}  // namespace

LeadingWorld::Leading::Leading(LeadingWorld& world, Node& its_node)
    : node{its_node},
      store{&world.kernel, world.database, &its_node, world.store_faults},
      scripts{world.kernel, world.lanes, its_node},
      publisher{world.broker.publisher(its_node)},
      leader{{.authority = store,
              .store = store,
              .scripts = scripts,
              .publisher = *publisher,
              .threads = its_node.threads(),
              .clock = its_node.clock()},
             [&world] { return base::Result<std::vector<model::ItemKey>>{std::vector{world.item}}; },
             leader_config(its_node)} {}

LeadingWorld::Working::Working(LeadingWorld& world, Node& its_node)
    : node{its_node},
      store{&world.kernel, world.database, &its_node, world.store_faults},
      scripts{world.kernel, world.lanes, its_node},
      source{world.broker.source(its_node, {0})},
      landing{{.store = store,
               .authority = store,
               .scripts = scripts,
               .threads = its_node.threads(),
               .clock = its_node.clock()},
              [&world](const model::ItemKey&, std::string_view what) { world.oversold.emplace(what); },
              world.landing_config},
      worker{*source, landing, its_node.threads(),
             [&world](std::uint64_t n) { return world.kernel.random().below(n); }} {}

LeadingWorld::LeadingWorld(std::uint64_t seed, LeadingTerms terms)
    : kernel{seed}, lanes{kernel, {.shards = terms.shards, .faults = {}}} {
  model::SaleItem thing;
  thing.sku = item.sku;
  thing.title = "A phone";
  thing.price_minor = terms.price_minor;
  thing.total = terms.total;
  thing.limit = terms.limit;
  thing.lanes = terms.lanes;
  thing.pay_window_ms = 3'600'000;
  model::Sale sale;
  sale.id = item.sale;
  sale.title = "Eleven eleven";
  sale.starts_at = Kernel::utc_at_start;
  sale.ends_at = Kernel::utc_at_start + 3'600'000;
  sale.ticket_key = {1, 2, 3};
  sale.items.push_back(thing);
  EXPECT_TRUE(database.create_sale(sale, {.actor = "test", .action = "sale.create", .detail = "{}", .at = 0}));
  buyers = std::make_unique<SimLanesClient>(kernel, lanes, buyers_node);
  publisher = broker.publisher(buyers_node);
  // A crash that was planned: the node stays down, the other one leads.
  kernel.on_crash([](Node&, Time) {});
}

LeadingWorld::~LeadingWorld() {
  for (Node* node : leader_nodes) node->crash();
  worker_node.crash();
}

void LeadingWorld::start_leader(std::size_t which) {
  Node& node = *leader_nodes[which];
  if (!node.alive()) {
    leading[which].reset();
    node.restart();
  }
  leading[which] = std::make_unique<Leading>(*this, node);
  leading[which]->leader.start();
}

void LeadingWorld::start_worker() {
  if (!worker_node.alive()) {
    working.reset();
    worker_node.restart();
  }
  working = std::make_unique<Working>(*this, worker_node);
  working->worker.start();
}

void LeadingWorld::stop_worker() { worker_node.crash(); }

bool LeadingWorld::is_open() {
  const auto now = authority();
  for (const auto& one : now.lanes) {
    if (one.state != now.wanted) return false;
    if (now.wanted == LaneState::store) continue;
    const auto* lane = lanes.lane({item, one.row.lane});
    if (lane == nullptr || lane->phase != admission::steps::LanePhase::open) return false;
    if (lane->generation != one.row.generation) return false;
    const auto& server = lanes.server(lanes.shard_of({item, one.row.lane}));
    if (server.run_id != one.run_id || server.replication_id != one.replication_id) return false;
  }
  return !now.lanes.empty();
}

bool LeadingWorld::run_until_open(Time longest) {
  return kernel.run_until([this] { return is_open(); }, longest);
}

bool LeadingWorld::run_until_drained(Time longest) {
  const Time until = kernel.now() + longest;
  const auto drained = [this] {
    return broker.empty() &&
           std::ranges::all_of(lanes.lanes(), [this](const LaneKey& key) { return lanes.lane(key)->intents.empty(); });
  };
  while (kernel.now() < until) {
    if (kernel.run_until(drained, 1s)) return true;
    sweep();
  }
  return drained();
}

void LeadingWorld::sweep() {
  for (const auto& key : lanes.lanes()) {
    const auto server = server_in_row(key.lane);
    const auto claimed =
        call<std::vector<model::OrderIntent>>(&SimLanesClient::claim_intents, key, server, 2'000, std::size_t{100});
    if (!claimed) continue;
    for (const auto& intent : *claimed) {
      if (publish(intent) != queue::Published::confirmed) continue;
      (void)call<LaneCode>(&SimLanesClient::confirm_published, key, server, std::vector{intent.ticket});
    }
  }
}

void LeadingWorld::open() {
  ASSERT_TRUE(
      database.preload(item.sale, kernel.utc(), {.actor = "test", .action = "preload", .detail = "{}", .at = 0}));
  start_leader();
  ASSERT_TRUE(run_until_open());
}

LeadingWorld::Bought LeadingWorld::buy(const std::string& buyer, const std::string& request, std::int64_t units) {
  const auto now = authority();
  admission::LaneAsk ask;
  ask.buyer = *model::BuyerId::parse(buyer);
  ask.request_id = *model::RequestId::parse(request);
  ask.units = units;
  ask.digest = model::content_digest(units, nullptr);
  const auto lane = model::lane_of(buyer, static_cast<std::uint32_t>(now.lanes.size()));
  ask.ticket = model::derive_ticket(now.sale.ticket_key, item, ask.buyer, request, lane);
  const auto decided = call<admission::LaneDecisions>(&SimLanesClient::admit, {item, lane}, server_in_row(lane),
                                                      now.lanes.at(lane).row.generation, std::vector{ask});
  if (!decided || decided->code != LaneCode::done) return {};
  return {.decision = decided->decisions.at(0).decision, .intent = decided->decisions.at(0).intent};
}

model::OrderIntent LeadingWorld::admitted(const std::string& buyer, const std::string& request, std::int64_t units) {
  const auto got = buy(buyer, request, units);
  EXPECT_EQ(got.decision, admission::Decision::admit) << buyer;
  return got.intent.value_or(model::OrderIntent{});
}

queue::Published LeadingWorld::publish(const model::OrderIntent& intent) {
  return kernel.await<queue::Published>(
      [&](std::move_only_function<void(queue::Published)> done) { publisher->publish(0, {intent}, std::move(done)); });
}

model::OrderIntent LeadingWorld::bought(const std::string& buyer, const std::string& request, std::int64_t units) {
  auto intent = admitted(buyer, request, units);
  EXPECT_EQ(publish(intent), queue::Published::confirmed);
  const auto marked = call<LaneCode>(&SimLanesClient::confirm_published, lane_of(intent), server_in_row(intent.lane),
                                     std::vector{intent.ticket});
  EXPECT_TRUE(marked.has_value());
  return intent;
}

std::string LeadingWorld::broken(bool drained) {
  const auto audit = database.audit_item(item, kernel.utc()).value();
  std::int64_t units = audit.stock.pool;
  for (const auto& lane : audit.stock.lanes) units += lane.stock.total();
  if (units != audit.stock.total) return fmt::format("P2: {} units of {}", units, audit.stock.total);
  if (audit.buyers_over_cap + audit.buyer_units_mismatch > 0) return "P3: buyers over their cap";
  if (audit.journal_mismatch + audit.lane_mismatch > 0) return "P6: journal or lanes do not match the orders";
  if (!oversold.empty()) return "P1: " + *oversold.begin();
  for (const auto& one : audit.stock.lanes) {
    const auto* lane = lanes.lane({item, one.lane});
    if (lane == nullptr || lane->phase != admission::steps::LanePhase::open) continue;
    if (lane->generation != one.generation) continue;
    if (lane->stock.available > one.stock.available) return fmt::format("P1: lane {} has more than its row", one.lane);
    if (drained && !(lane->stock == one.stock)) {
      return fmt::format("P2: lane {} has {}/{}/{}, its row {}/{}/{}", one.lane, lane->stock.available,
                         lane->stock.held, lane->stock.sold, one.stock.available, one.stock.held, one.stock.sold);
    }
  }
  return {};
}

}  // namespace seckill::sim
