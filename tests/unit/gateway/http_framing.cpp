// Hostile framing against a real listener: every request that two programs could read in two ways is refused and the
// connection ends, so that nothing hidden in its tail is ever run. Sources: CASES FS-62, FS-31, FS-32, FS-48.
#include "unit/gateway/http_wire.hpp"

namespace seckill::gateway::http::testing {
namespace {

const std::string hidden = "POST /hidden HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";

// The request line and Host, then `headers` (each with its CRLF) and an empty line.
std::string with(std::string_view headers) {
  return std::string{"POST /buy HTTP/1.1\r\nHost: a\r\n"}.append(headers).append("\r\n");
}

// Sent in one piece, and again byte by byte; both must be refused, and neither /buy nor the hidden request may run.
void expect_refused(const std::string& bytes, int status = 400) {
  TestServer t;
  for (const bool whole : {true, false}) {
    SCOPED_TRACE((whole ? "whole: " : "by bytes: ") + bytes.substr(0, 200));
    Wire wire = t.connect();
    const std::string all = bytes + hidden;
    if (whole) {
      wire.send(all);
    } else {
      for (const char byte : all) {
        if (!wire.send({&byte, 1})) break;
      }
    }
    const auto reply = wire.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, status);
    EXPECT_TRUE(reply->says_close());
    EXPECT_EQ(wire.rest(), "");
  }
  EXPECT_EQ(t.handler.handled.load(), 0);
  Wire next = t.connect();
  next.send(get("/next"));
  EXPECT_EQ(next.status(), 200);
}

TEST(HttpFraming, FS_62_RefusesContentLengthTogetherWithTransferEncoding) {
  expect_refused(with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n");
  expect_refused(with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") + "0\r\n\r\n");
  expect_refused(with("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n") + "0\r\n\r\n");
  expect_refused(with("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n") + "12345");
  expect_refused(with("Content-Length: 5\r\nTransfer-Encoding: identity\r\n") + "12345");
}

TEST(HttpFraming, FS_62_RefusesEveryTransferEncodingButOneChunked) {
  for (const char* value : {"gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "xchunked", "chunked;q=1", "",
                            "\"chunked\"", "identity", "chun ked", "chunked,", ",chunked", "\vchunked"}) {
    expect_refused(with(std::string{"Transfer-Encoding: "} + value + "\r\n") + "0\r\n\r\n");
  }
  expect_refused(with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n");
  expect_refused(with("Transfer-Encoding: chunked\r\ntransfer-encoding: identity\r\n") + "0\r\n\r\n");
  expect_refused(with("Transfer-Encoding : chunked\r\n") + "0\r\n\r\n");
  expect_refused(with(" Transfer-Encoding: chunked\r\n") + "0\r\n\r\n");
  expect_refused("POST /buy HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

TEST(HttpFraming, FS_62_TakesChunkedInAnyCaseAndWithBlanksAround) {
  TestServer t;
  Wire wire = t.connect();
  for (const char* header :
       {"Transfer-Encoding: chunked", "TRANSFER-ENCODING:\tCHUNKED \t", "transfer-encoding:chunked"}) {
    wire.send(with(std::string{header} + "\r\n") + "2\r\nok\r\n0\r\n\r\n");
    EXPECT_EQ(wire.reply()->body, "POST /buy ok");
  }
}

TEST(HttpFraming, FS_62_RefusesTwoContentLengths) {
  expect_refused(with("Content-Length: 5\r\nContent-Length: 5\r\n") + "12345");
  expect_refused(with("Content-Length: 5\r\nContent-Length: 6\r\n") + "12345");
  expect_refused(with("Content-Length: 5, 5\r\n") + "12345");
  expect_refused(with("Content-Length: 5,\r\n") + "12345");
}

TEST(HttpFraming, FS_31_FS_62_RefusesAContentLengthThatIsNoPlainNumber) {
  for (const char* value : {"+5", "5 5", "-1", "", "99999999999999999999", "0x5", "5a", "abc", "05", "-0", "5.0", "1e1",
                            "\xd9\xa5", "18446744073709551616", "9223372036854775808"}) {
    expect_refused(with(std::string{"Content-Length: "} + value + "\r\n") + "12345");
  }
}

TEST(HttpFraming, FS_62_RefusesFoldsAndOddHeaderLines) {
  expect_refused(with("X-A: b\r\n c\r\n"));
  expect_refused(with("X-A:\r\n\tb\r\n"));
  expect_refused(with("X-A: b\r\n \r\n"));
  expect_refused(with("Transfer-Encoding:\r\n chunked\r\n") + "0\r\n\r\n");
  expect_refused(with("Content-Length:\r\n 5\r\n") + "12345");
  expect_refused(with("Content Length: 5\r\n") + "12345");
  expect_refused(with("X-A : b\r\n"));
  expect_refused(with(": b\r\n"));
  expect_refused(with("X-A\r\n"));
  expect_refused(with("X-\xc3\xa9: b\r\n"));
  expect_refused(with(std::string{"X-A: b\0c\r\n", 10}));
  expect_refused(with("X-A: b\x01\r\n"));
  expect_refused(with("X-A: b\nTransfer-Encoding: chunked\r\n"));
  expect_refused(with("X-A: b\rContent-Length: 5\r\n"));
  expect_refused("POST /buy HTTP/1.1\nHost: a\nContent-Length: 0\n\n");
  expect_refused("POST /buy HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\n");
  expect_refused("POST /buy HTTP/1.1\r\n Host: a\r\n\r\n");
}

TEST(HttpFraming, FS_62_RefusesBrokenChunks) {
  const std::string head = with("Transfer-Encoding: chunked\r\n");
  for (const std::string body :
       {"x\r\n", "-1\r\nabc\r\n", "+3\r\nabc\r\n", "0x3\r\nabc\r\n0\r\n\r\n", "3\nabc\n0\n\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n", " 3\r\nabc\r\n0\r\n\r\n", ";a\r\nabc\r\n0\r\n\r\n",
        "3;\r\nabc\r\n0\r\n\r\n", "3;a=\"\n\"\r\nabc\r\n0\r\n\r\n", "3\rabc\r\n0\r\n\r\n",
        "10000000000000000\r\nabc\r\n0\r\n\r\n", "0\r\nContent-Length: 5\r\n\r\n", "0\r\nX-Trailer: a\r\n\r\n",
        "0\r\nAuthorization: Bearer x\r\n\r\n"}) {
    expect_refused(head + body);
  }
  expect_refused(head + "fffffffffffffff0\r\nabc\r\n0\r\n\r\n", 413);
}

TEST(HttpFraming, RefusesDuplicatesOfHeadersThatDecide) {
  for (const char* name : {"Authorization", "Idempotency-Key", "idempotency-KEY", "Content-Type", "If-Match"}) {
    expect_refused(with(std::string{name} + ": a\r\n" + name + ": a\r\n"));
  }
  expect_refused(with("Host: b\r\n"));
  expect_refused("POST /buy HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
}

TEST(HttpFraming, FS_32_RefusesInvalidUtf8AndControlBytesInWhatIsKept) {
  for (const char* bytes :
       {"\xc3\x28", "\xed\xa0\x80", "\xf0\x9f\x98", "\xff", "\xc0\x80", "a\tb", "\x7f", "\x1b[2J"}) {
    for (const char* name : {"User-Agent", "X-Forwarded-For", "Idempotency-Key", "Authorization", "Accept-Language",
                             "Content-Type", "If-Match"}) {
      expect_refused(with(std::string{name} + ": x" + bytes + "x\r\n"));
    }
    expect_refused(std::string{"POST /buy/x"} + bytes + " HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(std::string{"POST /buy?q=x"} + bytes + " HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_refused(std::string{"POST /buy HTTP/1.1\r\nHost: a"} + bytes + "\r\n\r\n");
  }
  expect_refused(with("X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-For: \xff\r\n"));
}

TEST(HttpFraming, FS_48_GivesEachResourceOneSpelling) {
  TestServer t;
  Wire wire = t.connect();
  for (const char* target : {"//buy", "/./buy", "/buy/.", "/buy/..", "/x/../buy", "/%62uy", "/buy;x=1", "/buy//",
                             "/buy/./", "/buy%2F", "/buy%00", "/../buy", "/buy/..?a=1", "/.", "/..", "//", "/buy/;"}) {
    SCOPED_TRACE(target);
    wire.send(get(target));
    EXPECT_EQ(wire.status(), 404);
  }
  EXPECT_EQ(t.handler.handled.load(), 0);
  // These reach the router as they are, and it knows one of them at most.
  for (const char* target : {"/buy", "/buy/", "/BUY", "/buy?a=1", "/buy/+1", "/buy/01", "/buy/.a", "/buy/a.b",
                             "/buy/...", "/", "/buy?x=%2e%2e/../;//"}) {
    SCOPED_TRACE(target);
    wire.send(get(target));
    EXPECT_EQ(wire.reply()->body, "GET " + std::string{target}.substr(0, std::string_view{target}.find('?')) + " ");
  }
  EXPECT_EQ(t.server->stats().not_canonical, 17U);
}

TEST(HttpFraming, FS_48_RefusesTargetsThatAreNoPath) {
  for (const char* target : {"*", "http://a/buy", "a:80", "buy", "/buy#x", "/buy?x#y", "/buy\\x", "/b\"uy", "/b<uy",
                             "/b|uy", "/b{uy}", "?x", "/ buy", "/buy "}) {
    expect_refused(std::string{"POST "} + target + " HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  }
}

TEST(HttpFraming, RefusesOtherVersionsAndBrokenRequestLines) {
  for (const char* line :
       {"POST /buy HTTP/1.2", "POST /buy HTTP/2.0", "POST /buy HTTP/0.9", "POST /buy", "POST  /buy HTTP/1.1",
        "POST /buy http/1.1", "P\xc3\xa9ST /buy HTTP/1.1", "PO ST /buy HTTP/1.1", " POST /buy HTTP/1.1",
        "POST\t/buy HTTP/1.1", "POST /buy HTTP/1.1 ", "POST /buy HTTP/1.10", "PRI * HTTP/2.0", "\x16\x03\x01\x02"}) {
    expect_refused(std::string{line} + "\r\nHost: a\r\n\r\n");
  }
}

}  // namespace
}  // namespace seckill::gateway::http::testing
