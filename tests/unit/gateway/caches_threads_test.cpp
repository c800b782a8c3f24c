// The gateway's caches under many threads: found, kept, pushed out and forgotten at once. Meant for the thread
// sanitizer as much as for what is asserted.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gateway/login/token_cache.hpp"
#include "gateway/views/view_cache.hpp"
#include "unit/orders/shop.hpp"

namespace seckill::gateway {
namespace {

using namespace std::chrono_literals;

TEST(CacheThreads, ATokenIsNeverTakenForAnothersWhileManyArePutAndPushedOut) {
  TokenCache cache{64, 4'096};  // so few places that every put pushes another out
  std::atomic<int> found{0};
  {
    std::vector<std::jthread> crowd;
    for (int t = 0; t < 4; ++t) {
      crowd.emplace_back([&, t] {
        for (int i = 0; i < 5'000; ++i) {
          const int whose = (i * 7 + t * 13) % 200;
          const std::string name = "u" + std::to_string(whose);
          const std::string token = "token-of-" + name;
          if (const auto hit = cache.find(token)) {
            EXPECT_EQ(hit->buyer.view(), name);
            ++found;
          } else {
            cache.put(token, {.buyer = *model::BuyerId::parse(name), .expires_at = 1'000 + whose});
          }
          if (i % 100 == 0) EXPECT_LE(cache.bytes(), 4'096U);
        }
      });
    }
  }
  EXPECT_GT(found, 0);
}

TEST(CacheThreads, ViewsAreAskedForgottenAndAgedAtOnceAndEveryCallerIsAnsweredOnce) {
  constexpr int threads = 4;
  constexpr int each = 400;
  test::Shop shop;
  GatewayCounters counters;
  ViewCache cache{shop.reads(), shop.clock, counters};
  shop.open();
  std::atomic<int> answered{0};
  std::atomic<bool> asking{true};
  {
    // The sale is changed, and views grow old, as often as a few callers were answered.
    std::jthread edits{[&] {
      for (int next = 0; asking; std::this_thread::yield()) {
        if (answered < next) continue;
        next = answered + 20;
        cache.forget(shop.item.sale);
        shop.clock.advance(300ms);
      }
    }};
    std::vector<std::jthread> crowd;
    for (int t = 0; t < threads; ++t) {
      crowd.emplace_back([&, t] {
        for (int i = 0; i < each; ++i) {
          if (const auto here = cache.try_get(shop.item.sale); here && here->view) {
            // As the handlers do: the snapshot in a view is refreshed by whoever finds it old.
            StockSnapshot& stock = here->view->stock(here->view->sale().items.front());
            stock.about = stock.about + 1;
            stock.read_at_ns = i;
            EXPECT_FALSE(here->view->sale_json(shop.clock.now_utc()).empty());
          }
          cache.get(shop.item.sale, [&](const ViewAnswer& answer) {
            EXPECT_NE(answer.status, ViewStatus::not_found);
            ++answered;
          });
          if (i % 10 == 0) cache.list([&](const ListAnswer&) { ++answered; });
          if (i % 10 == 5) {
            cache.get(*model::SaleId::parse("none-" + std::to_string(i % 30 + t)), [&](const ViewAnswer& answer) {
              EXPECT_NE(answer.status, ViewStatus::found);
              ++answered;
            });
          }
        }
      });
    }
    crowd.clear();
    asking = false;
  }
  shop.reads().stop();
  EXPECT_EQ(answered, threads * (each + each / 5));
}

}  // namespace
}  // namespace seckill::gateway
