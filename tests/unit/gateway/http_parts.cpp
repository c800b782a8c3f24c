// The HTTP core's pure parts.
#include <fmt/format.h>
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

// What a request means, as text, so that two readings can be compared.
std::string meaning(const RequestHead& h, std::string_view bytes) {
  std::string text = fmt::format("{} {} {} {} {} {} {} {} {}", name(h.method), h.version_11, h.keep_alive, h.canonical,
                                 h.chunked, h.has_content_length, h.bytes, h.headers, h.content_length);
  for (const Span span : {h.path, h.query, h.host, h.authorization, h.idempotency_key, h.content_type,
                          h.accept_language, h.if_match, h.if_none_match, h.user_agent, h.forwarded_for}) {
    text += fmt::format("|{}+{}:", span.at, span.at == 0 ? 0 : span.size);
    if (span.at != 0) text.append(bytes.substr(span.at, span.size));
  }
  return text;
}

struct Reading {
  ParseOutcome outcome = ParseOutcome::need_more;
  std::string meaning;
  std::string body;
  bool operator==(const Reading&) const = default;
};

// Reads `bytes` as they arrive, `piece` at a time. One piece lets a plain head take the fast lane; with smaller ones
// Beast reads it.
Reading read_in_pieces(std::string_view bytes, std::size_t piece) {
  static const ParseLimits limits{2'048, 16, 256, 4'096};
  RequestParser parser{limits};
  Reading reading;
  std::size_t have = 0;
  while (reading.outcome == ParseOutcome::need_more && have < bytes.size()) {
    have = std::min(bytes.size(), have + piece);
    reading.outcome = parser.parse_head(bytes.substr(0, have));
  }
  if (reading.outcome != ParseOutcome::done) {
    return reading;
  }
  reading.meaning = meaning(parser.head(), bytes);
  if (!parser.head().chunked) {
    return reading;
  }
  std::size_t from = parser.head().bytes;
  have = std::max(have, from);
  for (;;) {
    std::size_t consumed = 0;
    reading.outcome = parser.parse_chunks(bytes.substr(from, have - from), consumed, reading.body);
    from += consumed;
    if (reading.outcome != ParseOutcome::need_more || have == bytes.size()) {
      return reading;
    }
    have = std::min(bytes.size(), have + piece);
  }
}

TEST(RequestParser, TakesALongHeadWhoseRequestLineCameInPieces) {
  const std::string head = "GET /a HTTP/1.1\r\nHost: a\r\nUser-Agent: " + std::string(1'000, 'u') + "\r\n\r\n";
  for (const std::size_t piece : {1U, 7U, 100U}) {
    EXPECT_EQ(read_in_pieces(head, piece).outcome, ParseOutcome::done);
  }
}

// Whatever bytes come, in whatever pieces, they mean the same; so the fast lane accepts nothing that Beast refuses, and
// reads nothing differently.
TEST(RequestParser, ReadsMutatedRequestsTheSameInOnePieceAndInMany) {
  const std::string put =
      "PUT /e HTTP/1.1\r\nHost: \r\nAuthorization: Bearer a.b.c\r\nConnection: keep-alive\r\n"
      "Idempotency-Key:  k  \r\nX-Forwarded-For: 1.2.3.4\r\nAccept-Language: zh-CN\r\nContent-Type: a/b\r\n\r\n";
  const std::string seeds[] = {
      "POST /a/b?c=d HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nUser-Agent: x\r\n\r\nhello",
      "DELETE /x.y/z HTTP/1.1\r\nhost:a\r\nConnection: close\r\nIf-Match: \"3\"\r\nExpect: 100-continue\r\n\r\n",
      put,
      "GET / HTTP/1.0\r\nIdempotency-Key: 123\r\n\r\n",
      "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n",
      "POST /d HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "GET /f HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1\r\nX-Forwarded-For: 2\r\nProxy-Connection: close\r\n\r\n",
  };
  std::mt19937 random{20261111};
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string bytes = seeds[random() % std::size(seeds)];
    for (unsigned i = random() % 4; i > 0 && !bytes.empty(); --i) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<char>(random() % 256); break;
        case 1: bytes.erase(at, random() % 4); break;
        case 2: bytes[at] = static_cast<char>(bytes[at] ^ 0x20); break;
        default: bytes.insert(at, 1 + random() % 3, "\r\n :,;0\t\xff\x7f"[random() % 10]); break;
      }
    }
    if (bytes.empty()) continue;
    const Reading whole = read_in_pieces(bytes, bytes.size());
    const Reading pieces = read_in_pieces(bytes, 1 + random() % 7);
    if (whole.outcome == ParseOutcome::done) {
      EXPECT_EQ(whole.meaning, pieces.meaning) << bytes;
      EXPECT_EQ(whole, pieces) << bytes;
      ++accepted;
    } else if (pieces.outcome != ParseOutcome::need_more) {  // a head in pieces is judged when its end is there
      EXPECT_EQ(whole.outcome, pieces.outcome) << bytes;
      ++refused;
    }
  }
  EXPECT_GT(accepted, 10'000);
  EXPECT_GT(refused, 5'000);
}

}  // namespace
}  // namespace seckill::gateway::http
