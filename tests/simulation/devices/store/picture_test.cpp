// The identities against the protocols' own steps: lanes by lane_steps.hpp and the simulated database take one step
// each in any order, nothing is lost and no time passes. No such order may show a difference while messages are on
// their way, and when all have arrived none may be left even without a grace.
#include "simulation/devices/store/picture.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "admission/lane_steps.hpp"
#include "simulation/devices/store/sim_database.hpp"

namespace seckill::sim {
namespace {

namespace steps = admission::steps;
using model::StockTransfer;
using store::TransferResult;

constexpr base::UtcMs start = 1'800'000'000'000;
constexpr std::uint32_t lanes = 2;

class World {
 public:
  World() {
    model::SaleItem item;
    item.sku = model::Sku::parse("sku1").value();
    item.title = "A thing";
    item.price_minor = 100;
    item.total = 16;
    item.limit = 3;
    item.pay_window_ms = 60'000;
    sale_.id = model::SaleId::parse("s1").value();
    sale_.title = "Sale";
    sale_.starts_at = start - 1'000;
    sale_.ends_at = start + 3'600'000;
    sale_.items = {item};
    item_ = {.sale = sale_.id, .sku = item.sku};
    EXPECT_TRUE(database_.create_sale(sale_, {}).has_value());
    EXPECT_TRUE(database_.preload(sale_.id, start, {}).has_value());
    sale_.state = model::SaleState::preloaded;
    token_ = database_.acquire_lease(store::leader_lease, "leader", std::chrono::hours{1}).value()->token;
    for (model::LaneIndex lane = 0; lane < lanes; ++lane) {
      lanes_.emplace_back(admission::LaneKey{.item = item_, .lane = lane});
      rebuild(lane);
    }
  }

  void step() {
    clock_.advance(std::chrono::milliseconds{1});
    const auto lane = *rc::gen::inRange<model::LaneIndex>(0, lanes);
    switch (*rc::gen::inRange(0, 12)) {
      case 0:
      case 1:
      case 2: return admit(lane);
      case 3:
      case 4: return land();
      case 5:
      case 6: return end();
      case 7:
      case 8: return deliver();
      case 9: return debit(lane);
      case 10: return settle();
      case 11:
        if (*rc::gen::inRange(0, 4) == 0) rebuild(lane);
        return;
    }
  }
  // Everything that is on its way arrives.
  void drain() {
    clock_.advance(std::chrono::minutes{1});
    for (int i = 0; i < 1'000 && (!queue_.empty() || !tables_.outbox.empty() || !open_.empty()); ++i) {
      land();
      deliver();
      settle();
    }
    clock_.advance(std::chrono::minutes{1});
  }
  [[nodiscard]] std::string broken(std::int64_t grace_ms) const {
    reconcile::ItemPicture picture;
    picture.item = item_;
    picture.store = store_picture(tables_, item_);
    for (const auto& lane : lanes_) picture.lanes.push_back(lane_picture(lane, true));
    picture.now = clock_.now_utc();
    picture.grace_ms = grace_ms;
    std::string all;
    for (const reconcile::Difference& difference : reconcile::differences(picture)) all += difference.text + "\n";
    return all;
  }

 private:
  struct Open {
    store::LaneTransfer transfer;
    int step = 0;
  };

  void admit(model::LaneIndex lane) {
    const std::string buyer = "b" + std::to_string(*rc::gen::inRange(0, 5));
    const std::string request = "r" + std::to_string(*rc::gen::inRange(0, 6));
    admission::LaneAsk ask;
    ask.buyer = model::BuyerId::parse(buyer).value();
    ask.request_id = model::RequestId::parse(request).value();
    ask.ticket = model::derive_ticket({}, item_, ask.buyer, buyer + request + std::to_string(lane), lane);
    ask.units = *rc::gen::inRange<std::int64_t>(1, 3);
    ask.digest = static_cast<std::uint64_t>(ask.units);
    const auto made =
        steps::admit(lanes_[lane], lanes_[lane].generation, std::span{&ask, 1}, clock_.now_utc()).decisions[0];
    if (made.intent) queue_.push_back(*made.intent);
  }
  // What was admitted before a rebuild is adopted or fails, as the landing does it.
  void land() {
    if (queue_.empty()) return;
    model::OrderIntent intent = queue_.front();
    queue_.erase(queue_.begin());
    const std::vector<model::LaneRecord> records{intent};
    const auto landed = database_.land(records, clock_.now_utc());
    auto& lane = lanes_[intent.lane];
    if (!landed) {
      // A buyer's units beyond the limit: he bought in two lanes here, which a real buyer cannot.
      RC_ASSERT(landed.error().code == base::Errc::constraint);
      return fail(intent, model::FailReason::limit_reached);
    }
    switch (landed->front().as) {
      case store::LandedAs::ordered:
      case store::LandedAs::already_live: (void)steps::confirm_published(lane, std::span{&intent.ticket, 1}); return;
      case store::LandedAs::already_ended:
      case store::LandedAs::failed: (void)steps::release(lane, intent.ticket); return;
      case store::LandedAs::superseded: break;
    }
    const auto adopted = steps::adopt(lane, intent, clock_.now_utc());
    if (adopted.adopted != admission::Adopted::adopted) return fail(intent, model::FailReason::superseded);
    intent.generation = adopted.generation;
    queue_.push_back(intent);
  }
  void fail(const model::OrderIntent& intent, model::FailReason reason) {
    RC_ASSERT(database_.fail_intent(intent, reason, clock_.now_utc()).has_value());
  }
  void end() {
    if (tables_.orders.empty()) return;
    const auto place = *rc::gen::inRange<std::size_t>(0, tables_.orders.size());
    store::EndCommand command;
    command.ticket = tables_.orders[place].order.ticket;
    command.event = *rc::gen::element(model::OrderEvent::pay, model::OrderEvent::cancel, model::OrderEvent::refund);
    command.now = clock_.now_utc();
    command.payment_provider = "demo";
    command.payment_id = command.ticket.str();
    RC_ASSERT(database_.end_tickets(std::span{&command, 1}).has_value());
  }
  void deliver() {
    const auto pending = database_.pending_releases(1).value();
    if (pending.empty()) return;
    const auto& release = pending.front();
    auto& lane = lanes_[release.ticket.lane()];
    const bool posts = release.effect == model::StockEffect::post;
    const auto code = posts ? steps::post(lane, release.ticket) : steps::release(lane, release.ticket);
    RC_ASSERT(code == admission::LaneCode::done);
    RC_ASSERT(database_.acknowledge_releases(std::span{&release.id, 1}).has_value());
  }
  void debit(model::LaneIndex from) {
    const auto to = 1 - from;
    const std::string id = "t" + std::to_string(next_transfer_++);
    const auto taken = steps::debit(lanes_[from], lanes_[from].generation,
                                    {.id = id,
                                     .debit = true,
                                     .units = *rc::gen::inRange<std::int64_t>(1, 4),
                                     .other = static_cast<std::int32_t>(to),
                                     .other_generation = lanes_[to].generation,
                                     .at = 0},
                                    clock_.now_utc());
    if (taken.code != admission::LaneCode::done || taken.units == 0) return;
    open_.push_back({.transfer = {.id = id,
                                  .item = item_,
                                  .from = static_cast<std::int32_t>(from),
                                  .to = static_cast<std::int32_t>(to),
                                  .units = taken.units,
                                  .from_generation = lanes_[from].generation,
                                  .to_generation = lanes_[to].generation}});
  }
  // One step of one transfer: commit (or abandon), credit (or give back), close in the store, close in the lanes.
  void settle() {
    if (open_.empty()) return;
    const auto place = *rc::gen::inRange<std::size_t>(0, open_.size());
    const store::LaneTransfer transfer = open_[place].transfer;
    auto& from = lanes_[static_cast<std::size_t>(transfer.from)];
    auto& to = lanes_[static_cast<std::size_t>(transfer.to)];
    switch (open_[place].step++) {
      case 0: {
        const bool give_up = *rc::gen::inRange(0, 4) == 0;
        const auto committed = give_up ? TransferResult::stale : database_.commit_transfer(transfer).value();
        if (committed == TransferResult::done) return;
        RC_ASSERT(committed == TransferResult::stale);
        RC_ASSERT(database_.abandon_transfer(transfer).value() == TransferResult::abandoned);
        return;
      }
      case 1:
        if (database_.transfer_state(transfer.id).value() == store::TransferState::abandoned) {
          (void)steps::undo_debit(from, transfer.id, clock_.now_utc());
        } else {
          (void)steps::credit(to, transfer.to_generation,
                              {.id = transfer.id,
                               .debit = false,
                               .units = transfer.units,
                               .other = transfer.from,
                               .other_generation = transfer.from_generation,
                               .at = 0},
                              clock_.now_utc());
        }
        return;
      case 2: RC_ASSERT(database_.close_transfer(transfer.id).has_value()); return;
      default:
        (void)steps::close_transfer(from, transfer.id, clock_.now_utc());
        (void)steps::close_transfer(to, transfer.id, clock_.now_utc());
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }
  void rebuild(model::LaneIndex lane) {
    const auto made = database_.rebuild_lane(item_, lane, token_).value();
    const admission::InstallPlan plan{.generation = made.generation,
                                      .leader = {.token = token_},
                                      .terms = model::terms_of(sale_, sale_.items[0]),
                                      .stock = made.stock,
                                      .tickets = made.tickets.size()};
    std::vector<admission::InstallTicket> tickets;
    for (const store::TicketRow& row : made.tickets) tickets.push_back({.row = row});
    EXPECT_EQ(steps::install_begin(lanes_[lane], plan), admission::LaneCode::done);
    EXPECT_EQ(steps::install_batch(lanes_[lane], plan, tickets), admission::LaneCode::done);
    EXPECT_EQ(steps::install_open(lanes_[lane], plan), admission::LaneCode::done);
    EXPECT_TRUE(database_.open_lane(item_, lane, made.generation, store::LaneState::lane, "run", "replication", token_)
                    .has_value());
  }

  base::ManualClock clock_{start};
  Tables tables_;
  SimDatabase database_{tables_, clock_};
  model::Sale sale_;
  model::ItemKey item_;
  std::uint64_t token_ = 0;
  std::vector<steps::LaneState> lanes_;
  std::vector<model::OrderIntent> queue_;
  std::vector<Open> open_;
  int next_transfer_ = 0;
};

TEST(Picture, P1_P2_P6_no_order_of_the_protocols_steps_breaks_an_identity) {
  const bool held = rc::check([] {
    World world;
    constexpr std::int64_t longer_than_the_run_ms = 100'000;
    const int count = *rc::gen::inRange(1, 80);
    for (int i = 0; i < count; ++i) {
      world.step();
      RC_ASSERT(world.broken(longer_than_the_run_ms) == "");
    }
    world.drain();
    RC_ASSERT(world.broken(0) == "");
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace seckill::sim
