// Random sequences of landings, transfers, ends and restarts against a naive account of what must come out: after each
// step every answer, every order's state and every lane's units are equal, and the store's own audit finds nothing.
#include <rapidcheck.h>

#include <map>
#include <set>

#include "store_contract.hpp"

namespace seckill::store::contract {
namespace {

using model::OrderEvent;
using model::OrderState;

class StoreProperty : public StoreSuite {};
SECKILL_FOR_EVERY_STORE(StoreProperty);

constexpr std::int64_t total = 32;
constexpr std::int64_t limit = 3;
constexpr int buyers = 12;

// The account: plain maps, one rule a line, nothing shared with the store's code but the transition table.
class Account {
 public:
  struct Row {
    model::OrderIntent intent;
    OrderState state = OrderState::awaiting_payment;
    base::UtcMs pay_before = 0;
    std::string payment;
  };

  explicit Account(const ItemStock& stock) : pool_{stock.pool} {
    for (const LaneRow& lane : stock.lanes) lanes_.push_back(lane.stock);
  }

  // nullopt: the whole batch is refused and nothing changes.
  std::optional<std::vector<LandedAs>> land(const std::vector<model::LaneRecord>& records, base::UtcMs now) {
    Account next = *this;
    std::vector<LandedAs> results;
    for (const auto& record : records) {
      if (const auto* intent = std::get_if<model::OrderIntent>(&record)) {
        results.push_back(next.land_one(*intent, now));
      } else {
        next.move(std::get<model::StockTransfer>(record));
      }
    }
    if (!next.sound()) return std::nullopt;
    *this = std::move(next);
    return results;
  }

  EndResult end(const EndCommand& command) {
    const auto found = rows_.find(command.ticket);
    if (found == rows_.end()) return EndResult::not_found;
    Row& row = found->second;
    const auto move = model::transition(row.state, command.event);
    if (!move) return repeated(row, command) ? EndResult::already_there : EndResult::illegal;
    if (command.event == OrderEvent::pay && payments_.contains(command.payment_id)) return EndResult::illegal;
    const bool overdue = row.pay_before < command.now;
    if (command.event == OrderEvent::pay && row.state == OrderState::awaiting_payment && overdue)
      return EndResult::too_late;
    if (command.event == OrderEvent::expire && !overdue) return EndResult::too_late;
    auto& lane = lanes_[row.intent.lane];
    if (move->effect == model::StockEffect::post) ledger::post(lane, row.intent.units);
    if (move->effect == model::StockEffect::void_) {
      ledger::void_hold(lane, row.intent.units);
      units_[row.intent.buyer] -= row.intent.units;
    }
    if (command.event == OrderEvent::pay) payments_.emplace(command.payment_id, command.ticket);
    if (command.event == OrderEvent::pay) row.payment = command.payment_id;
    row.state = move->to;
    return EndResult::done;
  }

  void expect_equal(Store& store, const Shop& shop) const {
    const ItemStock stock = shop.stock();
    RC_ASSERT(stock.pool == pool_);
    for (std::size_t i = 0; i < lanes_.size(); ++i) RC_ASSERT(stock.lanes[i].stock == lanes_[i]);
    for (const auto& [ticket, row] : rows_) RC_ASSERT(store.find_order(ticket).value().value().state == row.state);
    RC_ASSERT(shop.broken() == "");
  }
  [[nodiscard]] const std::map<model::Ticket, Row>& rows() const { return rows_; }

 private:
  static bool repeated(const Row& row, const EndCommand& command) {
    switch (command.event) {
      case OrderEvent::pay: return model::is_sold(row.state) && row.payment == command.payment_id;
      case OrderEvent::cancel: return row.state == OrderState::cancelled;
      case OrderEvent::expire: return row.state == OrderState::expired;
      case OrderEvent::close_begin: return row.state == OrderState::closing;
      case OrderEvent::refund: return row.state == OrderState::refunded;
      case OrderEvent::replay:
      case OrderEvent::discard: return false;
    }
    return false;
  }
  LandedAs land_one(const model::OrderIntent& intent, base::UtcMs now) {
    if (const auto row = rows_.find(intent.ticket); row != rows_.end()) {
      return model::is_ended(row->second.state) ? LandedAs::already_ended : LandedAs::already_live;
    }
    if (intent.generation != 1) return LandedAs::superseded;
    rows_[intent.ticket] = {.intent = intent, .pay_before = now + intent.pay_window_ms, .payment = {}};
    lanes_[intent.lane].available -= intent.units;
    lanes_[intent.lane].held += intent.units;
    units_[intent.buyer] += intent.units;
    short_ = short_ || lanes_[intent.lane].available < 0 || units_[intent.buyer] > limit;
    return LandedAs::ordered;
  }
  void move(const model::StockTransfer& transfer) {
    if (!transfers_.insert(transfer.id).second) return;
    const auto end = [&](std::int32_t lane) -> std::int64_t& {
      return lane == model::StockTransfer::pool ? pool_ : lanes_[static_cast<std::size_t>(lane)].available;
    };
    end(transfer.from) -= transfer.units;
    short_ = short_ || end(transfer.from) < 0;
    end(transfer.to) += transfer.units;
  }
  [[nodiscard]] bool sound() const { return !short_; }

  std::int64_t pool_;
  std::vector<ledger::LaneStock> lanes_;
  std::map<model::Ticket, Row> rows_;
  std::map<model::BuyerId, std::int64_t> units_;
  std::map<std::string, model::Ticket> payments_;
  std::set<std::string> transfers_;
  bool short_ = false;
};

std::vector<model::LaneRecord> some_records(const Shop& shop) {
  std::vector<model::LaneRecord> records;
  const int size = *rc::gen::inRange(1, 6);
  for (int i = 0; i < size; ++i) {
    if (*rc::gen::inRange(0, 4) > 0) {
      const std::string buyer = "b" + std::to_string(*rc::gen::inRange(0, buyers));
      const std::string request = "r" + std::to_string(*rc::gen::inRange(0, 4));
      auto intent = shop.intent(buyer, request, *rc::gen::inRange<std::int64_t>(1, 3));
      if (*rc::gen::inRange(0, 20) == 0) intent.generation = 0;
      records.emplace_back(std::move(intent));
      continue;
    }
    const int from = *rc::gen::inRange(-1, 4);
    const int to = *rc::gen::inRange(-1, 4);
    if (from == to) continue;
    records.emplace_back(model::StockTransfer{.id = "t" + std::to_string(*rc::gen::inRange(0, 60)),
                                              .item = shop.item(),
                                              .from = from,
                                              .to = to,
                                              .units = *rc::gen::inRange<std::int64_t>(1, 5),
                                              .generation = 1,
                                              .at = start_of_sale});
  }
  return records;
}

EndCommand some_end(const Account& account, base::UtcMs now) {
  const auto at = *rc::gen::inRange<std::size_t>(0, account.rows().size());
  const auto ticket = std::next(account.rows().begin(), static_cast<std::ptrdiff_t>(at))->first;
  constexpr OrderEvent events[] = {OrderEvent::pay,    OrderEvent::pay,         OrderEvent::cancel,
                                   OrderEvent::expire, OrderEvent::close_begin, OrderEvent::refund,
                                   OrderEvent::replay, OrderEvent::discard};
  EndCommand command = event(ticket, events[*rc::gen::inRange<std::size_t>(0, std::size(events))], now);
  command.payment_provider = "demo";
  command.payment_id = "p" + std::to_string(*rc::gen::inRange(0, 15));
  return command;
}

TEST_P(StoreProperty, any_sequence_comes_out_as_the_naive_account_says) {
  const bool held = rc::check([&] {
    store_.reset();
    place_ = GetParam().make_place();
    open();
    const Shop made = a_shop(total, limit);
    const model::Sale sale = store().find_sale(made.item().sale).value();
    auto shop = std::make_unique<Shop>(store(), sale);
    Account account{shop->stock()};
    base::UtcMs now = start_of_sale;
    const int steps = *rc::gen::inRange(1, 40);
    for (int step = 0; step < steps; ++step) {
      now += *rc::gen::inRange<base::UtcMs>(0, pay_window_ms / 8);
      const int what = *rc::gen::inRange(0, 20);
      if (what == 0) {
        shop.reset();
        reopen();
        shop = std::make_unique<Shop>(store(), sale);
      } else if (what < 11 || account.rows().empty()) {
        const auto records = some_records(*shop);
        const auto wanted = account.land(records, now);
        const auto landed = store().land(records, now);
        RC_ASSERT(landed.has_value() == wanted.has_value());
        for (std::size_t i = 0; wanted && i < wanted->size(); ++i) RC_ASSERT((*landed)[i].as == (*wanted)[i]);
      } else {
        const EndCommand command = some_end(account, now);
        RC_ASSERT(shop->end(command).result == account.end(command));
      }
      account.expect_equal(store(), *shop);
    }
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace seckill::store::contract
