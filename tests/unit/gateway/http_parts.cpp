// The HTTP core's pure parts.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "gateway/http/connection_caps.hpp"
#include "gateway/http/reply.hpp"
#include "gateway/http/request.hpp"
#include "gateway/http/request_parser.hpp"
#include "gateway/http/timer_wheel.hpp"

namespace seckill::gateway::http {
namespace {

TEST(TimerWheel, ExpiresEachEntryAtItsLastDeadlineWhateverCameBefore) {
  TimerWheel wheel;
  struct Timed : WheelEntry {
    std::uint64_t due = 0;
  };
  std::vector<std::unique_ptr<Timed>> entries;
  for (int i = 0; i < 200; ++i) {
    entries.push_back(std::make_unique<Timed>());
  }
  std::mt19937 random{7};
  int expired = 0;
  for (int tick = 0; tick < 3'000; ++tick) {
    for (auto& entry : entries) {
      if (random() % 50 == 0) {
        const std::uint64_t in = random() % 400;
        wheel.schedule(*entry, in);
        entry->due = wheel.now() + std::max<std::uint64_t>(in, 1);
      } else if (random() % 200 == 0) {
        entry->unlink();
        entry->due = 0;
      }
    }
    wheel.advance([&](WheelEntry& entry) {
      auto& timed = static_cast<Timed&>(entry);
      EXPECT_EQ(timed.due, wheel.now());
      timed.due = 0;
      ++expired;
    });
    for (const auto& entry : entries) {
      EXPECT_TRUE(entry->due == 0 || entry->due > wheel.now());
    }
  }
  EXPECT_GT(expired, 1'000);
}

TEST(Reply, RendersOnlyWhatIsNeeded) {
  const PreparedReply prepared{Reply::json(409, R"({"code":0})")};
  EXPECT_EQ(prepared.bytes(false, false),
            "HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{\"code\":0}");
  EXPECT_EQ(prepared.bytes(true, false),
            "HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"
            "{\"code\":0}");
  EXPECT_EQ(
      prepared.bytes(true, true),
      "HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: 10\r\nConnection: close\r\n\r\n");
}

TEST(Reply, RendersHeadersAndADate) {
  const RenderedReply rendered =
      RenderedReply::of(Reply::problem(429, "{}").retry_after(std::chrono::seconds{3}).header("ETag", "\"1\""));
  const std::string all{rendered.all()};
  EXPECT_TRUE(all.starts_with("HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\nDate: "));
  EXPECT_TRUE(all.ends_with(" GMT\r\nRetry-After: 3\r\nETag: \"1\"\r\nContent-Length: 2\r\n\r\n{}"));
  EXPECT_EQ(http_date_now().size(), 29U);
}

TEST(Reply, GivesNoContentNeitherBodyNorLength) {
  const PreparedReply prepared{Reply{204, "", "ignored"}};
  EXPECT_EQ(prepared.bytes(false, false), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(ReplyDeathTest, AHeaderNeverCarriesALineBreak) {
  EXPECT_DEATH(Reply::json(200, "{}").header("Location", "/a\r\nSet-Cookie: b"), "response splitting");
}

TEST(PeerAddress, ReadsAndWritesBothFamilies) {
  EXPECT_EQ(PeerAddress::parse("192.0.2.7")->text(), "192.0.2.7");
  EXPECT_EQ(PeerAddress::parse("::ffff:192.0.2.7"), PeerAddress::parse("192.0.2.7"));
  EXPECT_EQ(PeerAddress::parse("2001:DB8::1")->text(), "2001:db8::1");
  for (const char* bad : {"", "1.2.3", "01.2.3.4.5", "1.2.3.4 ", "[::1]", "::1%lo", "1.2.3.4:80", "x"}) {
    EXPECT_FALSE(PeerAddress::parse(bad)) << bad;
  }
}

TEST(ConnectionCaps, CountsIPv6ByItsNetworkAndForgetsWhatIsClosed) {
  ConnectionCaps caps{2, {"2001:db8:9::9"}};
  ConnectionCaps::Key first = 0;
  ConnectionCaps::Key second = 0;
  ConnectionCaps::Key third = 0;
  EXPECT_TRUE(caps.try_take(*PeerAddress::parse("2001:db8::1"), first));
  EXPECT_TRUE(caps.try_take(*PeerAddress::parse("2001:db8::2"), second));
  EXPECT_FALSE(caps.try_take(*PeerAddress::parse("2001:db8::3"), third));
  EXPECT_TRUE(caps.try_take(*PeerAddress::parse("2001:db8:0:1::1"), third));
  caps.release(first);
  EXPECT_TRUE(caps.try_take(*PeerAddress::parse("2001:db8::3"), third));
  for (int i = 0; i < 5; ++i) {
    ConnectionCaps::Key proxy = 1;
    EXPECT_TRUE(caps.try_take(*PeerAddress::parse("2001:db8:9::9"), proxy));
    EXPECT_EQ(proxy, 0U);
  }
}

// Whatever bytes come, in whatever pieces: the parser ends each request the same way, and stays within its caps.
TEST(RequestParser, ReadsMutatedRequestsTheSameInOnePieceAndInMany) {
  const ParseLimits limits{2'048, 16, 256, 4'096};
  const std::string seeds[] = {
      "POST /a/b?c=d HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nUser-Agent: x\r\n\r\nhello",
      "GET / HTTP/1.0\r\nIdempotency-Key: 123\r\n\r\n",
      "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n",
  };
  std::mt19937 random{20261111};
  for (int round = 0; round < 30'000; ++round) {
    std::string bytes = seeds[random() % 3];
    for (unsigned i = random() % 4; i > 0; --i) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0: bytes[at] = static_cast<char>(random() % 256); break;
        case 1: bytes.erase(at, random() % 4); break;
        default: bytes.insert(at, 1 + random() % 3, "\r\n :,;0\t\xff"[random() % 9]); break;
      }
      if (bytes.empty()) bytes = "x";
    }
    const auto read = [&](std::size_t piece) {
      RequestParser parser{limits};
      ParseOutcome outcome = ParseOutcome::need_more;
      std::size_t have = 0;
      while (outcome == ParseOutcome::need_more && have < bytes.size()) {
        have = std::min(bytes.size(), have + piece);
        outcome = parser.parse_head({bytes.data(), have});
      }
      if (outcome != ParseOutcome::done || !parser.head().chunked) {
        return std::tuple{outcome, parser.head().bytes, std::string{}};
      }
      std::string body;
      std::size_t from = parser.head().bytes;
      outcome = ParseOutcome::need_more;
      have = std::max(have, from);
      do {
        std::size_t consumed = 0;
        outcome = parser.parse_chunks(std::string_view{bytes}.substr(from, have - from), consumed, body);
        from += consumed;
        if (have == bytes.size()) break;
        have = std::min(bytes.size(), have + piece);
      } while (outcome == ParseOutcome::need_more);
      return std::tuple{outcome, static_cast<std::uint32_t>(from), body};
    };
    const auto whole = read(bytes.size());
    const auto pieces = read(1 + random() % 7);
    const ParseOutcome ended = std::get<0>(whole);
    if (ended == ParseOutcome::done) {
      EXPECT_EQ(whole, pieces) << bytes;
    } else if (std::get<0>(pieces) != ParseOutcome::need_more) {  // a head in pieces is judged when its end is there
      EXPECT_EQ(ended, std::get<0>(pieces)) << bytes;
    }
  }
}

}  // namespace
}  // namespace seckill::gateway::http
