// One api node in virtual time: RemoteAdmission on fibers, lanes in this process, a broker that the test confirms, and
// the simulated store. A test says what befalls it and lets time pass.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/remote/remote_admission.hpp"
#include "simulation/devices/store/sim_store.hpp"
#include "simulation/kernel/kernel.hpp"
#include "unit/admission/remote/lanes_device.hpp"

namespace seckill::admission::remote::test {

using namespace std::chrono_literals;
using model::PurchaseAnswer;

// Confirms by itself after a millisecond, or holds messages for the test.
class BrokerDevice final : public queue::IntentPublisher {
 public:
  explicit BrokerDevice(sim::Kernel& kernel) : kernel_{kernel} {}

  std::optional<queue::Published> answers = queue::Published::confirmed;  // nullopt: holds
  bool takes = true;
  std::vector<model::OrderIntent> published;  // all, in order
  std::vector<std::size_t> message_sizes;

  void publish(queue::Partition /*partition*/, std::vector<model::OrderIntent> intents,
               queue::PublishDone done) override {
    published.insert(published.end(), intents.begin(), intents.end());
    message_sizes.push_back(intents.size());
    if (!answers) {
      held_.push_back(std::move(done));
      return;
    }
    kernel_.after(1ms, [how = *answers, done = std::move(done)]() mutable { done(how); });
  }
  [[nodiscard]] bool accepting() const noexcept override { return takes; }
  base::Status barrier(queue::Partition, std::chrono::milliseconds) override { return {}; }

  void answer_held(queue::Published how) {
    for (auto& done : std::exchange(held_, {})) done(how);
  }
  [[nodiscard]] std::size_t held() const { return held_.size(); }

 private:
  sim::Kernel& kernel_;
  std::vector<queue::PublishDone> held_;
};

class SeededRandom final : public base::Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : random_{seed} {}
  [[nodiscard]] std::uint64_t next() noexcept override { return random_.next(); }

 private:
  sim::Random random_;
};

class ConsumerDevice final : public queue::IntentConsumer {
 public:
  explicit ConsumerDevice(store::Store& store) : store_{store} {}
  bool down = false;
  base::Result<std::vector<store::Landed>> consume(std::span<const model::LaneRecord> records) override {
    if (down) return base::fail(base::Errc::unavailable, "landing");
    return store_.land(records, sim::Kernel::utc_at_start);
  }

 private:
  store::Store& store_;
};

struct Told {
  std::optional<AdmitReply> reply;
  [[nodiscard]] bool is(PurchaseAnswer answer) const { return reply && reply->answer == answer; }
};

class RemoteWorld {
 public:
  explicit RemoteWorld(std::int64_t total = 16, std::uint32_t lane_count = 2, Config settings = {})
      : config{settings}, lane_total{lane_count} {
    model::SaleItem sale_item;
    sale_item.sku = item.sku;
    sale_item.title = "t";
    sale_item.price_minor = 100;
    sale_item.total = total;
    sale_item.limit = 3;
    sale_item.lanes = lane_count;
    sale.id = item.sale;
    sale.title = "t";
    sale.starts_at = sim::Kernel::utc_at_start - 1'000;
    sale.ends_at = sim::Kernel::utc_at_start + 3'600'000;
    sale.ticket_key = {1, 2, 3};
    sale.items = {sale_item};
    EXPECT_TRUE(database.create_sale(sale, {}));
    EXPECT_TRUE(database.preload(sale.id, 1, {}));
    for (model::LaneIndex lane = 0; lane < lane_count; ++lane) install(lane);
    start();
  }
  ~RemoteWorld() {
    lanes.let_go();
    broker.answer_held(queue::Published::unknown);
    if (admission) admission->stop();
  }

  void start() {
    admission = std::make_unique<RemoteAdmission>(Ports{.scripts = lanes,
                                                        .publisher = broker,
                                                        .authority = store,
                                                        .store = store,
                                                        .threads = node.threads(),
                                                        .clock = node.clock(),
                                                        .random = random,
                                                        .landing = &landing,
                                                        .synchronous = [this] { return synchronous; }},
                                                  config);
    admission->start();
    EXPECT_TRUE(admission->install(sale, sale.items.front(), store));
  }

  // The lane as a rebuild would leave it: from the store's rows, at the row's generation.
  void install(model::LaneIndex index) {
    const store::LaneAuthorityRow& row = row_of(index);
    const model::Sale stored = *database.find_sale(item.sale);
    InstallPlan plan{.generation = row.row.generation,
                     .leader = {1},
                     .terms = model::terms_of(stored, stored.items.front()),
                     .stock = row.row.stock,
                     .tickets = 0};
    std::vector<InstallTicket> tickets;
    EXPECT_TRUE(database.visit_tickets(item, [&](const store::TicketRow& ticket) {
      if (ticket.ticket.lane() == index) tickets.push_back({ticket});
    }));
    plan.tickets = tickets.size();
    steps::LaneState& lane = lanes.lane({item, index});
    EXPECT_EQ(steps::install_begin(lane, plan), LaneCode::done);
    EXPECT_EQ(steps::install_batch(lane, plan, tickets), LaneCode::done);
    EXPECT_EQ(steps::install_open(lane, plan), LaneCode::done);
  }
  // A whole rebuild of one lane at once, as its leader.
  void rebuild(model::LaneIndex index, store::LaneState to = store::LaneState::lane, bool drained = true) {
    const auto lease = database.acquire_lease(store::leader_lease, "leader", 3'600s);
    EXPECT_TRUE(database.rebuild_lane(item, index, (*lease)->token));
    if (drained) drain(index);
    if (to == store::LaneState::lane) {
      install(index);
    } else {
      lanes.lane({item, index}).phase = steps::LanePhase::closed;
    }
    EXPECT_TRUE(database.open_lane(item, index, row_of(index).row.generation, to, lanes.server.run_id,
                                   lanes.server.replication_id, (*lease)->token));
  }
  // Nothing of an older generation is on its way, as its leader found.
  void drain(model::LaneIndex index) {
    const auto lease = database.acquire_lease(store::leader_lease, "leader", 3'600s);
    const store::LaneAuthorityRow& row = row_of(index);
    EXPECT_TRUE(database.drain_lane(item, index, row.row.generation, row.strays, (*lease)->token));
  }
  [[nodiscard]] const store::LaneAuthorityRow& row_of(model::LaneIndex index) const {
    return database.tables().items.front().lanes[index];
  }

  // The nth buyer whose lane is `lane`.
  [[nodiscard]] model::BuyerId buyer(model::LaneIndex lane, int nth = 0) const {
    for (int i = 0;; ++i) {
      const std::string name = "b" + std::to_string(i);
      if (model::lane_of(name, lane_total) == lane && nth-- == 0) return *model::BuyerId::parse(name);
    }
  }
  [[nodiscard]] AdmitRequest request(const model::BuyerId& who, std::int64_t units = 1, const char* id = "r1") const {
    return {.item = item,
            .buyer = who,
            .request_id = *model::RequestId::parse(id),
            .units = units,
            .digest = model::content_digest(units, nullptr),
            .fields = nullptr};
  }
  // Asks, and notes the answer when it comes; it must not come twice.
  std::shared_ptr<Told> ask(const AdmitRequest& asked) {
    auto told = std::make_shared<Told>();
    admission->admit(asked, [told](AdmitReply reply) {
      EXPECT_FALSE(told->reply) << "an answer comes once";
      told->reply = std::move(reply);
    });
    return told;
  }
  // Asks and waits for the answer.
  AdmitReply buy(const AdmitRequest& asked) {
    const auto told = ask(asked);
    EXPECT_TRUE(kernel.run_until([&] { return told->reply.has_value(); }, 10s));
    return told->reply.value_or(AdmitReply{});
  }
  void pass(sim::Time time) { kernel.run_until(kernel.now() + time); }

  [[nodiscard]] ledger::LaneStock& stock(model::LaneIndex lane) { return lanes.lane({item, lane}).stock; }
  [[nodiscard]] steps::LaneState& lane(model::LaneIndex index) { return lanes.lane({item, index}); }
  // P2 in the lanes: no unit is made or lost; in transit is what the records say.
  [[nodiscard]] std::int64_t units_in_lanes() {
    std::int64_t units = 0;
    for (model::LaneIndex i = 0; i < lane_total; ++i) units += stock(i).total();
    return units;
  }
  [[nodiscard]] std::size_t open_records() {
    std::size_t count = 0;
    for (model::LaneIndex i = 0; i < lane_total; ++i) count += steps::read(lane(i)).transfers.size();
    return count;
  }
  [[nodiscard]] std::vector<store::TransferState> transfer_rows() const {
    std::vector<store::TransferState> states;
    for (const auto& [id, row] : database.tables().transfers) {
      if (id.starts_with("steal:")) states.push_back(row.state);
    }
    return states;
  }

  const model::ItemKey item{*model::SaleId::parse("s1"), *model::Sku::parse("k1")};
  Config config;
  const std::uint32_t lane_total;
  model::Sale sale;
  bool synchronous = false;

  sim::Kernel kernel{1};
  sim::Node& node = kernel.add_node("api1");
  SeededRandom random{7};
  sim::Tables tables;
  sim::SimDatabase database{tables, node.clock()};
  sim::StoreFaults faults;
  sim::SimStore store{&kernel, database, &node, faults};
  LanesDevice lanes{node.clock()};
  BrokerDevice broker{kernel};
  ConsumerDevice landing{database};
  std::unique_ptr<RemoteAdmission> admission;
};

}  // namespace seckill::admission::remote::test
