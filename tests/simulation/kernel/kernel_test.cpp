// The kernel's own promises: virtual time, order, waits, crashes at any wait, and one run a seed.
#include "simulation/kernel/kernel.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace seckill::sim {
namespace {

TEST(Kernel, EventsRunInTheOrderOfTheirTimesAndOfOneInstantAsPlanned) {
  Kernel kernel{1};
  std::string order;
  kernel.after(2ms, [&] { order += 'c'; });
  kernel.after(1ms, [&] {
    order += 'a';
    kernel.after(0ms, [&] { order += 'b'; });
  });
  kernel.after(2ms, [&] { order += 'd'; });
  kernel.run_until(10ms);
  EXPECT_EQ(order, "abcd");
  EXPECT_EQ(kernel.now(), 10ms);
}

TEST(Kernel, SleepingFibersLetOthersRunAndVirtualTimePass) {
  Kernel kernel{2};
  Node& node = kernel.add_node("n1");
  std::vector<std::string> seen;
  auto slow = node.threads().start("slow", [&] {
    node.threads().sleep_for(10s);
    seen.emplace_back("slow");
  });
  auto quick = node.threads().start("quick", [&] {
    node.threads().sleep_for(1s);
    seen.emplace_back("quick");
  });
  slow->join();
  quick->join();
  EXPECT_EQ(seen, (std::vector<std::string>{"quick", "slow"}));
  EXPECT_GE(kernel.now(), 10s);
  EXPECT_LT(kernel.now(), 11s);
}

TEST(Kernel, ASignalHandsWorkFromFiberToFiber) {
  Kernel kernel{3};
  Node& node = kernel.add_node("n1");
  std::mutex mutex;
  const auto changed = node.threads().make_signal();
  std::deque<int> work;
  int sum = 0;
  auto consumer = node.threads().start("consumer", [&] {
    for (int got = 0; got < 100; ++got) {
      std::unique_lock lock{mutex};
      changed->wait(lock, [&] { return !work.empty(); });
      sum += work.front();
      work.pop_front();
    }
  });
  auto producer = node.threads().start("producer", [&] {
    for (int i = 1; i <= 100; ++i) {
      node.threads().sleep_for(1ms);
      const std::scoped_lock lock{mutex};
      work.push_back(i);
      changed->notify_one();
    }
  });
  producer->join();
  consumer->join();
  EXPECT_EQ(sum, 5'050);
}

TEST(Kernel, ATimedWaitEndsByItsTimeOrByItsCondition) {
  Kernel kernel{4};
  Node& node = kernel.add_node("n1");
  base::Threads& threads = node.threads();
  std::mutex mutex;
  const auto changed = threads.make_signal();
  bool set = false;
  std::vector<bool> answers;
  auto waiter = threads.start("waiter", [&] {
    std::unique_lock lock{mutex};
    answers.push_back(threads.wait_for(*changed, lock, 50ms, [&] { return set; }));
    answers.push_back(threads.wait_for(*changed, lock, 10s, [&] { return set; }));
  });
  kernel.after(1s, [&] {
    const std::scoped_lock lock{mutex};
    set = true;
    changed->notify_all();
  });
  waiter->join();
  EXPECT_EQ(answers, (std::vector<bool>{false, true}));
  EXPECT_LT(kernel.now(), 2s);
}

TEST(Kernel, AwaitGivesBackWhatADeviceAnswers) {
  Kernel kernel{5};
  Node& node = kernel.add_node("n1");
  const auto ask = [&](int question) {
    return kernel.await<int>([&](std::move_only_function<void(int)> done) {
      kernel.after(3ms, [done = std::move(done), question]() mutable { done(question * 2); });
    });
  };
  EXPECT_EQ(ask(21), 42);  // the test's own thread runs events meanwhile
  int answer = 0;
  auto fiber = node.threads().start("asks", [&] { answer = ask(4); });
  fiber->join();
  EXPECT_EQ(answer, 8);
  EXPECT_EQ(kernel.await<int>([](auto done) { done(1); }), 1) << "answered at once";
}

// Counts constructions that were not undone: what unwinding leaves behind.
struct Counted {
  explicit Counted(int& count_in) : count{count_in} { ++count; }
  ~Counted() { --count; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int& count;
};

TEST(Kernel, ACrashUnwindsEveryFiberAtItsWaitAndDropsWhatItsLifeHadPlanned) {
  Kernel kernel{6};
  Node& node = kernel.add_node("n1");
  std::mutex mutex;
  const auto never = node.threads().make_signal();
  int live = 0;
  int went_on = 0;
  std::vector<std::unique_ptr<base::Thread>> threads;
  threads.push_back(node.threads().start("sleeps", [&] {
    const Counted counted{live};
    node.threads().sleep_for(1h);
    ++went_on;
  }));
  threads.push_back(node.threads().start("waits", [&] {
    const Counted counted{live};
    std::unique_lock lock{mutex};
    never->wait(lock);
    ++went_on;
  }));
  kernel.after(node, 2s, [&] { ++went_on; });
  kernel.after(1s, [&] { EXPECT_EQ(live, 2); });
  kernel.after(1s, [&] { node.crash(); });
  kernel.after(90s, [&] {
    node.restart();
    threads.push_back(node.threads().start("second life", [&] { live = 10; }));
  });
  kernel.run_until(50s);
  EXPECT_EQ(live, 0);
  EXPECT_FALSE(node.alive());
  kernel.run_until(2h);
  EXPECT_EQ(live, 10);
  EXPECT_EQ(went_on, 0);
  for (auto& thread : threads) thread->join();
}

TEST(Kernel, ACrashPointCrashesWhoPassesItForThatTimeAndTellsTheWorld) {
  Kernel kernel{7};
  Node& node = kernel.add_node("n1");
  Node& other = kernel.add_node("n2");
  std::string story;
  kernel.on_crash([&](Node& crashed, Time down_for) {
    story += crashed.name() + " down ";
    EXPECT_EQ(down_for, 5s);
    kernel.after(down_for, [&] {
      crashed.restart();
      story += "up ";
    });
  });
  kernel.crash_at("c4", 3, 5s);
  auto thread = node.threads().start("commits", [&] {
    for (int i = 0; i < 10; ++i) {
      kernel.passing("c4");
      story += node.alive() ? "commit " : "last ";
      node.threads().sleep_for(1s);
    }
  });
  int others = 0;
  auto calm = other.threads().start("calm", [&] {
    for (; others < 100; ++others) other.threads().sleep_for(1s);
  });
  kernel.run_until(1h);
  EXPECT_EQ(story, "commit commit last n1 down up ");
  EXPECT_EQ(others, 100);
  ASSERT_EQ(kernel.passages().size(), 1U);
  EXPECT_EQ(kernel.passages()[0], (std::pair<std::string, std::uint64_t>{"c4", 3}));
}

TEST(Kernel, AnAnswerOnItsWayToACrashedLifeIsDropped) {
  Kernel kernel{8};
  Node& node = kernel.add_node("n1");
  std::move_only_function<void(int)> late;
  bool answered = false;
  auto asks = node.threads().start("asks", [&] {
    (void)kernel.await<int>([&](auto done) { late = std::move(done); });
    answered = true;
  });
  kernel.run_until(1s);
  node.crash();
  node.restart();
  late(1);
  kernel.run_until(2s);
  EXPECT_FALSE(answered);
  asks->join();
}

TEST(Kernel, AFiberThatCatchesAnExceptionMayWaitMeanwhile) {
  Kernel kernel{9};
  Node& node = kernel.add_node("n1");
  std::string caught;
  const auto body = [&](const char* what) {
    return [&, what] {
      try {
        throw std::runtime_error{what};
      } catch (const std::runtime_error& thrown) {
        node.threads().sleep_for(1s);
        caught += thrown.what();
      }
    };
  };
  auto a = node.threads().start("a", body("a"));
  auto b = node.threads().start("b", body("b"));
  a->join();
  b->join();
  EXPECT_EQ(caught.size(), 2U);
}

// A busy little world; its fingerprint is the run.
std::uint64_t run_of(std::uint64_t seed) {
  Kernel kernel{seed};
  Node& node = kernel.add_node("n1");
  std::mutex mutex;
  const auto changed = node.threads().make_signal();
  std::vector<std::unique_ptr<base::Thread>> threads;
  std::vector<int> order;
  for (int i = 0; i < 8; ++i) {
    threads.push_back(node.threads().start("worker", [&, i] {
      for (int round = 0; round < 20; ++round) {
        std::unique_lock lock{mutex};
        changed->wait_for(lock, Time{kernel.random().between(0, 1'000'000)});
        order.push_back(i);
        changed->notify_one();
      }
    }));
  }
  kernel.after(5ms, [&] { node.crash(); });
  kernel.run_until(1s);
  for (const int i : order) kernel.note(std::to_string(i));
  return kernel.fingerprint();
}

TEST(Kernel, TheSameSeedIsTheSameRunAndAnotherSeedIsAnother) {
  EXPECT_EQ(run_of(42), run_of(42));
  EXPECT_NE(run_of(42), run_of(43));
}

TEST(KernelDeathTest, ALockThatIsHeldAcrossAWaitIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Kernel kernel{10};
        Node& node = kernel.add_node("n1");
        std::mutex mutex;
        const auto signal = node.threads().make_signal();
        auto waits = node.threads().start("waits", [&] {
          std::unique_lock lock{mutex};
          signal->wait_for(lock, 1s);
        });
        auto holds = node.threads().start("holds", [&] {
          node.threads().sleep_for(500ms);
          const std::scoped_lock lock{mutex};
          node.threads().sleep_for(10s);
        });
        waits->join();
      },
      "no lock is held across a wait");
}

}  // namespace
}  // namespace seckill::sim
