// The operators' worker pool under many threads, and stopped among them.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "ops/worker_pool.hpp"

namespace seckill::ops {
namespace {

TEST(WorkerPoolThreads, P9_StoppedAmongManyCallersItRunsExactlyWhatItTook) {
  for (int round = 0; round < 10; ++round) {
    std::atomic<bool> stopped{false};
    std::atomic<int> taken{0};
    std::atomic<int> ran{0};
    std::atomic<int> held{0};  // what tasks hold: given back whether run or not
    WorkerPool pool{"test", 3, 8};
    {
      std::vector<std::jthread> callers;
      for (int t = 0; t < 4; ++t) {
        callers.emplace_back([&] {
          // Before, while and after the pool stops; the last one certainly after.
          for (bool last = false; !last;) {
            last = stopped;
            ++held;
            auto token = std::shared_ptr<int>{new int{1}, [&](int* it) {
                                                delete it;
                                                --held;
                                              }};
            if (pool.run([&ran, token = std::move(token)] { ran += *token; })) {
              ++taken;
            } else {
              std::this_thread::yield();
            }
          }
        });
      }
      while (taken < 50) std::this_thread::yield();
      pool.stop();
      stopped = true;
      EXPECT_FALSE(pool.run([] {}));
      pool.stop();
    }
    EXPECT_EQ(ran, taken);
    EXPECT_EQ(held, 0);
  }
}

}  // namespace
}  // namespace seckill::ops
