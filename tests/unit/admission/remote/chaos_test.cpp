// Several nodes over simulated lanes, broker and store, with calls lost, late and repeated and nodes that crash; then
// the faults end and everything must agree. One seed is one run.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "admission/remote/remote_admission.hpp"
#include "simulation/devices/broker/sim_broker.hpp"
#include "simulation/devices/lanes/sim_lanes_client.hpp"
#include "simulation/devices/store/sim_store.hpp"
#include "simulation/kernel/kernel.hpp"
#include "unit/admission/remote/remote_world.hpp"

namespace seckill::admission::remote::test {
namespace {

constexpr std::uint32_t lanes_of_item = 3;
constexpr std::int64_t total = 48;

struct Api {
  sim::Node* node = nullptr;
  std::unique_ptr<sim::SimStore> store;
  std::unique_ptr<sim::SimLanesClient> lanes;
  std::unique_ptr<queue::IntentPublisher> publisher;
  std::unique_ptr<SeededRandom> random;
  std::unique_ptr<RemoteAdmission> admission;
  std::unique_ptr<base::Thread> boot;
  bool ready = false;
};

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : kernel{seed}, dice{kernel.random().fork("chaos")} {
    config.partitions = 2;
    config.replicas_after = std::chrono::milliseconds{0};  // so that durable means the broker or the store has it
    model::SaleItem sale_item;
    sale_item.sku = item.sku;
    sale_item.title = "t";
    sale_item.price_minor = 100;
    sale_item.total = total;
    sale_item.limit = 4;
    sale_item.lanes = lanes_of_item;
    sale.id = item.sale;
    sale.title = "t";
    sale.starts_at = sim::Kernel::utc_at_start - 1'000;
    sale.ends_at = sim::Kernel::utc_at_start + 3'600'000;
    sale.items = {sale_item};
    EXPECT_TRUE(database.create_sale(sale, {}));
    EXPECT_TRUE(database.preload(sale.id, 1, {}));
    sim::Node& leader = kernel.add_node("leader");
    sim::SimLanesClient client{kernel, cluster, leader};
    for (model::LaneIndex lane = 0; lane < lanes_of_item; ++lane) install(client, lane);
    for (auto& api : apis) {
      api.node = &kernel.add_node("api");
      boot(api);
    }
    kernel.run_until([&] { return std::ranges::all_of(apis, [](const Api& api) { return api.ready; }); }, 10s);
    kernel.after(50ms, [this] { land(); });
  }

  void install(sim::SimLanesClient& client, model::LaneIndex lane) {
    const LaneKey key{.item = item, .lane = lane};
    const auto token = (*database.acquire_lease(store::leader_lease, "leader", 3'600s))->token;
    const auto rebuilt = database.rebuild_lane(item, lane, token);
    EXPECT_TRUE(database.drain_lane(item, lane, rebuilt->generation, 0, token));
    const InstallPlan plan{.generation = rebuilt->generation,
                           .leader = {token},
                           .terms = model::terms_of(*database.find_sale(item.sale), sale.items.front()),
                           .stock = rebuilt->stock,
                           .tickets = 0};
    const auto server =
        kernel.await<base::Result<LaneServer>>([&](auto done) { client.server_of(key, std::move(done)); });
    const auto code = [&](auto begin) { EXPECT_EQ(*kernel.await<base::Result<LaneCode>>(begin), LaneCode::done); };
    code([&](auto done) { client.install_begin(key, *server, plan, std::move(done)); });
    code([&](auto done) { client.install_open(key, *server, plan, std::move(done)); });
    EXPECT_TRUE(database.open_lane(item, lane, plan.generation, store::LaneState::lane, server->run_id,
                                   server->replication_id, token));
  }

  void boot(Api& api) {
    api.store = std::make_unique<sim::SimStore>(&kernel, database, api.node, store_faults);
    api.lanes = std::make_unique<sim::SimLanesClient>(kernel, cluster, *api.node);
    api.publisher = broker.publisher(*api.node);
    api.random = std::make_unique<SeededRandom>(dice.next());
    api.admission = std::make_unique<RemoteAdmission>(Ports{.scripts = *api.lanes,
                                                            .publisher = *api.publisher,
                                                            .authority = *api.store,
                                                            .store = *api.store,
                                                            .threads = api.node->threads(),
                                                            .clock = api.node->clock(),
                                                            .random = *api.random,
                                                            .landing = nullptr,
                                                            .synchronous = {}},
                                                      config);
    api.admission->start();
    api.ready = false;
    api.boot = api.node->threads().start("boot", [this, &api] {
      while (!api.admission->install(sale, sale.items.front(), *api.store)) api.node->threads().sleep_for(100ms);
      api.ready = true;
    });
  }

  // What the workers do, without their faults: every durable intent becomes an order.
  void land() {
    for (queue::Partition partition = 0; partition < config.partitions; ++partition) {
      for (const model::OrderIntent& intent : broker.contents(partition)) {
        if (!landed.insert(intent.ticket).second) continue;
        const std::vector<model::LaneRecord> records{intent};
        EXPECT_TRUE(database.land(records, kernel.utc()));
      }
    }
    kernel.after(50ms, [this] { land(); });
  }

  void buy_something() {
    Api& api = apis[dice.below(apis.size())];
    if (!api.node->alive() || !api.ready) return;
    const std::string name = "b" + std::to_string(dice.below(20));
    const auto id = *model::RequestId::parse("r" + std::to_string(dice.below(3)));
    const auto units = dice.between(1, 3);
    const AdmitRequest request{.item = item,
                               .buyer = *model::BuyerId::parse(name),
                               .request_id = id,
                               .units = units,
                               .digest = model::content_digest(units, nullptr),
                               .fields = nullptr};
    ++asked;
    api.admission->admit(request,
                         [this, units, key = name + id.str()](const AdmitReply& reply) { check(reply, units, key); });
  }

  void check(const AdmitReply& reply, std::int64_t units, const std::string& key) {
    ++answers[reply.answer];
    if (reply.ticket) {
      const auto [known, first] = tickets.try_emplace(key, reply.ticket->ticket);
      EXPECT_EQ(known->second, reply.ticket->ticket) << "P4";
    }
    if (reply.answer == PurchaseAnswer::admitted || reply.answer == PurchaseAnswer::replayed) {
      ASSERT_TRUE(reply.ticket);
      EXPECT_TRUE(broker.holds(reply.ticket->ticket) || landed.contains(reply.ticket->ticket)) << "P5";
      promised.insert(reply.ticket->ticket);
    }
    // Nothing comes back in this run, so what is free at one time was free before.
    if (reply.answer == PurchaseAnswer::sold_out) EXPECT_LT(total - taken(), units) << "P8";
    EXPECT_LE(taken(), total) << "P1";
  }

  [[nodiscard]] const steps::LaneState& lane(model::LaneIndex index) { return *cluster.lane({item, index}); }
  [[nodiscard]] std::int64_t taken() {
    std::int64_t units = 0;
    for (model::LaneIndex i = 0; i < lanes_of_item; ++i) units += lane(i).stock.held + lane(i).stock.sold;
    return units;
  }

  void crash_one() {
    Api& api = apis[dice.below(apis.size())];
    if (!api.node->alive()) return;
    api.node->crash();
    api.ready = false;
    kernel.after(sim::Time{dice.between(1, 3'000)} * 1'000'000, [this, &api] {
      // As the process is gone, so are its objects; what was on its way to them is dropped.
      api.boot.reset();
      api.admission.reset();
      api.node->restart();
      boot(api);
    });
  }

  void run() {
    for (int i = 0; i < 400; ++i) {
      kernel.after(sim::Time{dice.between(0, 20'000)} * 1'000'000, [this] { buy_something(); });
    }
    for (int i = 0; i < 3; ++i) {
      kernel.after(sim::Time{dice.between(1'000, 18'000)} * 1'000'000, [this] { crash_one(); });
    }
    kernel.run_until(kernel.now() + 24s);
    // Faults end.
    cluster.set_faults({});
    broker.set_faults({});
    store_faults = {};
    kernel.run_until(kernel.now() + 60s);
  }

  void expect_agreement() {
    std::int64_t units = 0;
    for (model::LaneIndex i = 0; i < lanes_of_item; ++i) {
      const LaneReading reading = steps::read(lane(i));
      EXPECT_TRUE(reading.transfers.empty()) << "P2: a transfer stands in lane " << i;
      EXPECT_EQ(reading.open_intents, 0) << "P6: an intent is left in lane " << i;
      const store::LaneAuthorityRow& row = database.tables().items.front().lanes[i];
      EXPECT_EQ(row.row.stock, reading.stock) << "P2: lane " << i;
      EXPECT_EQ(row.state, store::LaneState::lane) << "nobody had a reason to report it";
      units += reading.stock.total();
    }
    EXPECT_EQ(units, total) << "P2";
    for (const model::Ticket& ticket : promised) EXPECT_TRUE(landed.contains(ticket)) << "P5";
    EXPECT_TRUE(database.open_transfers(item)->empty());
  }

  const model::ItemKey item{*model::SaleId::parse("s1"), *model::Sku::parse("k1")};
  model::Sale sale;
  Config config;
  sim::Kernel kernel;
  sim::Random dice;
  sim::Tables tables;
  sim::Node& database_node = kernel.add_node("database");
  sim::SimDatabase database{tables, database_node.clock()};
  sim::StoreFaults store_faults;
  sim::SimLanes cluster{kernel};
  sim::SimBroker broker{kernel, {.partitions = 2}};
  std::array<Api, 2> apis;

  std::set<model::Ticket> landed;
  std::set<model::Ticket> promised;
  std::map<std::string, model::Ticket> tickets;
  std::map<PurchaseAnswer, int> answers;
  int asked = 0;
};

void run_seed(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Chaos chaos{seed};
  const auto rate = [&](std::uint32_t most) { return static_cast<std::uint32_t>(chaos.dice.below(most)); };
  chaos.cluster.set_faults({.not_sent = rate(50), .request_lost = rate(50), .reply_lost = rate(50), .late = rate(50)});
  chaos.broker.set_faults({.lose_publish = rate(100), .lose_confirm = rate(100), .refuse = rate(100)});
  chaos.store_faults.unavailable = rate(50);
  chaos.store_faults.lost_reply = rate(50);
  chaos.store_faults.lost_request = rate(50);
  chaos.run();
  chaos.expect_agreement();
  if (::testing::Test::HasFailure()) {
    for (const auto& line : chaos.kernel.story()) std::cerr << line << "\n";
  }
  std::string told;
  for (const auto& [answer, count] : chaos.answers) {
    told += std::string{model::name(answer)} + " " + std::to_string(count) + "  ";
  }
  ::testing::Test::RecordProperty("answers", told);
  if (std::getenv("SECKILL_SHOW") != nullptr) std::cerr << seed << ": " << told << "of " << chaos.asked << "\n";
}

TEST(RemoteChaos, P1_P2_P4_P5_P6_P8_hold_through_lost_calls_and_crashes_and_all_agrees_afterwards) {
  const char* text = std::getenv("SECKILL_SEEDS");
  const std::uint64_t seeds = text == nullptr ? 20 : std::strtoull(text, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) run_seed(seed);
}

}  // namespace
}  // namespace seckill::admission::remote::test
