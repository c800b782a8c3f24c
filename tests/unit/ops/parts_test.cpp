// The small parts of ops: query strings, workers, readiness, metric families.
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <future>
#include <sstream>

#include "ops/metric_families.hpp"
#include "ops/query.hpp"
#include "ops/readiness.hpp"
#include "ops/worker_pool.hpp"

namespace seckill::ops {
namespace {

TEST(Query, DecodesKnownParametersOnce) {
  Query query{"sale=s1&buyer=%E5%BC%A0%20%2B+1&limit=20", {"sale", "buyer", "limit"}};
  EXPECT_TRUE(query.problems().empty());
  EXPECT_EQ(query.text("buyer"), "张 ++1");
  EXPECT_EQ(query.integer("limit", 1, 100, 5), 20);
  EXPECT_EQ(query.integer("before", 1, 100, 7), 7);
}

TEST(Query, FS_31_RefusesWhatItDoesNotKnowOrCannotRead) {
  for (const char* bad : {"nope=1", "sale=1&sale=2", "sale=%zz", "sale=%4", "sale=%ff", "%00=1", "sale=%00"}) {
    Query query{bad, {"sale"}};
    EXPECT_EQ(query.problems().size(), 1u) << bad;
  }
  for (const char* bad : {"", "abc", "1a", "+1", "-0", "0x10", "99999999999999999999", "1e3", "101", "0"}) {
    Query query{std::string{"limit="} + bad, {"limit"}};
    EXPECT_EQ(query.integer("limit", 1, 100, 5), 5) << bad;
    EXPECT_EQ(query.problems().size(), 1u) << bad;
  }
}

TEST(WorkerPool, RunsInOrderRefusesPastItsBoundAndFinishesWhatItTook) {
  std::promise<void> begun;
  std::promise<void> go;
  std::vector<int> done;  // one worker only, read after stop()
  std::atomic<int> destroyed{0};
  struct Token {
    std::atomic<int>* count;
    explicit Token(std::atomic<int>& c) : count{&c} {}
    Token(Token&& other) noexcept : count{std::exchange(other.count, nullptr)} {}
    ~Token() {
      if (count != nullptr) ++*count;
    }
  };
  WorkerPool pool{"test", 1, 2};
  ASSERT_TRUE(pool.run([&] {
    begun.set_value();
    go.get_future().wait();
    done.push_back(0);
  }));
  begun.get_future().wait();
  EXPECT_TRUE(pool.run([&] { done.push_back(1); }));
  EXPECT_TRUE(pool.run([&] { done.push_back(2); }));
  EXPECT_FALSE(pool.run([token = Token{destroyed}] {})) << "two may wait, not three";
  EXPECT_EQ(destroyed, 1) << "what is refused is destroyed at once, so its reply slot answers busy";
  go.set_value();
  pool.stop();
  EXPECT_EQ(done, (std::vector{0, 1, 2}));
  EXPECT_FALSE(pool.run([] {}));
}

TEST(Readiness, IsReadyWhenNoReasonIsLeft) {
  Readiness readiness;
  EXPECT_TRUE(readiness.why_not().empty());
  readiness.block("starting");
  readiness.block("starting");
  readiness.block("stopping");
  EXPECT_EQ(readiness.why_not().size(), 2u);
  readiness.clear("starting");
  EXPECT_EQ(readiness.why_not(), std::vector<std::string>{"stopping"});
}

TEST(Family, WritesCountersAndCumulativeHistograms) {
  std::vector<prometheus::MetricFamily> families;
  Family{families, prometheus::MetricType::Counter, "a_total", "Help."}.add(std::uint64_t{3}, {{"kind", "x"}});
  Family{families, prometheus::MetricType::Histogram, "b_seconds", "Help."}.add_histogram({0.1, 1}, {2, 3, 4}, 5.5);
  {
    const Family empty{families, prometheus::MetricType::Gauge, "c", "Help."};
  }
  std::ostringstream text;
  prometheus::TextSerializer{}.Serialize(text, families);
  const std::string said = text.str();
  EXPECT_NE(said.find("a_total{kind=\"x\"} 3"), std::string::npos) << said;
  EXPECT_NE(said.find("b_seconds_bucket{le=\"1\"} 5"), std::string::npos) << said;
  EXPECT_NE(said.find("b_seconds_bucket{le=\"+Inf\"} 9"), std::string::npos) << said;
  EXPECT_EQ(said.find("# HELP c "), std::string::npos) << "a family without values is left out";
}

}  // namespace
}  // namespace seckill::ops
