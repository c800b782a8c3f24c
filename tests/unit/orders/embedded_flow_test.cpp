// The embedded product without HTTP, end to end: a crowd larger than the stock, its payments, second thoughts and
// no-shows, then every deadline. At rest all identities hold, and a shop rebuilt from the store alone shows the same
// picture.
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "unit/orders/shop.hpp"

namespace seckill::orders {
namespace {

using model::OrderEvent;
using model::OrderState;
using model::PurchaseAnswer;
using store::EndResult;
using test::Shop;

constexpr int buyers = 2'000;
constexpr int threads = 8;
constexpr std::int64_t units = 100;

// What the crowd saw, to be compared with what the store says.
struct Seen {
  std::map<std::string, model::Ticket> tickets;  // by buyer and request
  std::int64_t repeats = 0;
  std::int64_t other_ticket = 0;
  std::int64_t paid = 0;
  std::int64_t cancelled = 0;
  std::int64_t refused = 0;

  void add(const Seen& other) {
    for (const auto& [name, ticket] : other.tickets) {
      const auto [at, is_new] = tickets.emplace(name, ticket);
      if (!is_new && at->second != ticket) ++other_ticket;
    }
    repeats += other.repeats;
    other_ticket += other.other_ticket;
    paid += other.paid;
    cancelled += other.cancelled;
    refused += other.refused;
  }
};

// As the buyer's page does: busy means undecided, and the same request is sent again.
admission::AdmitReply ask(Shop& shop, const std::string& buyer, const std::string& request) {
  auto reply = shop.admit(buyer, request);
  while (reply.answer == PurchaseAnswer::busy) reply = shop.admit(buyer, request);
  return reply;
}

// One buyer: asks (often twice), then pays, thinks better of it, both at once, or walks away.
void act(Shop& shop, const std::string& buyer, std::mt19937& random, Seen& seen) {
  const std::string request = "r" + std::to_string(random() % 2);
  const auto reply = ask(shop, buyer, request);
  if (reply.answer != PurchaseAnswer::admitted && reply.answer != PurchaseAnswer::replayed) {
    EXPECT_TRUE(reply.answer == PurchaseAnswer::sold_out || reply.answer == PurchaseAnswer::limit_reached)
        << model::name(reply.answer);
    ++seen.refused;
    return;
  }
  const auto ticket = reply.ticket.value().ticket;
  const auto [known, is_new] = seen.tickets.emplace(buyer + "/" + request, ticket);
  if (!is_new && known->second != ticket) ++seen.other_ticket;
  if (random() % 2 == 0) {
    const auto again = ask(shop, buyer, request);
    ++seen.repeats;
    if (again.answer != PurchaseAnswer::replayed || again.ticket.value().ticket != ticket) ++seen.other_ticket;
  }
  switch (random() % 4) {
    case 0: seen.paid += shop.end(ticket, OrderEvent::pay) == EndResult::done ? 1 : 0; break;
    case 1: seen.cancelled += shop.end(ticket, OrderEvent::cancel) == EndResult::done ? 1 : 0; break;
    case 2: {
      auto pay = shop.submit(Shop::command(ticket, OrderEvent::pay));
      auto cancel = shop.submit(Shop::command(ticket, OrderEvent::cancel));
      seen.paid += Shop::wait(std::move(pay))->result == EndResult::done ? 1 : 0;
      seen.cancelled += Shop::wait(std::move(cancel))->result == EndResult::done ? 1 : 0;
      break;
    }
    default: break;  // walks away
  }
}

Seen let_the_crowd_in(Shop& shop, unsigned seed) {
  std::vector<Seen> seen(threads);
  std::vector<std::thread> crowd;
  for (int thread = 0; thread < threads; ++thread) {
    crowd.emplace_back([&, thread] {
      std::mt19937 random{seed * 101 + static_cast<unsigned>(thread)};
      for (int i = 0; i < buyers / threads; ++i) {
        // Some buyers come on two threads at once, as from two devices.
        const auto who = static_cast<int>(random()) % (buyers / 2);
        act(shop, "buyer" + std::to_string(std::abs(who)), random, seen[static_cast<std::size_t>(thread)]);
      }
    });
  }
  for (auto& one : crowd) one.join();
  Seen all;
  for (const auto& one : seen) all.add(one);
  return all;
}

CrowdEvidence evidence(Shop& shop, const Seen& seen) {
  CrowdEvidence crowd;
  std::set<model::Ticket> distinct;
  for (const auto& [name, ticket] : seen.tickets) {
    ++crowd.acknowledged;
    if (!shop.state_of(ticket)) ++crowd.acknowledged_without_row;
    if (!distinct.insert(ticket).second) ++crowd.shared_tickets;
  }
  crowd.repeats = seen.repeats;
  crowd.repeats_with_other_ticket = seen.other_ticket;
  return crowd;
}

void expect_kept(const Picture& picture, const char* when) {
  for (const auto& verdict : judge(picture)) {
    EXPECT_TRUE(verdict.holds) << when << ": " << verdict.promise << " " << verdict.title << ": " << verdict.detail;
  }
}

void expect_same(const Picture& before, const Picture& after) {
  ASSERT_EQ(before.items.size(), after.items.size());
  const auto& a = before.items.at(0);
  const auto& b = after.items.at(0);
  ASSERT_EQ(a.lanes.size(), b.lanes.size());
  for (std::size_t lane = 0; lane < a.lanes.size(); ++lane) {
    EXPECT_EQ(a.lanes[lane].stock, b.lanes[lane].stock) << "lane " << lane;
    EXPECT_EQ(a.lanes[lane].marks, b.lanes[lane].marks) << "lane " << lane;
  }
  EXPECT_TRUE(std::ranges::equal(a.audit.orders_by_state, b.audit.orders_by_state));
  EXPECT_EQ(a.audit.stock.pool, b.audit.stock.pool);
}

class EmbeddedCrowd : public testing::TestWithParam<unsigned> {};

TEST_P(EmbeddedCrowd, a_crowd_on_scarce_stock_leaves_every_promise_kept_before_and_after_a_restart) {
  Shop shop{{.total = units, .limit = 1}};
  shop.open();
  const auto seen = let_the_crowd_in(shop, GetParam());
  shop.settle();
  auto picture = shop.picture();
  picture.crowd = evidence(shop, seen);
  expect_kept(picture, "after the crowd");
  EXPECT_GT(seen.refused, 0);
  EXPECT_EQ(shop.stock().sold, seen.paid);

  shop.restart();
  auto restarted = shop.picture();
  expect_kept(restarted, "after a restart among open orders");
  expect_same(picture, restarted);

  shop.clock.advance(std::chrono::milliseconds{60'001});
  shop.expire_all();
  picture = shop.picture();
  picture.crowd = evidence(shop, seen);
  expect_kept(picture, "after all deadlines");
  EXPECT_EQ(shop.stock().held, 0) << "everything ends";
  EXPECT_EQ(shop.stock().available + shop.stock().sold, units);
  const auto& states = picture.items.at(0).audit.orders_by_state;
  EXPECT_EQ(states[static_cast<std::size_t>(OrderState::paid)], seen.paid);
  EXPECT_EQ(states[static_cast<std::size_t>(OrderState::cancelled)], seen.cancelled);
  EXPECT_EQ(std::ssize(seen.tickets), std::accumulate(std::begin(states), std::end(states), std::int64_t{0}));

  shop.restart();
  restarted = shop.picture();
  expect_kept(restarted, "after a restart at rest");
  expect_same(picture, restarted);
  // A repeat is answered with its ticket for the life of the sale, however it ended (P4).
  for (const auto& [name, ticket] : seen.tickets) {
    const auto slash = name.find('/');
    const auto again = shop.admit(name.substr(0, slash), name.substr(slash + 1));
    EXPECT_EQ(again.answer, PurchaseAnswer::replayed);
    ASSERT_TRUE(again.ticket.has_value());
    EXPECT_EQ(again.ticket->ticket, ticket);
  }
  EXPECT_EQ(shop.stock().held, 0);
}

INSTANTIATE_TEST_SUITE_P(seeds, EmbeddedCrowd, testing::Values(1U, 2U, 3U));

TEST(EmbeddedFlow, a_disk_that_fills_and_frees_again_and_again_loses_nothing) {
  Shop shop{{.total = units, .limit = 1, .timing = {.outbox_every = std::chrono::milliseconds{5}}}};
  shop.open();
  std::atomic<bool> over{false};
  std::thread trouble{[&] {
    std::mt19937 random{7};
    const std::array methods{"land", "end_tickets", "acknowledge_released", "pending_releases", "acknowledge_releases"};
    while (!over) {
      shop.store().fail(methods[random() % methods.size()], base::Errc::disk_full, 2);
      std::this_thread::sleep_for(std::chrono::milliseconds{15});
    }
    shop.store().heal();
  }};
  std::vector<std::thread> crowd;
  std::mutex mutex;
  std::map<std::string, model::Ticket> acknowledged;
  for (int thread = 0; thread < 4; ++thread) {
    crowd.emplace_back([&, thread] {
      std::mt19937 random{static_cast<unsigned>(thread)};
      for (int i = 0; i < 50; ++i) {
        const auto buyer = "b" + std::to_string(thread) + "-" + std::to_string(i);
        const auto reply = ask(shop, buyer, "r");  // busy while the disk is full
        if (!reply.ticket) continue;
        {
          const std::lock_guard lock{mutex};
          acknowledged.emplace(buyer, reply.ticket->ticket);
        }
        if (random() % 2 == 0) {
          (void)Shop::wait(shop.submit(
              Shop::command(reply.ticket->ticket, random() % 2 == 0 ? OrderEvent::pay : OrderEvent::cancel)));
        }
      }
    });
  }
  for (auto& one : crowd) one.join();
  over = true;
  trouble.join();
  shop.expect_sound();
  for (const auto& [buyer, ticket] : acknowledged) EXPECT_TRUE(shop.state_of(ticket).has_value()) << buyer;
  shop.restart();
  shop.expect_sound();
  EXPECT_GE(std::ssize(acknowledged), units);
}

}  // namespace
}  // namespace seckill::orders
