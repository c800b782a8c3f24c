// The Redis driver's parts that need no server: slots and addresses, replies from bytes, commands, breaker, backoff.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "drivers/redis/breaker.hpp"
#include "drivers/redis/pending_call.hpp"
#include "drivers/redis/reply_reader.hpp"
#include "drivers/redis/slots.hpp"

namespace seckill::drivers::redis {
namespace {

using std::chrono::milliseconds;

RedisReply parsed(std::string_view bytes) {
  ReplyReader reader;
  EXPECT_TRUE(reader.feed(bytes));
  return reader.next().value().value();
}

TEST(RedisSlots, a_key_has_the_slot_that_redis_gives_it) {
  EXPECT_EQ(slot_of("123456789"), 0x31C3);  // the check value of CRC16/XMODEM
  EXPECT_EQ(slot_of("foo"), 12'182);
  EXPECT_EQ(slot_of("foo{hash_tag}"), slot_of("hash_tag"));
  EXPECT_EQ(slot_of(""), 0);
}

TEST(RedisSlots, only_the_first_tag_that_is_not_empty_is_hashed) {
  EXPECT_EQ(hashed_part("{user1000}.following"), "user1000");
  EXPECT_EQ(hashed_part("foo{}{bar}"), "foo{}{bar}");
  EXPECT_EQ(hashed_part("foo{{bar}}zap"), "{bar");
  EXPECT_EQ(hashed_part("foo{bar}{zap}"), "bar");
  EXPECT_EQ(hashed_part("foo{bar"), "foo{bar");
  EXPECT_EQ(hashed_part("foo}bar{"), "foo}bar{");
}

TEST(RedisSlots, a_key_beside_another_is_in_its_slot) {
  for (const std::string_view key : {"plain", "{lane}x", "foo{}{bar}", "foo{{bar}}zap", "}", "a}b", "{", ""}) {
    const std::string beside = key_beside("wait:", key);
    EXPECT_EQ(slot_of(beside), slot_of(key)) << key;
    EXPECT_TRUE(beside.starts_with("wait:"));
    EXPECT_NE(beside, key);
  }
}

TEST(RedisSlots, addresses_with_names_numbers_brackets_and_no_host_are_read) {
  const Endpoint asked{"10.0.0.1", 7'000};
  EXPECT_EQ(parse_endpoint("redis-1.shop:6379"), (Endpoint{"redis-1.shop", 6'379}));
  EXPECT_EQ(parse_endpoint("[::1]:6379"), (Endpoint{"::1", 6'379}));
  EXPECT_EQ(parse_endpoint("::1:6379"), (Endpoint{"::1", 6'379}));
  EXPECT_EQ(parse_endpoint(":7001", &asked), (Endpoint{"10.0.0.1", 7'001}));
  EXPECT_EQ(parse_endpoint("?:7001", &asked), (Endpoint{"10.0.0.1", 7'001}));
  EXPECT_EQ((Endpoint{"::1", 6'379}).text(), "[::1]:6379");
  for (const std::string_view wrong : {"", "host", "host:", ":1", "?:1", "host:0", "host:65536", "host:-1", "a b:1"}) {
    EXPECT_EQ(parse_endpoint(wrong), std::nullopt) << wrong;
  }
}

TEST(RedisSlots, redirects_are_read_and_garbage_is_not_one) {
  const Endpoint asked{"10.0.0.1", 7'000};
  const auto moved = parse_redirect("MOVED 3999 127.0.0.1:6381", asked);
  EXPECT_EQ(moved.value().slot, 3'999);
  EXPECT_EQ(moved->to, (Endpoint{"127.0.0.1", 6'381}));
  EXPECT_EQ(parse_redirect("ASK 0 :6381", asked).value().to, (Endpoint{"10.0.0.1", 6'381}));
  EXPECT_EQ(parse_redirect("MOVED 1 2001:db8::1:6381", asked).value().to, (Endpoint{"2001:db8::1", 6'381}));
  for (const std::string_view wrong :
       {"MOVED", "MOVED 1", "MOVED 16384 h:1", "MOVED x h:1", "MOVED 1 h", "MOVED -1 h:1"}) {
    EXPECT_FALSE(parse_redirect(wrong, asked).has_value()) << wrong;
  }
}

TEST(RedisSlots, a_map_is_read_with_unknown_hosts_replicas_and_what_newer_servers_add) {
  const Endpoint asked{"10.0.0.1", 7'000};
  const RedisReply reply = parsed(
      "*3\r\n"
      "*4\r\n:0\r\n:5460\r\n*4\r\n$0\r\n\r\n:7000\r\n$2\r\nid\r\n*0\r\n*3\r\n$8\r\n10.0.0.4\r\n:7003\r\n$2\r\nid\r\n"
      "*3\r\n:5461\r\n:10922\r\n*3\r\n$8\r\n10.0.0.2\r\n:7001\r\n$2\r\nid\r\n"
      "*3\r\n:10923\r\n:16382\r\n*3\r\n$-1\r\n:7002\r\n$2\r\nid\r\n");
  const SlotMap map = parse_slots(reply, asked).value();
  EXPECT_EQ(*map.owner(0), (Endpoint{"10.0.0.1", 7'000}));
  EXPECT_EQ(*map.owner(5'461), (Endpoint{"10.0.0.2", 7'001}));
  EXPECT_EQ(*map.owner(16'382), (Endpoint{"10.0.0.1", 7'002}));
  EXPECT_EQ(map.owner(16'383), nullptr);
  EXPECT_EQ(map.others, (std::vector<Endpoint>{{"10.0.0.4", 7'003}}));
  for (const std::string_view wrong :
       {"+OK\r\n", "*1\r\n:1\r\n", "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$1\r\nh\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n", "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n:65536\r\n"}) {
    EXPECT_FALSE(parse_slots(parsed(wrong), asked).has_value()) << wrong;
  }
}

TEST(RedisSlots, one_slot_moves_without_the_rest) {
  SlotMap map;
  map.assign(7, {"a", 1});
  map.assign(8, {"b", 1});
  map.assign(7, {"b", 1});
  EXPECT_EQ(map.owner(7)->host, "b");
  EXPECT_EQ(map.masters.size(), 2u);
  EXPECT_EQ(map.owner(9), nullptr);
}

TEST(RedisReplies, come_whole_however_the_bytes_are_cut) {
  const std::string bytes = "*3\r\n$3\r\nabc\r\n*2\r\n:-5\r\n$-1\r\n-ERR no\r\n+OK\r\n";
  for (std::size_t cut = 1; cut <= bytes.size(); ++cut) {
    ReplyReader reader;
    std::vector<RedisReply> replies;
    for (std::size_t at = 0; at < bytes.size(); at += cut) {
      ASSERT_TRUE(reader.feed(std::string_view(bytes).substr(at, cut)));
      for (auto next = reader.next(); next.value().has_value(); next = reader.next()) replies.push_back(**next);
    }
    ASSERT_EQ(replies.size(), 2u) << cut;
    EXPECT_EQ(replies[0].items().at(0).text(), "abc");
    EXPECT_EQ(replies[0].items().at(1).items().at(0).integer(), -5);
    EXPECT_EQ(replies[0].items().at(1).items().at(1).kind(), RedisReply::Kind::nil);
    EXPECT_TRUE(replies[0].items().at(2).is_error());
    EXPECT_EQ(replies[1].text(), "OK");
  }
}

TEST(RedisReplies, what_claims_too_much_or_is_not_the_protocol_is_corrupt) {
  for (const std::string_view wrong : {"HTTP/1.1 400\r\n", "*1048577\r\n", "*-2\r\n", "$-2\r\n", ":1x\r\n", "\r\n"}) {
    ReplyReader reader;
    ASSERT_TRUE(reader.feed(wrong));
    const auto reply = reader.next();
    ASSERT_FALSE(reply.has_value()) << wrong;
    EXPECT_EQ(reply.error().code, base::Errc::corrupt);
    EXPECT_FALSE(reader.next().has_value());
  }
  ReplyReader reader;
  ASSERT_TRUE(reader.feed("$900000000\r\n"));
  const std::string chunk(1u << 20, 'x');
  std::size_t taken = 0;
  while (taken < 2 * reply_bytes_max && reader.feed(chunk)) taken += chunk.size();
  EXPECT_LT(taken, reply_bytes_max);
}

TEST(RedisReplies, a_text_is_an_integer_only_as_a_whole) {
  EXPECT_EQ(parsed("$2\r\n42\r\n").integer(), 42);
  EXPECT_EQ(parsed("$20\r\n-9223372036854775808\r\n").integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parsed("$3\r\n42x\r\n").integer(), std::nullopt);
  EXPECT_EQ(parsed("$0\r\n\r\n").integer(), std::nullopt);
  EXPECT_EQ(parsed("-42\r\n").integer(), std::nullopt);
  EXPECT_EQ(parsed("$19\r\n9223372036854775808\r\n").integer(), std::nullopt);
}

TEST(RedisCommands, are_formatted_with_every_byte_and_empty_words) {
  const std::array<std::string_view, 3> words{"SET", std::string_view("a\r\n\0b", 5), ""};
  EXPECT_EQ(format_command(words), std::string("*3\r\n$3\r\nSET\r\n$5\r\na\r\n\0b\r\n$0\r\n\r\n", 30));
  const RedisScript script("return 1");
  EXPECT_EQ(script.sha1(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
  RedisCall call;
  call.script = &script;
  call.keys = {"k"};
  call.args = {"a", ""};
  EXPECT_EQ(format_call(call),
            "*6\r\n$7\r\nEVALSHA\r\n$40\r\n" + script.sha1() + "\r\n$1\r\n1\r\n$1\r\nk\r\n$1\r\na\r\n$0\r\n\r\n");
}

TEST(RedisBreaker, opens_after_failures_in_a_row_and_lets_one_call_try_at_a_time) {
  Breaker breaker(3, milliseconds{500});
  TimePoint now{};
  EXPECT_FALSE(breaker.failed(now));
  EXPECT_FALSE(breaker.failed(now));
  breaker.succeeded();
  EXPECT_FALSE(breaker.failed(now));
  EXPECT_FALSE(breaker.failed(now));
  EXPECT_TRUE(breaker.try_pass(now));
  EXPECT_TRUE(breaker.failed(now));
  EXPECT_FALSE(breaker.try_pass(now));
  EXPECT_FALSE(breaker.try_pass(now + milliseconds{499}));
  now += milliseconds{500};
  EXPECT_TRUE(breaker.try_pass(now));
  EXPECT_FALSE(breaker.try_pass(now));
  EXPECT_FALSE(breaker.failed(now));  // it was open
  EXPECT_FALSE(breaker.try_pass(now + milliseconds{499}));
  EXPECT_TRUE(breaker.try_pass(now + milliseconds{500}));
  breaker.succeeded();
  EXPECT_TRUE(breaker.try_pass(now));
  EXPECT_TRUE(breaker.try_pass(now));
}

TEST(RedisBackoff, doubles_to_its_bound_within_its_jitter_and_starts_again) {
  Backoff backoff(milliseconds{50}, milliseconds{300});
  for (int round = 0; round < 2; ++round) {
    for (const int whole : {50, 100, 200, 300, 300}) {
      const milliseconds pause = backoff.next(base::system_random());
      EXPECT_GE(pause, milliseconds{whole / 2});
      EXPECT_LE(pause, milliseconds{whole});
    }
    backoff.reset();
  }
}

}  // namespace
}  // namespace seckill::drivers::redis
