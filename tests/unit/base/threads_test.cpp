// The system's threads behind the Threads port: names, joins, signals and bounded waits, and the log under many
// writers.
#include "base/threads.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include "base/log.hpp"

namespace seckill::base {
namespace {

using namespace std::chrono_literals;

TEST(SystemThreads, JoinReturnsAfterTheBodyAndSeesWhatItWrote) {
  std::vector<int> written;  // no lock: join() is what orders the two threads
  std::array<char, 16> name{};
  const auto thread = system_threads().start("a-name-too-long-for-it", [&] {
    pthread_getname_np(pthread_self(), name.data(), name.size());
    for (int i = 0; i < 1'000; ++i) written.push_back(i);
  });
  thread->join();
  EXPECT_EQ(written.size(), 1'000U);
  EXPECT_EQ(std::string{name.data()}, "a-name-too-long") << "what the kernel keeps";
}

TEST(SystemThreads, ASignalCarriesEveryItemFromManyThreadsToMany) {
  constexpr int each = 2'000;
  std::mutex mutex;
  const auto changed = system_threads().make_signal();
  std::deque<int> items;  // under the mutex
  int producing = 3;      // under the mutex
  std::vector<std::unique_ptr<Thread>> threads;
  std::atomic<int> taken{0};
  for (int t = 0; t < 3; ++t) {
    threads.push_back(system_threads().start("producer", [&] {
      for (int i = 0; i < each; ++i) {
        const std::scoped_lock lock{mutex};
        items.push_back(i);
        changed->notify_one();
      }
      const std::scoped_lock lock{mutex};
      --producing;
      changed->notify_all();
    }));
    threads.push_back(system_threads().start("consumer", [&] {
      std::unique_lock lock{mutex};
      for (;;) {
        changed->wait(lock, [&] { return !items.empty() || producing == 0; });
        if (items.empty()) return;
        items.pop_front();
        ++taken;
      }
    }));
  }
  for (const auto& thread : threads) thread->join();
  EXPECT_EQ(taken, 3 * each);
}

TEST(SystemThreads, AWaitWithATimeEndsWithoutASignalAndASignalEndsIt) {
  Threads& threads = system_threads();
  std::mutex mutex;
  const auto changed = threads.make_signal();
  bool held = false;  // under the mutex
  {
    std::unique_lock lock{mutex};
    const auto before = threads.now();
    EXPECT_FALSE(threads.wait_for(*changed, lock, 2ms, [&] { return held; }));
    EXPECT_GE(threads.now() - before, 2ms) << "never early";
    EXPECT_FALSE(threads.wait_for(*changed, lock, -1ms, [&] { return held; })) << "a negative time only looks";
    EXPECT_TRUE(lock.owns_lock());
  }
  const auto other = threads.start("sets", [&] {
    const std::scoped_lock lock{mutex};
    held = true;
    changed->notify_all();
  });
  {
    std::unique_lock lock{mutex};
    EXPECT_TRUE(threads.wait_for(*changed, lock, 1h, [&] { return held; }));
  }
  other->join();
}

TEST(LogThreads, AListenerIsCalledByEveryThreadThatLogsAndLosesNoLine) {
  std::atomic<int> heard{0};
  log::listen([&](log::Level level, std::string_view line) {
    if (level == log::Level::error && line.starts_with("line ")) ++heard;
  });
  std::vector<std::unique_ptr<Thread>> threads;
  for (int t = 0; t < 4; ++t) {
    threads.push_back(system_threads().start("logs", [t] {
      for (int i = 0; i < 500; ++i) log::error("line {} of {}", i, t);
    }));
  }
  for (const auto& thread : threads) thread->join();
  log::listen({});
  EXPECT_EQ(heard, 4 * 500);
}

TEST(LogThreads, P9_ManyThreadsLogAtOnceAndEachLineStaysWhole) {
  ::testing::internal::CaptureStderr();
  log::start({});
  std::vector<std::unique_ptr<Thread>> threads;
  for (int t = 0; t < 4; ++t) {
    threads.push_back(system_threads().start("logs", [] {
      for (int i = 0; i < 1'000; ++i) log::info("begin {} end", i);
    }));
  }
  for (const auto& thread : threads) thread->join();
  log::stop();
  const std::string said = ::testing::internal::GetCapturedStderr();
  int lines = 0;
  for (std::size_t at = 0, end = 0; (end = said.find('\n', at)) != std::string::npos; at = end + 1, ++lines) {
    const std::string_view line = std::string_view{said}.substr(at, end - at);
    EXPECT_NE(line.find(" info begin "), std::string_view::npos) << line;
    EXPECT_TRUE(line.ends_with(" end")) << line;
  }
  EXPECT_EQ(lines, 4'000) << "fewer than may wait: none was dropped";
}

}  // namespace
}  // namespace seckill::base
