// What the store suites share: the backends they run on, and builders that read like the domain.
//
// The suites know store.hpp alone. A second engine joins by one line in store_backends.cpp.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "model/ticket.hpp"
#include "store/store.hpp"

namespace seckill::store::contract {

// A place where a store keeps its data: opened, closed by destroying the store, and opened again. Emptied at its end.
class Place {
 public:
  virtual ~Place() = default;
  [[nodiscard]] virtual base::Result<std::unique_ptr<Store>> open() = 0;
  // A path that a backup may be written to, and a place that opens that backup.
  [[nodiscard]] virtual std::string backup_path() = 0;
  [[nodiscard]] virtual std::unique_ptr<Place> from_backup() = 0;
  // Lets the store's own clock pass by at least so much. Engines of LaneAuthority.
  virtual void pass(std::chrono::milliseconds) {}
};

struct Backend {
  std::string name;
  std::function<std::unique_ptr<Place>()> make_place;
  bool outlives_its_process = true;  // else what a killed process wrote is gone, and kill -9 proves nothing
  bool is_lane_authority = false;    // its Store is a LaneAuthority too
  bool has_backup = true;            // else backup() is Errc::refused and says whose business it is
  // NOLINTNEXTLINE(readability-identifier-naming): the name by which GoogleTest finds it
  friend void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }
};
[[nodiscard]] std::vector<Backend> backends();
[[nodiscard]] std::vector<Backend> lane_authorities();

inline constexpr base::UtcMs start_of_sale = 1'700'000'000'000;
inline constexpr std::int64_t pay_window_ms = 60'000;

[[nodiscard]] inline AuditEntry by(const std::string& action) {
  return {.actor = "tester", .action = action, .detail = "{}", .at = start_of_sale};
}

[[nodiscard]] inline model::SaleItem an_item(std::string_view sku, std::int64_t total, std::int64_t limit = 2) {
  model::SaleItem item;
  item.sku = model::Sku::parse(sku).value();
  item.title = "A thing";
  item.price_minor = 1'999;
  item.list_price_minor = 2'999;
  item.total = total;
  item.limit = limit;
  item.pay_window_ms = pay_window_ms;
  return item;
}

[[nodiscard]] inline model::Sale a_sale(std::string_view id, std::vector<model::SaleItem> items) {
  model::Sale sale;
  sale.id = model::SaleId::parse(id).value();
  sale.title = "Eleven eleven";
  sale.starts_at = start_of_sale;
  sale.ends_at = start_of_sale + 3'600'000;
  sale.ticket_key = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  sale.created_at = start_of_sale - 86'400'000;
  sale.items = std::move(items);
  return sale;
}

// One item of one sale, preloaded, and the intents its lanes would have admitted.
class Shop {
 public:
  Shop(Store& store, const model::Sale& sale, std::size_t item = 0)
      : store_{store}, sale_{sale}, item_{sale.items.at(item)}, key_{sale.id, item_.sku} {}

  [[nodiscard]] const model::ItemKey& item() const noexcept { return key_; }

  [[nodiscard]] std::uint32_t lanes() const { return static_cast<std::uint32_t>(stock().lanes.size()); }
  [[nodiscard]] ItemStock stock() const { return store_.item_stock(key_).value(); }
  // The sums over all lanes.
  [[nodiscard]] ledger::LaneStock sums() const {
    ledger::LaneStock sum;
    for (const LaneRow& lane : stock().lanes) {
      sum.available += lane.stock.available;
      sum.held += lane.stock.held;
      sum.sold += lane.stock.sold;
    }
    return sum;
  }

  // What `buyer`'s request would leave in lane `lane` (his own when not given).
  [[nodiscard]] model::OrderIntent intent(std::string_view buyer, std::string_view request = "r1",
                                          std::int64_t units = 1, std::int64_t lane = -1) const {
    model::OrderIntent intent;
    intent.item = key_;
    intent.buyer = model::BuyerId::parse(buyer).value();
    intent.request_id = model::RequestId::parse(request).value();
    intent.lane = lane >= 0 ? static_cast<model::LaneIndex>(lane) : model::lane_of(buyer, lanes());
    intent.ticket = model::derive_ticket(sale_.ticket_key, key_, intent.buyer, request, intent.lane);
    intent.digest = model::content_digest(units, nullptr);
    intent.units = units;
    intent.price_minor = item_.price_minor;
    intent.currency = sale_.currency;
    intent.limit = item_.limit;
    intent.pay_window_ms = item_.pay_window_ms;
    intent.admitted_at = start_of_sale + 5;
    return intent;
  }

  [[nodiscard]] base::Result<std::vector<Landed>> land(const std::vector<model::OrderIntent>& intents,
                                                       base::UtcMs now = start_of_sale + 10) const {
    const std::vector<model::LaneRecord> records(intents.begin(), intents.end());
    return store_.land(records, now);
  }
  // Lands one intent that nothing hinders.
  model::Ticket ordered(const model::OrderIntent& intent, base::UtcMs now = start_of_sale + 10) const {
    const auto landed = land({intent}, now);
    EXPECT_TRUE(landed.has_value()) << landed.error().text();
    EXPECT_EQ(landed.value().at(0).as, LandedAs::ordered);
    return intent.ticket;
  }
  [[nodiscard]] Ended end(const EndCommand& command) const {
    const auto ended = store_.end_tickets({&command, 1});
    EXPECT_TRUE(ended.has_value()) << ended.error().text();
    return ended.value().at(0);
  }
  [[nodiscard]] Order order(const model::Ticket& ticket) const { return store_.find_order(ticket).value().value(); }

  // P1, P2, P3, P6 as the store's own audit sees them; empty text when all hold.
  [[nodiscard]] std::string broken(base::UtcMs now = start_of_sale) const;

 private:
  Store& store_;
  model::Sale sale_;
  model::SaleItem item_;
  model::ItemKey key_;
};

[[nodiscard]] inline EndCommand cancel(const model::Ticket& ticket, base::UtcMs now = start_of_sale + 20) {
  return {.ticket = ticket,
          .event = model::OrderEvent::cancel,
          .now = now,
          .buyer = {},
          .payment_provider = {},
          .payment_id = {}};
}
[[nodiscard]] inline EndCommand expire(const model::Ticket& ticket, base::UtcMs now) {
  return {.ticket = ticket,
          .event = model::OrderEvent::expire,
          .now = now,
          .buyer = {},
          .payment_provider = {},
          .payment_id = {}};
}
[[nodiscard]] inline EndCommand pay(const model::Ticket& ticket, const std::string& payment,
                                    base::UtcMs now = start_of_sale + 20) {
  return {.ticket = ticket,
          .event = model::OrderEvent::pay,
          .now = now,
          .buyer = {},
          .payment_provider = "demo",
          .payment_id = payment};
}
[[nodiscard]] inline EndCommand event(const model::Ticket& ticket, model::OrderEvent event,
                                      base::UtcMs now = start_of_sale + 20) {
  return {.ticket = ticket, .event = event, .now = now, .buyer = {}, .payment_provider = {}, .payment_id = {}};
}

// Runs on every backend; opens a fresh store and, on request, a preloaded sale.
class StoreSuite : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    place_ = GetParam().make_place();
    open();
  }
  void open() {
    auto opened = place_->open();
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    store_ = std::move(*opened);
  }
  void reopen() {
    store_.reset();
    open();
  }
  Store& store() { return *store_; }

  // A preloaded sale "s1" of one item "sku1".
  Shop a_shop(std::int64_t total = 100, std::int64_t limit = 2,
              const std::function<void(model::SaleItem&)>& adjust = {}) {
    model::SaleItem item = an_item("sku1", total, limit);
    if (adjust) adjust(item);
    const model::Sale sale = a_sale("s1", {item});
    EXPECT_TRUE(store().create_sale(sale, by("sale.create")).has_value());
    EXPECT_TRUE(store().preload(sale.id, start_of_sale, by("sale.preload")).has_value());
    return Shop{store(), sale};
  }

  std::unique_ptr<Place> place_;
  std::unique_ptr<Store> store_;
};

}  // namespace seckill::store::contract

// Instantiates a suite for every backend.
#define SECKILL_FOR_EVERY_STORE(suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(store, suite, testing::ValuesIn(seckill::store::contract::backends()), \
                           [](const auto& info) { return info.param.name; })
