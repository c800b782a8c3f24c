// Admission port: the item's terms. The lane judges by its own copy and clock, to the millisecond; edits reach every
// lane; the early answer refuses only whom admission would refuse.
#include <fmt/format.h>

#include "contract/admission_world.hpp"

namespace seckill::test {
namespace {

class AdmissionTerms : public AdmissionContract {};
INSTANTIATE_TEST_SUITE_P(Engines, AdmissionTerms, testing::ValuesIn(engines()), engine_name);

// Applies an edit of the sale's terms to the lanes, as the next version.
base::Status install_terms(World& world, const std::function<void(model::Sale&)>& change) {
  change(world.sale);
  ++world.sale.version;
  return world.admission().configure(world.item(), model::terms_of(world.sale, world.sale.items[0]));
}

std::optional<PurchaseAnswer> early(World& world, std::optional<std::string_view> buyer, std::int64_t units = 1) {
  return world.admission().early_answer(world.item(), buyer, units);
}

TEST_P(AdmissionTerms, FS_72_the_sale_is_open_in_a_half_open_interval_to_the_millisecond) {
  for (const bool restarted : {false, true}) {
    World world{GetParam(), {.total = 8}};
    const base::UtcMs start = world.clock.now_utc() + 10'500;
    const base::UtcMs end = start + 86'399'499;
    ASSERT_TRUE(
        install_terms(world, [&](model::Sale& sale) { sale.starts_at = start, sale.ends_at = end; }).has_value());
    if (restarted) {
      ASSERT_TRUE(world.store.create_sale(world.sale, {}).has_value());
      ASSERT_TRUE(world.store.preload(world.sale.id, 0, {}).has_value());
      world.restart();
    }
    const auto at = [&](base::UtcMs instant, const char* who) {
      world.clock.step_utc(std::chrono::milliseconds{instant - world.clock.now_utc()});
      return world.ask(who, "r").answer;
    };
    EXPECT_EQ(at(start - 1, "a"), PurchaseAnswer::not_started);
    EXPECT_EQ(early(world, "a"), PurchaseAnswer::not_started);
    EXPECT_EQ(at(start, "a"), PurchaseAnswer::admitted);
    EXPECT_EQ(at(end - 1, "b"), PurchaseAnswer::admitted);
    EXPECT_EQ(at(end, "c"), PurchaseAnswer::ended);
    EXPECT_EQ(early(world, "c"), PurchaseAnswer::ended);
    EXPECT_EQ(early(world, "b"), std::nullopt) << "who has a ticket is never denied early";
    EXPECT_EQ(at(end + 1, "c"), PurchaseAnswer::ended);
  }
}

TEST_P(AdmissionTerms, FS_53_edits_take_effect_in_every_lane_and_leave_orders_alone) {
  World world{GetParam(), {.total = 64, .lanes = 8, .price_minor = 100}};
  const model::Ticket old_price = world.ask(world.buyer_in_lane(0, 0), "r").ticket->ticket;
  EXPECT_EQ(world.ask(world.buyer_in_lane(0, 0), "r2").answer, PurchaseAnswer::limit_reached);
  ASSERT_TRUE(install_terms(world, [](model::Sale& sale) {
                sale.items[0].price_minor = 200;
                sale.items[0].limit = 2;
              }).has_value());
  for (model::LaneIndex lane = 0; lane < 8; ++lane) {
    const std::string who = world.buyer_in_lane(lane, 0);
    const admission::AdmitReply reply = world.ask(who, "r3");
    ASSERT_EQ(reply.answer, PurchaseAnswer::admitted) << "lane " << lane;
    EXPECT_EQ((*world.store.find_order(reply.ticket->ticket))->price_minor, 200);
  }
  EXPECT_EQ((*world.store.find_order(old_price))->price_minor, 100);
  EXPECT_EQ(world.ask(world.buyer_in_lane(0, 0), "r").answer, PurchaseAnswer::replayed);
}

TEST_P(AdmissionTerms, FS_53_a_lowered_limit_binds_new_purchases_only) {
  World world{GetParam(), {.total = 64, .limit = 3}};
  EXPECT_EQ(world.ask("u1", "r", 3).answer, PurchaseAnswer::admitted);
  ASSERT_TRUE(install_terms(world, [](model::Sale& sale) { sale.items[0].limit = 1; }).has_value());
  EXPECT_EQ(world.ask("u1", "r2", 1).answer, PurchaseAnswer::limit_reached);
  EXPECT_EQ(world.ask("u1", "r", 3).answer, PurchaseAnswer::replayed);
  EXPECT_EQ(world.ask("u2", "r", 2).answer, PurchaseAnswer::limit_reached);
  EXPECT_EQ(world.ask("u2", "r2", 1).answer, PurchaseAnswer::admitted);
}

TEST_P(AdmissionTerms, FS_53_pause_and_resume_and_an_extended_end) {
  World world{GetParam(), {.total = 64}};
  const model::Ticket ticket = world.ask("u1", "r").ticket->ticket;
  ASSERT_TRUE(install_terms(world, [](model::Sale& sale) { sale.state = model::SaleState::paused; }).has_value());
  EXPECT_EQ(world.ask("u2", "r").answer, PurchaseAnswer::paused);
  EXPECT_EQ(early(world, "u2"), PurchaseAnswer::paused);
  EXPECT_EQ(world.ask("u1", "r").answer, PurchaseAnswer::replayed);
  EXPECT_EQ(early(world, "u1"), std::nullopt) << "who has a ticket is never denied early";
  ASSERT_TRUE(install_terms(world, [](model::Sale& sale) { sale.state = model::SaleState::preloaded; }).has_value());
  EXPECT_EQ(world.ask("u2", "r").answer, PurchaseAnswer::admitted);
  world.clock.advance(std::chrono::hours{2});
  EXPECT_EQ(world.ask("u3", "r").answer, PurchaseAnswer::ended);
  ASSERT_TRUE(
      install_terms(world, [&](model::Sale& sale) { sale.ends_at = world.clock.now_utc() + 1'000; }).has_value());
  EXPECT_EQ(world.ask("u3", "r").answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.ask("u1", "r").ticket->ticket, ticket);
}

TEST_P(AdmissionTerms, FS_53_a_stale_version_changes_nothing) {
  World world{GetParam(), {.total = 64}};
  ASSERT_TRUE(install_terms(world, [](model::Sale& sale) { sale.items[0].limit = 2; }).has_value());
  model::ItemTerms stale = model::terms_of(world.sale, world.sale.items[0]);
  stale.limit = 5;
  for (const std::int64_t version : {stale.version, stale.version - 1}) {
    stale.version = version;
    EXPECT_TRUE(world.admission().configure(world.item(), stale).has_value());
    EXPECT_EQ(world.ask("u1", "r", 3).answer, PurchaseAnswer::limit_reached);
  }
  const model::ItemKey nothing{.sale = world.sale.id, .sku = *model::Sku::parse("nothing")};
  EXPECT_EQ(world.admission().configure(nothing, stale).error().code, base::Errc::not_found);
}

TEST_P(AdmissionTerms, the_early_answer_says_sold_out_only_to_a_stranger_and_only_after_a_reading) {
  World world{GetParam(), {.total = 8, .limit = 3}};
  EXPECT_EQ(early(world, "u9"), std::nullopt);
  for (int i = 0; i < 7; ++i) (void)world.ask(fmt::format("u{}", i), "r");
  EXPECT_EQ(early(world, "u9", 3), std::nullopt) << "nobody has read all lanes yet";
  EXPECT_EQ(world.ask("u8", "r", 3).answer, PurchaseAnswer::sold_out);
  EXPECT_EQ(early(world, "u9", 3), PurchaseAnswer::sold_out);
  EXPECT_EQ(early(world, "u9", 2), PurchaseAnswer::sold_out) << "one unit is left";
  EXPECT_EQ(early(world, "u9", 1), std::nullopt);
  EXPECT_EQ(early(world, "u0", 3), std::nullopt) << "who has a mark is asked to come in";
  EXPECT_EQ(early(world, std::nullopt, 3), std::nullopt) << "and so is nobody in particular";
  world.clock.advance(std::chrono::milliseconds{1'001});
  EXPECT_EQ(early(world, "u9", 3), std::nullopt) << "the reading is older than a second";
}

TEST_P(AdmissionTerms, the_early_sold_out_is_lowered_at_once_when_a_unit_comes_back) {
  World world{GetParam(), {.total = 8}};
  std::vector<model::Ticket> tickets;
  for (int i = 0; i < 8; ++i) tickets.push_back(world.ask(fmt::format("u{}", i), "r").ticket->ticket);
  EXPECT_EQ(world.ask("u9", "r").answer, PurchaseAnswer::sold_out);
  EXPECT_EQ(early(world, "u9"), PurchaseAnswer::sold_out);
  (void)world.end(tickets[3], model::OrderEvent::cancel);
  EXPECT_EQ(early(world, "u9"), std::nullopt);
  EXPECT_EQ(world.ask("u9", "r").answer, PurchaseAnswer::admitted);
}

TEST_P(AdmissionTerms, P8_closed_lanes_answer_nobody_early) {
  World world{GetParam(), {.total = 8}};
  for (int i = 0; i < 8; ++i) (void)world.ask(fmt::format("u{}", i), "r");
  EXPECT_EQ(world.ask("u8", "r").answer, PurchaseAnswer::sold_out);
  EXPECT_EQ(early(world, "u9"), PurchaseAnswer::sold_out);
  world.admission().close_lanes(world.item(), "a test");
  EXPECT_EQ(early(world, "u9"), std::nullopt) << "sold out is final, and closed lanes cannot know";
  EXPECT_EQ(world.ask("u9", "r").answer, PurchaseAnswer::busy);
}

TEST_P(AdmissionTerms, before_the_start_nobody_is_admitted_and_everybody_is_told_early) {
  World world{GetParam(), {.total = 8}};
  ASSERT_TRUE(install_terms(world, [&](model::Sale& sale) { sale.starts_at += 5'000; }).has_value());
  EXPECT_EQ(early(world, std::nullopt), PurchaseAnswer::not_started);
  EXPECT_EQ(world.ask("u1", "r").answer, PurchaseAnswer::not_started);
  EXPECT_EQ(world.lane_sum().held, 0);
}

}  // namespace
}  // namespace seckill::test
