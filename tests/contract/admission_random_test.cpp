// Admission port: random histories against a naive oracle, from one printed seed. After every step the lanes and the
// oracle agree on every answer, every buyer's units and the sum of all units (P1, P2, P3, P4, P8).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "contract/admission_world.hpp"

namespace seckill::test {
namespace {

class AdmissionRandom : public AdmissionContract {};
INSTANTIATE_TEST_SUITE_P(Engines, AdmissionRandom, testing::ValuesIn(engines()), engine_name);

// The rules in their plainest form: one counter, one list of tickets, no lanes.
class Oracle {
 public:
  struct Entry {
    std::string buyer;
    std::string request_id;
    std::int64_t units = 0;
    bool live = true;
    bool sold = false;
    model::Ticket ticket;
  };

  Oracle(std::int64_t total, std::int64_t limit, std::uint32_t tickets_max)
      : available{total}, limit{limit}, tickets_max{tickets_max} {}

  PurchaseAnswer ask(const std::string& buyer, const std::string& request_id, std::int64_t units, bool open) {
    std::int64_t owned = 0;
    std::uint32_t tickets_of_buyer = 0;
    for (const Entry& entry : entries) {
      if (entry.buyer != buyer) continue;
      if (entry.request_id == request_id) {
        return entry.units == units ? PurchaseAnswer::replayed : PurchaseAnswer::request_conflict;
      }
      ++tickets_of_buyer;
      if (entry.live) owned += entry.units;
    }
    if (!open) return PurchaseAnswer::paused;
    if (owned + units > limit || tickets_of_buyer >= tickets_max) return PurchaseAnswer::limit_reached;
    if (available < units) return PurchaseAnswer::sold_out;
    available -= units;
    entries.push_back(
        {.buyer = buyer, .request_id = request_id, .units = units, .live = true, .sold = false, .ticket = {}});
    return PurchaseAnswer::admitted;
  }

  std::int64_t available;
  std::int64_t limit;
  std::uint32_t tickets_max;
  std::vector<Entry> entries;

  [[nodiscard]] ledger::LaneStock stock() const {
    ledger::LaneStock sum{.available = available, .held = 0, .sold = 0};
    for (const Entry& entry : entries) {
      if (entry.live) (entry.sold ? sum.sold : sum.held) += entry.units;
    }
    return sum;
  }
};

// One history: buys, cancels, payments, top-ups, reductions, restarts, pauses, edits of the limit, time.
class History {
 public:
  History(const EngineMaker& maker, const SalePlan& plan)
      : world_{maker, plan}, oracle_{plan.total - plan.reserve, plan.limit, plan.tickets_max} {}

  void step(int kind) {
    switch (kind) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: return buy();
      case 5: return end(model::OrderEvent::cancel);
      case 6: return end(model::OrderEvent::pay);
      case 7: return top_up();
      case 8: return reduce();
      case 9: return world_.restart();
      case 10: return edit();
      default: return world_.clock.advance(std::chrono::milliseconds{*rc::gen::inRange(0, 700)});
    }
  }
  void check() {
    RC_ASSERT(world_.lane_sum() == oracle_.stock());
    world_.expect_conserved();
    RC_ASSERT(!testing::Test::HasFailure());
  }

 private:
  void buy() {
    const std::string buyer = fmt::format("buyer-{}", *rc::gen::inRange(0, 12));
    const std::string request_id = fmt::format("r{}", *rc::gen::inRange(0, 8));
    const std::int64_t units = *rc::gen::inRange<std::int64_t>(1, 4);
    const PurchaseAnswer expected = oracle_.ask(buyer, request_id, units, open_);
    const admission::AdmitReply reply = world_.ask(buyer, request_id, units);
    RC_ASSERT(model::name(reply.answer) == model::name(expected));
    if (expected == PurchaseAnswer::admitted) {
      for (const Oracle::Entry& entry : oracle_.entries) RC_ASSERT(!(entry.ticket == reply.ticket->ticket));
      oracle_.entries.back().ticket = reply.ticket->ticket;
    }
    if (expected == PurchaseAnswer::replayed) {
      const auto same = std::ranges::find_if(oracle_.entries, [&](const Oracle::Entry& entry) {
        return entry.buyer == buyer && entry.request_id == request_id;
      });
      RC_ASSERT(reply.ticket->ticket == same->ticket);
      RC_ASSERT(reply.ticket->live == same->live);
    }
    if (expected == PurchaseAnswer::limit_reached) {
      const auto live = std::ranges::count_if(
          oracle_.entries, [&](const Oracle::Entry& entry) { return entry.buyer == buyer && entry.live; });
      RC_ASSERT(static_cast<std::int64_t>(reply.own.size()) == live);
    }
    // The early answer refuses nobody whom admission would have let in.
    const auto early = world_.admission().early_answer(world_.item(), buyer, units);
    if (early)
      RC_ASSERT(expected == PurchaseAnswer::paused || expected == PurchaseAnswer::sold_out ||
                expected == PurchaseAnswer::limit_reached);
  }
  void end(model::OrderEvent event) {
    if (oracle_.entries.empty()) return;
    Oracle::Entry& entry = oracle_.entries[*rc::gen::inRange<std::size_t>(0, oracle_.entries.size())];
    const store::Ended ended = world_.end(entry.ticket, event);
    if (!entry.live || entry.sold) {
      RC_ASSERT(ended.result == store::EndResult::illegal);
      if (!entry.live) RC_ASSERT(world_.release(entry.ticket) == admission::LaneAck::applied);
      return;
    }
    if (event == model::OrderEvent::pay) {
      entry.sold = true;
    } else {
      entry.live = false;
      oracle_.available += entry.units;
    }
  }
  void top_up() {
    if (pool() == 0) return;
    model::StockTransfer transfer;
    transfer.id = fmt::format("top-up:{}", ++transfers_);
    transfer.item = world_.item();
    transfer.to = *rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(world_.sale.items[0].lanes));
    transfer.units = *rc::gen::inRange<std::int64_t>(1, pool() + 1);
    RC_ASSERT(world_.store.pool_to_lanes({&transfer, 1}, {}).has_value());
    for (int i = 0; i < 2; ++i) RC_ASSERT(world_.admission().credit(transfer).has_value());
    oracle_.available += transfer.units;
  }
  void reduce() {
    const std::int64_t units = *rc::gen::inRange<std::int64_t>(1, 10);
    const auto taken = world_.admission().debit_to_pool(world_.item(), units, fmt::format("cut:{}", ++transfers_));
    RC_ASSERT(taken.has_value());
    RC_ASSERT(*taken == std::min(units, oracle_.available));
    oracle_.available -= *taken;
  }
  void edit() {
    open_ = *rc::gen::inRange(0, 3) != 0;
    oracle_.limit = *rc::gen::inRange<std::int64_t>(1, 6);
    world_.sale.state = open_ ? model::SaleState::preloaded : model::SaleState::paused;
    world_.sale.items[0].limit = oracle_.limit;
    ++world_.sale.version;
    RC_ASSERT(world_.store.keep_terms(world_.sale).has_value());
    RC_ASSERT(
        world_.admission().configure(world_.item(), model::terms_of(world_.sale, world_.sale.items[0])).has_value());
  }
  [[nodiscard]] std::int64_t pool() { return world_.store.rows(world_.item()).stock.pool; }

  World world_;
  Oracle oracle_;
  bool open_ = true;
  int transfers_ = 0;
};

TEST_P(AdmissionRandom, every_history_agrees_with_the_oracle) {
  const EngineMaker maker = GetParam();
  const bool held = rc::check("lanes and oracle agree after every step", [&] {
    const std::uint32_t lanes = *rc::gen::inRange<std::uint32_t>(1, 9);
    const std::int64_t on_sale = *rc::gen::inRange<std::int64_t>(1, 40);
    History history{maker,
                    {.total = on_sale + 10,
                     .reserve = 10,
                     .limit = *rc::gen::inRange<std::int64_t>(1, 5),
                     .tickets_max = *rc::gen::inRange<std::uint32_t>(1, 6),
                     .lanes = lanes}};
    const auto kinds = *rc::gen::container<std::vector<int>>(60, rc::gen::inRange(0, 12));
    for (const int kind : kinds) {
      history.step(kind);
      history.check();
    }
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace seckill::test
