// What goes wrong with a Redis server, and what the scripts make of it: lost scripts, lost keys, no memory, wrong
// types, ids that only bytes tell apart.
#include <fmt/format.h>

#include <algorithm>

#include "admission/redis/lane_keys.hpp"
#include "admission/redis/redis_lanes.hpp"
#include "lanes/lane_engines.hpp"

namespace seckill::admission::redis::test {
namespace {

class LaneFailures : public testing::Test {
 protected:
  void SetUp() override {
    const auto engine = standalone_engine();
    SECKILL_NEEDS_REDIS(engine, "SECKILL_TEST_REDIS");
    redis_ = std::make_unique<LanesOnRedis>(*engine);
    lane_ = std::make_unique<OneLane>(redis_->lanes(), redis_->fresh_lane());
    lane_->open(10, 2);
  }
  void TearDown() override {
    if (!redis_) return;
    redis_->command(lane().key, {"CONFIG", "SET", "maxmemory", "0"});
    redis_->command(lane().key, {"CONFIG", "SET", "min-replicas-to-write", "0"});
  }
  [[nodiscard]] OneLane& lane() { return *lane_; }
  [[nodiscard]] LanesOnRedis& redis() { return *redis_; }
  [[nodiscard]] std::string key(std::size_t place) const { return keys_of(lane_->key, LaneKeys::installing)[place]; }

  // The server has no memory left for anything that grows.
  void fill_memory() { redis_->command(lane().key, {"CONFIG", "SET", "maxmemory", "1"}); }
  void free_memory() { redis_->command(lane().key, {"CONFIG", "SET", "maxmemory", "0"}); }
  [[nodiscard]] base::Result<LaneDecisions> try_admit(const LaneAsk& ask) {
    return wait_for<LaneDecisions>([&](auto answer) {
      lane().lanes.admit(lane().key, lane().server, lane().plan.generation, {ask}, std::move(answer));
    });
  }

 private:
  std::unique_ptr<LanesOnRedis> redis_;
  std::unique_ptr<OneLane> lane_;
};

TEST_F(LaneFailures, FS_07_a_flushed_script_is_loaded_again_and_runs_once) {
  EXPECT_EQ(lane().buy("ann", "r1"), Decision::admit);
  const std::uint64_t loads = redis().redis().counters().script_loads;
  redis().command(lane().key, {"SCRIPT", "FLUSH"});
  EXPECT_EQ(lane().buy("bob", "r1"), Decision::admit);
  EXPECT_EQ(lane().buy("cid", "r1"), Decision::admit);
  EXPECT_EQ(redis().redis().counters().script_loads, loads + 1);
  EXPECT_EQ(lane().read().stock, (ledger::LaneStock{.available = 7, .held = 3, .sold = 0}));
}

TEST_F(LaneFailures, FS_20_a_key_of_another_type_admits_nobody_and_nothing_is_written) {
  EXPECT_EQ(lane().buy("ann", "r1"), Decision::admit);
  for (const std::size_t place : {0U, 1U, 2U, 3U, 4U}) {
    SCOPED_TRACE(key(place));
    const std::string before = text(kept_lane(redis(), lane().key).state);
    redis().command(lane().key, {"RENAME", key(place), key(place) + ":aside"});
    redis().command(lane().key, {"SET", key(place), "of another type"});
    EXPECT_EQ(lane().admit({lane().ask("bob", "r1")}).code, LaneCode::closed);
    EXPECT_EQ(lane().release(lane().ask("ann", "r1")), LaneCode::closed);
    redis().command(lane().key, {"DEL", key(place)});
    redis().command(lane().key, {"RENAME", key(place) + ":aside", key(place)});
    EXPECT_EQ(text(kept_lane(redis(), lane().key).state), before);
  }
  EXPECT_EQ(lane().buy("bob", "r1"), Decision::admit);
}

TEST_F(LaneFailures, FS_20_a_key_of_another_type_is_seen_and_a_rebuild_puts_the_lane_right) {
  const auto ann = lane().ask("ann", "r1");
  EXPECT_EQ(lane().admit({ann}).code, LaneCode::done);
  for (std::size_t place = 0; place <= 12; ++place) {  // those of the lane beside as well
    SCOPED_TRACE(key(place));
    redis().command(lane().key, {"DEL", key(place)});
    redis().command(lane().key, {"SET", key(place), "of another type"});
    const LaneReading reading = lane().read();
    EXPECT_EQ(reading.open, place > 7);
    EXPECT_EQ(reading.known, place != 0);
    EXPECT_EQ(lane().close(lane().plan.generation, lane().plan.leader.token), LaneCode::done);
    (void)lane().all_marks();  // what is left can be asked for
    ASSERT_EQ(lane().reopen(9, {OneLane::row(ann, model::OrderState::awaiting_payment)}), LaneCode::done);
    EXPECT_TRUE(lane().read().open);
    EXPECT_EQ(lane().buy("ann", "r1"), Decision::replay);
    const KeptLane kept = kept_lane(redis(), lane().key);
    EXPECT_TRUE(kept.faults.empty()) << text(kept);
  }
}

TEST_F(LaneFailures, FS_45_a_lane_that_lost_a_key_is_closed_and_neither_sold_out_nor_fresh) {
  const auto first = lane().ask("ann", "r1");
  (void)lane().admit({first, lane().ask("bob", "r1")});
  (void)lane().debit("t1", 1);
  for (const std::size_t place : {0U, 1U, 2U, 3U, 4U}) {
    SCOPED_TRACE(key(place));
    redis().command(lane().key, {"RENAME", key(place), key(place) + ":aside"});
    EXPECT_EQ(lane().admit({lane().ask("cid", "r1")}).code, LaneCode::closed);
    EXPECT_EQ(lane().admit({first}).code, LaneCode::closed);
    EXPECT_EQ(lane().tickets_of("ann").code, LaneCode::closed);
    EXPECT_EQ(lane().release(first), LaneCode::closed);
    EXPECT_EQ(lane().debit("t2", 1).code, LaneCode::closed);
    const LaneReading reading = lane().read();
    EXPECT_FALSE(reading.open);
    EXPECT_EQ(reading.known, place != 0);
    redis().command(lane().key, {"RENAME", key(place) + ":aside", key(place)});
  }
  // Without its transfers it sells, but no unit moves a second time.
  redis().command(lane().key, {"DEL", key(5)});
  EXPECT_EQ(lane().debit("t1", 1).code, LaneCode::closed);
  EXPECT_EQ(lane().undo("t1"), LaneCode::closed);
  EXPECT_FALSE(lane().read().open);
}

TEST_F(LaneFailures, FS_45_one_forgotten_mark_closes_the_lane) {
  (void)lane().admit({lane().ask("ann", "r1"), lane().ask("bob", "r1")});
  redis().command(lane().key, {"HDEL", key(1), "ann"});
  EXPECT_EQ(lane().admit({lane().ask("ann", "r2")}).code, LaneCode::closed);
  EXPECT_EQ(lane().reopen(8, {OneLane::row(lane().ask("ann", "r1"), model::OrderState::awaiting_payment),
                              OneLane::row(lane().ask("bob", "r1"), model::OrderState::awaiting_payment)}),
            LaneCode::done);
  EXPECT_EQ(lane().buy("ann", "r1"), Decision::replay);
}

TEST_F(LaneFailures, FS_57_without_memory_nothing_is_admitted_by_half_and_units_can_still_go_back) {
  const auto held = lane().ask("ann", "r1");
  const auto sold = lane().ask("bob", "r1");
  (void)lane().admit({held, sold});
  const std::string before = text(kept_lane(redis(), lane().key));
  fill_memory();
  const auto refused = try_admit(lane().ask("cid", "r1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Errc::unavailable);  // certainly not executed
  const auto credited = wait_for<LaneCode>([&](auto answer) {
    lane().lanes.credit(lane().key, lane().server, 1, {.id = "c1", .units = 1}, std::move(answer));
  });
  ASSERT_FALSE(credited);
  EXPECT_EQ(credited.error().code, base::Errc::unavailable);
  EXPECT_EQ(text(kept_lane(redis(), lane().key)), before);

  EXPECT_EQ(lane().confirm({held}), LaneCode::done);
  EXPECT_EQ(lane().release(held), LaneCode::done);
  EXPECT_EQ(lane().post(sold), LaneCode::done);
  model::ItemTerms paused = lane().plan.terms;
  paused.state = model::SaleState::paused;
  paused.version = 8;
  EXPECT_EQ(lane().configure(paused), LaneCode::done);
  EXPECT_EQ(lane().read().stock, (ledger::LaneStock{.available = 9, .held = 0, .sold = 1}));
  EXPECT_EQ(lane().close(1, 9), LaneCode::done);
  free_memory();
  ASSERT_EQ(lane().reopen(9, {OneLane::row(sold, model::OrderState::paid)}), LaneCode::done);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(lane().buy(fmt::format("buyer-{}", i), "r1"), Decision::admit);
}

TEST_F(LaneFailures, P5_a_master_without_its_replicas_admits_nobody_and_is_still_read) {
  const auto first = lane().ask("ann", "r1");
  (void)lane().admit({first});
  redis().command(lane().key, {"CONFIG", "SET", "min-replicas-to-write", "1"});
  const auto refused = try_admit(lane().ask("bob", "r1"));
  const LaneReading reading = lane().read();
  const auto found = lane().tickets_of("ann");
  redis().command(lane().key, {"CONFIG", "SET", "min-replicas-to-write", "0"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Errc::unavailable);
  EXPECT_TRUE(reading.open);
  EXPECT_EQ(reading.stock.held, 1);
  EXPECT_EQ(found.tickets.size(), 1U);
  EXPECT_EQ(lane().buy("bob", "r1"), Decision::admit);
}

TEST_F(LaneFailures, FS_68_ids_that_differ_in_a_byte_are_different_ids) {
  const std::vector<std::string> buyers{"abc", "ABC", "abc ", "ａｂｃ", "abć"};
  for (const std::string& buyer : buyers) {
    EXPECT_EQ(lane().buy(buyer, "r1"), Decision::admit) << buyer;
    EXPECT_EQ(lane().buy(buyer, "R1"), Decision::admit) << buyer;
    EXPECT_EQ(lane().buy(buyer, "r1"), Decision::replay) << buyer;
  }
  EXPECT_EQ(lane().read().marks, 5);
  // A UUID in capitals is another request id than the one that is packed, and so is the text of its bytes.
  ASSERT_EQ(lane().reopen(10, {}), LaneCode::done);
  const std::vector<std::string> ids{"61626364-6566-6768-696a-6b6c6d6e6f70", "61626364-6566-6768-696A-6B6C6D6E6F70",
                                     "abcdefghijklmnop", "abcdefghijklmno"};
  model::ItemTerms wide = lane().plan.terms;
  wide.limit = 4;
  ++wide.version;
  ASSERT_EQ(lane().configure(wide), LaneCode::done);
  for (const std::string& id : ids) EXPECT_EQ(lane().buy("w", id), Decision::admit) << id;
  std::vector<std::string> read;
  for (const auto& intent : lane().tickets_of("w").unpublished) read.push_back(intent.request_id.str());
  EXPECT_EQ(read, ids);
}

TEST_F(LaneFailures, FS_21_keys_outlive_the_sale_and_leftovers_of_an_older_generation_never_count) {
  (void)lane().admit({lane().ask("ann", "r1"), lane().ask("bob", "r1")});
  (void)lane().debit("t1", 1);
  (void)lane().debit("t2", 1);
  (void)lane().close_transfer("t2");
  const KeptLane first = kept_lane(redis(), lane().key);
  EXPECT_TRUE(first.faults.empty()) << text(first);  // the lives of all keys among them
  model::ItemTerms longer = lane().plan.terms;
  longer.ends_at += 30LL * 86'400'000;
  longer.version = 8;
  ASSERT_EQ(lane().configure(longer), LaneCode::done);
  const KeptLane kept = kept_lane(redis(), lane().key);
  EXPECT_TRUE(kept.faults.empty()) << text(kept);

  ASSERT_EQ(lane().reopen(10, {}), LaneCode::done);  // the next run, with nobody in it
  const KeptLane anew = kept_lane(redis(), lane().key);
  EXPECT_TRUE(anew.faults.empty()) << text(anew);
  EXPECT_TRUE(anew.state.marks.empty());
  EXPECT_TRUE(anew.state.transfers.empty());
  EXPECT_EQ(lane().read().stock.available, 10);
  EXPECT_EQ(lane().buy("ann", "r1"), Decision::admit);
  EXPECT_EQ(text(lane().debit("t1", 1)), "done 1");
}

TEST_F(LaneFailures, FS_21_a_lane_of_a_sale_long_over_is_still_there_when_it_is_rebuilt) {
  lane().plan.terms.starts_at = 1'000;
  lane().plan.terms.ends_at = 2'000;
  ASSERT_EQ(lane().reopen(3, {OneLane::row(lane().ask("ann", "r1"), model::OrderState::paid)}), LaneCode::done);
  EXPECT_TRUE(lane().read().open);
  EXPECT_EQ(lane().buy("ann", "r1"), Decision::replay);
  EXPECT_EQ(lane().buy("bob", "r1"), Decision::ended);
}

TEST_F(LaneFailures, FS_45_settings_that_lose_or_evict_are_named) {
  const auto has = [](const std::vector<std::string>& faults, std::string_view name) {
    return std::ranges::any_of(faults, [&](const std::string& one) { return one.contains(name); });
  };
  const RedisReply as_it_was = redis().command(lane().key, {"CONFIG", "GET", "maxmemory-policy"});
  const std::string policy{as_it_was.items().at(1).text()};
  redis().command(lane().key, {"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const auto evicting = check_settings(redis().redis(), false);
  redis().command(lane().key, {"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  const auto sound = check_settings(redis().redis(), false);
  const auto as_cluster = check_settings(redis().redis(), true);
  redis().command(lane().key, {"CONFIG", "SET", "maxmemory-policy", policy});
  ASSERT_TRUE(evicting && sound && as_cluster);
  EXPECT_TRUE(has(*evicting, "maxmemory-policy"));
  EXPECT_FALSE(has(*sound, "maxmemory-policy"));
  EXPECT_TRUE(has(*as_cluster, "min-replicas-to-write"));
  EXPECT_TRUE(has(*as_cluster, "connected_slaves"));
}

}  // namespace
}  // namespace seckill::admission::redis::test
