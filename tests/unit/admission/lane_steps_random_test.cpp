// Random steps in random order, repeated and late ones among them: what must hold of a lane after each (P1–P4).
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "unit/admission/lane_steps_lane.hpp"

namespace seckill::test {
namespace {

class RandomSteps {
 public:
  RandomSteps() : one_{*rc::gen::inRange<std::int64_t>(0, 30), *rc::gen::inRange<std::int64_t>(1, 5)} {
    units_ = one_.lane.stock.total();
    limit_max_ = one_.plan.terms.limit;
  }

  void step(int kind) {
    one_.now += *rc::gen::inRange(-50, 3'000);
    switch (kind) {
      case 0: return end(&steps::release);
      case 1: return end(&steps::post);
      case 2: return confirm();
      case 3: return claim();
      case 4: return debit();
      case 5: return credit();
      case 6: return undo();
      case 7: return (void)steps::close_transfer(one_.lane, transfer_id(), one_.now);
      case 8: return adopt();
      case 9: return configure();
      case 10: return late_operations();
      default: return admit();
    }
  }

  void check() const {
    const LaneState& lane = one_.lane;
    RC_ASSERT(lane.stock.available >= 0);
    RC_ASSERT(lane.stock.held >= 0);
    RC_ASSERT(lane.stock.sold >= 0);
    RC_ASSERT(lane.stock.total() == units_);  // P2: only debits and credits change it
    ledger::LaneStock in_marks{.available = lane.stock.available, .held = 0, .sold = 0};
    std::size_t open = 0;
    std::uint64_t tickets = 0;
    for (const steps::LaneMark& mark : lane.marks) {
      std::int64_t live = 0;
      std::map<std::string, int> ids;
      for (const steps::LaneTicket& ticket : mark.tickets) {
        ++tickets;
        if (ticket.live()) live += ticket.units;
        if (ticket.units_state == steps::LaneUnits::held) in_marks.held += ticket.units;
        if (ticket.units_state == steps::LaneUnits::sold) in_marks.sold += ticket.units;
        RC_ASSERT(++ids[ticket.request_id.str()] == 1);              // P4
        RC_ASSERT((ticket.stream_entry != 0) == !ticket.published);  // P5: in the stream until published
        if (ticket.stream_entry == 0) continue;
        ++open;
        RC_ASSERT(ticket.live());
        RC_ASSERT(lane.intents.at(ticket.stream_entry).ticket == ticket.ticket);
      }
      RC_ASSERT(live <= limit_max_);  // P3
      const auto refused =
          std::ranges::count_if(mark.tickets, [&](const auto& one) { return refused_.contains(one.ticket); });
      RC_ASSERT(std::ssize(mark.tickets) - refused <= one_.plan.terms.tickets_max);
    }
    RC_ASSERT(in_marks == lane.stock);
    RC_ASSERT(open == lane.intents.size());
    RC_ASSERT(tickets == lane.tickets);
    RC_ASSERT(tickets == lane.buyers.size());
    RC_ASSERT(lane.epoch >= epoch_);
  }
  // Raised by all that raises available, so that two equal readings saw the same lane.
  void check_epoch(std::int64_t available_before, std::uint64_t epoch_before) {
    if (one_.lane.stock.available > available_before) RC_ASSERT(one_.lane.epoch > epoch_before);
    epoch_ = one_.lane.epoch;
  }
  [[nodiscard]] const LaneState& lane() const { return one_.lane; }

 private:
  static std::string buyer() { return fmt::format("b{}", *rc::gen::inRange(0, 5)); }
  static std::string request() { return fmt::format("r{}", *rc::gen::inRange(0, 5)); }
  static std::string transfer_id() { return fmt::format("t{}", *rc::gen::inRange(0, 6)); }

  void admit() {
    const auto asked = TestLane::ask(buyer(), request(), *rc::gen::inRange<std::int64_t>(-1, 4),
                                     *rc::gen::inRange<std::uint64_t>(0, 2));
    const auto before = known_.find(asked.ticket);
    const auto decision = one_.admit(asked);
    if (before != known_.end()) {  // P4: the known request is judged first and always
      RC_ASSERT(decision.decision == (before->second == asked.digest ? Decision::replay : Decision::request_conflict));
      return;
    }
    RC_ASSERT(decision.decision != Decision::replay);
    RC_ASSERT(decision.decision != Decision::request_conflict);
    if (decision.decision == Decision::admit) known_.emplace(asked.ticket, asked.digest);
  }
  void end(LaneCode (*step)(LaneState&, const model::Ticket&)) {
    RC_ASSERT(step(one_.lane, ticket_of(buyer(), request())) == LaneCode::done);
  }
  void confirm() { RC_ASSERT(one_.confirm(buyer(), request()) == LaneCode::done); }
  void claim() {
    for (const model::OrderIntent& intent : one_.claim(*rc::gen::inRange(0, 3'000))) {
      RC_ASSERT(known_.contains(intent.ticket));
    }
  }
  void debit() {
    const std::string id = transfer_id();
    const auto known = one_.lane.transfers.find(id);
    const bool is_new = known == one_.lane.transfers.end();
    const auto taken = steps::debit(one_.lane, 5, TestLane::transfer(id, *rc::gen::inRange(1, 6)), one_.now);
    if (is_new) units_ -= taken.units;
  }
  void credit() {
    const std::string id = transfer_id();
    const bool is_new = !one_.lane.transfers.contains(id);
    const std::int64_t units = *rc::gen::inRange(1, 6);
    (void)steps::credit(one_.lane, 5, TestLane::transfer(id, units), one_.now);
    if (is_new) units_ += units;
  }
  void undo() {
    const std::string id = transfer_id();
    const auto known = one_.lane.transfers.find(id);
    if (known != one_.lane.transfers.end() && known->second.record.debit) units_ += known->second.record.units;
    (void)steps::undo_debit(one_.lane, id, one_.now);
  }
  void adopt() {
    model::OrderIntent intent = one_.older_intent(buyer(), request(), *rc::gen::inRange(1, 4));
    intent.limit = *rc::gen::inRange<std::int64_t>(1, 5);
    limit_max_ = std::max(limit_max_, intent.limit);
    const auto reply = steps::adopt(one_.lane, intent, one_.now);
    if (reply.adopted == Adopted::refused) refused_.insert(intent.ticket);
    if (reply.adopted != Adopted::superseded) known_.emplace(intent.ticket, intent.digest);
  }
  void configure() {
    model::ItemTerms terms = one_.lane.terms;
    terms.version += *rc::gen::inRange(-1, 2);
    terms.limit = *rc::gen::inRange<std::int64_t>(1, 6);
    terms.state = *rc::gen::inRange(0, 4) == 0 ? model::SaleState::paused : model::SaleState::preloaded;
    RC_ASSERT(steps::configure(one_.lane, terms) == LaneCode::done);
    limit_max_ = std::max(limit_max_, one_.lane.terms.limit);
  }
  // What older leaders and this very install still send changes nothing.
  void late_operations() {
    admission::InstallPlan plan = one_.plan;
    RC_ASSERT(steps::install_begin(one_.lane, plan) == LaneCode::done);
    plan.generation = 4;
    plan.leader.token = 99;
    RC_ASSERT(steps::install_begin(one_.lane, plan) == LaneCode::stale);
    RC_ASSERT(steps::close(one_.lane, 4, plan.leader) == LaneCode::stale);
    RC_ASSERT(steps::close(one_.lane, 5, {.token = 8}) == LaneCode::stale);
  }

  TestLane one_;
  std::int64_t units_ = 0;
  std::int64_t limit_max_ = 0;  // the highest there was
  std::uint64_t epoch_ = 0;
  std::map<model::Ticket, std::uint64_t> known_;  // digests of the tickets there must be
  std::set<model::Ticket> refused_;               // of them, those whose adoption was refused
};

TEST(LaneSteps, P1_P2_P3_P4_hold_after_any_steps) {
  const bool held = rc::check("any steps keep the promises", [] {
    RandomSteps random;
    for (const int kind : *rc::gen::container<std::vector<int>>(150, rc::gen::inRange(0, 22))) {
      const std::int64_t available = random.lane().stock.available;
      const std::uint64_t epoch = random.lane().epoch;
      random.step(kind);
      random.check();
      random.check_epoch(available, epoch);
    }
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace seckill::test
