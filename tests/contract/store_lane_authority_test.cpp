// Who leads, which generation of a lane is true, and what the landing does by the lane's state (DESIGN §4.5, §4.6).
#include "store_lane_authority.hpp"

#include <algorithm>
#include <map>

namespace seckill::store::contract {
namespace {

using base::Errc;
using model::OrderState;

class StoreLaneAuthority : public LaneAuthoritySuite {};
SECKILL_FOR_EVERY_LANE_AUTHORITY(StoreLaneAuthority);

// --- leases ---

TEST_P(StoreLaneAuthority, a_lease_has_one_holder_and_renewing_keeps_its_token) {
  const auto first = authority().acquire_lease("leader", "a", lease_ttl).value();
  ASSERT_TRUE(first.has_value());
  EXPECT_GT(first->token, 0U);
  EXPECT_FALSE(authority().acquire_lease("leader", "b", lease_ttl).value().has_value());
  const auto renewed = authority().acquire_lease("leader", "a", lease_ttl * 2).value();
  ASSERT_TRUE(renewed.has_value());
  EXPECT_EQ(renewed->token, first->token);
  EXPECT_GT(renewed->until, first->until);
  EXPECT_TRUE(authority().acquire_lease("other", "b", lease_ttl).value().has_value()) << "names are apart";
}

TEST_P(StoreLaneAuthority, a_lease_that_ran_out_goes_to_whoever_asks_with_a_higher_token) {
  const auto first = authority().acquire_lease("leader", "a", lease_ttl).value();
  place_->pass(lease_ttl);
  const auto second = authority().acquire_lease("leader", "b", lease_ttl).value();
  ASSERT_TRUE(second.has_value());
  EXPECT_GT(second->token, first->token);
  EXPECT_FALSE(authority().acquire_lease("leader", "a", lease_ttl).value().has_value());
  place_->pass(lease_ttl);
  const auto same = authority().acquire_lease("leader", "b", lease_ttl).value();
  EXPECT_GT(same->token, second->token) << "he does not know what he missed";
  reopen();
  EXPECT_FALSE(authority().acquire_lease("leader", "a", lease_ttl).value().has_value()) << "leases outlive a restart";
}

TEST_P(StoreLaneAuthority, a_lease_needs_a_name_a_holder_and_a_time) {
  EXPECT_EQ(authority().acquire_lease("", "a", lease_ttl).error().code, Errc::invalid);
  EXPECT_EQ(authority().acquire_lease("leader", "", lease_ttl).error().code, Errc::invalid);
  EXPECT_EQ(authority().acquire_lease("leader", "a", std::chrono::milliseconds{0}).error().code, Errc::invalid);
}

// --- close, rebuild, open ---

TEST_P(StoreLaneAuthority, what_does_not_exist_is_not_found) {
  const Shop shop = a_shop(16);
  const auto token = lead();
  auto nothing = shop.item();
  nothing.sku = model::Sku::parse("nothing").value();
  EXPECT_EQ(authority().item_authority(nothing).error().code, Errc::not_found);
  EXPECT_EQ(authority().want_state(nothing, LaneState::store, by("x")).error().code, Errc::not_found);
  EXPECT_EQ(authority().open_transfers(nothing).error().code, Errc::not_found);
  for (const auto& [item, lane] : {std::pair{nothing, 0U}, std::pair{shop.item(), 2U}}) {
    EXPECT_EQ(authority().report_lane(item, lane, 1, "x").error().code, Errc::not_found);
    EXPECT_EQ(authority().close_lane(item, lane, token).error().code, Errc::not_found);
    EXPECT_EQ(authority().rebuild_lane(item, lane, token).error().code, Errc::not_found);
    EXPECT_EQ(authority().open_lane(item, lane, 1, LaneState::lane, "r", "p", token).error().code, Errc::not_found);
  }
}

TEST_P(StoreLaneAuthority, a_preloaded_item_reads_with_its_lanes_and_terms) {
  const Shop shop = a_shop(20, 2, [](model::SaleItem& item) { item.reserve = 4; });
  const auto read = authority().item_authority(shop.item()).value();
  EXPECT_EQ(read.sale.id, shop.item().sale);
  EXPECT_EQ(read.sale.ticket_key, store().find_sale(shop.item().sale).value().ticket_key);
  EXPECT_EQ(read.pool, 4);
  EXPECT_EQ(read.wanted, LaneState::lane);
  ASSERT_EQ(read.lanes.size(), 2U);
  EXPECT_EQ(read.lanes[1].row.lane, 1U);
  EXPECT_EQ(read.lanes[1].row.generation, 1U);
  EXPECT_EQ(read.lanes[1].row.stock.available, 8);
  EXPECT_EQ(read.lanes[1].state, LaneState::lane);
  EXPECT_EQ(read.lanes[1].run_id, "");
}

TEST_P(StoreLaneAuthority, a_report_closes_the_generation_it_saw_and_no_other) {
  const Shop shop = a_shop(16);
  ASSERT_TRUE(authority().report_lane(shop.item(), 0, 7, "foreign").has_value());
  EXPECT_EQ(row(shop, 0).state, LaneState::lane);
  ASSERT_TRUE(authority().report_lane(shop.item(), 0, 1, "foreign").has_value());
  EXPECT_EQ(row(shop, 0).state, LaneState::closed);
  EXPECT_EQ(row(shop, 0).row.generation, 1U);
  EXPECT_EQ(row(shop, 1).state, LaneState::lane);
  ASSERT_TRUE(authority().report_lane(shop.item(), 0, 1, "foreign").has_value()) << "again is harmless";
  const auto token = lead();
  rebuilt(shop, 0, token);
  ASSERT_TRUE(authority().report_lane(shop.item(), 0, 1, "foreign").has_value());
  EXPECT_EQ(row(shop, 0).state, LaneState::lane) << "a late report is of a lane that is gone";
}

TEST_P(StoreLaneAuthority, a_report_does_not_close_a_lane_that_the_store_admits_for) {
  const Shop shop = a_shop(16);
  const auto generation = rebuilt(shop, 0, lead(), LaneState::store);
  ASSERT_TRUE(authority().report_lane(shop.item(), 0, generation, "missing").has_value());
  EXPECT_EQ(row(shop, 0).state, LaneState::store) << "that its server is gone is why";
}

TEST_P(StoreLaneAuthority, only_the_last_token_closes_rebuilds_and_opens) {
  const Shop shop = a_shop(16);
  const auto attempts = [&](std::uint64_t token) {
    EXPECT_EQ(authority().close_lane(shop.item(), 0, token).error().code, Errc::stale);
    EXPECT_EQ(authority().rebuild_lane(shop.item(), 0, token).error().code, Errc::stale);
    EXPECT_EQ(authority().open_lane(shop.item(), 0, 1, LaneState::store, "", "", token).error().code, Errc::stale);
    EXPECT_EQ(row(shop, 0).state, LaneState::lane);
    EXPECT_EQ(row(shop, 0).row.generation, 1U);
  };
  attempts(0);
  attempts(1);
  const auto old = lead("a");
  place_->pass(lease_ttl);
  const auto token = lead("b");
  attempts(old);
  ASSERT_TRUE(authority().close_lane(shop.item(), 0, token).has_value());
  EXPECT_EQ(row(shop, 0).state, LaneState::closed);
  place_->pass(lease_ttl);
  ASSERT_TRUE(authority().rebuild_lane(shop.item(), 0, token).has_value()) << "run out, but nobody came after him";
}

TEST_P(StoreLaneAuthority, a_rebuild_raises_the_generation_and_leaves_the_lane_closed_until_it_is_opened) {
  const Shop shop = a_shop(16);
  const auto token = lead();
  const auto first = authority().rebuild_lane(shop.item(), 0, token).value();
  EXPECT_EQ(first.generation, 2U);
  EXPECT_EQ(row(shop, 0).state, LaneState::closed);
  EXPECT_EQ(row(shop, 0).row.generation, 2U);
  const auto second = authority().rebuild_lane(shop.item(), 0, token).value();
  EXPECT_EQ(second.generation, 3U) << "one that was not finished is begun again";
  const auto late = authority().open_lane(shop.item(), 0, 2, LaneState::lane, "run-1", "replication-1", token);
  EXPECT_EQ(late.error().code, Errc::stale);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(authority().open_lane(shop.item(), 0, 3, LaneState::lane, "run-1", "replication-1", token).has_value());
  }
  EXPECT_EQ(row(shop, 0).state, LaneState::lane);
  EXPECT_EQ(row(shop, 0).run_id, "run-1");
  EXPECT_EQ(row(shop, 0).replication_id, "replication-1");
  const auto elsewhere = authority().open_lane(shop.item(), 0, 3, LaneState::lane, "run-2", "replication-2", token);
  EXPECT_EQ(elsewhere.error().code, Errc::stale) << "an open lane moves by a rebuild only";
  EXPECT_EQ(authority().open_lane(shop.item(), 0, 3, LaneState::closed, "", "", token).error().code, Errc::invalid);
}

TEST_P(StoreLaneAuthority, a_rebuild_hands_over_every_ticket_of_its_lane_and_no_other) {
  const Shop shop = a_shop(16, 8);
  std::map<model::Ticket, OrderState> wanted;
  const auto ordered = [&](const char* request) { return shop.ordered(shop.intent("alice", request, 1, 0)); };
  wanted[ordered("live")] = OrderState::awaiting_payment;
  const auto paid = ordered("paid");
  ASSERT_EQ(shop.end(pay(paid, "p1")).result, EndResult::done);
  wanted[paid] = OrderState::paid;
  const auto cancelled = ordered("cancelled");
  ASSERT_EQ(shop.end(cancel(cancelled)).result, EndResult::done);
  wanted[cancelled] = OrderState::cancelled;
  const auto failed = shop.intent("alice", "failed", 1, 0);
  ASSERT_TRUE(store().fail_intent(failed, model::FailReason::unreadable, start_of_sale).has_value());
  wanted[failed.ticket] = OrderState::failed;
  shop.ordered(shop.intent("bob", "elsewhere", 1, 1));

  const auto made = authority().rebuild_lane(shop.item(), 0, lead()).value();
  EXPECT_EQ(made.stock, (ledger::LaneStock{.available = 6, .held = 1, .sold = 1}));
  EXPECT_EQ(made.stock, row(shop, 0).row.stock);
  ASSERT_EQ(made.tickets.size(), wanted.size());
  for (const TicketRow& ticket : made.tickets) {
    ASSERT_TRUE(wanted.contains(ticket.ticket));
    EXPECT_EQ(ticket.state, wanted[ticket.ticket]);
    EXPECT_EQ(ticket.buyer.view(), "alice");
    EXPECT_EQ(ticket.units, 1);
    EXPECT_EQ(ticket.digest, shop.order(ticket.ticket).digest);
    EXPECT_EQ(ticket.request_id, shop.order(ticket.ticket).request_id);
  }
}

// --- landing and the lane's state ---

TEST_P(StoreLaneAuthority, a_batch_is_wholly_before_a_rebuild_or_wholly_after_it) {
  const Shop shop = a_shop(16);
  const auto token = lead();
  const auto before = shop.intent("alice", "r1", 1, 0);
  const auto after = shop.intent("bob", "r1", 1, 0);
  const auto other_lane = shop.intent("carol", "r1", 1, 1);
  shop.ordered(before);
  const auto made = authority().rebuild_lane(shop.item(), 0, token).value();
  ASSERT_EQ(made.tickets.size(), 1U);
  const auto landed = shop.land({before, after, other_lane}).value();
  EXPECT_EQ(landed[0].as, LandedAs::already_live) << "what landed has landed";
  EXPECT_EQ(landed[1].as, LandedAs::superseded);
  EXPECT_EQ(landed[2].as, LandedAs::ordered);
  EXPECT_FALSE(store().find_order(after.ticket).value().has_value());
  EXPECT_EQ(row(shop, 0).row.stock.held, 1);
  auto adopted = after;
  adopted.generation = made.generation;
  EXPECT_EQ(shop.land({adopted}).value()[0].as, LandedAs::ordered) << "a closed lane still lands its own generation";
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLaneAuthority, a_closed_lane_still_lands_intents_of_its_own_generation) {
  const Shop shop = a_shop(16);
  ASSERT_TRUE(authority().report_lane(shop.item(), 0, 1, "foreign").has_value());
  shop.ordered(shop.intent("alice", "r1", 1, 0));
  const auto ended = shop.end(cancel(shop.intent("alice", "r1", 1, 0).ticket));
  EXPECT_EQ(ended.result, EndResult::done) << "an end asks no lane";
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLaneAuthority, where_the_store_admits_the_landing_decides_limit_before_stock) {
  const Shop shop = a_shop(8, 5);
  const auto generation = rebuilt(shop, 0, lead(), LaneState::store);
  const auto ask = [&](std::string_view buyer, std::string_view request, std::int64_t units) {
    auto intent = shop.intent(buyer, request, units, 0);
    intent.generation = generation;
    return intent;
  };
  const std::vector asks{ask("alice", "r1", 5), ask("alice", "r2", 1), ask("bob", "r1", 2), ask("carol", "r1", 2),
                         ask("dave", "r1", 1)};
  const auto landed = shop.land(asks).value();
  EXPECT_EQ(landed[0].as, LandedAs::ordered);
  EXPECT_EQ(landed[1].as, LandedAs::failed);
  EXPECT_EQ(landed[2].as, LandedAs::ordered);
  EXPECT_EQ(landed[3].as, LandedAs::failed);
  EXPECT_EQ(landed[4].as, LandedAs::ordered) << "one unit is left after a refusal of two";
  EXPECT_EQ(shop.order(asks[1].ticket).reason, model::FailReason::limit_reached);
  EXPECT_EQ(shop.order(asks[3].ticket).reason, model::FailReason::sold_out);
  EXPECT_EQ(shop.order(asks[3].ticket).state, OrderState::failed);
  EXPECT_TRUE(store().pending_releases(10).value().empty()) << "no lane holds anything for a loser";
  EXPECT_EQ(row(shop, 0).row.stock, (ledger::LaneStock{.available = 0, .held = 8, .sold = 0}));
  EXPECT_EQ(shop.land(asks).value()[3].as, LandedAs::failed) << "the same request stays refused";
  EXPECT_EQ(shop.land(asks).value()[0].as, LandedAs::already_live);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLaneAuthority, where_the_store_admits_a_lowered_limit_binds) {
  const Shop shop = a_shop(16, 5);
  shop.ordered(shop.intent("alice", "r1", 3, 0));
  const auto generation = rebuilt(shop, 0, lead(), LaneState::store);
  auto second = shop.intent("alice", "r2", 1, 0);
  second.generation = generation;
  second.limit = 3;
  EXPECT_EQ(shop.land({second}).value()[0].as, LandedAs::failed);
  EXPECT_EQ(shop.order(second.ticket).reason, model::FailReason::limit_reached);
}

TEST_P(StoreLaneAuthority, where_the_store_admits_a_buyer_has_no_more_tickets_than_elsewhere_and_refusals_are_none) {
  const Shop shop = a_shop(8, 5, [](model::SaleItem& item) { item.tickets_max = 2; });
  const auto generation = rebuilt(shop, 0, lead(), LaneState::store);
  const auto land = [&](std::string_view request, std::int64_t units) {
    auto intent = shop.intent("alice", request, units, 0);
    intent.generation = generation;
    return shop.land({intent}).value()[0].as;
  };
  EXPECT_EQ(land("r1", 6), LandedAs::failed);
  EXPECT_EQ(land("r2", 1), LandedAs::ordered);
  ASSERT_EQ(shop.end(cancel(shop.intent("alice", "r2", 1, 0).ticket)).result, EndResult::done);
  EXPECT_EQ(land("r3", 1), LandedAs::ordered);
  EXPECT_EQ(land("r4", 1), LandedAs::failed) << "two tickets, one of them ended";
  EXPECT_EQ(shop.order(shop.intent("alice", "r4", 1, 0).ticket).reason, model::FailReason::limit_reached);
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreLaneAuthority, where_the_store_admits_an_older_intent_is_superseded_and_a_poisonous_one_still_violates) {
  const Shop shop = a_shop(8, 5);
  const auto generation = rebuilt(shop, 0, lead(), LaneState::store);
  const auto old = shop.intent("alice", "r1", 1, 0);
  EXPECT_EQ(shop.land({old}).value()[0].as, LandedAs::superseded);
  auto poison = shop.intent("bob", "r1", 0, 0);
  poison.generation = generation;
  EXPECT_EQ(shop.land({poison}).error().code, Errc::constraint);
}

TEST_P(StoreLaneAuthority, after_admission_by_database_a_rebuild_finds_what_it_did) {
  const Shop shop = a_shop(8, 5);
  const auto token = lead();
  auto intent = shop.intent("alice", "r1", 5, 0);
  intent.generation = rebuilt(shop, 0, token, LaneState::store);
  ASSERT_EQ(shop.land({intent}).value()[0].as, LandedAs::ordered);
  const auto back = authority().rebuild_lane(shop.item(), 0, token).value();
  EXPECT_EQ(back.stock.held, 5);
  ASSERT_EQ(back.tickets.size(), 1U);
  EXPECT_EQ(back.tickets[0].ticket, intent.ticket);
}

TEST_P(StoreLaneAuthority, the_wanted_state_is_the_operators_and_audited_once) {
  const Shop shop = a_shop(16);
  const auto changes = store().audit_log(0, 100).value().size();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(authority().want_state(shop.item(), LaneState::store, by("mode.store")).has_value());
  }
  EXPECT_EQ(authority().item_authority(shop.item()).value().wanted, LaneState::store);
  EXPECT_EQ(row(shop, 0).state, LaneState::lane) << "the leader does it, by rebuilds";
  EXPECT_EQ(store().audit_log(0, 100).value().size(), changes + 1);
}

TEST_P(StoreLaneAuthority, P1_lanes_that_are_wanted_closed_are_told_so) {
  const Shop shop = a_shop(16);
  ASSERT_TRUE(authority().want_state(shop.item(), LaneState::closed, by("oversell_guard")).has_value());
  EXPECT_EQ(authority().item_authority(shop.item()).value().wanted, LaneState::closed);
}

TEST_P(StoreLaneAuthority, P4_a_rebuilt_lane_is_undrained_until_its_leader_says_otherwise) {
  const Shop shop = a_shop(16);
  EXPECT_FALSE(row(shop, 0).undrained()) << "nobody can have been admitted before the first generation";
  const auto token = lead();
  const auto generation = rebuilt(shop, 0, token);
  EXPECT_TRUE(row(shop, 0).undrained());
  EXPECT_FALSE(row(shop, 1).undrained());
  const auto drain = [&](model::Generation of, std::uint64_t strays, std::uint64_t by_token) {
    return authority().drain_lane(shop.item(), 0, of, strays, by_token);
  };
  EXPECT_EQ(drain(generation, 0, token + 1).error().code, Errc::stale);
  EXPECT_TRUE(drain(generation - 1, 0, token).has_value());
  EXPECT_TRUE(drain(generation + 1, 0, token).has_value());
  EXPECT_TRUE(row(shop, 0).undrained());
  EXPECT_TRUE(drain(generation, 0, token).has_value());
  EXPECT_FALSE(row(shop, 0).undrained());
  // From state `store` closing raises the generation: what was asked for is undecided.
  (void)rebuilt(shop, 0, token, LaneState::store);
  EXPECT_TRUE(drain(row(shop, 0).row.generation, 0, token).has_value());
  EXPECT_FALSE(row(shop, 0).undrained());
  EXPECT_TRUE(authority().close_lane(shop.item(), 0, token).has_value());
  EXPECT_TRUE(row(shop, 0).undrained());
}

TEST_P(StoreLaneAuthority, P4_a_stray_that_a_landing_met_meanwhile_keeps_its_lane_undrained) {
  const Shop shop = a_shop(16);
  auto stray = shop.intent("alice", "r1", 1, 0);
  const auto token = lead();
  const auto generation = rebuilt(shop, 0, token);
  const auto before = row(shop, 0).strays;
  ASSERT_EQ(shop.land({stray}).value()[0].as, LandedAs::superseded);
  EXPECT_EQ(row(shop, 0).strays, before + 1);
  EXPECT_TRUE(authority().drain_lane(shop.item(), 0, generation, before, token).has_value());
  EXPECT_TRUE(row(shop, 0).undrained());
  EXPECT_TRUE(authority().drain_lane(shop.item(), 0, generation, before + 1, token).has_value());
  EXPECT_FALSE(row(shop, 0).undrained());
}

}  // namespace
}  // namespace seckill::store::contract
