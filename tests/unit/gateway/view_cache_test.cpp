// The view cache: few questions to the store whatever the crowd does (FS-44), edits seen in stated time (FS-53).
#include "gateway/views/view_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "unit/orders/shop.hpp"

namespace seckill::gateway {
namespace {

using namespace std::chrono_literals;

// The embedded shop's sale s1, and the cache on its reads.
struct CachedShop {
  explicit CachedShop(ViewCache::Config config = {}) : cache{shop.reads(), shop.clock, counters, config} {
    shop.open();
  }
  ~CachedShop() { shop.reads().stop(); }

  ViewAnswer get(std::string_view id) {
    std::promise<ViewAnswer> promise;
    auto answer = promise.get_future();
    cache.get(*model::SaleId::parse(id), [&promise](ViewAnswer got) { promise.set_value(std::move(got)); });
    if (answer.wait_for(test::patience) != std::future_status::ready) std::abort();
    return answer.get();
  }
  ListAnswer list() {
    std::promise<ListAnswer> promise;
    auto answer = promise.get_future();
    cache.list([&promise](ListAnswer got) { promise.set_value(std::move(got)); });
    if (answer.wait_for(test::patience) != std::future_status::ready) std::abort();
    return answer.get();
  }
  [[nodiscard]] std::uint64_t questions() const { return counters.events(GatewayEvent::view_refresh); }
  // Until the store has been asked `count` times and nothing waits.
  void await_questions(std::uint64_t count) {
    for (int i = 0; i < 60'000 && (questions() < count || shop.reads().waiting() > 0); ++i)
      std::this_thread::sleep_for(1ms);
    ASSERT_EQ(questions(), count);
  }
  void rename(const std::string& title) {
    auto sale = shop.store().find_sale(shop.item.sale);
    ASSERT_TRUE(sale);
    model::SaleEdit edit;
    edit.version = sale->version;
    edit.title = title;
    const auto edited = model::apply_edit(*sale, edit, shop.clock.now_utc());
    ASSERT_TRUE(edited) << edited.error().text();
    ASSERT_TRUE(shop.store().update_sale(*edited, {"test", "sale.edit", "{}", 1}));
  }

  test::Shop shop;
  GatewayCounters counters;
  ViewCache cache;
};

// Keeps every reader of the pool busy until it goes.
class BusyReaders {
 public:
  explicit BusyReaders(orders::OrderReads& reads) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(reads.run([released = released_](store::Store&) { released.wait(); }));
    }
  }
  ~BusyReaders() { release_.set_value(); }

 private:
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

TEST(ViewCache, FS_44_ACrowdAsksTheStoreOnce) {
  CachedShop s;
  std::atomic<int> found{0};
  {
    const BusyReaders busy{s.shop.reads()};
    for (int i = 0; i < 5'000; ++i) {
      s.cache.get(s.shop.item.sale,
                  [&found](const ViewAnswer& answer) { found += answer.status == ViewStatus::found; });
    }
    EXPECT_EQ(s.questions(), 1U);
  }
  EXPECT_EQ(s.get("s1").status, ViewStatus::found);
  for (int i = 0; i < 60'000 && found < 5'000; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(found, 5'000);
  EXPECT_EQ(s.questions(), 1U);
  EXPECT_TRUE(s.cache.try_get(s.shop.item.sale).has_value());
}

TEST(ViewCache, FS_44_UnknownSalesAreRememberedInBoundedRoom) {
  ViewCache::Config config;
  config.negatives_max = 16;
  CachedShop s{config};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(s.get("nothing").status, ViewStatus::not_found);
  EXPECT_EQ(s.questions(), 1U);
  EXPECT_EQ(s.counters.events(GatewayEvent::view_negative_hit), 9U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(s.get("made-up-" + std::to_string(i)).status, ViewStatus::not_found);
  EXPECT_EQ(s.get("s1").status, ViewStatus::found);
  EXPECT_EQ(s.counters.sales().size(), 2U) << "only the real sale got counters";
}

TEST(ViewCache, FS_44_ExpiryUnderLoadStallsNobody) {
  CachedShop s;
  ASSERT_EQ(s.get("s1").status, ViewStatus::found);
  s.shop.clock.advance(1'500ms);
  {
    const BusyReaders busy{s.shop.reads()};
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(s.cache.try_get(s.shop.item.sale).has_value());
    EXPECT_EQ(s.questions(), 2U) << "one asks, the others are served";
  }
  s.await_questions(2);
}

TEST(ViewCache, FS_53_AnEditIsSeenWithinTwoSeconds) {
  CachedShop s;
  ASSERT_EQ(s.get("s1").view->sale().title, "test");
  (void)s.list();
  s.rename("renamed");
  s.shop.clock.advance(1'001ms);
  (void)s.get("s1");  // served as it was, and asked for again
  s.await_questions(3);
  EXPECT_EQ(s.get("s1").view->sale().title, "renamed");
  s.shop.clock.advance(2'001ms);
  EXPECT_EQ(s.list().list->at(0)->sale().title, "renamed");
}

TEST(ViewCache, FS_53_AChangeMadeHereIsSeenAtOnce) {
  CachedShop shop;
  EXPECT_EQ(shop.get("s1").view->sale().title, shop.list().list->front()->sale().title);
  EXPECT_EQ(shop.get("later").status, ViewStatus::not_found);
  shop.rename("renamed");
  shop.cache.forget(shop.shop.item.sale);
  shop.cache.forget(*model::SaleId::parse("later"));
  EXPECT_EQ(shop.get("s1").view->sale().title, "renamed");
  EXPECT_EQ(shop.list().list->front()->sale().title, "renamed");
  const std::uint64_t asked = shop.questions();
  EXPECT_EQ(shop.get("later").status, ViewStatus::not_found);
  EXPECT_EQ(shop.questions(), asked + 1) << "an absence that was forgotten is asked for again";
}

TEST(ViewCache, FS_53_WhoAsksAfterAChangeIsNotGivenAReadFromBeforeIt) {
  std::atomic<int> answered{0};
  CachedShop s;
  {
    const BusyReaders busy{s.shop.reads()};
    const auto count = [&answered](const ViewAnswer& answer) { answered += answer.status == ViewStatus::found; };
    s.cache.get(s.shop.item.sale, count);  // this read is under way
    s.cache.forget(s.shop.item.sale);
    s.cache.get(s.shop.item.sale, count);
    EXPECT_EQ(s.questions(), 1U);
  }
  for (int i = 0; i < 60'000 && answered < 2; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(answered, 2);
  EXPECT_EQ(s.questions(), 2U) << "read once more, after the change";
  EXPECT_TRUE(s.cache.try_get(s.shop.item.sale).has_value());
}

TEST(ViewCache, WhenTheStoreCannotBeAskedOldViewsLastAndUnknownIsNotAbsent) {
  CachedShop s;
  ASSERT_EQ(s.get("s1").status, ViewStatus::found);
  ASSERT_EQ(s.list().status, ViewStatus::found);
  s.shop.reads().stop();
  EXPECT_EQ(s.get("nothing").status, ViewStatus::unavailable);
  s.shop.clock.advance(9s);
  EXPECT_EQ(s.get("s1").status, ViewStatus::found);
  EXPECT_EQ(s.list().status, ViewStatus::found);
  s.shop.clock.advance(2s);
  EXPECT_EQ(s.get("s1").status, ViewStatus::unavailable);
  EXPECT_EQ(s.list().status, ViewStatus::unavailable);
}

TEST(ViewCache, WaitingIsBounded) {
  ViewCache::Config config;
  config.waiting_max = 10;
  config.loads_max = 3;
  std::atomic<int> unavailable{0};  // outlives whatever still waits
  CachedShop s{config};
  const auto count = [&unavailable](const ViewAnswer& answer) {
    unavailable += answer.status == ViewStatus::unavailable;
  };
  {
    const BusyReaders busy{s.shop.reads()};
    for (int i = 0; i < 10; ++i) s.cache.get(*model::SaleId::parse("x" + std::to_string(i)), count);
    EXPECT_EQ(unavailable, 7) << "three reads at one time";
    for (int i = 0; i < 20; ++i) s.cache.get(*model::SaleId::parse("x0"), count);
    EXPECT_EQ(unavailable, 7 + 13) << "ten waiting at one time";
  }
  for (int i = 0; i < 60'000 && s.shop.reads().waiting() > 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(s.get("s1").status, ViewStatus::found);
}

TEST(ViewCache, ManyThreadsAndAMovingClock) {
  CachedShop s;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&s, &wrong, t] {
      for (int i = 0; i < 500; ++i) {
        if (t == 0) s.shop.clock.advance(50ms);
        const auto known = s.cache.try_get(s.shop.item.sale);
        const ViewAnswer answer = known ? *known : s.get("s1");
        if (answer.status != ViewStatus::found) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(s.questions(), 27U) << "about one a second of the 25 that passed";
}

}  // namespace
}  // namespace seckill::gateway
