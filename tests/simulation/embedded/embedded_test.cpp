// The embedded world on a few seeds, and the proof that its oracle bites: a part that breaks a promise is put between
// two sound ones, and must be caught within a thousand seeds.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "simulation/embedded/embedded_world.hpp"
#include "simulation/embedded/forwarding_admission.hpp"
#include "simulation/embedded/forwarding_store.hpp"
#include "simulation/runner/seeds.hpp"

namespace seckill::sim::embedded {
namespace {

TEST(EmbeddedWorld, P1_P2_P3_P4_P5_P6_P8_HoldOnAFewSeeds) {
  const Totals totals = run_seeds(world(), {.first = 1, .count = 40});
  EXPECT_EQ(totals.seeds, 40U);
  EXPECT_GT(totals.purchases, 500U);
  ASSERT_FALSE(totals.failed) << "seed " << totals.failed->seed << ": " << totals.failed->violation.promise << ": "
                              << totals.failed->violation.what;
}

TEST(EmbeddedWorld, TheSameSeedIsTheSameRun) {
  const World embedded = world();
  for (const std::uint64_t seed : {3U, 20U, 107U}) {
    const RunResult once = embedded.run(embedded.draw(seed));
    const RunResult again = embedded.run(embedded.draw(seed));
    EXPECT_EQ(once.fingerprint, again.fingerprint) << seed;
    EXPECT_EQ(once.story, again.story) << seed;
  }
}

// The promise that was found broken, by a complaint or by an assertion that ended the process.
std::string caught(Breakage breakage) {
  const Totals totals = run_seeds(world(std::move(breakage)), {.first = 1, .count = 1'000});
  if (!totals.failed) return "nothing in 1,000 seeds";
  const FailedSeed& failed = *totals.failed;
  ::testing::Test::RecordProperty("seeds_needed", std::to_string(totals.seeds));
  GTEST_LOG_(INFO) << "seed " << failed.seed << ": " << failed.violation.promise << ": " << failed.violation.what;
  return failed.violation.promise;
}

template <typename Part, typename Port>
Breakage::Before<Port> broken_by() {
  return [](Port& sound, Node& node) -> std::unique_ptr<Port> { return std::make_unique<Part>(sound, node); };
}

#define EXPECT_CAUGHT_AS(breakage, ...)                                             \
  do {                                                                              \
    const std::string promise = caught(breakage);                                   \
    EXPECT_TRUE((std::set<std::string>{__VA_ARGS__}.contains(promise))) << promise; \
  } while (false)

// --- queue and landing ---

class ConfirmsBeforeLanding final : public queue::IntentQueue {
 public:
  ConfirmsBeforeLanding(queue::IntentQueue& sound, Node& node) : sound_{sound}, node_{node} {}
  bool try_reserve(std::size_t records) noexcept override { return sound_.try_reserve(records); }
  void cancel_reservation(std::size_t records) noexcept override { sound_.cancel_reservation(records); }
  void publish(model::LaneRecord record, queue::Confirm confirm) noexcept override {
    const bool intent = std::holds_alternative<model::OrderIntent>(record);
    sound_.publish(std::move(record), [](const queue::Confirmation&) {});
    node_.kernel().after(node_, 0ns, [confirm = std::move(confirm), intent]() mutable {
      confirm({.durable = true, .landed = intent ? std::optional<store::Landed>{store::Landed{}} : std::nullopt});
    });
  }
  std::size_t depth() const noexcept override { return sound_.depth(); }

 private:
  queue::IntentQueue& sound_;
  Node& node_;
};

TEST(OracleBites, P5_AQueueThatConfirmsBeforeTheLanding) {
  EXPECT_CAUGHT_AS((Breakage{.queue = broken_by<ConfirmsBeforeLanding, queue::IntentQueue>()}), "P5");
}

class LandsNothingOnErrors final : public queue::IntentConsumer {
 public:
  LandsNothingOnErrors(queue::IntentConsumer& sound, Node&) : sound_{sound} {}
  base::Result<std::vector<store::Landed>> consume(std::span<const model::LaneRecord> records) override {
    auto landed = sound_.consume(records);
    if (landed) return landed;
    std::vector<store::Landed> invented;
    for (const auto& record : records) {
      if (std::holds_alternative<model::OrderIntent>(record)) invented.emplace_back();
    }
    return invented;
  }

 private:
  queue::IntentConsumer& sound_;
};

TEST(OracleBites, P5_ALandingThatTakesAFailedCommitForDone) {
  EXPECT_CAUGHT_AS((Breakage{.landing = broken_by<LandsNothingOnErrors, queue::IntentConsumer>()}), "P5", "P2");
}

// --- admission ---

class ReleasesOnUnknown final : public ForwardingAdmission {
 public:
  ReleasesOnUnknown(admission::Admission& sound, Node&) : ForwardingAdmission{sound} {}
  void admit(const admission::AdmitRequest& request, admission::AdmitDone done) override {
    inner_.admit(request, [this, item = request.item, done = std::move(done)](admission::AdmitReply reply) mutable {
      if (reply.answer == model::PurchaseAnswer::busy && reply.ticket) {
        inner_.release(item, reply.ticket->ticket, [](admission::LaneAck) {});
      }
      done(std::move(reply));
    });
  }
};

TEST(OracleBites, P1_AnAdmissionThatReleasesWhatIsUnknown) {
  EXPECT_CAUGHT_AS((Breakage{.admission = broken_by<ReleasesOnUnknown, admission::Admission>()}), "P1", "P2", "P6",
                   "P8", "log", "assert");
}

class ForgetsContent final : public ForwardingAdmission {
 public:
  ForgetsContent(admission::Admission& sound, Node&) : ForwardingAdmission{sound} {}
  void admit(const admission::AdmitRequest& request, admission::AdmitDone done) override {
    admission::AdmitRequest alike = request;
    alike.digest = 1;
    inner_.admit(alike, std::move(done));
  }
};

TEST(OracleBites, P4_AnAdmissionThatDoesNotCompareContent) {
  EXPECT_CAUGHT_AS((Breakage{.admission = broken_by<ForgetsContent, admission::Admission>()}), "P4");
}

class GrantsOneMore final : public ForwardingAdmission {
 public:
  GrantsOneMore(admission::Admission& sound, Node&) : ForwardingAdmission{sound} {}
  base::Status install(const model::Sale& sale, const model::SaleItem& item, store::Store& store) override {
    model::SaleItem generous = item;
    ++generous.limit;
    return inner_.install(sale, generous, store);
  }
};

TEST(OracleBites, P3_AnAdmissionThatGrantsAUnitAboveTheLimit) {
  EXPECT_CAUGHT_AS((Breakage{.admission = broken_by<GrantsOneMore, admission::Admission>()}), "P3");
}

class RemembersSoldOut final : public ForwardingAdmission {
 public:
  RemembersSoldOut(admission::Admission& sound, Node& node) : ForwardingAdmission{sound}, node_{node} {}
  void admit(const admission::AdmitRequest& request, admission::AdmitDone done) override {
    inner_.admit(request, [this, item = request.item, done = std::move(done)](admission::AdmitReply reply) mutable {
      if (reply.answer == model::PurchaseAnswer::sold_out) sold_out_at_[item] = node_.kernel().now();
      done(std::move(reply));
    });
  }
  std::optional<model::PurchaseAnswer> early_answer(const model::ItemKey& item, std::optional<std::string_view> buyer,
                                                    std::int64_t units_min) const noexcept override {
    const auto sold_out = sold_out_at_.find(item);
    const bool fresh = sold_out != sold_out_at_.end() && node_.kernel().now() - sold_out->second < 10s;
    bool has_ticket = false;
    if (fresh && buyer) {
      inner_.buyer_tickets(item, *model::BuyerId::parse(*buyer),
                           [&](const auto& tickets) { has_ticket = !tickets || !tickets->empty(); });
    }
    if (fresh && buyer && !has_ticket) return model::PurchaseAnswer::sold_out;
    return inner_.early_answer(item, buyer, units_min);
  }

 private:
  Node& node_;
  std::map<model::ItemKey, Time> sold_out_at_;
};

TEST(OracleBites, P8_ASoldOutThatIsRememberedForTenSeconds) {
  EXPECT_CAUGHT_AS((Breakage{.admission = broken_by<RemembersSoldOut, admission::Admission>()}), "P8");
}

class CreditsTwice final : public ForwardingAdmission {
 public:
  CreditsTwice(admission::Admission& sound, Node&) : ForwardingAdmission{sound} {}
  base::Status credit(const model::StockTransfer& transfer) override {
    model::StockTransfer again = transfer;
    again.id += ":again";
    (void)inner_.credit(again);
    return inner_.credit(transfer);
  }
};

TEST(OracleBites, P2_ATopUpThatIsCreditedTwice) {
  EXPECT_CAUGHT_AS((Breakage{.admission = broken_by<CreditsTwice, admission::Admission>()}), "P2", "P1");
}

// --- store ---

class DropsTheOutbox final : public ForwardingStore {
 public:
  DropsTheOutbox(store::Store& sound, Node&) : ForwardingStore{sound} {}
  base::Result<std::vector<store::Ended>> end_tickets(std::span<const store::EndCommand> commands) override {
    auto ended = inner_.end_tickets(commands);
    std::vector<model::Ticket> tickets;
    for (const auto& command : commands) tickets.push_back(command.ticket);
    (void)inner_.acknowledge_released(tickets);
    return ended;
  }
};

TEST(OracleBites, P2_AStoreThatForgetsWhatALaneHasNotAcknowledged) {
  EXPECT_CAUGHT_AS((Breakage{.store = broken_by<DropsTheOutbox, store::Store>()}), "P2");
}

class NothingIsEverDue final : public ForwardingStore {
 public:
  NothingIsEverDue(store::Store& sound, Node&) : ForwardingStore{sound} {}
  base::Result<std::vector<model::Ticket>> due_tickets(base::UtcMs, std::int64_t) override {
    return std::vector<model::Ticket>{};
  }
};

TEST(OracleBites, P6_ASweepThatFindsNothing) {
  EXPECT_CAUGHT_AS((Breakage{.store = broken_by<NothingIsEverDue, store::Store>()}), "P6");
}

class SaysDoneTwice final : public ForwardingStore {
 public:
  SaysDoneTwice(store::Store& sound, Node&) : ForwardingStore{sound} {}
  base::Result<std::vector<store::Ended>> end_tickets(std::span<const store::EndCommand> commands) override {
    auto ended = inner_.end_tickets(commands);
    if (!ended) return ended;
    for (store::Ended& one : *ended) {
      if (one.result == store::EndResult::illegal) one.result = store::EndResult::done;
    }
    return ended;
  }
};

TEST(OracleBites, P6_AStoreThatLetsACancelAndAPaymentBothWin) {
  EXPECT_CAUGHT_AS((Breakage{.store = broken_by<SaysDoneTwice, store::Store>()}), "P6");
}

}  // namespace
}  // namespace seckill::sim::embedded
