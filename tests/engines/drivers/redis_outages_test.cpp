// The Redis driver when its server hangs, dies, comes back as another, refuses writes, or is no Redis at all.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "drivers/redis_server.hpp"

namespace seckill::drivers::redis {
namespace {

using base::Errc;
using std::chrono::milliseconds;

class RedisOutages : public testing::Test {
 protected:
  void SetUp() override {
    if (!redis_server_found()) GTEST_SKIP() << "redis-server is not installed";
    server_ = std::make_unique<RedisServer>(std::vector<std::string>{"--appendonly", "yes"});
    redis_ = start_driver({.servers = {server_->address()}});
    ASSERT_EQ(ask(*redis_, command("SET k 1")).value().reply.text(), "OK");
  }
  // Is the driver of use (again)?
  bool answers() {
    return wait_until([this] {
      const auto answer = ask(*redis_, command("PING", milliseconds{1'000}));
      return answer.has_value() && answer->reply.text() == "PONG";
    });
  }
  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<Redis> redis_;
};

TEST_F(RedisOutages, a_passed_deadline_is_unknown_and_what_comes_late_is_never_delivered) {
  Answers waiting;
  server_->pause();
  redis_->call(command("SET k late", milliseconds{200}), waiting.take(0));
  redis_->call(command("GET k", milliseconds{60'000}), waiting.take(1));  // its neighbour on the link ends with it
  waiting.wait_for(2);
  for (const auto& [place, answer] : waiting.all()) EXPECT_EQ(answer.error().code, Errc::timeout);
  EXPECT_GE(redis_->counters().timeouts, 2u);
  server_->resume();
  ASSERT_TRUE(answers());
  // Were the old replies still to come, these would be answered by them.
  for (int i = 0; i < 100; ++i) {
    const std::string text = std::to_string(i);
    EXPECT_EQ(ask(*redis_, command("ECHO " + text)).value().reply.text(), text);
  }
  EXPECT_EQ(waiting.number(), 2u);
}

TEST_F(RedisOutages, a_call_that_was_never_sent_is_unavailable_not_unknown) {
  const auto other = start_driver({.servers = {server_->address()}});
  server_->pause();  // the kernel still takes connections for it, the greeting is never answered
  EXPECT_EQ(ask(*other, command("INCR k", milliseconds{200})).error().code, Errc::unavailable);
  server_->resume();
}

TEST_F(RedisOutages, FS_29_after_kill_and_restart_calls_go_on_without_our_restart) {
  for (int round = 0; round < 3; ++round) {
    server_->kill();
    Answers down;
    for (std::size_t i = 0; i < 50; ++i) redis_->call(command("PING", milliseconds{300}), down.take(i));
    down.wait_for(50);
    for (const auto& [place, answer] : down.all()) EXPECT_FALSE(answer.has_value());
    server_->start();
    EXPECT_TRUE(answers()) << "round " << round;
  }
  EXPECT_EQ(ask(*redis_, command("GET k")).value().reply.integer(), 1);
}

TEST_F(RedisOutages, FS_29_the_breaker_opens_in_an_outage_and_one_call_that_succeeds_closes_it) {
  server_->pause();
  Answers hanging;
  for (std::size_t i = 0; i < 20; ++i) redis_->call(command("PING", milliseconds{100}), hanging.take(i));
  hanging.wait_for(20);
  EXPECT_GE(redis_->counters().breaker_opened, 1u);
  const std::uint64_t sent = redis_->counters().calls;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(ask(*redis_, command("PING", milliseconds{60'000})).error().code, Errc::unavailable);
  }
  EXPECT_EQ(redis_->counters().calls, sent);
  server_->resume();
  EXPECT_TRUE(answers());
  EXPECT_TRUE(ask(*redis_, command("PING")).has_value());
}

TEST_F(RedisOutages, FS_29_connections_that_the_server_closes_are_made_anew) {
  for (int i = 0; i < 5; ++i) {
    server_->cli("client kill type normal skipme yes");
    EXPECT_TRUE(answers());
  }
  EXPECT_GE(redis_->counters().connects, 2u);
}

TEST_F(RedisOutages, FS_29_a_peer_that_speaks_something_else_is_an_error_and_never_an_abort) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), length), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ASSERT_EQ(::listen(listener, 16), 0);
  const std::vector<std::string> words{"HTTP/1.1 400 Bad Request\r\n\r\n",
                                       "*1000000000\r\n",
                                       "$-7\r\nabc",
                                       "+OK\r\n+OK\r\n+OK\r\n+OK\r\n",
                                       "$900000000000\r\n",
                                       "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
                                       std::string(2'000, '\0')};
  std::atomic<std::size_t> served{0};
  std::jthread peer([&] {
    for (;;) {
      const int connection = ::accept(listener, nullptr, nullptr);
      if (connection < 0) return;
      const std::string& word = words[served.fetch_add(1) % words.size()];
      (void)::send(connection, word.data(), word.size(), MSG_NOSIGNAL);
      std::array<char, 256> ignored{};
      (void)::recv(connection, ignored.data(), ignored.size(), 0);
      ::close(connection);
    }
  });
  const auto redis = start_driver({.servers = {"127.0.0.1:" + std::to_string(ntohs(address.sin_port))},
                                   .connect_longest = milliseconds{300},
                                   .backoff_min = milliseconds{1},
                                   .backoff_max = milliseconds{2}});
  EXPECT_TRUE(wait_until([&] {
    EXPECT_FALSE(ask(*redis, command("PING", milliseconds{100})).has_value());
    return served >= 2 * words.size();
  }));
  ::shutdown(listener, SHUT_RDWR);
  peer.join();
  ::close(listener);
}

TEST_F(RedisOutages, FS_07_a_script_is_loaded_anew_after_a_restart) {
  const RedisScript script("return redis.call('INCR', KEYS[1])");
  EXPECT_EQ(ask(*redis_, script_call(script, {"n"})).value().reply.integer(), 1);
  server_->kill();
  server_->start();
  ASSERT_TRUE(answers());
  EXPECT_EQ(ask(*redis_, script_call(script, {"n"})).value().reply.integer(), 2);
  EXPECT_EQ(redis_->counters().script_loads, 2u);
}

TEST_F(RedisOutages, a_call_meant_for_the_server_of_before_is_foreign_to_a_restarted_one_and_not_executed) {
  const RedisIdentity before = ask(*redis_, command("PING")).value().identity;
  RedisCall meant = command("INCR k");
  meant.expected = before;
  EXPECT_EQ(ask(*redis_, meant).value().reply.integer(), 2);
  server_->kill();
  server_->start();
  ASSERT_TRUE(answers());
  const CallAnswer answer = ask(*redis_, meant).value();
  EXPECT_EQ(answer.end, CallEnd::foreign);
  EXPECT_NE(answer.identity, before);
  EXPECT_EQ(ask(*redis_, command("GET k")).value().reply.integer(), 2);
  EXPECT_EQ(redis_->counters().foreign, 1u);
  meant.expected = answer.identity;
  EXPECT_EQ(ask(*redis_, meant).value().reply.integer(), 3);
}

TEST_F(RedisOutages, a_promoted_replica_is_foreign_to_calls_meant_for_what_it_was) {
  RedisServer replica(
      {"--replicaof", "127.0.0.1 " + std::to_string(server_->port()), "--repl-diskless-sync-delay", "0"});
  ASSERT_TRUE(wait_until([&] { return replica.cli("info replication").contains("master_link_status:up"); }));
  const auto redis = start_driver({.servers = {replica.address()}});
  RedisCall meant = command("GET k");
  meant.expected = ask(*redis, command("PING")).value().identity;
  EXPECT_EQ(ask(*redis, meant).value().reply.integer(), 1);
  const std::uint64_t connects = redis->counters().connects;
  replica.cli("replicaof no one");
  EXPECT_TRUE(wait_until([&] { return ask(*redis, meant).value().end == CallEnd::foreign; }));
  EXPECT_EQ(redis->counters().connects, connects);  // by asking each second, on the same connection
}

TEST_F(RedisOutages, READONLY_is_an_error_value_and_the_next_address_is_tried) {
  RedisServer next;
  const auto redis = start_driver({.servers = {server_->address(), next.address()},
                                   .backoff_min = milliseconds{10},
                                   .backoff_max = milliseconds{50}});
  EXPECT_EQ(ask(*redis, command("SET k 5")).value().reply.text(), "OK");
  server_->cli("replicaof 127.0.0.1 " + std::to_string(next.port()));
  const auto refused = ask(*redis, command("SET k 6"));
  if (refused.has_value()) EXPECT_TRUE(refused->reply.text().starts_with("READONLY")) << refused->reply.text();
  EXPECT_TRUE(wait_until([&] {
    const auto answer = ask(*redis, command("SET k 7"));
    return answer.has_value() && answer->reply.text() == "OK";
  }));
  EXPECT_EQ(next.cli("get k"), "7");
}

TEST_F(RedisOutages, FS_67_refused_writes_are_error_values_while_reads_go_on_and_all_recovers) {
  server_->cli("config set save '3600 1'");
  server_->cli("config set appendonly no");
  // A snapshot cannot take the place of a folder.
  const std::filesystem::path in_the_way = server_->folder() / "dump.rdb";
  std::filesystem::create_directory(in_the_way);
  server_->cli("bgsave");
  ASSERT_TRUE(wait_until([&] { return server_->cli("info persistence").contains("rdb_last_bgsave_status:err"); }));
  const RedisReply refused = ask(*redis_, command("SET k 9")).value().reply;
  EXPECT_TRUE(refused.is_error());
  EXPECT_TRUE(refused.text().starts_with("MISCONF")) << refused.text();
  const RedisScript script("return redis.call('SET', KEYS[1], 'x')");
  EXPECT_TRUE(ask(*redis_, script_call(script, {"k"})).value().reply.is_error());
  EXPECT_EQ(ask(*redis_, command("GET k")).value().reply.integer(), 1);
  EXPECT_EQ(wait_for_replicas(*redis_, "k", 0, milliseconds{500}).error().code, Errc::unavailable);
  std::filesystem::remove(in_the_way);
  server_->cli("bgsave");
  EXPECT_TRUE(wait_until([&] { return ask(*redis_, command("SET k 9")).value().reply.text() == "OK"; }));
}

TEST_F(RedisOutages, FS_57_out_of_memory_is_an_error_value_and_nothing_was_written) {
  const RedisScript script("redis.call('DECR', KEYS[1]) return redis.call('SADD', KEYS[2], ARGV[1])");
  EXPECT_FALSE(ask(*redis_, script_call(script, {"stock", "marks"}, {"u1"})).value().reply.is_error());
  server_->cli("config set maxmemory 1");
  const RedisReply full = ask(*redis_, script_call(script, {"stock", "marks"}, {"u2"})).value().reply;
  EXPECT_TRUE(full.is_error());
  EXPECT_TRUE(full.text().starts_with("OOM")) << full.text();
  EXPECT_EQ(ask(*redis_, command("GET stock")).value().reply.integer(), -1);
  server_->cli("config set maxmemory 0");
  EXPECT_EQ(ask(*redis_, script_call(script, {"stock", "marks"}, {"u2"})).value().reply.integer(), 1);
}

TEST_F(RedisOutages, while_a_server_loads_its_data_calls_wait_and_are_then_executed_once) {
  server_->cli("eval \"for i = 1, 4000 do redis.call('set', 'x' .. i, string.rep('x', 100)) end\" 0");
  server_->cli("config set appendonly no");
  server_->cli("save");
  server_->kill();
  server_->add_options(
      {"--appendonly", "no", "--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024"});
  server_->start_without_waiting();
  Answers answers;
  ASSERT_TRUE(wait_until([&] { return server_->cli("ping").contains("LOADING"); }));
  for (std::size_t i = 0; i < 10; ++i) redis_->call(command("INCR k", milliseconds{60'000}), answers.take(i));
  answers.wait_for(10);
  for (const auto& [place, answer] : answers.all()) EXPECT_FALSE(answer.value().reply.is_error());
  EXPECT_EQ(ask(*redis_, command("GET k")).value().reply.integer(), 11);
}

TEST_F(RedisOutages, replicas_are_counted_by_what_they_really_have) {
  RedisServer replica(
      {"--replicaof", "127.0.0.1 " + std::to_string(server_->port()), "--repl-diskless-sync-delay", "0"});
  ASSERT_TRUE(wait_until([&] { return replica.cli("info replication").contains("master_link_status:up"); }));
  EXPECT_EQ(wait_for_replicas(*redis_, "k", 1, milliseconds{5'000}).value(), 1u);
  EXPECT_EQ(wait_for_replicas(*redis_, "k", 2, milliseconds{200}).value(), 1u);
  replica.pause();
  EXPECT_EQ(wait_for_replicas(*redis_, "k", 1, milliseconds{300}).value(), 0u);
  EXPECT_TRUE(ask(*redis_, command("GET k")).has_value());  // calls do not wait behind it
  replica.resume();
  EXPECT_EQ(wait_for_replicas(*redis_, "k", 1, milliseconds{20'000}).value(), 1u);
  const auto foreign = wait_for_replicas(*redis_, "k", 1, milliseconds{500}, RedisIdentity{"somebody", "else"});
  EXPECT_EQ(foreign.value(), std::nullopt);
  server_->pause();
  EXPECT_FALSE(wait_for_replicas(*redis_, "k", 1, milliseconds{200}).has_value());
  server_->resume();
}

TEST_F(RedisOutages, many_who_wait_for_replicas_share_few_WAITs) {
  RedisServer replica(
      {"--replicaof", "127.0.0.1 " + std::to_string(server_->port()), "--repl-diskless-sync-delay", "0"});
  ASSERT_TRUE(wait_until([&] { return replica.cli("info replication").contains("master_link_status:up"); }));
  std::atomic<int> good{0};
  std::atomic<int> all{0};
  for (int i = 0; i < 500; ++i) {
    redis_->wait_replicas("k" + std::to_string(i), std::nullopt, 1, milliseconds{30'000}, [&](auto answer) {
      if (answer.has_value() && *answer == 1u) ++good;
      ++all;
    });
  }
  EXPECT_TRUE(wait_until([&] { return all == 500; }));
  EXPECT_EQ(good, 500);
  const std::string waits = server_->cli("info commandstats | grep -o 'cmdstat_wait:calls=[0-9]*' | cut -d= -f2");
  EXPECT_LT(std::stoi(waits), 250) << "one WAIT each would be 500";
}

}  // namespace
}  // namespace seckill::drivers::redis
