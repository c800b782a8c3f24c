// What is read back from a damaged database. Up to eight values or rows are overwritten past every CHECK, then each
// reading of the store is asked: it must answer Errc::corrupt or a value that the row really holds, and never stop the
// process. Lanes that can be built from such rows keep P1 and P2, and an untouched database passes its own audit.
#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "admission/memory/memory_admission.hpp"
#include "base/limits.hpp"
#include "fuzz/property.hpp"
#include "fuzz/stored_shop.hpp"

namespace seckill::fuzz {
namespace {

using base::Errc;

// Readings fail by what they found, never by the world around them.
template <typename T>
bool answered(const base::Result<T>& result) {
  if (result) return true;
  const Errc code = result.error().code;
  require(code == Errc::corrupt || code == Errc::not_found || code == Errc::refused,
          "a damaged row is corrupt, not another error", result.error().text());
  return false;
}

void require_sound(const store::Order& order) {
  require(!order.buyer.empty() && !order.request_id.empty(), "an order has a buyer and a request");
  require(order.units >= (order.state == model::OrderState::failed ? 0 : 1), "an order has units");
  require(order.price_minor >= 0 && order.amount_minor >= 0, "money is not negative (P7)");
  require(order.lane < base::limits::lanes_max, "a lane exists");
  require(model::name(order.state) != "unknown" && model::name(order.reason) != "unknown", "a state is one of ours");
}

void check_orders(StoredShop& shop) {
  for (const model::Ticket& ticket : shop.tickets()) {
    const auto found = shop.store().find_order(ticket);
    if (!answered(found) || !*found) continue;
    const store::Order& order = **found;
    require(order.ticket == ticket, "the order found is the one asked for");
    require_sound(order);
    const auto same = [&](const char* sql, std::int64_t read) {
      require(shop.stored(sql, &ticket, read) == read, "a number is read as it is stored", sql);
    };
    same("SELECT units FROM seckill_order WHERE ticket = ?", order.units);
    same("SELECT lane FROM seckill_order WHERE ticket = ?", order.lane);
    same("SELECT price_minor FROM seckill_order WHERE ticket = ?", order.price_minor);
    same("SELECT amount_minor FROM seckill_order WHERE ticket = ?", order.amount_minor);
    same("SELECT state FROM seckill_order WHERE ticket = ?", static_cast<std::int64_t>(order.state));
    same("SELECT reason FROM seckill_order WHERE ticket = ?", static_cast<std::int64_t>(order.reason));
    same("SELECT digest FROM seckill_order WHERE ticket = ?", static_cast<std::int64_t>(order.digest));
    require(shop.stored_text("SELECT buyer FROM seckill_order WHERE ticket = ?", ticket) == order.buyer.view(),
            "a buyer is read as stored (FS-68)");
  }
}

void check_lists(StoredShop& shop) {
  store::OrderQuery queries[4];
  queries[1].buyer = model::BuyerId::parse("buyer-1");
  queries[2].sale = shop.sale().id;
  queries[3].state = model::OrderState::cancelled;
  for (store::OrderQuery& query : queries) {
    query.limit = 3;
    std::set<model::Ticket> seen;
    for (int pages = 0;; ++pages) {
      require(pages < 20, "a list ends");
      const auto page = shop.store().list_orders(query);
      if (!answered(page)) break;
      require(std::ssize(page->orders) <= query.limit, "a page keeps its bound (P9)");
      for (const store::Order& order : page->orders) {
        require_sound(order);
        require(seen.insert(order.ticket).second, "a list names each order once");
        require(!query.buyer || order.buyer == *query.buyer, "a buyer's list is his (FS-24)");
      }
      if (page->next == 0) break;
      query.before = page->next;
    }
  }
}

void check_sales(StoredShop& shop) {
  const auto sale = shop.store().find_sale(shop.sale().id);
  if (answered(sale)) {
    for (const model::SaleItem& item : sale->items) {
      require(item.lanes <= base::limits::lanes_max && item.tickets_max >= 1 && item.limit >= 1 && item.total >= 0 &&
                  item.price_minor >= 0 && item.pay_window_ms >= 1,
              "an item's terms are ones it can have");
      const std::int64_t lanes = item.lanes;
      require(shop.stored(item.sku.view() == "phone" ? "SELECT lanes FROM sale_item WHERE sku = 'phone'"
                                                     : "SELECT lanes FROM sale_item WHERE sku = 'free'",
                          nullptr, lanes) == lanes,
              "a number is read as it is stored");
    }
  }
  (void)answered(shop.store().list_sales(10));
  (void)answered(shop.store().audit_log(0, 10));
  (void)answered(shop.store().find_transfer("top-1"));
  (void)answered(shop.store().due_tickets(StoredShop::now, 100));
  (void)answered(shop.store().pending_releases(100));
}

// No purchase is made here, so none is taken.
class ClosedQueue final : public queue::IntentQueue {
 public:
  bool try_reserve(std::size_t) noexcept override { return false; }
  void cancel_reservation(std::size_t) noexcept override {}
  void publish(model::LaneRecord, queue::Confirm) noexcept override {}
  [[nodiscard]] std::size_t depth() const noexcept override { return 0; }
};

void check_item(StoredShop& shop, const model::ItemKey& item, bool untouched) {
  (void)answered(shop.store().pool_change(item, "more"));
  const auto stock = shop.store().item_stock(item);
  if (answered(stock)) {
    for (const store::LaneRow& row : stock->lanes) {
      require(row.lane < base::limits::lanes_max && row.generation >= 1, "a stock row is of a lane that can exist");
    }
  }
  std::size_t visited = 0;
  const base::Status all = shop.store().visit_tickets(item, [&](const store::TicketRow& row) {
    ++visited;
    require(!row.buyer.empty() && !row.request_id.empty(), "a ticket has a buyer and a request");
  });
  if (!all) (void)answered(base::Result<int>{std::unexpected(all.error())});
  const auto audit = shop.store().audit_item(item, StoredShop::now);
  if (answered(audit) && untouched) {
    require(audit->buyers_over_cap + audit->buyer_units_mismatch + audit->journal_mismatch + audit->lane_mismatch +
                    audit->paid_without_payment + audit->payment_without_order ==
                0,
            "an untouched database passes its audit");
  }
  const auto sale = shop.store().find_sale(item.sale);
  if (!sale || sale->find(item.sku) == nullptr) return;
  ClosedQueue queue;
  base::ManualClock clock;
  admission::memory::MemoryAdmission admission{queue, clock};
  const base::Status installed = admission.install(*sale, *sale->find(item.sku), shop.store());
  if (!installed) {
    require(!untouched, "an untouched sale can be installed", installed.error().text());
    (void)answered(base::Result<int>{std::unexpected(installed.error())});
    return;
  }
  require(stock.has_value() && all.has_value(), "lanes are built from what could be read");
  std::int64_t sum = stock->pool;
  for (const admission::LaneView& lane : admission.lanes(item)) {
    require(lane.stock.available >= 0 && lane.stock.held >= 0 && lane.stock.sold >= 0, "no count is negative (P1)");
    sum += lane.stock.total();
  }
  require(sum == stock->total, "pool and lanes are the total (P2)");
}

}  // namespace
}  // namespace seckill::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seckill::fuzz;
  static StoredShop shop;
  Taker taker{text_of(data, size)};
  for (int spoiled = 0; spoiled < 8 && !taker.empty(); ++spoiled) shop.spoil(taker);
  check_orders(shop);
  check_lists(shop);
  check_sales(shop);
  for (const std::size_t index : {0U, 1U}) check_item(shop, shop.item(index), size == 0);
  shop.restore();
  return 0;
}
