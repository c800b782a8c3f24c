// The Redis driver against a real server: calls, order, scripts, bounds.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "drivers/redis_server.hpp"

namespace seckill::drivers::redis {
namespace {

using base::Errc;
using std::chrono::milliseconds;

class RedisCalls : public testing::Test {
 protected:
  void SetUp() override {
    if (!redis_server_found()) GTEST_SKIP() << "redis-server is not installed";
    server_ = std::make_unique<RedisServer>();
    redis_ = start_driver({.servers = {server_->address()}});
  }
  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<Redis> redis_;
};

TEST_F(RedisCalls, every_kind_of_reply_comes_as_a_value) {
  EXPECT_EQ(ask(*redis_, command("SET k 41")).value().reply.text(), "OK");
  EXPECT_EQ(ask(*redis_, command("INCR k")).value().reply.integer(), 42);
  EXPECT_EQ(ask(*redis_, command("GET k")).value().reply.integer(), 42);
  EXPECT_EQ(ask(*redis_, command("GET none")).value().reply.kind(), RedisReply::Kind::nil);
  const CallAnswer error = ask(*redis_, command("LPUSH k x")).value();
  EXPECT_TRUE(error.reply.is_error());
  EXPECT_TRUE(error.reply.text().starts_with("WRONGTYPE"));
  EXPECT_EQ(error.identity.run_id, server_->cli("info server | grep -o 'run_id:[0-9a-f]*' | cut -c8-"));
  const RedisScript nested("return {1, {'a', {2, false, 'b'}}, redis.error_reply('BAD it is')}");
  const RedisReply reply = ask(*redis_, script_call(nested, {})).value().reply;
  ASSERT_EQ(reply.items().size(), 3u);
  EXPECT_EQ(reply.items()[1].items()[1].items()[0].integer(), 2);
  EXPECT_EQ(reply.items()[1].items()[1].items()[1].kind(), RedisReply::Kind::nil);
  EXPECT_EQ(reply.items()[1].items()[1].items()[2].text(), "b");
  EXPECT_TRUE(reply.items()[2].is_error());
}

TEST_F(RedisCalls, pipelined_calls_are_executed_and_answered_in_order) {
  Answers answers;
  constexpr std::size_t calls = 2'000;
  for (std::size_t i = 0; i < calls; ++i) {
    redis_->call(command("RPUSH list " + std::to_string(i), milliseconds{30'000}), answers.take(i));
  }
  answers.wait_for(calls);
  std::size_t expected = 0;
  for (const auto& [place, answer] : answers.all()) {
    EXPECT_EQ(place, expected);
    EXPECT_EQ(answer.value().reply.integer(), static_cast<std::int64_t>(++expected));
  }
  EXPECT_EQ(ask(*redis_, command("LINDEX list 1999")).value().reply.integer(), 1'999);
}

TEST_F(RedisCalls, ten_thousand_calls_from_four_threads_are_each_answered_once) {
  Answers answers;
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < 2'500; ++i) {
        redis_->call(command("INCR n", milliseconds{30'000}), answers.take(thread * 2'500 + i));
      }
    });
  }
  answers.wait_for(10'000);
  std::vector<bool> seen(10'000);
  for (const auto& [place, answer] : answers.all()) {
    EXPECT_FALSE(seen[place]);
    seen[place] = true;
    EXPECT_TRUE(answer.has_value());
  }
  EXPECT_EQ(ask(*redis_, command("GET n")).value().reply.integer(), 10'000);
}

TEST_F(RedisCalls, a_large_array_and_a_large_text_come_whole) {
  const RedisScript many("local t = {} for i = 1, 100000 do t[i] = i end return t");
  const RedisReply array = ask(*redis_, script_call(many, {}, {}, milliseconds{30'000})).value().reply;
  ASSERT_EQ(array.items().size(), 100'000u);
  EXPECT_EQ(array.items().back().integer(), 100'000);
  RedisCall set = command("SET big", milliseconds{30'000});
  set.args.emplace_back(4u << 20, 'x');
  EXPECT_EQ(ask(*redis_, std::move(set)).value().reply.text(), "OK");
  EXPECT_EQ(ask(*redis_, command("GET big", milliseconds{30'000})).value().reply.text().size(), 4u << 20);
}

TEST_F(RedisCalls, FS_07_a_script_is_loaded_once_when_the_server_misses_it_and_never_counted_twice) {
  const RedisScript script("return redis.call('INCRBY', KEYS[1], ARGV[1])");
  Answers first;
  for (std::size_t i = 0; i < 100; ++i) redis_->call(script_call(script, {"n"}, {"1"}), first.take(i));
  first.wait_for(100);
  EXPECT_EQ(redis_->counters().script_loads, 1u);

  server_->cli("script flush");
  Answers second;
  for (std::size_t i = 0; i < 100; ++i) redis_->call(script_call(script, {"n"}, {"1"}), second.take(i));
  second.wait_for(100);
  EXPECT_EQ(redis_->counters().script_loads, 2u);
  for (const auto& [place, answer] : second.all()) EXPECT_FALSE(answer.value().reply.is_error());
  EXPECT_EQ(ask(*redis_, command("GET n")).value().reply.integer(), 200);
}

TEST_F(RedisCalls, FS_07_a_script_that_fails_is_neither_loaded_nor_called_again) {
  const RedisScript script("redis.call('INCR', KEYS[1]) return redis.call('LPUSH', KEYS[1], 'x')");
  ASSERT_TRUE(ask(*redis_, script_call(script, {"n"})).value().reply.is_error());
  EXPECT_EQ(redis_->counters().script_loads, 1u);
  EXPECT_TRUE(ask(*redis_, script_call(script, {"n"})).value().reply.is_error());
  EXPECT_EQ(redis_->counters().script_loads, 1u);
  EXPECT_EQ(ask(*redis_, command("GET n")).value().reply.integer(), 2);
}

TEST_F(RedisCalls, past_the_bound_of_open_calls_a_call_is_refused_at_once) {
  const auto small = start_driver({.servers = {server_->address()}, .calls_max = 10});
  server_->pause();
  Answers answers;
  for (std::size_t i = 0; i < 15; ++i) small->call(command("PING"), answers.take(i));
  EXPECT_EQ(answers.number(), 5u);  // before call() returned
  for (const auto& [place, answer] : answers.all()) EXPECT_EQ(answer.error().code, Errc::limit);
  server_->resume();
  answers.wait_for(15);
}

TEST_F(RedisCalls, stop_answers_what_is_under_way_and_every_later_call) {
  server_->pause();
  Answers answers;
  for (std::size_t i = 0; i < 50; ++i) redis_->call(command("PING"), answers.take(i));
  redis_->stop();
  EXPECT_EQ(answers.number(), 50u);
  for (const auto& [place, answer] : answers.all()) EXPECT_FALSE(answer.has_value());
  EXPECT_EQ(ask(*redis_, command("PING")).error().code, Errc::unavailable);
  EXPECT_EQ(redis_->ask_masters({"PING"}, milliseconds{100}).error().code, Errc::unavailable);
  EXPECT_EQ(wait_for_replicas(*redis_, "k", 1, milliseconds{100}).error().code, Errc::unavailable);
  redis_->stop();
  server_->resume();
}

TEST_F(RedisCalls, the_only_server_is_asked_as_the_master_it_is) {
  const auto answers = redis_->ask_masters({"CONFIG", "GET", "port"}, milliseconds{5'000});
  ASSERT_EQ(answers.value().size(), 1u);
  EXPECT_EQ(answers.value().front().server, server_->address());
  EXPECT_EQ(answers.value().front().reply.items().at(1).integer(), server_->port());
}

TEST(RedisStart, malformed_servers_are_refused) {
  for (const std::string server : {"", "host", "host:", ":6379", "host:0", "host:70000", "host:6379x"}) {
    EXPECT_EQ(Redis::start({.servers = {server}}).error().code, Errc::invalid) << server;
  }
  EXPECT_EQ(Redis::start({}).error().code, Errc::invalid);
}

TEST(RedisStart, a_password_is_given_and_a_wrong_one_is_an_error_value) {
  if (!redis_server_found()) GTEST_SKIP() << "redis-server is not installed";
  RedisServer server;
  server.cli("acl setuser shop on '>secret' '~*' '+@all'");
  server.cli("config set requirepass hidden");
  const auto by_user = start_driver({.servers = {server.address()}, .user = "shop", .password = "secret"});
  EXPECT_EQ(ask(*by_user, command("PING")).value().reply.text(), "PONG");
  const auto by_password = start_driver({.servers = {server.address()}, .password = "hidden"});
  EXPECT_EQ(ask(*by_password, command("PING")).value().reply.text(), "PONG");
  const auto wrong = start_driver({.servers = {server.address()}, .password = "guess"});
  const auto refused = ask(*wrong, command("PING", milliseconds{500}));
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_NE(refused.error().text().find("WRONGPASS"), std::string::npos) << refused.error().text();
}

}  // namespace
}  // namespace seckill::drivers::redis
