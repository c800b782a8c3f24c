// The device under the admission suites: a store in memory that keeps the store port's promises for stock rows, landing
// and ticket ends, and checks P1, P2 and P3 on every write. Not a mock of ours: a small honest engine of the port,
// whose landing a test can hold up, refuse or release.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ledger/lane_stock.hpp"
#include "queue/intent_queue.hpp"
#include "store/store.hpp"

namespace seckill::test {

class DeviceStore final : public store::Store {
 public:
  struct ItemRows {
    store::ItemStock stock;
    std::map<model::Ticket, store::Order> orders;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> buyers;  // units, cap
    std::set<std::string> transfers;
  };

  // --- what the suites use ---
  base::Status create_sale(const model::Sale& sale, const store::AuditEntry&) override {
    const std::scoped_lock lock{mutex_};
    sales_[sale.id.str()] = sale;
    for (const model::SaleItem& item : sale.items) {
      items_[{sale.id, item.sku}].stock = {.total = item.total, .pool = item.total, .lanes = {}};
    }
    return {};
  }
  base::Result<model::Sale> find_sale(const model::SaleId& id) override {
    const std::scoped_lock lock{mutex_};
    const auto found = sales_.find(id.str());
    if (found == sales_.end()) return base::fail(base::Errc::not_found, "finding a sale");
    return found->second;
  }
  base::Status preload(const model::SaleId& id, base::UtcMs, const store::AuditEntry&) override {
    const std::scoped_lock lock{mutex_};
    model::Sale& sale = sales_.at(id.str());
    for (model::SaleItem& item : sale.items) {
      store::ItemStock& stock = items_.at({id, item.sku}).stock;
      if (!stock.lanes.empty()) continue;
      const std::int64_t on_sale = item.total - item.reserve;
      if (item.lanes == 0) item.lanes = model::default_lanes(on_sale);
      for (std::uint32_t i = 0; i < item.lanes; ++i) {
        const std::int64_t share = ledger::preload_share(on_sale, item.lanes, i);
        stock.pool -= share;
        stock.lanes.push_back({.lane = i, .generation = 1, .stock = {.available = share, .held = 0, .sold = 0}});
      }
    }
    sale.state = model::SaleState::preloaded;
    return {};
  }
  base::Result<store::ItemStock> item_stock(const model::ItemKey& item) override {
    const std::scoped_lock lock{mutex_};
    const auto found = items_.find(item);
    if (found == items_.end()) return base::fail(base::Errc::not_found, "reading stock rows");
    return found->second.stock;
  }
  base::Status pool_to_lanes(std::span<const model::StockTransfer> transfers, const store::AuditEntry&) override {
    const std::scoped_lock lock{mutex_};
    for (const model::StockTransfer& transfer : transfers) move(transfer);
    return {};
  }
  base::Result<std::vector<store::Landed>> land(std::span<const model::LaneRecord> records, base::UtcMs now) override {
    const std::scoped_lock lock{mutex_};
    std::vector<store::Landed> landed;
    for (const model::LaneRecord& record : records) {
      if (const auto* transfer = std::get_if<model::StockTransfer>(&record)) {
        move(*transfer);
      } else {
        landed.push_back(land_one(std::get<model::OrderIntent>(record), now));
      }
    }
    landed_ += records.size();
    return landed;
  }
  // The intents of these buyers get a row `failed`.
  void refuse_buyer(const std::string& buyer) {
    const std::scoped_lock lock{mutex_};
    refused_.insert(buyer);
  }
  base::Result<std::vector<store::Ended>> end_tickets(std::span<const store::EndCommand> commands) override {
    const std::scoped_lock lock{mutex_};
    std::vector<store::Ended> ended;
    for (const store::EndCommand& command : commands) ended.push_back(end_one(command));
    return ended;
  }
  base::Status visit_tickets(const model::ItemKey& item,
                             const std::function<void(const store::TicketRow&)>& visitor) override {
    if (const auto meanwhile = take_meanwhile()) meanwhile();
    const std::scoped_lock lock{mutex_};
    for (const auto& [ticket, order] : items_.at(item).orders) {
      visitor({.ticket = ticket,
               .buyer = order.buyer,
               .request_id = order.request_id,
               .digest = order.digest,
               .units = order.units,
               .state = order.state,
               .admitted_at = order.admitted_at});
    }
    return {};
  }
  base::Result<std::optional<store::Order>> find_order(const model::Ticket& ticket) override {
    const std::scoped_lock lock{mutex_};
    for (const auto& [key, item] : items_) {
      const auto found = item.orders.find(ticket);
      if (found != item.orders.end()) return found->second;
    }
    return std::optional<store::Order>{};
  }
  // Keeps an edited sale, as update_sale and set_sale_state together would.
  base::Status keep_terms(const model::Sale& sale) {
    const std::scoped_lock lock{mutex_};
    sales_.at(sale.id.str()) = sale;
    return {};
  }
  // What happens just before tickets are visited the next time, as between an install's two readings.
  void before_next_visit(std::function<void()> meanwhile) {
    const std::scoped_lock lock{mutex_};
    meanwhile_ = std::move(meanwhile);
  }
  // Every row of the item as it stands.
  [[nodiscard]] ItemRows rows(const model::ItemKey& item) {
    const std::scoped_lock lock{mutex_};
    return items_.at(item);
  }
  // Spoils a row, as a disk or a hand might.
  void spoil(const model::ItemKey& item, const std::function<void(ItemRows&)>& how) {
    const std::scoped_lock lock{mutex_};
    how(items_.at(item));
  }
  [[nodiscard]] std::size_t records_landed() {
    const std::scoped_lock lock{mutex_};
    return landed_;
  }

  // --- what no admission asks ---
  base::Result<std::vector<model::Sale>> list_sales(std::int64_t) override { return no(); }
  base::Status update_sale(const model::Sale&, const store::AuditEntry&) override { return no(); }
  base::Status set_sale_state(const model::SaleId&, model::SaleState, model::SaleState,
                              const store::AuditEntry&) override {
    return no();
  }
  base::Status add_to_pool(const model::ItemKey& item, std::int64_t units, const std::string&,
                           const store::AuditEntry&) override {
    const std::scoped_lock lock{mutex_};
    items_.at(item).stock.total += units;
    items_.at(item).stock.pool += units;
    return {};
  }
  base::Status take_from_pool(const model::ItemKey&, std::int64_t, const std::string&,
                              const store::AuditEntry&) override {
    return no();
  }
  base::Result<std::optional<std::int64_t>> pool_change(const model::ItemKey&, const std::string&) override {
    return no();
  }
  base::Result<std::optional<model::StockTransfer>> find_transfer(const std::string&) override { return no(); }
  base::Status fail_intent(const model::OrderIntent&, model::FailReason, base::UtcMs) override { return no(); }
  base::Result<std::vector<model::Ticket>> due_tickets(base::UtcMs, std::int64_t) override { return no(); }
  base::Result<std::vector<store::PendingRelease>> pending_releases(std::int64_t) override { return no(); }
  base::Status acknowledge_releases(std::span<const std::int64_t>) override { return no(); }
  base::Status acknowledge_released(std::span<const model::Ticket>) override { return no(); }
  base::Result<store::OrderPage> list_orders(const store::OrderQuery&) override { return no(); }
  base::Result<store::ItemAudit> audit_item(const model::ItemKey&, base::UtcMs) override { return no(); }
  base::Result<std::vector<store::AuditRow>> audit_log(std::int64_t, std::int64_t) override { return no(); }
  base::Status append_audit(const store::AuditEntry&) override { return no(); }
  base::Status backup(const std::string&) override { return no(); }
  base::Status probe() override { return {}; }

 private:
  static std::unexpected<base::Error> no() {
    return base::fail(base::Errc::unavailable, "asking the device", "it keeps stock rows and orders only");
  }
  std::function<void()> take_meanwhile() {
    const std::scoped_lock lock{mutex_};
    return std::exchange(meanwhile_, {});
  }
  static void must(bool held, const char* promise) {
    if (!held) throw std::logic_error(promise);  // ends the test at once, with the promise's name
  }
  void move(const model::StockTransfer& transfer) {
    ItemRows& item = items_.at(transfer.item);
    if (!item.transfers.insert(transfer.id).second) return;
    std::int64_t& from = transfer.from == model::StockTransfer::pool
                             ? item.stock.pool
                             : item.stock.lanes.at(static_cast<std::size_t>(transfer.from)).stock.available;
    std::int64_t& to = transfer.to == model::StockTransfer::pool
                           ? item.stock.pool
                           : item.stock.lanes.at(static_cast<std::size_t>(transfer.to)).stock.available;
    must(transfer.units >= 1 && from >= transfer.units, "P1: a transfer moves units that are there");
    from -= transfer.units;
    to += transfer.units;
  }
  store::Landed land_one(const model::OrderIntent& intent, base::UtcMs now) {
    ItemRows& item = items_.at(intent.item);
    if (const auto found = item.orders.find(intent.ticket); found != item.orders.end()) {
      const store::Order& order = found->second;
      must(order.buyer == intent.buyer && order.request_id == intent.request_id && order.digest == intent.digest &&
               order.units == intent.units && order.price_minor == intent.price_minor &&
               order.admitted_at == intent.admitted_at,
           "P4: a ticket published again is the same intent");
      if (order.state == model::OrderState::failed) return {.as = store::LandedAs::failed, .state = order.state};
      const bool ended = model::is_ended(order.state);
      return {.as = ended ? store::LandedAs::already_ended : store::LandedAs::already_live, .state = order.state};
    }
    if (item.stock.lanes.at(intent.lane).generation != intent.generation) return {.as = store::LandedAs::superseded};
    const bool refuse = refused_.contains(intent.buyer.str());
    store::Order order{.ticket = intent.ticket,
                       .item = intent.item,
                       .buyer = intent.buyer,
                       .request_id = intent.request_id,
                       .digest = intent.digest,
                       .lane = intent.lane,
                       .units = intent.units,
                       .price_minor = intent.price_minor,
                       .currency = intent.currency,
                       .state = intent.price_minor == 0 ? model::OrderState::paid : model::OrderState::awaiting_payment,
                       .admitted_at = intent.admitted_at,
                       .landed_at = now,
                       .fields = intent.fields ? *intent.fields : std::string{}};
    if (refuse) {
      order.state = model::OrderState::failed;
      item.orders.emplace(intent.ticket, order);
      return {.as = store::LandedAs::failed, .state = order.state};
    }
    ledger::LaneStock& stock = item.stock.lanes.at(intent.lane).stock;
    must(stock.available >= intent.units, "P1: the stock row covers what the lane admitted");
    ledger::hold(stock, intent.units);
    if (model::is_sold(order.state)) ledger::post(stock, intent.units);
    auto& [units, cap] = item.buyers[intent.buyer.str()];
    units += intent.units;
    cap = std::max(cap, intent.limit);
    must(units <= cap, "P3: no buyer exceeds the limit he was admitted under");
    for (const auto& [ticket, other] : item.orders) {
      if (item.orders.size() > 2'000) break;  // quadratic; enough in small cases
      must(!(other.buyer == order.buyer && other.request_id == order.request_id), "P4: one ticket a request");
    }
    item.orders.emplace(intent.ticket, order);
    return {.as = store::LandedAs::ordered, .state = order.state};
  }
  store::Ended end_one(const store::EndCommand& command) {
    for (auto& [key, item] : items_) {
      const auto found = item.orders.find(command.ticket);
      if (found == item.orders.end()) continue;
      store::Order& order = found->second;
      const auto move = model::transition(order.state, command.event);
      if (!move) return {.result = store::EndResult::illegal, .state = order.state, .item = key, .units = order.units};
      order.state = move->to;
      ledger::LaneStock& stock = item.stock.lanes.at(order.lane).stock;
      if (move->effect == model::StockEffect::post) ledger::post(stock, order.units);
      if (move->effect == model::StockEffect::void_) {
        ledger::void_hold(stock, order.units);
        item.buyers.at(order.buyer.str()).first -= order.units;
      }
      return {.result = store::EndResult::done,
              .state = order.state,
              .effect = move->effect,
              .item = key,
              .units = order.units};
    }
    return {};
  }

  std::mutex mutex_;
  std::map<std::string, model::Sale> sales_;
  std::map<model::ItemKey, ItemRows> items_;
  std::set<std::string> refused_;
  std::function<void()> meanwhile_;
  std::size_t landed_ = 0;
};

// Lands in a store, unless the test holds the disk up or fills it.
class GatedLanding final : public queue::IntentConsumer {
 public:
  GatedLanding(store::Store& store, const base::Clock& clock) : store_{store}, clock_{clock} {}

  base::Result<std::vector<store::Landed>> consume(std::span<const model::LaneRecord> records) override {
    {
      std::unique_lock lock{mutex_};
      ++offers_;
      moved_.notify_all();
      moved_.wait(lock, [this] { return !held_; });
      if (full_) return base::fail(base::Errc::disk_full, "landing");
    }
    return store_.land(records, clock_.now_utc());
  }
  // The disk hangs until let go.
  void hold(bool on) { set(held_, on); }
  // The disk is full until it is not.
  void fill(bool on) { set(full_, on); }
  // Waits until the consumer was offered a batch at least `count` times.
  void wait_for_offers(std::size_t count) {
    std::unique_lock lock{mutex_};
    moved_.wait(lock, [&] { return offers_ >= count; });
  }
  [[nodiscard]] std::size_t offers() {
    const std::scoped_lock lock{mutex_};
    return offers_;
  }

 private:
  void set(bool& flag, bool on) {
    const std::scoped_lock lock{mutex_};
    flag = on;
    moved_.notify_all();
  }
  store::Store& store_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::condition_variable moved_;
  bool held_ = false;
  bool full_ = false;
  std::size_t offers_ = 0;
};

}  // namespace seckill::test
