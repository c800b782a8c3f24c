// What every engine of the port does, whatever it is made of: the pure steps, one Redis server, Redis Cluster.
#include <fmt/format.h>

#include <set>

#include "base/hash.hpp"
#include "lanes/lane_engines.hpp"

namespace seckill::admission::redis::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Engines, LaneContract,
                         testing::Values(EngineKind::steps, EngineKind::redis, EngineKind::cluster),
                         [](const auto& one) {
                           return one.param == EngineKind::steps   ? std::string{"steps"}
                                  : one.param == EngineKind::redis ? std::string{"redis"}
                                                                   : std::string{"cluster"};
                         });

TEST_P(LaneContract, a_lane_that_nobody_installed_is_missing_and_not_sold_out) {
  EXPECT_FALSE(lane().read().known);
  EXPECT_EQ(lane().admit({lane().ask("ann", "r1")}).code, LaneCode::closed);
  EXPECT_EQ(lane().tickets_of("ann").code, LaneCode::closed);
  EXPECT_EQ(lane().confirm({lane().ask("ann", "r1")}), LaneCode::closed);
  EXPECT_TRUE(lane().claim().empty());
  EXPECT_TRUE(lane().all_marks().empty());
}

TEST_P(LaneContract, P1_P3_P4_asks_of_one_call_are_judged_one_after_the_other) {
  lane().open(4, 2);
  auto& one = lane();
  const LaneDecisions answer =
      one.admit({one.ask("ann", "r1"), one.ask("ann", "r1"), one.ask("ann", "r1", 2, 8), one.ask("ann", "r2", 2),
                 one.ask("bob", "r1", 2), one.ask("cid", "r1", 2), one.ask("cid", "r2", 1), one.ask("dan", "r1", 1)});
  ASSERT_EQ(answer.code, LaneCode::done);
  const std::vector<Decision> expected{Decision::admit,         Decision::replay,        Decision::request_conflict,
                                       Decision::limit_reached, Decision::admit,         Decision::short_of_stock,
                                       Decision::admit,         Decision::short_of_stock};
  ASSERT_EQ(answer.decisions.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(answer.decisions[i].decision, expected[i]) << i;
  EXPECT_EQ(answer.decisions[1].ticket->ticket, answer.decisions[0].ticket->ticket);
  ASSERT_EQ(answer.decisions[3].own_unpublished.size(), 1U);
  EXPECT_EQ(answer.decisions[3].own_unpublished[0].ticket, answer.decisions[0].ticket->ticket);
  EXPECT_EQ(text(one.read().stock.total() == 4 ? LaneCode::done : LaneCode::refused), "done");
  EXPECT_EQ(one.read().stock.available, 0);
  EXPECT_EQ(one.read().marks, 3);
}

TEST_P(LaneContract, P5_an_intent_is_claimed_until_it_is_confirmed_and_carries_all_it_needs) {
  lane().open(10);
  auto asked = lane().ask("ann", "0f8fad5b-d9cb-469f-a165-70867728950e", 2, UINT64_MAX - 1);
  asked.fields = std::make_shared<const std::string>(R"({"receiver":"王"})");
  const auto admitted = lane().admit({asked});
  const model::OrderIntent& intent = admitted.decisions.at(0).intent.value();
  EXPECT_EQ(intent.buyer, asked.buyer);
  EXPECT_EQ(intent.request_id, asked.request_id);
  EXPECT_EQ(intent.digest, asked.digest);
  EXPECT_EQ(*intent.fields, *asked.fields);
  EXPECT_EQ(intent.price_minor, 9'900);
  EXPECT_EQ(intent.generation, 1U);
  EXPECT_EQ(text(lane().claim()), text({intent}));
  EXPECT_TRUE(lane().claim(3'600'000).empty());  // just claimed
  EXPECT_EQ(lane().read().oldest_open_intent, intent.admitted_at);

  EXPECT_EQ(lane().confirm({asked, lane().ask("who", "r1")}), LaneCode::done);
  EXPECT_TRUE(lane().claim().empty());
  EXPECT_EQ(lane().read().open_intents, 0);
  EXPECT_EQ(text(lane().all_marks()), text({intent}));  // until the store is known to have it
  const auto again = lane().admit({asked}).decisions.at(0);
  EXPECT_EQ(again.decision, Decision::replay);
  EXPECT_TRUE(again.published);
  EXPECT_EQ(lane().post(asked), LaneCode::done);
  EXPECT_TRUE(lane().all_marks().empty());
}

TEST_P(LaneContract, P6_units_end_once_and_the_ticket_is_remembered) {
  lane().open(5, 2);
  const auto first = lane().ask("ann", "r1", 2);
  const auto second = lane().ask("bob", "r1", 2);
  (void)lane().admit({first, second});
  const std::uint64_t epoch = lane().read().epoch;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(lane().release(first), LaneCode::done);
    EXPECT_EQ(lane().post(second), LaneCode::done);
  }
  EXPECT_EQ(lane().release(second), LaneCode::done);  // sold: nothing to give back
  const LaneReading reading = lane().read();
  EXPECT_EQ(reading.stock, (ledger::LaneStock{.available = 3, .held = 0, .sold = 2}));
  EXPECT_EQ(reading.epoch, epoch + 1);
  EXPECT_EQ(reading.open_intents, 0);
  EXPECT_EQ(lane().buy("ann", "r1", 2), Decision::replay);
  EXPECT_FALSE(lane().tickets_of("ann").tickets.at(0).live);
  EXPECT_EQ(lane().buy("ann", "r2", 2), Decision::admit);
}

TEST_P(LaneContract, P2_transfers_act_once_an_id) {
  lane().open(10);
  EXPECT_EQ(text(lane().debit("t1", 4)), "done 4");
  EXPECT_EQ(text(lane().debit("t1", 4)), "done 4");
  EXPECT_EQ(text(lane().debit("t2", 100)), "done 6");
  EXPECT_EQ(text(lane().debit("t3", 1)), "refused 0");
  EXPECT_EQ(lane().undo("t2"), LaneCode::done);
  EXPECT_EQ(lane().undo("t2"), LaneCode::done);
  EXPECT_EQ(lane().credit("t2", 5), LaneCode::refused);  // an id names one direction
  EXPECT_EQ(lane().credit("c1", 5), LaneCode::done);
  EXPECT_EQ(lane().credit("c1", 5), LaneCode::done);
  EXPECT_EQ(lane().undo("late"), LaneCode::done);
  EXPECT_EQ(text(lane().debit("late", 3)), "done 0");  // it comes after its undoing
  EXPECT_EQ(lane().read().stock.available, 11);
  EXPECT_EQ(lane().read().transfers.size(), 4U);
  EXPECT_EQ(lane().close_transfer("c1"), LaneCode::done);
  EXPECT_EQ(lane().credit("c1", 5), LaneCode::done);  // spent, though no reading shows it
  EXPECT_EQ(lane().read().transfers.size(), 3U);
  EXPECT_EQ(lane().read().stock.available, 11);
}

TEST_P(LaneContract, terms_are_replaced_by_a_higher_version_and_an_intent_keeps_its_own) {
  lane().open(10, 1);
  const auto before = lane().admit({lane().ask("ann", "r1")}).decisions.at(0).intent.value();
  model::ItemTerms terms = lane().plan.terms;
  terms.version = 8;
  terms.price_minor = 100'000'000'000;
  terms.limit = 3;
  EXPECT_EQ(lane().configure(terms), LaneCode::done);
  terms.state = model::SaleState::paused;
  terms.version = 7;
  EXPECT_EQ(lane().configure(terms), LaneCode::done);  // lower: changes nothing
  EXPECT_EQ(lane().buy("ann", "r2", 2), Decision::admit);
  EXPECT_EQ(lane().claim().size(), 2U);
  EXPECT_EQ(lane().all_marks().size(), 2U);
  EXPECT_EQ(text(lane().tickets_of("ann").unpublished.at(0)), text(before));
  EXPECT_EQ(lane().tickets_of("ann").unpublished.at(1).price_minor, 100'000'000'000);
  terms.version = 9;
  EXPECT_EQ(lane().configure(terms), LaneCode::done);
  EXPECT_EQ(lane().buy("bob", "r1"), Decision::paused);
  EXPECT_EQ(lane().buy("ann", "r1"), Decision::replay);  // P4: whatever the phase
}

TEST_P(LaneContract, P4_what_an_adoption_refused_is_remembered_as_ended) {
  lane().open(2);
  auto intent = lane().admit({lane().ask("ann", "r1", 2)}).decisions.at(0).intent.value();
  ASSERT_EQ(lane().reopen(1, {}), LaneCode::done);  // a generation that knows nothing of it
  EXPECT_EQ(text(lane().adopt(intent)), text(AdoptReply{LaneCode::done, Adopted::refused, 2}));  // two units, one free
  EXPECT_EQ(text(lane().adopt(intent)), text(AdoptReply{LaneCode::done, Adopted::superseded, 2}));
  EXPECT_EQ(lane().buy("ann", "r1", 2), Decision::replay);
  EXPECT_EQ(lane().tickets_of("ann").tickets.at(0).state, model::TicketState::failed);
  intent.generation = 3;
  EXPECT_EQ(lane().adopt(intent).code, LaneCode::stale);

  auto other = intent;
  other.generation = 1;
  other.buyer = *model::BuyerId::parse("bob");
  other.ticket = lane().ask("bob", "r1").ticket;
  other.units = 1;
  EXPECT_EQ(lane().adopt(other).adopted, Adopted::adopted);
  EXPECT_EQ(lane().adopt(other).adopted, Adopted::adopted);
  EXPECT_EQ(lane().claim().size(), 1U);
  EXPECT_EQ(lane().read().stock, (ledger::LaneStock{.available = 0, .held = 1, .sold = 0}));
}

TEST_P(LaneContract, P5_nothing_of_a_lane_is_lost_before_the_one_that_replaces_it_is_whole) {
  lane().open(10);
  const auto asked = lane().ask("ann", "r1");
  (void)lane().admit({asked});
  lane().plan.generation = 2;
  lane().plan.tickets = 1;
  const auto begin = [&] {
    return lane().wait<LaneCode>(
        [&](auto answer) { lane().lanes.install_begin(lane().key, lane().server, lane().plan, std::move(answer)); });
  };
  const auto open = [&] {
    return lane().wait<LaneCode>(
        [&](auto answer) { lane().lanes.install_open(lane().key, lane().server, lane().plan, std::move(answer)); });
  };
  EXPECT_EQ(open(), LaneCode::refused);  // nothing was begun
  EXPECT_EQ(begin(), LaneCode::done);
  EXPECT_EQ(open(), LaneCode::refused);  // the ticket is missing
  EXPECT_FALSE(lane().read().open);
  EXPECT_EQ(lane().all_marks().size(), 1U);
  EXPECT_EQ(lane().claim().size(), 1U);
  lane().plan.leader.token = 8;
  EXPECT_EQ(begin(), LaneCode::stale);
  EXPECT_EQ(lane().close(2, 8), LaneCode::stale);
}

TEST_P(LaneContract, a_rebuilt_lane_has_the_stores_tickets_and_what_only_the_old_one_knew) {
  lane().open(10, 2);
  auto known = lane().ask("ann", "r1");
  auto only_here = lane().ask("bob", "r1", 2);
  auto ended = lane().ask("cid", "r1");
  const auto intent = lane().admit({known, only_here}).decisions.at(1).intent.value();
  InstallTicket taken_over = OneLane::row(only_here, model::OrderState::awaiting_payment);
  taken_over.intent = intent;
  const std::vector<InstallTicket> rows{OneLane::row(known, model::OrderState::paid), taken_over,
                                        OneLane::row(ended, model::OrderState::expired)};
  ASSERT_EQ(lane().reopen(6, rows), LaneCode::done);
  const LaneReading reading = lane().read();
  EXPECT_TRUE(reading.open);
  EXPECT_EQ(reading.generation, 2U);
  EXPECT_EQ(reading.epoch, std::uint64_t{2} << 32);
  EXPECT_EQ(reading.stock, (ledger::LaneStock{.available = 6, .held = 2, .sold = 1}));
  EXPECT_EQ(reading.marks, 3);
  EXPECT_EQ(lane().claim(3'600'000).size(), 1U);  // claimed by nobody: at once
  EXPECT_EQ(lane().buy("ann", "r1"), Decision::replay);
  EXPECT_EQ(lane().buy("cid", "r1"), Decision::replay);
  EXPECT_EQ(lane().buy("bob", "r2"), Decision::limit_reached);
  EXPECT_EQ(lane().close(2, 9), LaneCode::done);
  lane().plan.generation = 1;
  EXPECT_EQ(lane().reopen(1, {}), LaneCode::stale);  // that generation was closed
}

TEST_P(LaneContract, pages_of_marks_name_everybody) {
  lane().open(3'000);
  std::set<model::Ticket> tickets;
  std::set<std::uint64_t> buyers;
  for (int from = 0; from < 1'200; from += 60) {
    std::vector<LaneAsk> asks;
    for (int i = from; i < from + 60; ++i) asks.push_back(lane().ask(fmt::format("buyer-{}", i), "r1"));
    for (const LaneAsk& ask : asks) {
      tickets.insert(ask.ticket);
      buyers.insert(base::xxh3_64(ask.buyer.view()));
    }
    ASSERT_EQ(lane().admit(std::move(asks)).code, LaneCode::done);
  }
  const auto intents = lane().all_marks();
  EXPECT_EQ(intents.size(), tickets.size());
  for (const model::OrderIntent& intent : intents) tickets.erase(intent.ticket);
  EXPECT_TRUE(tickets.empty());
  std::uint64_t cursor = 0;
  do {
    const auto page = lane().wait<LaneScripts::HolderPage>(
        [&](auto answer) { lane().lanes.mark_holders(lane().key, lane().server, cursor, std::move(answer)); });
    ASSERT_EQ(page.code, LaneCode::done);
    for (const std::uint64_t one : page.fingerprints) buyers.erase(one);
    cursor = page.next;
  } while (cursor != 0);
  EXPECT_TRUE(buyers.empty());
}

TEST_P(LaneContract, a_lane_on_another_server_than_named_is_foreign) {
  lane().open(10);
  lane().server.run_id = std::string(40, '0');
  EXPECT_EQ(lane().admit({lane().ask("ann", "r1")}).code, LaneCode::foreign);
  EXPECT_EQ(lane().release(lane().ask("ann", "r1")), LaneCode::foreign);
  EXPECT_EQ(lane().debit("t1", 1).code, LaneCode::foreign);
  auto reading =
      wait_for<LaneReading>([&](auto answer) { lane().lanes.read(lane().key, lane().server, std::move(answer)); });
  ASSERT_FALSE(reading);
  EXPECT_EQ(reading.error().code, base::Errc::stale);
}

TEST_P(LaneContract, more_than_one_scripts_worth_is_installed_and_confirmed) {
  lane().open(1);
  std::vector<InstallTicket> rows;
  std::vector<LaneAsk> asks;
  for (int i = 0; i < 1'203; ++i) {
    asks.push_back(lane().ask(fmt::format("buyer-{}", i), "r1"));
    rows.push_back(OneLane::row(asks.back(), model::OrderState::awaiting_payment));
    rows.back().intent = model::OrderIntent{.ticket = asks.back().ticket,
                                            .item = lane().key.item,
                                            .buyer = asks.back().buyer,
                                            .request_id = asks.back().request_id,
                                            .digest = 7,
                                            .lane = lane().key.lane,
                                            .generation = 1,
                                            .units = 1,
                                            .price_minor = 5,
                                            .currency = {},
                                            .limit = 2,
                                            .pay_window_ms = 60'000,
                                            .admitted_at = 1'700'000'000'000,
                                            .fields = nullptr};
  }
  ASSERT_EQ(lane().reopen(7, rows), LaneCode::done);
  EXPECT_EQ(lane().read().open_intents, 1'203);
  EXPECT_EQ(lane().confirm(asks), LaneCode::done);
  EXPECT_EQ(lane().read().open_intents, 0);
}

}  // namespace
}  // namespace seckill::admission::redis::test
