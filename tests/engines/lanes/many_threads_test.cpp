// Many threads at one lane, through one driver: what no interleaving may do.
#include <fmt/format.h>

#include <atomic>
#include <set>
#include <thread>

#include "admission/redis/lane_keys.hpp"
#include "drivers/redis/slots.hpp"
#include "lanes/lane_engines.hpp"

namespace seckill::admission::redis::test {
namespace {

constexpr int threads = 16;

// Runs `work` in many threads that start together.
template <typename Work>
void together(const Work& work) {
  std::atomic<bool> go = false;
  std::vector<std::jthread> all;  // joined first
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&go, &work, i] {
      go.wait(false);
      work(i);
    });
  }
  go = true;
  go.notify_all();
}

class LaneCrowd : public LaneContract {};
INSTANTIATE_TEST_SUITE_P(Engines, LaneCrowd, testing::Values(EngineKind::redis, EngineKind::cluster),
                         [](const auto& one) { return one.param == EngineKind::redis ? "redis" : "cluster"; });

TEST_P(LaneCrowd, FS_01_the_last_units_go_to_as_many_buyers) {
  lane().open(5);
  std::atomic<int> admitted = 0;
  std::atomic<int> short_of_stock = 0;
  together([&](int thread) {
    for (int i = 0; i < 10; ++i) {
      const Decision decision = lane().buy(fmt::format("buyer-{}-{}", thread, i), "r1");
      if (decision == Decision::admit) ++admitted;
      if (decision == Decision::short_of_stock) ++short_of_stock;
    }
  });
  EXPECT_EQ(admitted, 5);
  EXPECT_EQ(short_of_stock, threads * 10 - 5);
  EXPECT_EQ(lane().read().stock, (ledger::LaneStock{.available = 0, .held = 5, .sold = 0}));
  EXPECT_EQ(lane().read().marks, 5);
}

TEST_P(LaneCrowd, FS_04_one_buyers_clicks_take_no_more_than_his_limit) {
  lane().open(100, 2, 16);
  std::atomic<int> admitted = 0;
  together([&](int thread) {
    for (int i = 0; i < 5; ++i) {
      if (lane().buy("ann", fmt::format("r-{}-{}", thread, i)) == Decision::admit) ++admitted;
    }
  });
  EXPECT_EQ(admitted, 2);
  EXPECT_EQ(lane().read().stock, (ledger::LaneStock{.available = 98, .held = 2, .sold = 0}));
}

TEST_P(LaneCrowd, FS_05_a_request_that_comes_many_times_at_once_is_one_ticket) {
  lane().open(100, 5);
  std::atomic<int> admitted = 0;
  std::atomic<int> replayed = 0;
  together([&](int) {
    for (int i = 0; i < 5; ++i) {
      const Decision decision = lane().buy("ann", "r1");
      if (decision == Decision::admit) ++admitted;
      if (decision == Decision::replay) ++replayed;
    }
  });
  EXPECT_EQ(admitted, 1);
  EXPECT_EQ(replayed, threads * 5 - 1);
  EXPECT_EQ(lane().tickets_of("ann").tickets.size(), 1U);
  EXPECT_EQ(lane().claim().size(), 1U);
}

TEST_P(LaneCrowd, P6_ends_from_everywhere_give_each_unit_back_once) {
  lane().open(50);
  std::vector<LaneAsk> asks;
  for (int i = 0; i < 50; ++i) asks.push_back(lane().ask(fmt::format("buyer-{}", i), "r1"));
  ASSERT_EQ(lane().admit(asks).code, LaneCode::done);
  together([&](int thread) {
    for (std::size_t i = 0; i < asks.size(); ++i) {
      (void)(i % 2 == 0 ? lane().release(asks[i]) : lane().post(asks[i]));
      if (thread % 4 == 0) (void)lane().confirm({asks[i]});
    }
  });
  EXPECT_EQ(lane().read().stock, (ledger::LaneStock{.available = 25, .held = 0, .sold = 25}));
  EXPECT_EQ(lane().read().open_intents, 0);
}

TEST_P(LaneCrowd, P5_waiting_for_replicas_says_whether_there_are_any) {
  lane().open(10);
  EXPECT_EQ(lane().buy("ann", "r1"), Decision::admit);
  const auto waited = lane().wait<LaneCode>([&](auto answer) {
    lane().lanes.wait_replicas(lane().key, lane().server, std::chrono::seconds{10}, std::move(answer));
  });
  EXPECT_EQ(waited, GetParam() == EngineKind::cluster ? LaneCode::done : LaneCode::refused);
}

// FS-20 without a server: whatever a sale is called.
TEST(LaneKeyNames, FS_20_all_keys_of_a_lane_share_its_slot_and_lanes_spread) {
  std::set<std::uint16_t> slots;
  for (const std::string sale : {"s1", "double-eleven_2026", "A"}) {
    for (model::LaneIndex index = 0; index < 16; ++index) {
      const LaneKey lane{.item = {.sale = *model::SaleId::parse(sale), .sku = *model::Sku::parse("sku-1")},
                         .lane = index};
      const auto keys = keys_of(lane, LaneKeys::installing);
      EXPECT_EQ(keys.size(), 13U);
      EXPECT_EQ(keys.front(), routing_key_of(lane));
      const std::uint16_t slot = drivers::redis::slot_of(keys.front());
      for (const std::string& key : keys) EXPECT_EQ(drivers::redis::slot_of(key), slot) << key;
      slots.insert(slot);
    }
  }
  EXPECT_GT(slots.size(), 40U);
}

}  // namespace
}  // namespace seckill::admission::redis::test
