// Connections that die, locks that others hold, and pools that are used up: what the store does by itself, and what it
// answers when it cannot.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "../../contract/store_contract.hpp"
#include "backend.hpp"

namespace seckill::store::mysql {
namespace {

using contract::a_sale;
using contract::an_item;
using contract::by;
using contract::Shop;
using contract::start_of_sale;
using drivers::mariadb::Row;

class StoreConnections : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_server()) GTEST_SKIP() << no_test_server;
    database_ = std::make_unique<TestDatabase>();
  }
  // A preloaded sale of one item with two lanes.
  Shop a_shop(const std::function<void(MysqlConfig&)>& adjust = {}) {
    MysqlConfig config = database_->config();
    if (adjust) adjust(config);
    auto opened = open(config);
    EXPECT_TRUE(opened.has_value()) << opened.error().text();
    store_ = std::move(opened.value());
    model::SaleItem item = an_item("sku1", 1'000, 2);
    item.lanes = 2;
    const model::Sale sale = a_sale("s1", {item});
    EXPECT_TRUE(store_->create_sale(sale, by("create")).has_value());
    EXPECT_TRUE(store_->preload(sale.id, start_of_sale, by("preload")).has_value());
    return Shop{*store_, sale};
  }
  std::unique_ptr<drivers::mariadb::Connection> plain() const { return plain_connection(database_->config()); }
  static void must(const base::Status& status) { ASSERT_TRUE(status.has_value()) << status.error().text(); }

  // Every connection to the database but this one's.
  int kill_connections() const {
    const auto killer = plain();
    std::vector<std::int64_t> ids;
    must(killer->query("listing connections",
                       "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
                       {}, [&](const Row& row) { ids.push_back(row.integer(0)); }));
    for (const std::int64_t id : ids) must(killer->execute("killing", "KILL CONNECTION " + std::to_string(id)));
    return static_cast<int>(ids.size());
  }
  // Until so many transactions wait for a lock; false after ten seconds.
  bool someone_waits(int wanted = 1) const {
    const auto watcher = plain();
    for (int i = 0; i < 60; ++i) {
      std::int64_t waiting = 0;
      must(watcher->query("looking for waits",
                          "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'", {},
                          [&](const Row& row) { waiting = row.integer(0); }));
      if (waiting >= wanted) return true;
      // The server shows a new picture only to who has not looked for 100 ms.
      std::this_thread::sleep_for(std::chrono::milliseconds{160});
    }
    return false;
  }

  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<MysqlStore> store_;
};

TEST_F(StoreConnections, FS_41_connections_that_died_idle_are_replaced_before_anything_is_asked) {
  const Shop shop = a_shop();
  const auto ticket = shop.ordered(shop.intent("alice"));
  for (int night = 0; night < 3; ++night) {
    ASSERT_TRUE(store_->find_order(ticket).has_value());
    ASSERT_GE(kill_connections(), 2);
    const auto landed = shop.land({shop.intent("buyer-" + std::to_string(night))});
    ASSERT_TRUE(landed.has_value()) << landed.error().text();
    const auto order = store_->find_order(ticket);
    ASSERT_TRUE(order.has_value()) << order.error().text();
    const auto sale = store_->find_sale(shop.item().sale);
    ASSERT_TRUE(sale.has_value()) << sale.error().text();
    const auto audited = store_->append_audit(by("note"));
    ASSERT_TRUE(audited.has_value()) << audited.error().text();
  }
  EXPECT_GE(store_->counters().reconnected, 6U);
  EXPECT_EQ(shop.broken(), "");
}

TEST_F(StoreConnections, FS_13_a_transaction_that_a_deadlock_rolled_back_is_done_again) {
  const Shop shop = a_shop();
  // The other transaction has written more, so that the server chooses the landing as the victim.
  const auto other = plain();
  must(other->execute("other", "BEGIN"));
  for (int i = 0; i < 30; ++i) must(other->execute("other", "INSERT INTO probe (room) VALUES ('x')"));
  must(other->execute("other", "UPDATE lane_stock SET version = version + 1 WHERE lane = 1"));
  base::Result<std::vector<Landed>> landed;
  std::jthread landing{[&] { landed = shop.land({shop.intent("alice", "r1", 1, 0), shop.intent("bob", "r1", 1, 1)}); }};
  ASSERT_TRUE(someone_waits());
  must(other->execute("other", "UPDATE lane_stock SET version = version + 1 WHERE lane = 0"));
  must(other->execute("other", "COMMIT"));
  landing.join();
  ASSERT_TRUE(landed.has_value()) << landed.error().text();
  EXPECT_EQ(landed->at(0).as, LandedAs::ordered);
  EXPECT_EQ(landed->at(1).as, LandedAs::ordered);
  EXPECT_GE(store_->counters().retried, 1U);
  EXPECT_EQ(shop.broken(), "");
}

TEST_F(StoreConnections, FS_13_a_row_locked_for_too_long_is_unavailable_and_nothing_was_written) {
  const Shop shop = a_shop([](MysqlConfig& config) {
    config.lock_wait = std::chrono::seconds{1};
    config.attempts = 2;
  });
  const auto other = plain();
  must(other->execute("other", "BEGIN"));
  must(other->execute("other", "SELECT * FROM lane_stock FOR UPDATE"));
  const auto refused = shop.land({shop.intent("alice")});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, base::Errc::unavailable) << refused.error().text();
  EXPECT_EQ(store_->counters().retried, 1U);
  must(other->execute("other", "ROLLBACK"));
  EXPECT_FALSE(store_->find_order(shop.intent("alice").ticket).value().has_value());
  shop.ordered(shop.intent("alice"));
  EXPECT_EQ(shop.broken(), "");
}

TEST_F(StoreConnections, P9_a_pool_that_is_used_up_answers_limit_after_its_wait) {
  const Shop shop = a_shop([](MysqlConfig& config) {
    config.write_connections = 1;
    config.pool_wait = std::chrono::milliseconds{50};
    config.lock_wait = std::chrono::seconds{30};
    config.call_longest = std::chrono::seconds{60};
  });
  const auto other = plain();
  must(other->execute("other", "BEGIN"));
  must(other->execute("other", "SELECT * FROM lane_stock FOR UPDATE"));
  base::Result<std::vector<Landed>> landed;
  std::jthread landing{[&] { landed = shop.land({shop.intent("alice")}); }};
  ASSERT_TRUE(someone_waits());
  EXPECT_EQ(shop.land({shop.intent("bob")}).error().code, base::Errc::limit);
  must(other->execute("other", "ROLLBACK"));
  landing.join();
  EXPECT_TRUE(landed.has_value()) << landed.error().text();
  EXPECT_GE(store_->counters().pool_waits, 1U);
}

TEST_F(StoreConnections, lanes_of_one_item_do_not_wait_for_each_other) {
  const Shop shop = a_shop([](MysqlConfig& config) {
    config.lock_wait = std::chrono::seconds{1};
    config.attempts = 1;
  });
  const auto other = plain();
  must(other->execute("other", "BEGIN"));
  must(other->execute("other", "SELECT * FROM lane_stock WHERE lane = 0 FOR UPDATE"));
  EXPECT_TRUE(shop.land({shop.intent("alice", "r1", 1, 1)}).has_value());
  EXPECT_FALSE(shop.land({shop.intent("bob", "r1", 1, 0)}).has_value());
}

TEST_F(StoreConnections, a_server_that_is_not_there_is_unavailable) {
  MysqlConfig config = database_->config();
  config.port = 1;
  const auto opened = open(config);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, base::Errc::unavailable);
  EXPECT_NE(opened.error().text().find("127.0.0.1:1"), std::string::npos) << opened.error().text();
}

// Landing, ends, steals and top-ups, each from threads of its own, over all lanes of an item.
TEST_F(StoreConnections, FS_13_landing_ends_and_transfers_against_each_other_all_finish_and_the_books_balance) {
  MysqlConfig config = database_->config();
  config.attempts = 20;
  store_ = std::move(open(config).value());
  model::SaleItem item = an_item("sku1", 100'000, 4);
  item.lanes = 4;
  item.reserve = 1'000;
  const model::Sale sale = a_sale("s1", {item});
  must(store_->create_sale(sale, by("create")));
  must(store_->preload(sale.id, start_of_sale, by("preload")));
  const Shop shop{*store_, sale};
  std::atomic<int> failures{0};
  std::mutex mutex;
  std::string first;
  const auto check = [&](const auto& result) {
    if (result) return;
    failures += 1;
    const std::lock_guard lock{mutex};
    if (first.empty()) first = result.error().text();
  };
  {
    std::vector<std::jthread> threads;
    for (int consumer = 0; consumer < 3; ++consumer) {
      threads.emplace_back([&, consumer] {
        for (int batch = 0; batch < 15; ++batch) {
          std::vector<model::OrderIntent> intents;
          std::vector<EndCommand> ends;
          for (int i = 0; i < 30; ++i) {
            const std::string buyer = "b" + std::to_string(i % 20);  // the same buyers from every thread
            const std::string request =
                std::to_string(consumer) + "-" + std::to_string(batch) + "-" + std::to_string(i);
            model::OrderIntent intent = shop.intent(buyer, request);
            intent.limit = 1'000;
            intents.push_back(intent);
            if (i % 3 == 0) ends.push_back(contract::cancel(intent.ticket));
            if (i % 3 == 1) ends.push_back(contract::pay(intent.ticket, request));
          }
          check(shop.land(intents));
          check(store_->end_tickets(ends));
          const auto releases = store_->pending_releases(50);
          check(releases);
          std::vector<std::int64_t> ids;
          if (releases) {
            for (const PendingRelease& release : *releases) ids.push_back(release.id);
          }
          check(store_->acknowledge_releases(ids));
        }
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 60; ++i) {
        const std::string id = "steal-" + std::to_string(i);
        check(store_->commit_transfer({.id = id,
                                       .item = shop.item(),
                                       .from = i % 4,
                                       .to = (i + 1 + i % 3) % 4,
                                       .units = 5,
                                       .from_generation = 1,
                                       .to_generation = 1}));
        check(store_->close_transfer(id));
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const model::StockTransfer transfer{.id = "top-up-" + std::to_string(i),
                                            .item = shop.item(),
                                            .from = model::StockTransfer::pool,
                                            .to = 3 - i % 4,
                                            .units = 10,
                                            .generation = 1,
                                            .at = start_of_sale};
        check(store_->pool_to_lanes({&transfer, 1}, by("item.top_up")));
        check(store_->add_to_pool(shop.item(), 1, "more-" + std::to_string(i), by("item.top_up")));
      }
    });
  }
  EXPECT_EQ(failures.load(), 0) << first;
  EXPECT_EQ(shop.broken(), "");
  const ItemAudit audit = store_->audit_item(shop.item(), start_of_sale).value();
  EXPECT_EQ(audit.orders_by_state[static_cast<int>(model::OrderState::cancelled)], 3 * 15 * 10);
  EXPECT_EQ(audit.orders_by_state[static_cast<int>(model::OrderState::paid)], 3 * 15 * 10);
}

}  // namespace
}  // namespace seckill::store::mysql
