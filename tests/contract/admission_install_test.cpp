// Admission port: lanes are built from the store's rows, once, and never overwritten; units come and go by transfers.
#include <fmt/format.h>

#include <future>
#include <thread>

#include "contract/admission_world.hpp"

namespace seckill::test {
namespace {

class AdmissionInstall : public AdmissionContract {};
INSTANTIATE_TEST_SUITE_P(Engines, AdmissionInstall, testing::ValuesIn(engines()), engine_name);

base::Status install(World& world) { return world.admission().install(world.sale, world.sale.items[0], world.store); }

TEST_P(AdmissionInstall, FS_03_installing_again_overwrites_nothing) {
  World world{GetParam(), {.total = 100}};
  world.landing.hold(true);  // 40 accepted orders are not in the store yet
  std::vector<std::future<admission::AdmitReply>> accepted;
  for (int i = 0; i < 40; ++i) accepted.push_back(world.ask_later(world.request(fmt::format("u{}", i), "r")));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(install(world).has_value());
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 60, .held = 40, .sold = 0}));
  world.landing.hold(false);
  for (auto& reply : accepted) EXPECT_EQ(reply.get().answer, PurchaseAnswer::admitted);
  world.expect_conserved();
}

TEST_P(AdmissionInstall, FS_03_a_restart_in_mid_sale_keeps_what_is_left) {
  World world{GetParam(), {.total = 100}};
  std::vector<model::Ticket> tickets;
  for (int i = 0; i < 40; ++i) tickets.push_back(world.ask(fmt::format("u{}", i), "r").ticket->ticket);
  (void)world.end(tickets[0], model::OrderEvent::pay);
  (void)world.end(tickets[1], model::OrderEvent::cancel);
  const ledger::LaneStock before = world.lane_sum();
  world.restart();
  EXPECT_EQ(world.lane_sum(), before);
  EXPECT_EQ(before, (ledger::LaneStock{.available = 61, .held = 38, .sold = 1}));
  for (int i = 0; i < 40; ++i) {
    const admission::AdmitReply replay = world.ask(fmt::format("u{}", i), "r");
    EXPECT_EQ(replay.answer, PurchaseAnswer::replayed) << i;
    EXPECT_EQ(replay.ticket->ticket, tickets[static_cast<std::size_t>(i)]);
    EXPECT_EQ(replay.ticket->live, i != 1);
  }
  std::int64_t admitted = 0;
  for (int i = 0; i < 200; ++i) admitted += world.ask(fmt::format("v{}", i), "r").answer == PurchaseAnswer::admitted;
  EXPECT_EQ(admitted, 61);
  world.expect_conserved();
}

TEST_P(AdmissionInstall, FS_03_installs_at_the_same_instant_do_not_add_up) {
  World world{GetParam(), {.total = 100}};
  const std::unique_ptr<Engine> fresh = world.another();
  std::vector<std::jthread> starters;
  std::atomic<int> failures{0};
  for (int t = 0; t < 4; ++t) {
    starters.emplace_back([&] {
      if (!fresh->admission().install(world.sale, world.sale.items[0], world.store)) ++failures;
    });
  }
  starters.clear();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(fresh->admission().stock(world.item()).available, 100);
}

TEST_P(AdmissionInstall, rows_that_contradict_each_other_are_refused_with_a_sentence) {
  struct Case {
    const char* what;
    const char* said;
    std::function<void(DeviceStore::ItemRows&)> spoil;
  };
  const std::vector<Case> cases{
      {"a held unit without an order", "stock row says",
       [](DeviceStore::ItemRows& rows) {
         --rows.stock.lanes[1].stock.available;
         ++rows.stock.lanes[1].stock.held;
       }},
      {"an order without its unit", "stock row says",
       [](DeviceStore::ItemRows& rows) { rows.orders.begin()->second.state = model::OrderState::cancelled; }},
      {"a unit too many", "pool and lanes have",
       [](DeviceStore::ItemRows& rows) { ++rows.stock.lanes[0].stock.available; }},
      {"a lane too few", "lanes but", [](DeviceStore::ItemRows& rows) { rows.stock.lanes.pop_back(); }},
      {"a negative count", "negative",
       [](DeviceStore::ItemRows& rows) {
         rows.stock.lanes[0].stock.available = -1;
         rows.stock.pool += 9;
       }},
      {"an order of another buyer", "is not the one",
       [](DeviceStore::ItemRows& rows) { rows.orders.begin()->second.buyer = *model::BuyerId::parse("somebody"); }},
      {"an absurd quantity", "has 5000 units",
       [](DeviceStore::ItemRows& rows) { rows.orders.begin()->second.units = 5'000; }},
  };
  for (const Case& c : cases) {
    World world{GetParam(), {.total = 64, .lanes = 8}};
    (void)world.ask("u1", "r");
    world.store.spoil(world.item(), c.spoil);
    const std::unique_ptr<Engine> fresh = world.another();
    const base::Status installed = fresh->admission().install(world.sale, world.sale.items[0], world.store);
    ASSERT_FALSE(installed.has_value()) << c.what;
    EXPECT_EQ(installed.error().code, base::Errc::corrupt) << c.what;
    EXPECT_NE(installed.error().text().find(c.said), std::string::npos) << installed.error().text();
    EXPECT_FALSE(fresh->admission().stock(world.item()).known) << c.what;
  }
}

// The failure of an intent whose units could not be believed.
TEST_P(AdmissionInstall, a_failed_ticket_may_have_no_units_and_a_live_one_must) {
  for (const bool ended : {true, false}) {
    World world{GetParam(), {.total = 64, .lanes = 8}};
    (void)world.ask("u1", "r");
    world.store.spoil(world.item(), [&](DeviceStore::ItemRows& rows) {
      auto& order = rows.orders.begin()->second;
      order.units = 0;
      if (ended) order.state = model::OrderState::failed;
      for (auto& lane : rows.stock.lanes) lane.stock.available += std::exchange(lane.stock.held, 0);
    });
    const std::unique_ptr<Engine> fresh = world.another();
    EXPECT_EQ(fresh->admission().install(world.sale, world.sale.items[0], world.store).has_value(), ended);
  }
}

TEST_P(AdmissionInstall, an_item_that_is_not_preloaded_is_refused) {
  World world{GetParam()};
  world.store.spoil(world.item(), [](DeviceStore::ItemRows& rows) { rows.stock.lanes.clear(); });
  const std::unique_ptr<Engine> fresh = world.another();
  EXPECT_EQ(fresh->admission().install(world.sale, world.sale.items[0], world.store).error().code, base::Errc::refused);
}

TEST_P(AdmissionInstall, P6_an_end_during_an_install_is_sent_again) {
  World world{GetParam(), {.total = 1}};
  const model::Ticket ticket = world.ask("u1", "r").ticket->ticket;
  const std::unique_ptr<Engine> fresh = world.another();
  const auto release = [&] {
    admission::LaneAck ack{};
    fresh->admission().release(world.item(), ticket, [&](admission::LaneAck got) { ack = got; });
    return ack;
  };
  std::promise<void> go_on;
  std::promise<void> reading;
  std::jthread slow_store{[&] {
    world.store.spoil(world.item(), [&](DeviceStore::ItemRows&) {
      reading.set_value();
      go_on.get_future().wait();
    });
  }};
  reading.get_future().wait();
  std::jthread installer{
      [&] { EXPECT_TRUE(fresh->admission().install(world.sale, world.sale.items[0], world.store)); }};
  bool put_off = false;
  for (int i = 0; i < 5'000 && !put_off; ++i) {  // until the install has begun
    put_off = release() == admission::LaneAck::closed;
    if (!put_off) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  EXPECT_TRUE(put_off) << "the install may have read the ticket before its end";
  go_on.set_value();
  installer.join();
  EXPECT_EQ(release(), admission::LaneAck::applied);
  EXPECT_EQ(fresh->admission().stock(world.item()).available, 1);
}

TEST_P(AdmissionInstall, P6_an_end_between_the_two_readings_of_an_install_is_no_damage) {
  World world{GetParam(), {.total = 8}};
  store::EndCommand cancel;
  cancel.ticket = world.ask("u1", "r").ticket->ticket;
  const std::unique_ptr<Engine> fresh = world.another();
  // The stock rows were read with the unit held, the ticket is read as cancelled.
  world.store.before_next_visit(
      [&] { EXPECT_EQ(world.store.end_tickets({&cancel, 1})->front().result, store::EndResult::done); });
  const base::Status installed = fresh->admission().install(world.sale, world.sale.items[0], world.store);
  ASSERT_TRUE(installed.has_value()) << installed.error().text();
  EXPECT_EQ(fresh->admission().stock(world.item()).available, 8);
}

TEST_P(AdmissionInstall, an_end_of_an_item_that_is_not_in_memory_is_acknowledged) {
  World world{GetParam()};
  const model::Ticket ticket = world.ask("u1", "r").ticket->ticket;
  const std::unique_ptr<Engine> fresh = world.another();
  admission::LaneAck ack{};
  fresh->admission().release(world.item(), ticket, [&](admission::LaneAck got) { ack = got; });
  EXPECT_EQ(ack, admission::LaneAck::applied) << "lanes built later read the row that came first";
}

TEST_P(AdmissionInstall, a_top_up_is_credited_once_a_transfer_and_ends_sold_out) {
  World world{GetParam(), {.total = 24, .reserve = 8, .lanes = 2}};
  for (int i = 0; i < 16; ++i) EXPECT_EQ(world.ask(fmt::format("u{}", i), "r").answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.ask("late", "r").answer, PurchaseAnswer::sold_out) << "a reserve is not on sale";
  model::StockTransfer transfer;
  transfer.id = "top-up:1";
  transfer.item = world.item();
  transfer.to = 1;
  transfer.units = 3;
  ASSERT_TRUE(world.store.pool_to_lanes({&transfer, 1}, {}).has_value());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(world.admission().credit(transfer).has_value());
  EXPECT_EQ(world.lane_sum().available, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(world.ask(fmt::format("v{}", i), "r").answer, PurchaseAnswer::admitted);
  EXPECT_EQ(world.ask("late", "r").answer, PurchaseAnswer::sold_out);
  world.expect_conserved();
}

TEST_P(AdmissionInstall, a_credit_that_fits_no_lane_changes_nothing) {
  World world{GetParam(), {.total = 16, .lanes = 2}};
  model::StockTransfer transfer;
  transfer.id = "x";
  transfer.item = world.item();
  transfer.to = 1;
  transfer.units = 1;
  const auto refused = [&](const std::function<void(model::StockTransfer&)>& spoil, base::Errc code) {
    model::StockTransfer bad = transfer;
    spoil(bad);
    const base::Status status = world.admission().credit(bad);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, code);
  };
  refused([](auto& bad) { bad.to = 2; }, base::Errc::invalid);
  refused([](auto& bad) { bad.to = -1; }, base::Errc::invalid);
  refused([](auto& bad) { bad.from = 0; }, base::Errc::invalid);
  refused([](auto& bad) { bad.units = 0; }, base::Errc::invalid);
  refused([](auto& bad) { bad.generation = 9; }, base::Errc::stale);
  refused([](auto& bad) { bad.item.sku = *model::Sku::parse("nothing"); }, base::Errc::not_found);
  EXPECT_EQ(world.lane_sum().available, 16);
}

TEST_P(AdmissionInstall, closed_lanes_take_no_credit_and_give_no_units) {
  World world{GetParam(), {.total = 16, .lanes = 2}};
  world.admission().close_lanes(world.item(), "a test");
  const model::StockTransfer credit{
      .id = "t1", .item = world.item(), .from = model::StockTransfer::pool, .to = 0, .units = 1, .generation = 1};
  EXPECT_EQ(world.admission().credit(credit).error().code, base::Errc::unavailable);
  EXPECT_EQ(world.admission().debit_to_pool(world.item(), 1, "d1").error().code, base::Errc::unavailable);
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 16, .held = 0, .sold = 0}));
  EXPECT_EQ(world.store.rows(world.item()).stock.pool, 0);
}

TEST_P(AdmissionInstall, a_reduction_takes_free_units_only_and_says_how_many) {
  World world{GetParam(), {.total = 64, .lanes = 8}};
  for (int i = 0; i < 10; ++i) (void)world.ask(fmt::format("u{}", i), "r");
  EXPECT_EQ(world.admission().debit_to_pool(world.item(), 20, "cut:1"), 20);
  EXPECT_EQ(world.lane_sum(), (ledger::LaneStock{.available = 34, .held = 10, .sold = 0}));
  EXPECT_EQ(world.store.rows(world.item()).stock.pool, 20) << "told only when durable";
  EXPECT_EQ(world.admission().debit_to_pool(world.item(), 100, "cut:2"), 34);
  EXPECT_EQ(world.admission().debit_to_pool(world.item(), 1, "cut:3"), 0);
  EXPECT_EQ(world.ask("late", "r").answer, PurchaseAnswer::sold_out);
  world.expect_conserved();
}

}  // namespace
}  // namespace seckill::test
