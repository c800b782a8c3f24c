// Lanes in memory and the steps of remote lanes say the same: one random history of purchases, ends, edits and time,
// asked of both.
#include <fmt/format.h>
#include <rapidcheck.h>

#include "contract/admission_world.hpp"
#include "unit/admission/lane_steps_lane.hpp"

namespace seckill::test {
namespace {

PurchaseAnswer answer_of(Decision decision) {
  switch (decision) {
    case Decision::busy: return PurchaseAnswer::busy;
    case Decision::replay: return PurchaseAnswer::replayed;
    case Decision::request_conflict: return PurchaseAnswer::request_conflict;
    case Decision::not_started: return PurchaseAnswer::not_started;
    case Decision::ended: return PurchaseAnswer::ended;
    case Decision::paused: return PurchaseAnswer::paused;
    case Decision::limit_reached: return PurchaseAnswer::limit_reached;
    case Decision::short_of_stock: return PurchaseAnswer::sold_out;  // of the item's only lane
    case Decision::admit: return PurchaseAnswer::admitted;
  }
  return PurchaseAnswer::busy;
}

class BothLanes {
 public:
  explicit BothLanes(const SalePlan& plan) : memory_{engines().front(), plan}, lane_{{memory_.item(), 0}} {
    admission::InstallPlan install;
    install.generation = memory_.store.rows(memory_.item()).stock.lanes.at(0).generation;
    install.terms = model::terms_of(memory_.sale, memory_.sale.items[0]);
    install.stock.available = plan.total;
    RC_ASSERT(steps::install_begin(lane_, install) == LaneCode::done);
    RC_ASSERT(steps::install_open(lane_, install) == LaneCode::done);
  }

  void step(int kind) {
    switch (kind) {
      case 6: return end(model::OrderEvent::cancel);
      case 7: return end(model::OrderEvent::pay);
      case 8: return edit();
      case 9: return memory_.clock.advance(std::chrono::milliseconds{*rc::gen::inRange(0, 400'000)});
      default: return buy();
    }
  }
  void check() {
    RC_ASSERT(memory_.lane_sum() == lane_.stock);
    RC_ASSERT(memory_.admission().lanes(memory_.item()).at(0).marks == static_cast<std::int64_t>(lane_.marks.size()));
    RC_ASSERT(!testing::Test::HasFailure());
  }

 private:
  void buy() {
    const std::string buyer = fmt::format("buyer-{}", *rc::gen::inRange(0, 6));
    const std::string request_id = fmt::format("r{}", *rc::gen::inRange(0, 6));
    const std::int64_t units = *rc::gen::inRange<std::int64_t>(1, 4);
    const admission::AdmitRequest asked = memory_.request(buyer, request_id, units);
    const admission::AdmitReply reply = memory_.ask(asked);

    const model::Ticket ticket = *memory_.admission().ticket_of(memory_.item(), asked.buyer, asked.request_id);
    const admission::LaneAsk ask{.buyer = asked.buyer,
                                 .request_id = asked.request_id,
                                 .ticket = ticket,
                                 .units = units,
                                 .digest = asked.digest,
                                 .fields = nullptr};
    const auto answer = steps::admit(lane_, lane_.generation, std::array{ask}, memory_.clock.now_utc());
    RC_ASSERT(answer.code == LaneCode::done);
    const admission::LaneDecision& decision = answer.decisions.at(0);

    RC_ASSERT(model::name(reply.answer) == model::name(answer_of(decision.decision)));
    RC_ASSERT(reply.ticket.has_value() == decision.ticket.has_value());
    if (reply.ticket) {
      RC_ASSERT(reply.ticket->ticket == decision.ticket->ticket);
      RC_ASSERT(reply.ticket->units == decision.ticket->units);
      RC_ASSERT(reply.ticket->live == decision.ticket->live);
      // A live ticket's landing is told to the lane in memory only; a remote lane leaves it to the store's row.
      if (!reply.ticket->live) RC_ASSERT(reply.ticket->state == decision.ticket->state);
    }
    RC_ASSERT(decision.own_unpublished.empty());
    RC_ASSERT(reply.own.size() == decision.own.size());
    for (std::size_t i = 0; i < reply.own.size(); ++i) RC_ASSERT(reply.own[i].ticket == decision.own[i].ticket);

    if (!decision.intent) return;
    tickets_.push_back(ticket);
    RC_ASSERT(steps::confirm_published(lane_, std::array{ticket}) == LaneCode::done);
  }
  // Also of tickets that have ended, and also told again.
  void end(model::OrderEvent event) {
    if (tickets_.empty()) return;
    const model::Ticket ticket = tickets_[*rc::gen::inRange<std::size_t>(0, tickets_.size())];
    const store::Ended ended = memory_.end(ticket, event);
    const bool again = *rc::gen::inRange(0, 2) == 0;
    for (int times = again ? 2 : 1; times > 0; --times) {
      if (ended.effect == model::StockEffect::void_) RC_ASSERT(steps::release(lane_, ticket) == LaneCode::done);
      if (ended.effect == model::StockEffect::post) RC_ASSERT(steps::post(lane_, ticket) == LaneCode::done);
    }
    if (again && ended.effect == model::StockEffect::void_) {
      RC_ASSERT(memory_.release(ticket) == admission::LaneAck::applied);
    }
  }
  void edit() {
    memory_.sale.state = *rc::gen::inRange(0, 4) == 0 ? model::SaleState::paused : model::SaleState::preloaded;
    memory_.sale.items[0].limit = *rc::gen::inRange<std::int64_t>(1, 6);
    memory_.sale.version += *rc::gen::inRange(0, 2);
    const model::ItemTerms terms = model::terms_of(memory_.sale, memory_.sale.items[0]);
    RC_ASSERT(memory_.admission().configure(memory_.item(), terms).has_value());
    RC_ASSERT(steps::configure(lane_, terms) == LaneCode::done);
  }

  World memory_;
  LaneState lane_;
  std::vector<model::Ticket> tickets_;
};

TEST(LaneSteps, memory_lanes_and_remote_lanes_give_the_same_answers) {
  const bool held = rc::check("the same history, the same answers", [] {
    BothLanes both{{.total = *rc::gen::inRange<std::int64_t>(1, 25),
                    .limit = *rc::gen::inRange<std::int64_t>(1, 5),
                    .tickets_max = *rc::gen::inRange<std::uint32_t>(1, 6),
                    .lanes = 1}};
    for (const int kind : *rc::gen::container<std::vector<int>>(80, rc::gen::inRange(0, 10))) {
      both.step(kind);
      both.check();
    }
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace seckill::test
