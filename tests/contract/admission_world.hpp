// One sale, one engine of the admission port and a device under it: what every admission suite acts on. A new engine
// joins the suites by one line in engines().
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "admission/memory/memory_admission.hpp"
#include "base/clock.hpp"
#include "contract/admission_device.hpp"
#include "queue/direct/direct_queue.hpp"

namespace seckill::test {

using model::PurchaseAnswer;

// An admission with its queue, over a store and a landing it borrows. Destroying it is a stop of the process: lanes are
// gone, what the queue accepted has landed.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual admission::Admission& admission() = 0;
};

struct EngineMaker {
  std::string name;
  std::function<std::unique_ptr<Engine>(store::Store&, queue::IntentConsumer&, const base::Clock&)> make;
};

class MemoryEngine final : public Engine {
 public:
  MemoryEngine(queue::IntentConsumer& landing, const base::Clock& clock)
      : queue_{landing, clock, {.stop_deadline = std::chrono::milliseconds{200}}}, admission_{queue_, clock} {
    queue_.on_landed_late([this](const model::OrderIntent& intent, const store::Landed& landed) {
      admission_.landed_late(intent, landed);
    });
    queue_.start();
  }
  ~MemoryEngine() override { queue_.stop(); }
  admission::Admission& admission() override { return admission_; }

 private:
  queue::direct::DirectQueue queue_;
  admission::memory::MemoryAdmission admission_;
};

inline std::vector<EngineMaker> engines() {
  return {{"memory", [](store::Store&, queue::IntentConsumer& landing, const base::Clock& clock) {
             return std::make_unique<MemoryEngine>(landing, clock);
           }}};
}

// What a test's sale is made of; the sale is open from the world's present on, for an hour.
struct SalePlan {
  std::int64_t total = 100;
  std::int64_t reserve = 0;
  std::int64_t limit = 1;
  std::uint32_t tickets_max = 16;
  std::uint32_t lanes = 0;  // 0: as many as preload chooses
  std::int64_t price_minor = 9'900;
};

class World {
 public:
  explicit World(const EngineMaker& maker, const SalePlan& plan = {}) : maker_{maker} {
    sale.id = *model::SaleId::parse("s1");
    sale.title = "A sale";
    sale.starts_at = clock.now_utc();
    sale.ends_at = sale.starts_at + 3'600'000;
    sale.ticket_key.fill(7);
    model::SaleItem item;
    item.sku = *model::Sku::parse("sku1");
    item.title = "A thing";
    item.total = plan.total;
    item.reserve = plan.reserve;
    item.limit = plan.limit;
    item.tickets_max = plan.tickets_max;
    item.lanes = plan.lanes;
    item.price_minor = plan.price_minor;
    sale.items.push_back(item);
    EXPECT_TRUE(store.create_sale(sale, {}).has_value());
    EXPECT_TRUE(store.preload(sale.id, clock.now_utc(), {}).has_value());
    start();
  }

  // Starts the process: builds the lanes from the store.
  void start() {
    engine_ = maker_.make(store, landing, clock);
    sale = *store.find_sale(sale.id);
    const base::Status installed = admission().install(sale, sale.items[0], store);
    EXPECT_TRUE(installed.has_value()) << (installed ? "" : installed.error().text());
  }
  // Stops it, letting what was accepted land, and starts it again.
  void restart() {
    engine_.reset();
    start();
  }
  // A second process beside it, over the same store.
  [[nodiscard]] std::unique_ptr<Engine> another() { return maker_.make(store, landing, clock); }

  [[nodiscard]] admission::Admission& admission() { return engine_->admission(); }
  [[nodiscard]] model::ItemKey item() const { return {sale.id, sale.items[0].sku}; }

  [[nodiscard]] static model::BuyerId buyer(std::string_view name) { return *model::BuyerId::parse(name); }

  [[nodiscard]] admission::AdmitRequest request(std::string_view who, std::string_view request_id,
                                                std::int64_t units = 1, std::string fields = {}) const {
    admission::AdmitRequest asked;
    asked.item = item();
    asked.buyer = buyer(who);
    asked.request_id = *model::RequestId::parse(request_id);
    asked.units = units;
    if (!fields.empty()) asked.fields = std::make_shared<const std::string>(std::move(fields));
    asked.digest = model::content_digest(units, asked.fields);
    return asked;
  }
  // Asks and waits for the answer.
  admission::AdmitReply ask(const admission::AdmitRequest& asked) { return ask_later(asked).get(); }
  admission::AdmitReply ask(std::string_view who, std::string_view request_id, std::int64_t units = 1) {
    return ask(request(who, request_id, units));
  }
  std::future<admission::AdmitReply> ask_later(const admission::AdmitRequest& asked) {
    std::promise<admission::AdmitReply> promise;
    std::future<admission::AdmitReply> reply = promise.get_future();
    admission().admit(asked, [promise = std::move(promise)](admission::AdmitReply got) mutable {
      promise.set_value(std::move(got));
    });
    return reply;
  }

  // Ends a ticket as the product does: the store's row first, then the lane.
  store::Ended end(const model::Ticket& ticket, model::OrderEvent event) {
    store::EndCommand command;
    command.ticket = ticket;
    command.event = event;
    command.now = clock.now_utc();
    const store::Ended ended = store.end_tickets({&command, 1})->front();
    if (ended.effect == model::StockEffect::void_) EXPECT_EQ(release(ticket), admission::LaneAck::applied);
    if (ended.effect == model::StockEffect::post) EXPECT_EQ(post(ticket), admission::LaneAck::applied);
    return ended;
  }
  admission::LaneAck release(const model::Ticket& ticket) {
    std::promise<admission::LaneAck> ack;
    admission().release(item(), ticket, [&](admission::LaneAck got) { ack.set_value(got); });
    return ack.get_future().get();
  }
  admission::LaneAck post(const model::Ticket& ticket) {
    std::promise<admission::LaneAck> ack;
    admission().post(item(), ticket, [&](admission::LaneAck got) { ack.set_value(got); });
    return ack.get_future().get();
  }

  // A buyer's name in a given lane; different for each `n`.
  [[nodiscard]] std::string buyer_in_lane(model::LaneIndex lane, int n) const {
    for (int i = 0, found = 0;; ++i) {
      std::string name = "lane-buyer-" + std::to_string(i);
      if (model::lane_of(name, sale.items[0].lanes) == lane && found++ == n) return name;
    }
  }

  [[nodiscard]] ledger::LaneStock lane_sum() {
    ledger::LaneStock sum;
    for (const admission::LaneView& lane : admission().lanes(item())) {
      sum.available += lane.stock.available;
      sum.held += lane.stock.held;
      sum.sold += lane.stock.sold;
    }
    return sum;
  }
  // P1 and P2 in the lanes and in the store, and, once everything landed, that both say the same.
  void expect_conserved(bool all_landed = true) {
    const DeviceStore::ItemRows rows = store.rows(item());
    std::int64_t in_store = rows.stock.pool;
    for (const store::LaneRow& lane : rows.stock.lanes) in_store += lane.stock.total();
    EXPECT_EQ(in_store, rows.stock.total) << "P2 in the store";
    const std::vector<admission::LaneView> lanes = admission().lanes(item());
    std::int64_t in_lanes = 0;
    for (const admission::LaneView& lane : lanes) {
      EXPECT_GE(lane.stock.available, 0) << "P1 in lane " << lane.lane;
      in_lanes += lane.stock.total();
      if (all_landed) EXPECT_EQ(lane.stock, rows.stock.lanes.at(lane.lane).stock) << "lane " << lane.lane;
    }
    if (all_landed) EXPECT_EQ(in_lanes, rows.stock.total - rows.stock.pool) << "P2 in the lanes";
  }

  base::ManualClock clock;
  DeviceStore store;
  GatedLanding landing{store, clock};
  model::Sale sale;

 private:
  EngineMaker maker_;
  std::unique_ptr<Engine> engine_;
};

// GTEST_ARG: each engine under its name.
class AdmissionContract : public testing::TestWithParam<EngineMaker> {
 protected:
  [[nodiscard]] World world(const SalePlan& plan = {}) const { return World{GetParam(), plan}; }
};

inline std::string engine_name(const testing::TestParamInfo<EngineMaker>& info) { return info.param.name; }

}  // namespace seckill::test
