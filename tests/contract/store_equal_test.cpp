// Every engine answers every call as the first one does, to the error, and keeps the same rows: random calls, sensible
// and absurd, to all engines at once. What the simulator proves on its store is worth as much as this equality.
#include <fmt/format.h>
#include <rapidcheck.h>

#include <array>
#include <functional>

#include "orders/landing.hpp"
#include "store_contract.hpp"

namespace seckill::store::contract {
namespace {

using model::StockTransfer;

constexpr std::int64_t total = 24;

std::string text(const base::Error& error) {
  const bool limit = error.code == base::Errc::constraint && error.cause.find("buyer_units") != std::string::npos;
  return fmt::format("{}{}", base::name(error.code), limit ? " by the limit" : "");
}
std::string text(const base::Status& status) { return status ? "done" : text(status.error()); }

std::string text(const Order& order) {
  return fmt::format("{} {} {} {} {} lane {} units {} price {} amount {} {} {} at {} {} {} {} [{}]", order.ticket.str(),
                     order.item.text(), order.buyer.view(), order.request_id.view(), order.digest, order.lane,
                     order.units, order.price_minor, order.amount_minor, model::name(order.state),
                     model::name(order.reason), order.admitted_at, order.landed_at, order.pay_before, order.ended_at,
                     order.fields);
}

std::string text(const base::Result<OrderPage>& page) {
  if (!page) return text(page.error());
  std::string all = page->next == 0 ? "the last:" : "more follow:";
  for (const Order& order : page->orders) all += "\n  " + text(order);
  return all;
}

std::string text(const base::Result<ItemAudit>& audit) {
  if (!audit) return text(audit.error());
  std::string all = fmt::format("total {} pool {};", audit->stock.total, audit->stock.pool);
  for (const LaneRow& lane : audit->stock.lanes) {
    all += fmt::format(" lane {} of {}: {}/{}/{};", lane.lane, lane.generation, lane.stock.available, lane.stock.held,
                       lane.stock.sold);
  }
  for (const std::int64_t count : audit->orders_by_state) all += fmt::format(" {}", count);
  return all + fmt::format("; held {} sold {} over {} buyers {} journal {} lanes {} paid {} payments {} overdue {}",
                           audit->orders_held_units, audit->orders_sold_units, audit->buyers_over_cap,
                           audit->buyer_units_mismatch, audit->journal_mismatch, audit->lane_mismatch,
                           audit->paid_without_payment, audit->payment_without_order, audit->overdue);
}

std::string text(const base::Result<model::Sale>& sale) {
  if (!sale) return text(sale.error());
  std::string all = fmt::format("{} {} v{} [{}, {})", sale->title, model::name(sale->state), sale->version,
                                sale->starts_at, sale->ends_at);
  for (const model::SaleItem& item : sale->items) {
    all += fmt::format(" {}: {} of {}, limit {}, lanes {}, window {}", item.sku.view(), item.price_minor, item.total,
                       item.limit, item.lanes, item.pay_window_ms);
  }
  return all;
}

// All rows that a caller can see. What an engine numbers by itself may have gaps, so only its order counts.
std::string contents(Store& store, const model::ItemKey& item, base::UtcMs now) {
  std::string all = text(store.find_sale(item.sale)) + "\n" + text(store.audit_item(item, now)) + "\n" +
                    text(store.list_orders({.buyer = {}, .sale = {}, .state = {}, .before = 0, .limit = 1'000}));
  for (const PendingRelease& release : store.pending_releases(1'000).value()) {
    all += fmt::format("\nrelease of {} {} {}", release.ticket.str(), release.item.text(),
                       release.effect == model::StockEffect::post ? "posts" : "voids");
  }
  for (const model::Ticket& ticket : store.due_tickets(now, 1'000).value()) all += "\ndue " + ticket.str();
  for (const AuditRow& row : store.audit_log(0, 1'000).value()) all += "\n" + row.entry.action;
  return all;
}

// Lands records as orders::Landing does: a batch that is refused for what it holds is halved. Which of two faults of a
// batch an engine meets first is its own affair; what each record alone is refused for is not.
std::string land_in_halves(Store& store, std::span<const model::LaneRecord> records, base::UtcMs now) {
  const auto landed = store.land(records, now);
  if (landed) {
    std::string all;
    for (const Landed& one : *landed) {
      all += fmt::format(" {} {} {},", static_cast<int>(one.as), model::name(one.state), one.pay_before);
    }
    return all;
  }
  if (records.size() < 2 || !orders::blames_content(landed.error().code)) return " " + text(landed.error()) + ",";
  const auto middle = records.size() / 2;
  const std::string first = land_in_halves(store, records.first(middle), now);
  return " halves (" + first + " |" + land_in_halves(store, records.subspan(middle), now) + " )";
}

// One call, drawn once and made on every store; its answer as text.
using Call = std::function<std::string(Store&)>;

class Calls {
 public:
  Calls(const model::Sale& sale, const Shop& shop) : sale_{sale}, shop_{shop} {}

  Call next(base::UtcMs now) {
    switch (*rc::gen::inRange(0, 16)) {
      case 0: return fail(now);
      case 1:
      case 2:
      case 3:
      case 4: return end(now);
      case 5: return acknowledge();
      case 6: return pool();
      case 7: return edit();
      case 8: return list();
      default: return land(now);
    }
  }

 private:
  static bool rarely() { return *rc::gen::inRange(0, 25) == 0; }

  model::OrderIntent intent() {
    const std::string buyer = "b" + std::to_string(*rc::gen::inRange(0, 6));
    const std::string request = "r" + std::to_string(*rc::gen::inRange(0, 6));
    auto intent = shop_.intent(buyer, request, *rc::gen::inRange<std::int64_t>(1, 3));
    intent.limit = *rc::gen::inRange<std::int64_t>(2, 4);
    if (rarely()) intent.price_minor = 0;
    if (rarely()) intent.price_minor = -1;
    if (rarely()) intent.units = *rc::gen::element<std::int64_t>(0, -1, INT64_MAX, INT64_MAX / 2'000);
    if (rarely()) intent.generation = *rc::gen::inRange<model::Generation>(0, 3);
    if (rarely()) intent.lane = *rc::gen::inRange<model::LaneIndex>(0, 5);
    if (rarely()) intent.item.sku = model::Sku::parse("nothing").value();
    if (rarely()) intent.limit = 0;
    if (rarely()) intent.ticket = shop_.intent(buyer, "another").ticket;
    if (rarely()) intent.fields = std::make_shared<const std::string>(R"({"receiver":"x"})");
    tickets_.push_back(intent.ticket);
    return intent;
  }
  StockTransfer transfer() {
    StockTransfer transfer;
    transfer.id = "t" + std::to_string(*rc::gen::inRange(0, 60));
    transfer.item = shop_.item();
    transfer.from = *rc::gen::inRange(-1, 3);
    transfer.to = *rc::gen::inRange(-1, 3);
    transfer.units = *rc::gen::inRange<std::int64_t>(-1, 9);
    transfer.at = start_of_sale;
    if (rarely()) transfer.from = *rc::gen::inRange(-3, 5);
    if (rarely()) transfer.generation = 7;
    if (rarely()) transfer.item.sku = model::Sku::parse("nothing").value();
    return transfer;
  }

  Call land(base::UtcMs now) {
    std::vector<model::LaneRecord> records;
    const int size = *rc::gen::inRange(0, 6);
    for (int i = 0; i < size; ++i) {
      if (*rc::gen::inRange(0, 4) == 0) {
        records.emplace_back(transfer());
      } else {
        records.emplace_back(intent());
      }
    }
    return [=](Store& store) { return "land:" + land_in_halves(store, records, now); };
  }
  Call fail(base::UtcMs now) {
    const auto reason = *rc::gen::element(model::FailReason::limit_reached, model::FailReason::unreadable);
    return [=, failed = intent()](Store& store) { return "fail: " + text(store.fail_intent(failed, reason, now)); };
  }
  Call end(base::UtcMs now) {
    std::vector<EndCommand> commands;
    const int size = *rc::gen::inRange(1, 4);
    for (int i = 0; i < size; ++i) {
      const auto ticket = tickets_.empty() ? model::Ticket{} : *rc::gen::elementOf(tickets_);
      const auto what = *rc::gen::element(model::OrderEvent::pay, model::OrderEvent::cancel, model::OrderEvent::expire,
                                          model::OrderEvent::close_begin, model::OrderEvent::refund,
                                          model::OrderEvent::replay, model::OrderEvent::discard);
      auto command = event(ticket, what, now);
      command.payment_provider = rarely() ? "" : "demo";
      command.payment_id = "p" + std::to_string(*rc::gen::inRange(0, 20));
      if (rarely()) command.buyer = model::BuyerId::parse("b1");
      commands.push_back(command);
    }
    return [=](Store& store) {
      const auto ended = store.end_tickets(commands);
      if (!ended) return "end: " + text(ended.error());
      std::string all = "end:";
      for (const Ended& one : *ended) {
        all += fmt::format(" {} {} {} {} {},", static_cast<int>(one.result), model::name(one.state),
                           static_cast<int>(one.effect), one.item.text(), one.units);
      }
      return all;
    };
  }
  Call acknowledge() {
    if (!tickets_.empty() && *rc::gen::inRange(0, 2) == 0) {
      const std::vector released{*rc::gen::elementOf(tickets_)};
      return [=](Store& store) { return "acknowledge: " + text(store.acknowledge_released(released)); };
    }
    const std::array places{*rc::gen::inRange<std::size_t>(0, 6), *rc::gen::inRange<std::size_t>(0, 6)};
    return [=](Store& store) {
      const auto pending = store.pending_releases(1'000).value();
      std::vector<std::int64_t> ids;
      for (const std::size_t place : places) {
        // One that nobody has numbered is harmless.
        ids.push_back(place < pending.size() ? pending[place].id : std::int64_t{1} << 40);
      }
      return "acknowledge: " + text(store.acknowledge_releases(ids));
    };
  }
  Call pool() {
    const auto units = *rc::gen::inRange<std::int64_t>(-2, 5);
    const std::string id = "c" + std::to_string(*rc::gen::inRange(0, 10));
    const model::ItemKey item = shop_.item();
    switch (*rc::gen::inRange(0, 3)) {
      case 0: return [=](Store& store) { return "add: " + text(store.add_to_pool(item, units, id, by("add"))); };
      case 1: return [=](Store& store) { return "take: " + text(store.take_from_pool(item, units, id, by("take"))); };
      default: break;
    }
    std::vector<StockTransfer> moves{transfer(), transfer()};
    for (StockTransfer& move : moves) {
      if (!rarely()) move.from = StockTransfer::pool;
    }
    return [=](Store& store) { return "pool: " + text(store.pool_to_lanes(moves, by("pool"))); };
  }
  Call edit() {
    model::Sale edited = sale_;
    edited.version = *rc::gen::inRange<std::int64_t>(1, 6);
    edited.title = "v" + std::to_string(edited.version);
    edited.items[0].price_minor = *rc::gen::inRange<std::int64_t>(0, 3);
    edited.items[0].pay_window_ms = *rc::gen::inRange<std::int64_t>(1'000, 90'000);
    if (rarely()) edited.items[0].sku = model::Sku::parse("nothing").value();
    const auto from = *rc::gen::element(model::SaleState::preloaded, model::SaleState::paused);
    const auto to = *rc::gen::element(model::SaleState::preloaded, model::SaleState::paused, model::SaleState::closed);
    switch (*rc::gen::inRange(0, 3)) {
      case 0: return [=](Store& store) { return "edit: " + text(store.update_sale(edited, by("edit"))); };
      case 1: return [=](Store& store) { return "state: " + text(store.set_sale_state(edited.id, from, to, by("s"))); };
      default: return [=](Store& store) { return "preload: " + text(store.preload(edited.id, 0, by("preload"))); };
    }
  }
  Call list() {
    OrderQuery query;
    if (*rc::gen::inRange(0, 2) == 0) query.buyer = model::BuyerId::parse("b1");
    if (*rc::gen::inRange(0, 2) == 0) query.sale = sale_.id;
    if (*rc::gen::inRange(0, 2) == 0) {
      query.state = *rc::gen::element(model::OrderState::awaiting_payment, model::OrderState::paid,
                                      model::OrderState::failed, model::OrderState::cancelled);
    }
    query.limit = *rc::gen::inRange<std::int64_t>(0, 6);
    const int pages = *rc::gen::inRange(1, 4);
    return [=](Store& store) {
      std::string all = "list:";
      OrderQuery next = query;
      for (int page = 0; page < pages; ++page) {
        const auto found = store.list_orders(next);
        all += "\n" + text(found);
        if (!found || found->next == 0) break;
        next.before = found->next;
      }
      return all;
    };
  }

  model::Sale sale_;
  const Shop& shop_;
  std::vector<model::Ticket> tickets_;
};

TEST(StoreEqual, every_engine_answers_and_keeps_what_the_first_does) {
  const bool held = rc::check([] {
    const auto engines = backends();
    std::vector<std::unique_ptr<Place>> places;
    std::vector<std::unique_ptr<Store>> stores;
    model::SaleItem item = an_item("sku1", total, 3);
    item.reserve = 4;
    item.lanes = 2;
    const model::Sale sale = a_sale("s1", {item});
    for (const Backend& engine : engines) {
      places.push_back(engine.make_place());
      stores.push_back(places.back()->open().value());
      RC_ASSERT(stores.back()->create_sale(sale, by("create")).has_value());
      RC_ASSERT(stores.back()->preload(sale.id, start_of_sale, by("preload")).has_value());
    }
    const Shop shop{*stores[0], sale};
    Calls calls{sale, shop};
    base::UtcMs now = start_of_sale;
    const int count = *rc::gen::inRange(1, 40);
    for (int i = 0; i < count; ++i) {
      now += *rc::gen::inRange<base::UtcMs>(0, pay_window_ms / 8);
      const Call call = calls.next(now);
      const std::string answer = call(*stores[0]);
      const std::string kept = contents(*stores[0], shop.item(), now);
      for (std::size_t other = 1; other < stores.size(); ++other) {
        RC_ASSERT(call(*stores[other]) == answer);
        RC_ASSERT(contents(*stores[other], shop.item(), now) == kept);
      }
    }
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace seckill::store::contract
