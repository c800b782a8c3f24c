// A transfer that stops at any of its steps is finished or abandoned, once (DESIGN §4.3, P2).
#include "unit/admission/remote/remote_world.hpp"

namespace seckill::admission::remote::test {
namespace {

using store::TransferState;

// Lane 0 is empty and steals from lane 1, which has 8; the steal meets what the test planned.
struct Stopped {
  explicit Stopped(Config settings = {}) : world{16, 2, settings} {
    world.stock(0).available -= 8;  // as if its buyers held them
    world.stock(0).held += 8;
    world.pass(100ms);
  }
  void steal() { outcome = world.admission->steals().steal(world_item(), 0, 1).kind; }
  [[nodiscard]] ItemPtr world_item() {
    // The desk's own item: what it steals for is what it knows.
    auto copy = std::make_shared<ItemCopy>();
    copy->authority = *world.database.item_authority(world.item);
    copy->read_at = world.kernel.now();
    return std::make_shared<RemoteItem>(world.item, copy);
  }
  void expect_all_there(std::int64_t lane_0, std::int64_t lane_1) {
    EXPECT_EQ(world.open_records(), 0U);
    EXPECT_EQ(world.stock(0).available, lane_0);
    EXPECT_EQ(world.stock(1).available, lane_1);
    EXPECT_EQ(world.units_in_lanes(), 16) << "P2";
    EXPECT_EQ(world.row_of(0).row.stock.available, 8 + lane_0) << "its holds have not landed";
    EXPECT_EQ(world.row_of(1).row.stock.available, lane_1);
  }

  RemoteWorld world;
  StealOutcome::Kind outcome{};
};

TEST(RemoteRecovery, after_the_debit_it_is_abandoned_and_the_source_credited_once) {
  Stopped s;
  s.world.lanes.plan("debit", {Fault::lost_reply});
  s.steal();
  EXPECT_EQ(s.outcome, StealOutcome::Kind::busy);
  EXPECT_EQ(s.world.stock(1).available, 4);
  s.world.pass(4s);
  EXPECT_EQ(s.world.stock(1).available, 4) << "it may only be slow";
  s.world.pass(6s);
  s.expect_all_there(0, 8);
  EXPECT_EQ(s.world.transfer_rows(), (std::vector{TransferState::abandoned}));
  EXPECT_EQ(s.world.lanes.calls["undo_debit"], 1);
}

TEST(RemoteRecovery, a_lost_undo_is_repeated_and_still_gives_back_once) {
  Stopped s;
  s.world.lanes.plan("debit", {Fault::lost_reply});
  s.world.lanes.plan("undo_debit", {Fault::lost_reply, Fault::lost_request, Fault::lost_reply});
  s.steal();
  s.world.pass(30s);
  s.expect_all_there(0, 8);
}

TEST(RemoteRecovery, after_the_commit_it_is_credited) {
  Stopped s;
  s.world.lanes.plan("credit", {Fault::not_executed});
  s.steal();
  EXPECT_EQ(s.outcome, StealOutcome::Kind::busy);
  EXPECT_EQ(s.world.transfer_rows(), (std::vector{TransferState::open}));
  s.world.pass(10s);
  s.expect_all_there(4, 4);
  EXPECT_EQ(s.world.transfer_rows(), (std::vector{TransferState::closed}));
}

TEST(RemoteRecovery, a_commit_whose_answer_was_lost_is_finished_not_undone) {
  Stopped s;
  s.world.faults.lost_reply = 1000;
  bool committed = false;
  s.world.kernel.after(0ms, [] {});
  s.steal();
  s.world.faults.lost_reply = 0;
  committed = !s.world.transfer_rows().empty();
  EXPECT_TRUE(committed);
  s.world.pass(12s);
  s.expect_all_there(4, 4);
  EXPECT_EQ(s.world.lanes.calls["undo_debit"], 0);
}

TEST(RemoteRecovery, after_the_credit_row_and_records_are_closed_and_nothing_is_credited_twice) {
  Stopped s;
  s.world.lanes.plan("credit", {Fault::lost_reply, Fault::lost_reply});
  s.steal();
  s.world.pass(15s);
  s.expect_all_there(4, 4);
  EXPECT_EQ(s.world.transfer_rows(), (std::vector{TransferState::closed}));
}

TEST(RemoteRecovery, records_that_could_not_be_closed_are_closed_later) {
  Stopped s;
  s.world.lanes.plan("close_transfer", {Fault::lost_request, Fault::not_executed});
  s.steal();
  EXPECT_EQ(s.outcome, StealOutcome::Kind::ask_again);
  EXPECT_EQ(s.world.open_records(), 2U);
  s.world.pass(10s);
  s.expect_all_there(4, 4);
}

TEST(RemoteRecovery, a_credit_that_comes_late_finds_its_id_spent) {
  Stopped s;
  s.world.lanes.plan("credit", {Fault::held});
  s.steal();
  s.world.pass(10s);
  s.expect_all_there(4, 4);
  s.world.lanes.let_go();
  s.expect_all_there(4, 4);
}

TEST(RemoteRecovery, a_target_rebuilt_after_the_commit_has_the_units_from_its_row) {
  Stopped s;
  s.world.lanes.plan("credit", {Fault::not_executed});
  s.steal();
  s.world.rebuild(0);
  s.world.stock(0).available -= 8;
  s.world.stock(0).held += 8;
  s.world.pass(10s);
  s.expect_all_there(4, 4);
}

TEST(RemoteRecovery, a_source_rebuilt_before_the_commit_makes_it_stale_and_nothing_moves) {
  Stopped s;
  int debits = 0;
  s.world.lanes.before = [&](const std::string& method, const LaneKey&) {
    // Between reading and commit: the store raises the generation, the lane is not installed yet.
    if (method != "debit" || ++debits > 1) return;
    const auto lease = s.world.database.acquire_lease(store::leader_lease, "leader", 3'600s);
    ASSERT_TRUE(s.world.database.rebuild_lane(s.world.item, 1, (*lease)->token));
  };
  s.steal();
  EXPECT_EQ(s.outcome, StealOutcome::Kind::busy);
  EXPECT_EQ(s.world.transfer_rows(), (std::vector{TransferState::abandoned}));
  EXPECT_EQ(s.world.stock(1).available, 8) << "given back at once";
  EXPECT_EQ(s.world.row_of(1).row.stock.available, 8);
}

TEST(RemoteRecovery, nothing_is_undone_while_the_store_cannot_say) {
  Stopped s;
  s.world.lanes.plan("debit", {Fault::lost_reply});
  s.steal();
  s.world.faults.down = true;
  s.world.pass(60s);
  EXPECT_EQ(s.world.lanes.calls["undo_debit"], 0);
  s.world.faults.down = false;
  s.world.pass(15s);
  s.expect_all_there(0, 8);
}

TEST(RemoteRecovery, two_nodes_recover_one_transfer_and_it_ends_once) {
  Stopped s;
  s.world.lanes.plan("credit", {Fault::lost_request});
  s.steal();
  RemoteAdmission other{Ports{.scripts = s.world.lanes,
                              .publisher = s.world.broker,
                              .authority = s.world.store,
                              .store = s.world.store,
                              .threads = s.world.node.threads(),
                              .clock = s.world.node.clock(),
                              .random = s.world.random,
                              .landing = nullptr,
                              .synchronous = {}},
                        s.world.config};
  other.start();
  ASSERT_TRUE(other.install(s.world.sale, s.world.sale.items.front(), s.world.store));
  s.world.pass(15s);
  s.expect_all_there(4, 4);
  other.stop();
}

TEST(RemoteOperating, a_reduction_takes_free_units_to_the_pool_once_an_id) {
  RemoteWorld world;
  const auto taken = world.admission->debit_to_pool(world.item, 10, "less");
  ASSERT_TRUE(taken);
  EXPECT_EQ(*taken, 10);
  EXPECT_EQ(world.stock(0).available + world.stock(1).available, 6);
  EXPECT_EQ(world.database.tables().items.front().pool, 10);
  const auto again = world.admission->debit_to_pool(world.item, 10, "less");
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, 10);
  EXPECT_EQ(world.database.tables().items.front().pool, 10);
  EXPECT_EQ(*world.admission->debit_to_pool(world.item, 10, "more"), 6) << "what there is";
  EXPECT_EQ(world.open_records(), 0U);
}

TEST(RemoteOperating, a_reduction_that_stopped_goes_on_under_its_id) {
  RemoteWorld world;
  world.lanes.plan("debit", {Fault::lost_reply});
  EXPECT_FALSE(world.admission->debit_to_pool(world.item, 10, "less"));
  EXPECT_EQ(*world.admission->debit_to_pool(world.item, 10, "less"), 10);
  EXPECT_EQ(world.database.tables().items.front().pool, 10);
  EXPECT_EQ(world.units_in_lanes(), 6);
  world.pass(15s);
  EXPECT_EQ(world.units_in_lanes(), 6);
  EXPECT_EQ(world.open_records(), 0U);
}

TEST(RemoteOperating, a_top_up_is_credited_once_whatever_reply_is_lost) {
  RemoteWorld world;
  ASSERT_TRUE(world.database.add_to_pool(world.item, 5, "more", {}));
  const model::StockTransfer transfer{.id = "topup:1",
                                      .item = world.item,
                                      .from = model::StockTransfer::pool,
                                      .to = 1,
                                      .units = 5,
                                      .generation = 1,
                                      .at = world.node.clock().now_utc()};
  ASSERT_TRUE(world.database.pool_to_lanes(std::vector{transfer}, {}));
  world.lanes.plan("credit", {Fault::lost_reply});
  EXPECT_FALSE(world.admission->credit(transfer));
  EXPECT_TRUE(world.admission->credit(transfer));
  EXPECT_TRUE(world.admission->credit(transfer));
  EXPECT_EQ(world.stock(1).available, 13);
  EXPECT_EQ(world.open_records(), 0U);
  world.pass(40s);
  EXPECT_EQ(world.admission->credit(transfer).error().code, base::Errc::refused) << "the lane may have forgotten it";
}

}  // namespace
}  // namespace seckill::admission::remote::test
