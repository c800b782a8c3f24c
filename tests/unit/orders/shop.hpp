// A whole embedded shop in one process for the tests of this folder: SQLite in a folder of its own, the direct queue,
// memory lanes, landing, ends, deadlines and reads, all real, on a clock that the test moves by hand. The store stands
// on a device that can be made to fail.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "admission/memory/memory_admission.hpp"
#include "base/clock.hpp"
#include "orders/deadlines.hpp"
#include "orders/landing.hpp"
#include "orders/order_reads.hpp"
#include "orders/ticket_ends.hpp"
#include "orders/verdict.hpp"
#include "queue/direct/direct_queue.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "unit/orders/faulty_store.hpp"

namespace seckill::test {

// Hangs are failures, not waits: nothing here takes a minute.
inline constexpr std::chrono::seconds patience{60};

inline model::BuyerId buyer_named(const std::string& name) { return model::BuyerId::parse(name).value(); }
inline model::RequestId request_named(const std::string& name) { return model::RequestId::parse(name).value(); }

// A folder that goes with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "seckill-orders-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

struct ShopTerms {
  std::int64_t total = 10;
  std::int64_t limit = 1;
  std::uint32_t tickets_max = 16;
  std::int64_t price_minor = 9'900;
  std::chrono::milliseconds pay_window{60'000};
  std::chrono::milliseconds duration{3'600'000};
  std::uint32_t lanes = 0;
  orders::EndsTiming timing{};
};

class Shop {
 public:
  explicit Shop(ShopTerms terms = {}) : terms_{terms} {
    open_store();
    create_sale();
    build();
  }
  ~Shop() { take_down(); }
  Shop(const Shop&) = delete;
  Shop& operator=(const Shop&) = delete;

  base::ManualClock clock;
  const model::ItemKey item{model::SaleId::trusted("s1"), model::Sku::trusted("phone")};

  [[nodiscard]] FaultyStore& store() { return *faulty_; }
  [[nodiscard]] admission::memory::MemoryAdmission& admission() { return *admission_; }
  [[nodiscard]] orders::Landing& landing() { return *landing_; }
  [[nodiscard]] orders::TicketEnds& ends() { return *ends_; }
  [[nodiscard]] orders::Deadlines& deadlines() { return *deadlines_; }
  [[nodiscard]] orders::OrderReads& reads() { return *reads_; }
  [[nodiscard]] queue::direct::DirectQueue& queue() { return *queue_; }
  [[nodiscard]] const std::vector<std::string>& alarms() const { return alarms_; }

  // Starts the threads of ends (unless `ends_too` is false), reads and queue; the deadlines sweep when told to.
  void open(bool ends_too = true) {
    queue_->start();
    reads_->start();
    if (ends_too) ends_->start();
  }

  // As a process that ends in order and is started again: everything is taken down and rebuilt from the store.
  void restart() {
    take_down();
    open_store();
    build();
    open();
  }

  admission::AdmitReply admit(const std::string& buyer, const std::string& request, std::int64_t units = 1) {
    std::promise<admission::AdmitReply> promise;
    auto reply = promise.get_future();
    admission_->admit({.item = item,
                       .buyer = buyer_named(buyer),
                       .request_id = request_named(request),
                       .units = units,
                       .digest = model::content_digest(units, nullptr),
                       .fields = nullptr},
                      [&promise](admission::AdmitReply got) { promise.set_value(std::move(got)); });
    if (reply.wait_for(patience) != std::future_status::ready) std::abort();
    return reply.get();
  }
  // The ticket of a purchase that must be admitted.
  model::Ticket buy(const std::string& buyer, const std::string& request, std::int64_t units = 1) {
    const auto reply = admit(buyer, request, units);
    EXPECT_EQ(reply.answer, model::PurchaseAnswer::admitted) << model::name(reply.answer);
    return reply.ticket ? reply.ticket->ticket : model::Ticket{};
  }

  static store::EndCommand command(const model::Ticket& ticket, model::OrderEvent event) {
    store::EndCommand made;
    made.ticket = ticket;
    made.event = event;
    if (event == model::OrderEvent::pay) {
      made.payment_provider = "test";
      made.payment_id = "pay-" + ticket.str();
    }
    return made;
  }
  std::future<base::Result<store::Ended>> submit(store::EndCommand what) {
    auto promise = std::make_shared<std::promise<base::Result<store::Ended>>>();
    ends_->submit(std::move(what),
                  [promise](base::Result<store::Ended> ended) { promise->set_value(std::move(ended)); });
    return promise->get_future();
  }
  static base::Result<store::Ended> wait(std::future<base::Result<store::Ended>> ended) {
    if (ended.wait_for(patience) != std::future_status::ready) std::abort();
    return ended.get();
  }
  store::EndResult end(const model::Ticket& ticket, model::OrderEvent event) {
    const auto ended = wait(submit(command(ticket, event)));
    EXPECT_TRUE(ended.has_value()) << ended.error().text();
    return ended ? ended->result : store::EndResult::not_found;
  }

  base::Result<orders::Outcome> outcome(const std::string& buyer, const model::Ticket& ticket) {
    std::promise<base::Result<orders::Outcome>> promise;
    auto got = promise.get_future();
    reads_->outcome(item, buyer_named(buyer), ticket,
                    [&promise](base::Result<orders::Outcome> outcome) { promise.set_value(std::move(outcome)); });
    if (got.wait_for(patience) != std::future_status::ready) std::abort();
    return got.get();
  }

  [[nodiscard]] std::optional<model::OrderState> state_of(const model::Ticket& ticket) {
    const auto order = sqlite_->find_order(ticket);
    if (!order || !*order) return std::nullopt;
    return (*order)->state;
  }

  // Waits until nothing is under way. The outbox is looked at, too: a failed landing leaves its release there.
  void settle() {
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (queue_->depth() > 0 || !ends_->quiet() || !sqlite_->pending_releases(1)->empty()) {
      ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "the shop never comes to rest";
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }
  // Sweeps until nothing is overdue.
  void expire_all() {
    const auto give_up = std::chrono::steady_clock::now() + patience;
    do {
      settle();
      ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "expiry never ends";
    } while (deadlines_->sweep() > 0);
    settle();
  }

  // The verdict at rest; `expect_sound` also names what is broken.
  orders::Picture picture() {
    auto taken = orders::take_picture(*sqlite_, *admission_, std::span{&item, 1}, clock.now_utc());
    EXPECT_TRUE(taken.has_value()) << taken.error().text();
    if (!taken) return {};
    taken->drained = true;
    taken->in_flight = queue_->depth() + ends_->waiting();
    taken->places.push_back({"intents waiting to land", queue_->depth(), base::limits::queue_records_max});
    taken->places.push_back({"ends waiting", ends_->waiting(), base::limits::ends_waiting_max});
    return std::move(*taken);
  }
  void expect_sound() {
    settle();
    for (const auto& verdict : orders::judge(picture())) {
      EXPECT_TRUE(verdict.holds) << verdict.promise << " " << verdict.title << ": " << verdict.detail;
    }
  }
  [[nodiscard]] admission::StockView stock() const { return admission_->stock(item); }

 private:
  void open_store() {
    auto opened = store::sqlite::open({.data_folder = folder_.path() + "/data"});
    if (!opened) {
      ADD_FAILURE() << opened.error().text();
      std::abort();
    }
    sqlite_ = std::move(*opened);
    faulty_ = std::make_unique<FaultyStore>(*sqlite_);
  }

  void create_sale() {
    model::Sale sale;
    sale.id = item.sale;
    sale.title = "test";
    sale.starts_at = clock.now_utc() - 1'000;
    sale.ends_at = sale.starts_at + terms_.duration.count();
    sale.ticket_key = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    sale.created_at = clock.now_utc();
    model::SaleItem goods;
    goods.sku = item.sku;
    goods.title = "phone";
    goods.price_minor = terms_.price_minor;
    goods.total = terms_.total;
    goods.limit = terms_.limit;
    goods.tickets_max = terms_.tickets_max;
    goods.pay_window_ms = terms_.pay_window.count();
    goods.lanes = terms_.lanes;
    sale.items.push_back(goods);
    ASSERT_TRUE(model::problems_of(sale).empty()) << model::problems_of(sale).front();
    const store::AuditEntry audit{.actor = "test", .action = "sale.create", .detail = "{}", .at = clock.now_utc()};
    const auto created = sqlite_->create_sale(sale, audit);
    ASSERT_TRUE(created.has_value()) << created.error().text();
    const auto preloaded = sqlite_->preload(sale.id, clock.now_utc(), audit);
    ASSERT_TRUE(preloaded.has_value()) << preloaded.error().text();
  }

  void build() {
    landing_ =
        std::make_unique<orders::Landing>(*faulty_, clock, [this](const model::ItemKey& which, std::string_view why) {
          alarms_.emplace_back(why);
          admission_->close_lanes(which, why);
        });
    queue_ = std::make_unique<queue::direct::DirectQueue>(
        *landing_, clock,
        queue::direct::DirectQueueConfig{.backoff_min = std::chrono::milliseconds{1},
                                         .backoff_max = std::chrono::milliseconds{5}});
    admission_ = std::make_unique<admission::memory::MemoryAdmission>(*queue_, clock);
    const auto sale = sqlite_->find_sale(item.sale);
    ASSERT_TRUE(sale.has_value()) << sale.error().text();
    const auto installed = admission_->install(*sale, *sale->find(item.sku), *sqlite_);
    ASSERT_TRUE(installed.has_value()) << installed.error().text();
    ends_ = std::make_unique<orders::TicketEnds>(*faulty_, *admission_, clock, terms_.timing);
    deadlines_ = std::make_unique<orders::Deadlines>(*faulty_, *ends_, clock, std::chrono::milliseconds{5});
    reads_ = std::make_unique<orders::OrderReads>(*faulty_, *admission_, 2, patience);
  }

  void take_down() {
    queue_->stop();
    deadlines_->stop();
    ends_->stop();
    reads_->stop();
    deadlines_.reset();
    ends_.reset();
    reads_.reset();
    admission_.reset();
    queue_.reset();
    landing_.reset();
    faulty_.reset();
    sqlite_.reset();
  }

  const ShopTerms terms_;
  TempFolder folder_;
  std::unique_ptr<store::Store> sqlite_;
  std::unique_ptr<FaultyStore> faulty_;
  std::vector<std::string> alarms_;
  std::unique_ptr<orders::Landing> landing_;
  std::unique_ptr<queue::direct::DirectQueue> queue_;
  std::unique_ptr<admission::memory::MemoryAdmission> admission_;
  std::unique_ptr<orders::TicketEnds> ends_;
  std::unique_ptr<orders::Deadlines> deadlines_;
  std::unique_ptr<orders::OrderReads> reads_;
};

}  // namespace seckill::test
