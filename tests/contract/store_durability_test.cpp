// What was acknowledged is there after a restart, after kill -9, and in a backup (P5). The child of the kill test lands
// and ends tickets as fast as it can and tells each answer through a pipe after it got it; what it told must be true.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>

#include "store_contract.hpp"

namespace seckill::store::contract {
namespace {

using model::OrderState;

class StoreDurability : public StoreSuite {};
SECKILL_FOR_EVERY_STORE(StoreDurability);

TEST_P(StoreDurability, everything_is_there_after_a_restart) {
  const Shop shop = a_shop(100);
  const auto paid = shop.ordered(shop.intent("alice", "r1", 2));
  const auto waiting = shop.ordered(shop.intent("bob"));
  ASSERT_EQ(shop.end(pay(paid, "p1")).result, EndResult::done);
  const model::Sale sale = store().find_sale(shop.item().sale).value();
  reopen();
  const Shop after{store(), sale};
  EXPECT_EQ(after.order(paid).state, OrderState::paid);
  EXPECT_EQ(after.order(waiting).state, OrderState::awaiting_payment);
  EXPECT_EQ(after.sums(), (ledger::LaneStock{.available = 97, .held = 1, .sold = 2}));
  EXPECT_EQ(after.end(pay(paid, "p1")).result, EndResult::already_there);
  EXPECT_EQ(after.land({after.intent("bob")}).value()[0].as, LandedAs::already_live);
  EXPECT_EQ(store().find_sale(sale.id).value().ticket_key, sale.ticket_key);
  EXPECT_EQ(store().audit_log(0, 10).value().size(), 2U);
  EXPECT_EQ(after.broken(), "");
}

// One acknowledged ticket on its way to the parent.
struct Told {
  base::Bytes16 ticket;
  std::uint8_t state;
};

// Never returns; killed by the parent.
[[noreturn]] void land_until_killed(Place& place, const model::Sale& sale, int run, int pipe) {
  auto store = place.open();
  if (!store) ::_exit(3);
  const Shop shop{**store, sale};
  const auto tell = [&](const model::Ticket& ticket, OrderState state) {
    Told told{.ticket = ticket.bytes(), .state = static_cast<std::uint8_t>(state)};
    if (::write(pipe, &told, sizeof told) != sizeof told) ::_exit(4);
  };
  for (int batch = 0;; ++batch) {
    std::vector<model::LaneRecord> records;
    for (int i = 0; i < 20; ++i) {
      records.push_back(shop.intent("b" + std::to_string(run) + "-" + std::to_string(batch) + "-" + std::to_string(i)));
    }
    records.push_back(model::StockTransfer{.id = "t" + std::to_string(run) + "-" + std::to_string(batch),
                                           .item = shop.item(),
                                           .from = batch % 2,
                                           .to = 1 - batch % 2,
                                           .units = 1,
                                           .generation = 1,
                                           .at = start_of_sale});
    if (!(*store)->land(records, start_of_sale + 10)) ::_exit(5);
    for (int i = 0; i < 20; ++i) {
      tell(std::get<model::OrderIntent>(records[static_cast<std::size_t>(i)]).ticket, OrderState::awaiting_payment);
    }
    const auto first = std::get<model::OrderIntent>(records[0]).ticket;
    const auto second = std::get<model::OrderIntent>(records[1]).ticket;
    const std::vector commands{pay(first, "p" + std::to_string(run) + "-" + std::to_string(batch)), cancel(second)};
    if (!(*store)->end_tickets(commands)) ::_exit(6);
    tell(first, OrderState::paid);
    tell(second, OrderState::cancelled);
  }
}

// Reads what the child tells until `enough`, then kills it and reads the rest.
std::vector<Told> told_before_kill(pid_t child, int pipe, std::size_t enough) {
  std::vector<Told> all;
  Told told{};
  bool killed = false;
  while (::read(pipe, &told, sizeof told) == sizeof told) {
    all.push_back(told);
    if (all.size() < enough || killed) continue;
    ::kill(child, SIGKILL);
    killed = true;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
  return all;
}

TEST_P(StoreDurability, after_kill_9_while_landing_every_acknowledged_ticket_is_there) {
  if (!GetParam().outlives_its_process) GTEST_SKIP() << "its data is in the process that is killed";
  const Shop shop = a_shop(100'000);
  const model::Sale sale = store().find_sale(shop.item().sale).value();
  store_.reset();  // the child must be its only user
  std::vector<Told> all;
  for (int run = 0; run < 4; ++run) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) land_until_killed(*place_, sale, run, ends[1]);
    ::close(ends[1]);
    // Different counts stop it at different points of a batch.
    const auto told = told_before_kill(child, ends[0], 100 + 37 * static_cast<std::size_t>(run));
    ::close(ends[0]);
    all.insert(all.end(), told.begin(), told.end());
    open();
    const Shop after{store(), sale};
    for (const Told& one : all) {
      const auto order = store().find_order(model::Ticket{one.ticket}).value();
      ASSERT_TRUE(order.has_value()) << "an acknowledged ticket is lost";
      if (one.state != static_cast<std::uint8_t>(OrderState::awaiting_payment)) {
        EXPECT_EQ(static_cast<std::uint8_t>(order->state), one.state) << "an acknowledged end is lost";
      }
    }
    EXPECT_EQ(after.broken(), "");
    store_.reset();
  }
  EXPECT_GT(all.size(), 500U);
}

TEST_P(StoreDurability, a_backup_is_a_whole_store_taken_while_landing_goes_on) {
  if (!GetParam().has_backup) {
    EXPECT_EQ(store().backup(place_->backup_path()).error().code, base::Errc::refused);
    return;
  }
  const Shop shop = a_shop(100'000);
  const auto before = shop.ordered(shop.intent("alice"));
  const model::Sale sale = store().find_sale(shop.item().sale).value();
  std::atomic<bool> stop{false};
  {
    const std::jthread landing{[&] {
      for (int i = 0; !stop; ++i) ASSERT_TRUE(shop.land({shop.intent("b" + std::to_string(i))}).has_value());
    }};
    const auto done = store().backup(place_->backup_path());
    stop = true;
    ASSERT_TRUE(done.has_value()) << done.error().text();
  }
  EXPECT_EQ(store().backup(place_->backup_path()).error().code, base::Errc::already_exists);
  const auto place = place_->from_backup();
  auto copy = place->open();
  ASSERT_TRUE(copy.has_value()) << copy.error().text();
  const Shop restored{**copy, sale};
  EXPECT_EQ(restored.order(before).buyer.view(), "alice");
  EXPECT_EQ(restored.broken(), "");
  restored.ordered(restored.intent("after"));
  EXPECT_EQ(shop.broken(), "");
}

TEST_P(StoreDurability, a_backup_that_cannot_be_written_leaves_nothing_and_the_store_goes_on) {
  const Shop shop = a_shop(100);
  EXPECT_FALSE(store().backup("/nonexistent-folder/backup").has_value());
  shop.ordered(shop.intent("alice"));
  EXPECT_TRUE(store().probe().has_value());
  EXPECT_EQ(shop.broken(), "");
}

}  // namespace
}  // namespace seckill::store::contract
