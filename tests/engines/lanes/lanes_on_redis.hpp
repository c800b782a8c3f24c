// Lanes on a real Redis server or Redis Cluster, as tests speak with them: each call waited for, each test's lanes in a
// sale of its own, removed at its end.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "admission/lane_scripts.hpp"
#include "drivers/redis/redis.hpp"

namespace seckill::admission::redis::test {

using drivers::redis::RedisReply;

struct RedisEngine {
  std::vector<std::string> servers;
  bool cluster = false;
};
// As SECKILL_TEST_REDIS and SECKILL_TEST_REDIS_CLUSTER say; nullopt: not set, and the test is skipped.
[[nodiscard]] std::optional<RedisEngine> standalone_engine();
[[nodiscard]] std::optional<RedisEngine> cluster_engine();

#define SECKILL_NEEDS_REDIS(engine, variable)                                                     \
  if (!(engine)) {                                                                                \
    GTEST_SKIP() << "needs a real Redis: set " variable " (tools/cluster/engines.py start does)"; \
  }                                                                                               \
  static_assert(true)

// Waits for a port's answer.
template <typename T, typename Call>
[[nodiscard]] base::Result<T> wait_for(const Call& call) {
  const auto promise = std::make_shared<std::promise<base::Result<T>>>();
  auto future = promise->get_future();
  call([promise](base::Result<T> result) { promise->set_value(std::move(result)); });
  if (future.wait_for(std::chrono::seconds{60}) != std::future_status::ready) {
    return base::fail(base::Errc::timeout, "waiting for a lane", "no answer within a minute");
  }
  return future.get();
}

// The driver, remembering the last reply: it says which time a script has used.
class ListeningRedis final : public drivers::redis::Redis {
 public:
  explicit ListeningRedis(std::unique_ptr<Redis> redis) : redis_{std::move(redis)} {}

  void call(drivers::redis::RedisCall call, drivers::redis::CallDone done) override;
  void wait_replicas(std::string routing_key, std::optional<drivers::redis::RedisIdentity> expected,
                     std::uint32_t replicas, std::chrono::milliseconds longest,
                     std::move_only_function<void(base::Result<std::optional<std::uint32_t>>)> done) override {
    redis_->wait_replicas(std::move(routing_key), std::move(expected), replicas, longest, std::move(done));
  }
  [[nodiscard]] base::Result<std::vector<FromServer>> ask_masters(std::vector<std::string> command,
                                                                  std::chrono::milliseconds longest) override {
    return redis_->ask_masters(std::move(command), longest);
  }
  void stop() override { redis_->stop(); }
  [[nodiscard]] drivers::redis::RedisCounters counters() const noexcept override { return redis_->counters(); }

  [[nodiscard]] RedisReply last() const;

 private:
  std::unique_ptr<Redis> redis_;
  mutable std::mutex mutex_;
  RedisReply last_;
};

class LanesOnRedis {
 public:
  explicit LanesOnRedis(const RedisEngine& engine);
  ~LanesOnRedis();
  LanesOnRedis(const LanesOnRedis&) = delete;
  LanesOnRedis& operator=(const LanesOnRedis&) = delete;

  [[nodiscard]] LaneScripts& lanes() { return *lanes_; }
  [[nodiscard]] ListeningRedis& redis() { return *redis_; }
  // A lane that nobody has used.
  [[nodiscard]] LaneKey fresh_lane(model::LaneIndex index = 3);
  [[nodiscard]] LaneServer server_of(const LaneKey& lane);

  // One command to the lane's server.
  RedisReply command(const LaneKey& lane, std::vector<std::string> words);
  // Several at once.
  std::vector<RedisReply> commands(const LaneKey& lane, std::vector<std::vector<std::string>> all);

 private:
  std::unique_ptr<ListeningRedis> redis_;
  std::unique_ptr<LaneScripts> lanes_;
  std::vector<LaneKey> made_;
};

}  // namespace seckill::admission::redis::test
