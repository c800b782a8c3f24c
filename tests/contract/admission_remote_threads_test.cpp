// Admission over remote lanes on the system's threads, where everything that virtual time runs one after the other runs
// at once: lines, relay, steals, sweeps, recovery, alarms, synchronous ordering, and the landing on several threads.
// Meant for the thread sanitizer as much as for the sums (P1, P2, P3, P5).
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <random>

#include "admission/remote/remote_admission.hpp"
#include "contract/remote_threads_device.hpp"
#include "orders/order_worker_landing.hpp"
#include "simulation/devices/store/sim_database.hpp"

namespace seckill::test {
namespace {

using namespace std::chrono_literals;
using admission::AdmitReply;
using admission::LaneCode;
using model::PurchaseAnswer;

constexpr std::int64_t limit = 3;
// Hangs are failures, not waits: nothing here takes a minute.
constexpr std::chrono::seconds patience{60};

// Rounds far more often than in production, so that they meet what buyers do.
admission::remote::Config hurried() {
  admission::remote::Config config;
  config.copy_period = 10ms;
  config.call_deadline = 500ms;
  config.message_intents_max = 5;
  config.messages_in_flight_max = 2;
  config.replicas_after = 20ms;
  config.sweep_period = 5ms;
  config.sweep_age = 10ms;
  config.steal_reading_pause = 1ms;
  config.sold_out_lease = 5ms;
  config.recovery_period = 10ms;
  config.recovery_age = 50ms;
  return config;
}

class RemoteThreads : public testing::Test {
 protected:
  RemoteThreads() {
    model::SaleItem goods;
    goods.sku = item.sku;
    goods.title = "t";
    goods.price_minor = 100;
    goods.total = 180;
    goods.reserve = 40;
    goods.limit = limit;
    goods.lanes = 8;
    sale.id = item.sale;
    sale.title = "t";
    sale.starts_at = clock.now_utc() - 1'000;
    sale.ends_at = clock.now_utc() + 3'600'000;
    sale.ticket_key = {1, 2, 3};
    sale.items = {goods};
    EXPECT_TRUE(database.create_sale(sale, {}));
    EXPECT_TRUE(database.preload(sale.id, clock.now_utc(), {}));
    for (const store::LaneAuthorityRow& row : database.item_authority(item)->lanes) install(row);
    admission.start();
    EXPECT_TRUE(admission.install(sale, sale.items.front(), database));
  }
  ~RemoteThreads() override { admission.stop(); }

  void install(const store::LaneAuthorityRow& row) {
    const admission::InstallPlan plan{.generation = row.row.generation,
                                      .leader = {1},
                                      .terms = model::terms_of(sale, sale.items.front()),
                                      .stock = row.row.stock,
                                      .tickets = 0};
    lanes.look([&](auto& device) {
      auto& lane = device.lane({item, row.row.lane});
      EXPECT_EQ(admission::steps::install_begin(lane, plan), LaneCode::done);
      EXPECT_EQ(admission::steps::install_open(lane, plan), LaneCode::done);
    });
  }

  // Asks and waits for the one answer; a second one would throw.
  AdmitReply ask(const std::string& who, const std::string& request_id, std::int64_t units) {
    std::promise<AdmitReply> promise;
    auto reply = promise.get_future();
    admission.admit({.item = item,
                     .buyer = *model::BuyerId::parse(who),
                     .request_id = *model::RequestId::parse(request_id),
                     .units = units,
                     .digest = model::content_digest(units, nullptr),
                     .fields = nullptr},
                    [promise = std::move(promise)](AdmitReply got) mutable { promise.set_value(std::move(got)); });
    if (reply.wait_for(patience) != std::future_status::ready) std::abort();
    return reply.get();
  }
  // The store's row first, then the lane, again and again until it has applied it.
  void cancel(const model::Ticket& ticket) {
    store::EndCommand command;
    command.ticket = ticket;
    command.event = model::OrderEvent::cancel;
    command.now = clock.now_utc();
    const auto ended = database.end_tickets({&command, 1});
    if (!ended || ended->front().effect != model::StockEffect::void_) return;
    const auto give_up = std::chrono::steady_clock::now() + patience;
    for (;;) {
      std::promise<admission::LaneAck> promise;
      auto ack = promise.get_future();
      admission.release(item, ticket, [&promise](admission::LaneAck got) { promise.set_value(got); });
      if (ack.get() == admission::LaneAck::applied) return;
      ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "no lane takes the release";
    }
  }
  // Units from the pool into a lane, and as many back.
  void top_up_and_reduce(int nth) {
    model::StockTransfer transfer;
    transfer.id = fmt::format("top-up:{}", nth);
    transfer.item = item;
    transfer.to = nth % 8;
    transfer.units = 1 + nth % 3;
    transfer.at = clock.now_utc();
    if (database.pool_to_lanes({&transfer, 1}, {})) {
      const auto give_up = std::chrono::steady_clock::now() + patience / 3;
      while (!admission.credit(transfer)) ASSERT_LT(std::chrono::steady_clock::now(), give_up);
    }
    (void)admission.debit_to_pool(item, 2, fmt::format("cut:{}", nth));
  }
  // Nothing owed anywhere: every intent landed, no units in transit, and each lane is what its row says.
  bool at_rest() {
    const auto authority = database.item_authority(item);
    if (!database.open_transfers(item)->empty()) return false;
    return lanes.look([&](auto& device) {
      return std::ranges::all_of(authority->lanes, [&](const store::LaneAuthorityRow& row) {
        const auto& lane = device.lane({item, row.row.lane});
        return lane.intents.empty() && admission::steps::read(lane).transfers.empty() && lane.stock == row.row.stock;
      });
    });
  }
  void settle() {
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (!at_rest()) {
      ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "lanes and rows never agree";
      std::this_thread::sleep_for(1ms);
    }
  }

  const model::ItemKey item{*model::SaleId::parse("s1"), *model::Sku::parse("k1")};
  const base::SystemClock clock;
  model::Sale sale;
  sim::Tables tables;
  sim::SimDatabase database{tables, clock};
  ConnectedLanes lanes{clock, 2};
  orders::ClusterLanding landing{
      {.store = database, .authority = database, .scripts = lanes, .threads = base::system_threads(), .clock = clock},
      [](const model::ItemKey&, std::string_view why) { ADD_FAILURE() << "P1: " << why; }};
  LandingBroker broker{landing, 2};
  std::atomic<bool> synchronous{false};
  admission::remote::RemoteAdmission admission{{.scripts = lanes,
                                                .publisher = broker,
                                                .authority = database,
                                                .store = database,
                                                .threads = base::system_threads(),
                                                .clock = clock,
                                                .random = base::system_random(),
                                                .landing = &landing,
                                                .synchronous = [this] { return synchronous.load(); }},
                                               hurried()};
};

TEST_F(RemoteThreads, P2_P5_buying_ending_stealing_and_operating_at_once_loses_no_unit_and_no_ticket) {
  using admission::remote::test::Fault;
  lanes.look([](auto& device) {
    for (const char* method : {"admit", "debit", "credit", "release", "confirm_published", "close_transfer"}) {
      for (int i = 0; i < 20; ++i) device.plan(method, {Fault::none, Fault::none, Fault::none, Fault::lost_reply});
    }
  });
  std::atomic<bool> buying{true};
  std::mutex mutex;
  std::vector<model::Ticket> told;
  std::jthread operating{[&] {
    for (int i = 0; buying; ++i) {
      synchronous = i % 2 == 0;
      if (i < 40) top_up_and_reduce(i);
      EXPECT_TRUE(admission.configure(item, {}));
      (void)admission.stock(item);
      (void)admission.lanes(item);
      std::this_thread::yield();
    }
  }};
  {
    std::vector<std::jthread> crowd;
    for (unsigned t = 0; t < 4; ++t) {
      crowd.emplace_back([&, t] {
        std::minstd_rand random{t + 1};
        for (int i = 0; i < 300; ++i) {
          const std::string who = fmt::format("u{}", random() % 90);
          const AdmitReply reply = ask(who, fmt::format("r{}", random() % 4), 1 + random() % limit);
          if (reply.answer != PurchaseAnswer::admitted) continue;
          {
            const std::scoped_lock lock{mutex};
            told.push_back(reply.ticket->ticket);
          }
          if (random() % 3 == 0) cancel(reply.ticket->ticket);
        }
      });
    }
  }
  buying = false;
  operating.join();
  settle();
  admission.stop();
  EXPECT_FALSE(told.empty());
  for (const model::Ticket& ticket : told) EXPECT_TRUE(database.find_order(ticket)->has_value()) << "P5";
  const auto authority = database.item_authority(item);
  std::int64_t units = authority->pool;
  for (const store::LaneAuthorityRow& row : authority->lanes) units += row.row.stock.total();
  EXPECT_EQ(units, 180) << "P2";
  std::map<std::string, std::int64_t> owned;
  EXPECT_TRUE(database.visit_tickets(item, [&](const store::TicketRow& row) {
    if (!model::is_ended(row.state)) owned[row.buyer.str()] += row.units;
  }));
  for (const auto& [buyer, of_buyer] : owned) EXPECT_LE(of_buyer, limit) << "P3 of " << buyer;
}

TEST_F(RemoteThreads, a_stop_among_buyers_answers_each_of_them_once_and_then_everybody_busy) {
  std::atomic<int> answered{0};
  std::atomic<bool> over{false};
  std::vector<std::jthread> crowd;
  for (int t = 0; t < 4; ++t) {
    crowd.emplace_back([&, t] {
      for (int i = 0; i < 30 || !over; ++i) {
        (void)ask(fmt::format("u{}-{}", t, i), "r", 1 + i % limit);
        ++answered;
      }
    });
  }
  while (answered < 40) std::this_thread::yield();
  admission.stop();
  over = true;
  crowd.clear();
  EXPECT_EQ(ask("late", "r", 1).answer, PurchaseAnswer::busy);
  EXPECT_EQ(admission.relay().unconfirmed(), 0U) << "P9: every place was given back";
}

}  // namespace
}  // namespace seckill::test
