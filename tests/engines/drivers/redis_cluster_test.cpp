// The Redis driver against a Redis Cluster: routing, migration of slots, failover, outage of all.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "drivers/redis/slots.hpp"
#include "drivers/redis_cluster_nodes.hpp"

namespace seckill::drivers::redis {
namespace {

using base::Errc;
using std::chrono::milliseconds;

// One cluster for all, as long to make as to test; each test leaves it whole.
class RedisInCluster : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (redis_server_found()) cluster_ = std::make_unique<RedisCluster>(3, 1);
  }
  static void TearDownTestSuite() { cluster_.reset(); }
  void SetUp() override {
    if (!cluster_) GTEST_SKIP() << "redis-server is not installed";
    ASSERT_TRUE(cluster_->becomes_whole());
    redis_ = start_driver({.servers = cluster_->addresses(), .cluster = true});
  }
  bool serves(const std::string& key) {
    return wait_until([&] {
      const auto answer = ask(*redis_, command("SET " + key + " here", milliseconds{2'000}));
      return answer.has_value() && answer->reply.text() == "OK";
    });
  }
  static inline std::unique_ptr<RedisCluster> cluster_;
  std::unique_ptr<Redis> redis_;
  const RedisScript increment_{"return redis.call('INCR', KEYS[1])"};
};

// Increments a key again and again, as a shop in mid-sale, and knows what the key must then say.
class SteadyCalls {
 public:
  SteadyCalls(Redis& redis, const RedisScript& script, std::string key)
      : thread_([this, &redis, &script, key = std::move(key)](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            const auto answer = ask(redis, script_call(script, {key}, {}, milliseconds{1'000}));
            if (!answer.has_value()) {
              ++(answer.error().code == Errc::timeout ? unknown_ : refused_);
            } else {
              ++(answer->reply.is_error() ? refused_ : done_);
            }
            std::this_thread::sleep_for(milliseconds{1});
          }
        }) {}
  void stop() {
    thread_.request_stop();
    thread_.join();
  }
  [[nodiscard]] std::int64_t done() const { return done_; }
  [[nodiscard]] std::int64_t unknown() const { return unknown_; }
  [[nodiscard]] std::int64_t refused() const { return refused_; }
  bool goes_on() {
    const std::int64_t before = done_;
    return wait_until([&] { return done_ > before + 20; });
  }

 private:
  std::atomic<std::int64_t> done_{0};
  std::atomic<std::int64_t> unknown_{0};
  std::atomic<std::int64_t> refused_{0};
  std::jthread thread_;
};

TEST_F(RedisInCluster, one_seed_is_enough_to_reach_every_slot) {
  const auto redis = start_driver({.servers = {"127.0.0.1:1", cluster_->node(4).address()}, .cluster = true});
  for (int i = 0; i < 300; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_EQ(ask(*redis, command("SET " + key + " " + std::to_string(i))).value().reply.text(), "OK");
    ASSERT_EQ(ask(*redis, command("GET " + key)).value().reply.integer(), i);
  }
  EXPECT_EQ(redis->counters().redirects, 0u);
  const auto masters = redis->ask_masters({"INFO", "replication"}, milliseconds{5'000}).value();
  EXPECT_EQ(masters.size(), 3u);
  for (const Redis::FromServer& master : masters) {
    EXPECT_TRUE(master.reply.text().contains("role:master")) << master.server;
    EXPECT_EQ(std::ranges::count(cluster_->addresses(), master.server), 1);
  }
}

TEST_F(RedisInCluster, FS_20_keys_of_two_slots_and_a_failing_script_are_error_values) {
  const RedisScript both("redis.call('SET', KEYS[1], 1) return redis.call('SET', KEYS[2], 1)");
  const RedisReply crossed = ask(*redis_, script_call(both, {"one", "two"})).value().reply;
  EXPECT_TRUE(crossed.is_error());
  EXPECT_TRUE(crossed.text().starts_with("CROSSSLOT")) << crossed.text();
  EXPECT_FALSE(ask(*redis_, script_call(both, {"{s}one", "{s}two"})).value().reply.is_error());
  const RedisScript wrong("return redis.call('LPUSH', KEYS[1], 'x')");
  EXPECT_TRUE(ask(*redis_, script_call(wrong, {"{s}one"})).value().reply.text().starts_with("WRONGTYPE"));
}

TEST_F(RedisInCluster, FS_66_ASK_is_followed_for_moved_keys_and_scripts_while_a_slot_migrates) {
  const std::uint16_t slot = slot_of("{ask}");
  RedisServer& from = *cluster_->master_of(slot);
  RedisServer& to = cluster_->other_master(slot);
  ASSERT_EQ(ask(*redis_, command("SET {ask}stays 1")).value().reply.text(), "OK");
  ASSERT_EQ(ask(*redis_, command("SET {ask}goes 1")).value().reply.text(), "OK");
  cluster_->open_migration(slot, from, to);
  cluster_->move_keys(from, to, "{ask}goes");

  EXPECT_EQ(ask(*redis_, script_call(increment_, {"{ask}stays"})).value().reply.integer(), 2);
  EXPECT_EQ(ask(*redis_, command("INCR {ask}goes")).value().reply.integer(), 2);
  EXPECT_EQ(redis_->counters().redirects, 1u);
  // The target never saw the script: ASKING, load, ASKING again.
  EXPECT_EQ(ask(*redis_, script_call(increment_, {"{ask}goes"})).value().reply.integer(), 3);
  EXPECT_EQ(ask(*redis_, command("INCR {ask}new")).value().reply.integer(), 1);
  Answers many;
  for (std::size_t i = 0; i < 100; ++i) {
    redis_->call(script_call(increment_, {i % 2 == 0 ? "{ask}stays" : "{ask}goes"}), many.take(i));
  }
  many.wait_for(100);
  for (const auto& [place, answer] : many.all()) EXPECT_FALSE(answer.value().reply.is_error());

  // One key here, one there: TRYAGAIN until the slot has moved.
  Answers both;
  redis_->call(command("MGET {ask}stays {ask}goes", milliseconds{60'000}), both.take(0));
  ASSERT_TRUE(wait_until([&] { return redis_->counters().calls > 220; }));
  cluster_->close_migration(slot, from, to);
  both.wait_for(1);
  const RedisReply values = both.all().front().second.value().reply;
  EXPECT_EQ(values.items().at(0).integer(), 52);
  EXPECT_EQ(values.items().at(1).integer(), 53);
}

TEST_F(RedisInCluster, FS_66_MOVED_is_followed_and_the_map_learnt_and_no_call_is_executed_twice) {
  const std::uint16_t slot = slot_of("{moved}n");
  SteadyCalls steady(*redis_, increment_, "{moved}n");
  ASSERT_TRUE(steady.goes_on());
  RedisServer& from = *cluster_->master_of(slot);
  RedisServer& to = cluster_->other_master(slot);
  RedisCall meant = command("GET {moved}n");
  meant.expected = ask(*redis_, meant).value().identity;
  cluster_->open_migration(slot, from, to);
  ASSERT_TRUE(steady.goes_on());
  cluster_->close_migration(slot, from, to);
  ASSERT_TRUE(steady.goes_on());
  steady.stop();
  EXPECT_EQ(steady.refused(), 0);
  EXPECT_EQ(steady.unknown(), 0);
  EXPECT_EQ(ask(*redis_, command("GET {moved}n")).value().reply.integer(), steady.done());
  const CallAnswer elsewhere = ask(*redis_, meant).value();
  EXPECT_EQ(elsewhere.end, CallEnd::foreign);
  EXPECT_NE(elsewhere.identity, *meant.expected);
  const std::uint64_t redirects = redis_->counters().redirects;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(ask(*redis_, command("GET {moved}n")).has_value());
  EXPECT_EQ(redis_->counters().redirects, redirects);
  EXPECT_EQ(wait_for_replicas(*redis_, "{moved}n", 1, milliseconds{10'000}).value(), 1u);
}

TEST_F(RedisInCluster, FS_66_FS_07_after_a_master_is_killed_calls_go_to_its_replica_and_scripts_are_loaded_there) {
  const std::string key = "{failover}n";
  const std::uint16_t slot = slot_of(key);
  SteadyCalls steady(*redis_, increment_, key);
  ASSERT_TRUE(steady.goes_on());
  RedisCall meant = command("GET " + key);
  meant.expected = ask(*redis_, meant).value().identity;
  RedisServer& master = *cluster_->master_of(slot);
  const std::uint64_t loads = redis_->counters().script_loads;
  // This one knows the replica as what it is now; who it is later must be read anew before anything is meant for it.
  RedisServer* const replica = cluster_->replica_of(master);
  ASSERT_NE(replica, nullptr);
  const auto by_replica =
      start_driver({.servers = {replica->address()}, .cluster = true, .probe_period = milliseconds{60'000}});
  EXPECT_EQ(ask(*by_replica, meant).value().end, CallEnd::replied);
  master.kill();
  EXPECT_TRUE(steady.goes_on());
  EXPECT_TRUE(wait_until([&] {
    const auto answer = ask(*by_replica, meant);
    if (answer.has_value() && answer->end == CallEnd::foreign) meant.expected = answer->identity;
    return answer.has_value() && answer->end == CallEnd::foreign;
  }));
  const std::string replication = replica->cli("info replication");
  EXPECT_TRUE(replication.contains("master_replid:" + meant.expected->replication_id)) << replication;
  EXPECT_EQ(ask(*by_replica, meant).value().end, CallEnd::replied);
  steady.stop();
  EXPECT_GT(redis_->counters().script_loads, loads);
  EXPECT_EQ(ask(*redis_, meant).value().end, CallEnd::replied);  // two drivers find the same server
  const std::int64_t value = ask(*redis_, command("GET " + key)).value().reply.integer().value();
  EXPECT_LE(value, steady.done() + steady.unknown());  // what its replica had not yet is lost; nothing is doubled
  master.start();
  EXPECT_TRUE(cluster_->becomes_whole());
}

TEST_F(RedisInCluster, FS_66_a_demoted_master_is_left_without_an_unknown_call) {
  const std::string key = "{demoted}n";
  const std::uint16_t slot = slot_of(key);
  SteadyCalls steady(*redis_, increment_, key);
  ASSERT_TRUE(steady.goes_on());
  RedisServer& master = *cluster_->master_of(slot);
  RedisServer* const replica = cluster_->replica_of(master);
  ASSERT_NE(replica, nullptr);
  // Masters vote at most once in two node timeouts for one shard: what is refused is asked again.
  ASSERT_TRUE(wait_until([&] {
    replica->cli("cluster failover");
    return wait_until([&] { return replica->cli("info replication").contains("role:master"); }, milliseconds{6'000});
  }));
  EXPECT_TRUE(steady.goes_on());
  steady.stop();
  EXPECT_EQ(steady.unknown(), 0);
  EXPECT_EQ(ask(*redis_, command("GET " + key)).value().reply.integer(), steady.done());
}

TEST_F(RedisInCluster, FS_29_calls_that_name_a_promoted_server_find_it_though_no_reply_told_of_it) {
  const std::string key = "{named}n";
  ASSERT_TRUE(serves(key));
  // Sends nothing after the failover but calls that are meant for the promoted server.
  const auto other = start_driver({.servers = cluster_->addresses(), .cluster = true});
  RedisCall meant = command("GET " + key);
  const RedisIdentity before = ask(*other, meant).value().identity;
  RedisServer& master = *cluster_->master_of(slot_of(key));
  RedisServer* const replica = cluster_->replica_of(master);
  ASSERT_NE(replica, nullptr);
  ASSERT_TRUE(wait_until([&] {
    replica->cli("cluster failover");
    return wait_until([&] { return replica->cli("info replication").contains("role:master"); }, milliseconds{6'000});
  }));
  ASSERT_TRUE(wait_until([&] {
    const auto answer = ask(*redis_, command("GET " + key));
    if (answer.has_value() && answer->identity != before) meant.expected = answer->identity;
    return meant.expected.has_value();
  }));
  std::string last;
  EXPECT_TRUE(wait_until([&] {
    const auto answer = ask(*other, meant);
    last = answer.has_value() ? answer->identity.run_id + " " + answer->identity.replication_id : answer.error().text();
    return answer.has_value() && answer->end == CallEnd::replied;
  })) << "meant for "
      << meant.expected->run_id << " " << meant.expected->replication_id << ", led to " << last << "\n"
      << replica->cli("info replication");
  EXPECT_TRUE(cluster_->becomes_whole());
}

TEST_F(RedisInCluster, FS_66_a_master_that_hangs_and_comes_back_as_a_replica_delivers_nothing_late) {
  const std::string key = "{hang}n";
  const std::uint16_t slot = slot_of(key);
  ASSERT_TRUE(serves(key));
  RedisServer& master = *cluster_->master_of(slot);
  RedisServer* const replica = cluster_->replica_of(master);
  ASSERT_NE(replica, nullptr);
  Answers late;
  master.pause();
  redis_->call(command("SET " + key + " late", milliseconds{300}), late.take(0));
  late.wait_for(1);
  EXPECT_EQ(late.all().front().second.error().code, Errc::timeout);
  // Else it would come back as the master that it was.
  ASSERT_TRUE(wait_until([&] { return replica->cli("info replication").contains("role:master"); }))
      << replica->cli("info replication") << "\n"
      << replica->cli("cluster nodes");
  EXPECT_TRUE(serves(key));
  master.resume();
  ASSERT_TRUE(wait_until([&] { return master.cli("info replication").contains("role:slave"); }))
      << master.cli("info replication") << "\n"
      << master.cli("cluster nodes");
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(ask(*redis_, command("GET " + key)).value().reply.text(), "here");
  }
  EXPECT_EQ(late.number(), 1u);
  EXPECT_TRUE(cluster_->becomes_whole());
}

TEST_F(RedisInCluster, FS_29_after_all_nodes_were_gone_calls_go_on_without_our_restart) {
  ASSERT_TRUE(serves("{all}n"));
  for (std::size_t i = 0; i < cluster_->size(); ++i) cluster_->node(i).kill();
  Answers down;
  for (std::size_t i = 0; i < 100; ++i) {
    redis_->call(command("GET {all" + std::to_string(i) + "}", milliseconds{500}), down.take(i));
  }
  down.wait_for(100);
  for (const auto& [place, answer] : down.all()) EXPECT_FALSE(answer.has_value());
  EXPECT_FALSE(redis_->ask_masters({"PING"}, milliseconds{300}).has_value());
  for (std::size_t i = 0; i < cluster_->size(); ++i) cluster_->node(i).start();
  EXPECT_TRUE(serves("{all}n"));
  EXPECT_TRUE(cluster_->becomes_whole());
}

TEST_F(RedisInCluster, a_cluster_that_is_not_there_answers_unavailable_and_is_found_when_it_comes) {
  for (std::size_t i = 0; i < cluster_->size(); ++i) cluster_->node(i).kill();
  const auto redis = start_driver({.servers = cluster_->addresses(), .cluster = true});
  EXPECT_EQ(ask(*redis, command("GET k", milliseconds{300})).error().code, Errc::unavailable);
  EXPECT_EQ(redis->ask_masters({"PING"}, milliseconds{300}).error().code, Errc::unavailable);
  for (std::size_t i = 0; i < cluster_->size(); ++i) cluster_->node(i).start();
  EXPECT_TRUE(wait_until([&] {
    const auto answer = ask(*redis, command("GET k"));
    return answer.has_value() && !answer->reply.is_error();
  }));
}

TEST_F(RedisInCluster, replicas_are_counted_at_the_keys_own_master) {
  for (const std::string key : {"{r1}", "{r2}", "{r3}", "{r4}", "plain", "odd}key"}) {
    EXPECT_EQ(wait_for_replicas(*redis_, key, 1, milliseconds{10'000}).value(), 1u) << key;
  }
  RedisServer* const replica = cluster_->replica_of(*cluster_->master_of(slot_of("{r1}")));
  ASSERT_NE(replica, nullptr);
  replica->pause();
  EXPECT_EQ(wait_for_replicas(*redis_, "{r1}", 1, milliseconds{300}).value(), 0u);
  replica->resume();
  EXPECT_EQ(wait_for_replicas(*redis_, "{r1}", 1, milliseconds{20'000}).value(), 1u);
}

}  // namespace
}  // namespace seckill::drivers::redis
