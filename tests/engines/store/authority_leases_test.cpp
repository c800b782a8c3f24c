// Leases and their tokens on a real server: nodes that race, one that slept, one whose call arrives late.
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "authority_world.hpp"
#include "store/mysql/authority_rows.hpp"

namespace seckill::store::mysql {
namespace {

using base::Errc;
using std::chrono::milliseconds;

class MysqlLeases : public AuthorityWorld {};

TEST_F(MysqlLeases, of_nodes_that_race_each_token_has_one_holder) {
  (void)store();
  const auto other = another_store();
  constexpr milliseconds ttl{1};  // runs out between two rounds, so that the token moves on
  std::mutex mutex;
  std::map<std::uint64_t, std::string> holders;
  std::vector<std::jthread> nodes;
  for (int node = 0; node < 4; ++node) {
    nodes.emplace_back([&, node] {
      LaneAuthority& authority = node % 2 == 0 ? store() : *other;
      const std::string name = "node-" + std::to_string(node);
      std::uint64_t last = 0;
      for (int round = 0; round < 50; ++round) {
        const auto lease = authority.acquire_lease(leader_lease, name, ttl);
        ASSERT_TRUE(lease.has_value()) << lease.error().text();
        if (!*lease) continue;
        EXPECT_GE((*lease)->token, last) << "a token never goes back";
        last = (*lease)->token;
        const std::scoped_lock lock{mutex};
        const auto [known, is_new] = holders.emplace(last, name);
        EXPECT_EQ(known->second, name) << "token " << last << " has two holders";
      }
    });
  }
  nodes.clear();
  ASSERT_FALSE(holders.empty());
  EXPECT_EQ(holders.begin()->first, 1U);
  EXPECT_EQ(holders.rbegin()->first, holders.size()) << "no token was given twice or to nobody";
}

TEST_F(MysqlLeases, of_many_that_make_a_lease_together_one_has_it) {
  (void)store();
  const auto other = another_store();
  for (int round = 0; round < 10; ++round) {
    const std::string name = "lease-" + std::to_string(round);
    std::atomic<int> holders{0};
    std::vector<std::jthread> nodes;
    for (int node = 0; node < 4; ++node) {
      nodes.emplace_back([&, node] {
        LaneAuthority& authority = node % 2 == 0 ? store() : *other;
        const auto lease = authority.acquire_lease(name, "node-" + std::to_string(node), std::chrono::minutes{5});
        ASSERT_TRUE(lease.has_value()) << lease.error().text();
        if (*lease) {
          ++holders;
          EXPECT_EQ((*lease)->token, 1U);
        }
      });
    }
    nodes.clear();
    EXPECT_EQ(holders, 1);
  }
}

TEST_F(MysqlLeases, a_holder_who_slept_over_his_lease_can_neither_close_rebuild_nor_open) {
  const auto shop = a_shop(16);
  const auto other = another_store();
  const auto slept = lead(store(), "a", milliseconds{200});
  ASSERT_TRUE(store().rebuild_lane(shop.item(), 0, slept).has_value());
  std::this_thread::sleep_for(milliseconds{250});
  const auto token = lead(*other, "b");
  EXPECT_GT(token, slept);
  EXPECT_EQ(store().open_lane(shop.item(), 0, 2, LaneState::lane, "run", "replication", slept).error().code,
            Errc::stale);
  EXPECT_EQ(store().close_lane(shop.item(), 1, slept).error().code, Errc::stale);
  EXPECT_EQ(store().rebuild_lane(shop.item(), 1, slept).error().code, Errc::stale);
  EXPECT_EQ(store().drain_lane(shop.item(), 0, 2, 0, slept).error().code, Errc::stale);
  EXPECT_EQ(row(shop, 0).state, LaneState::closed);
  EXPECT_EQ(row(shop, 0).row.generation, 2U);
  EXPECT_EQ(row(shop, 1).state, LaneState::lane);
  EXPECT_EQ(row(shop, 1).row.generation, 1U);
  EXPECT_FALSE(store().acquire_lease(leader_lease, "a", lease_ttl).value().has_value());
}

TEST_F(MysqlLeases, nobody_takes_the_lease_while_a_leader_commits_by_it) {
  const auto token = lead(store(), "a", milliseconds{1});
  const auto connection = plain();
  ASSERT_TRUE(connection->execute("beginning", "BEGIN").has_value());
  Work committing{*connection, "committing by a token"};
  ASSERT_TRUE(hold_token(committing, token).has_value());
  auto taken = std::async(std::launch::async, [&] { return lead(store(), "b"); });
  EXPECT_EQ(taken.wait_for(milliseconds{300}), std::future_status::timeout);
  ASSERT_TRUE(connection->execute("committing", "COMMIT").has_value());
  EXPECT_EQ(taken.get(), token + 1);
}

// The leader asks to open a lane, hears nothing, gives up and closes it; his first call arrives then.
TEST_F(MysqlLeases, an_opening_that_was_given_up_does_not_open_the_lane_later) {
  const auto shop = a_shop(16);
  const auto token = lead(store(), "a");
  ASSERT_EQ(store().rebuild_lane(shop.item(), 0, token).value().generation, 2U);

  const auto slow = plain();  // keeps the lane's row busy, so that the opening is under way on the server
  ASSERT_TRUE(slow->execute("beginning", "BEGIN").has_value());
  ASSERT_TRUE(slow->query("locking", "SELECT lane FROM lane_stock WHERE lane = 0 FOR UPDATE", {}, [](const auto&) {})
                  .has_value());
  MysqlConfig impatient = config();
  impatient.call_longest = milliseconds{1'000};
  impatient.lock_wait = std::chrono::seconds{60};
  const auto leader = another_store(impatient);
  const auto opened = leader->open_lane(shop.item(), 0, 2, LaneState::lane, "run", "replication", token);
  ASSERT_FALSE(opened.has_value()) << "the row was locked all the time";
  EXPECT_EQ(opened.error().code, Errc::unavailable) << "what never asked for COMMIT has written nothing";

  ASSERT_TRUE(slow->execute("committing", "COMMIT").has_value());
  ASSERT_TRUE(store().close_lane(shop.item(), 0, token).has_value()) << "waits for whoever has the row";
  EXPECT_EQ(row(shop, 0).state, LaneState::closed);
  EXPECT_EQ(row(shop, 0).run_id, "");
}

}  // namespace
}  // namespace seckill::store::mysql
