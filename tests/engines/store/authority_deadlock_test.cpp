// FS-13: who loses a deadlock, or waits too long for a row, is tried again as a whole, and nobody is told. Raw
// connections do here what no code of ours does: lock against the order.
#include <algorithm>
#include <array>
#include <future>
#include <thread>
#include <vector>

#include "authority_world.hpp"

namespace seckill::store::mysql {
namespace {

using drivers::mariadb::Connection;

class MysqlDeadlock : public AuthorityWorld {
 protected:
  static void execute(Connection& connection, const std::string& sql) {
    const auto done = connection.execute("making trouble", sql);
    ASSERT_TRUE(done.has_value()) << done.error().text();
  }
  static bool locks(Connection& connection, int lane, const std::string& how = "") {
    return connection
        .query("locking", "SELECT lane FROM lane_stock WHERE lane = " + std::to_string(lane) + " FOR UPDATE" + how, {},
               [](const auto&) {})
        .has_value();
  }
  // Returns once somebody holds the lane's row.
  void wait_until_locked(int lane) {
    const auto probe = plain();
    bool free = true;
    for (int look = 0; free && look < 30'000; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      execute(*probe, "BEGIN");
      free = locks(*probe, lane, " NOWAIT");
      execute(*probe, "ROLLBACK");
    }
    EXPECT_FALSE(free) << "nobody came for lane " << lane;
  }
  static LaneTransfer a_steal(const contract::Shop& shop) {
    return {
        .id = "steal", .item = shop.item(), .from = 0, .to = 1, .units = 2, .from_generation = 1, .to_generation = 1};
  }
};

TEST_F(MysqlDeadlock, FS_13_the_victim_of_a_deadlock_is_tried_again_as_a_whole) {
  const auto shop = a_shop(16);
  const auto against = plain();
  execute(*against, "BEGIN");
  // The server gives up the transaction that has written less.
  for (int i = 0; i < 50; ++i) {
    execute(*against, "INSERT INTO audit (actor, action, detail, made_at) VALUES ('x', 'x', '{}', 1)");
  }
  ASSERT_TRUE(locks(*against, 1));
  auto committed = std::async(std::launch::async, [&] { return store().commit_transfer(a_steal(shop)); });
  wait_until_locked(0);
  ASSERT_TRUE(locks(*against, 0)) << "the other one is the victim";
  execute(*against, "COMMIT");
  const auto answer = committed.get();
  ASSERT_TRUE(answer.has_value()) << answer.error().text();
  EXPECT_EQ(*answer, TransferResult::done);
  EXPECT_GE(store().counters().retried, 1U);
  EXPECT_EQ(row(shop, 0).row.stock.available, 6);
  EXPECT_EQ(row(shop, 1).row.stock.available, 10);
  EXPECT_EQ(shop.broken(), "");
}

TEST_F(MysqlDeadlock, FS_13_who_waited_too_long_for_a_row_is_tried_again) {
  const auto shop = a_shop(16);
  MysqlConfig hasty = config();
  hasty.lock_wait = std::chrono::seconds{1};
  hasty.attempts = 60;
  const auto node = another_store(hasty);
  const auto slow = plain();
  execute(*slow, "BEGIN");
  ASSERT_TRUE(locks(*slow, 0));
  auto landed = std::async(std::launch::async, [&] {
    const std::vector<model::LaneRecord> batch{shop.intent("alice", "r1", 1, 0)};
    return node->land(batch, contract::start_of_sale + 10);
  });
  while (node->counters().retried == 0 &&
         landed.wait_for(std::chrono::milliseconds{10}) == std::future_status::timeout) {
  }
  execute(*slow, "COMMIT");
  const auto answer = landed.get();
  ASSERT_TRUE(answer.has_value()) << answer.error().text();
  EXPECT_EQ(answer->at(0).as, LandedAs::ordered);
  EXPECT_EQ(shop.broken(), "");
}

TEST_F(MysqlDeadlock, FS_13_copies_that_wait_for_a_key_that_is_rolled_back_become_one_order) {
  const auto shop = a_shop(64);
  const auto intent = shop.intent("alice", "r1", 1, 0);
  const auto holding = plain();
  execute(*holding, "BEGIN");
  const auto bytes = intent.ticket.bytes();
  const drivers::mariadb::Value ticket = std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  ASSERT_TRUE(holding
                  ->run("holding the key",
                        "INSERT INTO seckill_order (ticket, item_id, buyer, request_id, digest, lane, units, "
                        "price_minor, amount_minor, currency, state, reason, admitted_at, landed_at, pay_before, "
                        "ended_at, fields) VALUES (?, 1, 'x', 'x', 1, 0, 1, 1, 1, 'CNY', 3, 0, 1, 1, 1, 0, '')",
                        {&ticket, 1})
                  .has_value());
  std::vector<std::future<base::Result<std::vector<Landed>>>> copies;
  for (int i = 0; i < 8; ++i) {
    copies.push_back(std::async(std::launch::async, [&] { return shop.land({intent}); }));
  }
  wait_until_locked(0);
  execute(*holding, "ROLLBACK");
  int ordered = 0;
  for (auto& copy : copies) {
    const auto landed = copy.get();
    ASSERT_TRUE(landed.has_value()) << landed.error().text();
    ordered += landed->at(0).as == LandedAs::ordered ? 1 : 0;
  }
  EXPECT_EQ(ordered, 1);
  EXPECT_EQ(shop.broken(), "");
}

// Eight consumers, two items in both orders, a fifth of the messages twice, cancels and payments between them.
TEST_F(MysqlDeadlock, FS_13_consumers_with_copies_two_items_in_both_orders_cancels_and_payments_balance) {
  constexpr int consumers = 8;
  constexpr int batches = 10;
  constexpr int orders = 12;  // of each item in a batch
  const model::Sale sale = contract::a_sale("s1", {contract::an_item("a", 4'000, 8), contract::an_item("b", 4'000, 8)});
  ASSERT_TRUE(store().create_sale(sale, contract::by("sale.create")).has_value());
  ASSERT_TRUE(store().preload(sale.id, contract::start_of_sale, contract::by("sale.preload")).has_value());
  const std::array shops{contract::Shop{store(), sale, 0}, contract::Shop{store(), sale, 1}};
  MysqlConfig wide = config();
  wide.write_connections = consumers;
  const auto node = another_store(wide);
  const auto consume = [&](int consumer) {
    for (int batch = 0; batch < batches; ++batch) {
      std::vector<model::LaneRecord> records;
      for (int i = 0; i < orders; ++i) {
        for (const auto& shop : shops) {
          // The fifth of every batch is everybody's.
          const int whose = i % 5 == 0 ? 0 : consumer;
          records.emplace_back(shop.intent("b" + std::to_string(whose) + "-" + std::to_string(batch * orders + i)));
        }
      }
      if (consumer % 2 == 1) std::ranges::reverse(records);
      const auto landed = node->land(records, contract::start_of_sale + 10);
      ASSERT_TRUE(landed.has_value()) << landed.error().text();
      std::vector<EndCommand> ends;
      for (std::size_t i = 0; i < records.size(); ++i) {
        const auto& ticket = std::get<model::OrderIntent>(records[i]).ticket;
        if (i % 4 == 0) ends.push_back(contract::cancel(ticket));
        if (i % 4 == 1) ends.push_back(contract::pay(ticket, ticket.str()));
      }
      const auto ended = node->end_tickets(ends);
      ASSERT_TRUE(ended.has_value()) << ended.error().text();
    }
  };
  std::vector<std::jthread> threads;
  for (int consumer = 0; consumer < consumers; ++consumer) threads.emplace_back([&, consumer] { consume(consumer); });
  threads.clear();
  for (const auto& shop : shops) {
    EXPECT_EQ(shop.broken(), "");
    const auto sums = shop.sums();
    EXPECT_EQ(sums.available + sums.held + sums.sold, 4'000);
    EXPECT_GT(sums.sold, 0);
  }
  RecordProperty("retried", static_cast<int>(node->counters().retried));
}

}  // namespace
}  // namespace seckill::store::mysql
