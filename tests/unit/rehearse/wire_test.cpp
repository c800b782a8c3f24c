// Requests as bytes, responses out of bytes, and what a buyer reads in them.
#include "rehearse/wire.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "rehearse/answer.hpp"

namespace seckill::rehearse {
namespace {

TEST(Wire, APurchaseCarriesLoginRequestIdAndLength) {
  Request request;
  request.post = true;
  request.target = "/api/v1/sales/s/items/i/purchases";
  request.token = "abc";
  request.idempotency_key = "r-1";
  request.body = R"({"quantity":1})";
  std::string bytes;
  append_request(bytes, request);
  EXPECT_EQ(bytes,
            "POST /api/v1/sales/s/items/i/purchases HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer abc\r\n"
            "Idempotency-Key: r-1\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{\"quantity\":1}");
}

TEST(Wire, AGetHasNoBodyAndAPostWithoutOneSaysSo) {
  std::string get;
  append_request(get, Request{.target = "/x"});
  EXPECT_EQ(get, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string post;
  append_request(post, Request{.post = true, .target = "/x"});
  EXPECT_EQ(post, "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
}

constexpr std::string_view busy =
    "HTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\nConnection: close\r\nCONTENT-LENGTH: 5\r\n\r\nhello";

TEST(Wire, AResponseIsReadWholeOrNotAtAll) {
  Response response;
  for (std::size_t n = 0; n < busy.size(); ++n) {
    EXPECT_EQ(parse_response(busy.substr(0, n), response), Parsed::incomplete) << n;
  }
  ASSERT_EQ(parse_response(busy, response), Parsed::complete);
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.retry_after_ms, 2'000);
  EXPECT_TRUE(response.close);
  EXPECT_EQ(response.body, "hello");
  EXPECT_EQ(response.bytes, busy.size());
}

TEST(Wire, WhatIsNotOurServersLanguageIsMalformed) {
  Response response;
  for (const std::string_view text :
       {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 abc\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 999 OK\r\nContent-Length: 0\r\n\r\n"}) {
    EXPECT_EQ(parse_response(text, response), Parsed::malformed) << text;
  }
  EXPECT_EQ(parse_response(std::string(70'000, 'a'), response), Parsed::malformed);
}

TEST(Wire, AWaitWithoutMeasureIsMalformed) {
  const auto waiting = [](std::string_view seconds) {
    Response response;
    const std::string bytes =
        "HTTP/1.1 503 Busy\r\nRetry-After: " + std::string{seconds} + "\r\nContent-Length: 0\r\n\r\n";
    return parse_response(bytes, response) == Parsed::complete ? response.retry_after_ms : -1;
  };
  EXPECT_EQ(waiting("86400"), 86'400'000);
  EXPECT_EQ(waiting("86401"), -1);
  EXPECT_EQ(waiting("9223372036854775807"), -1);
  EXPECT_EQ(waiting("Wed, 11 Nov 2026 02:00:00 GMT"), 0);  // a date is not what our server sends: no hint
}

RC_GTEST_PROP(Wire, NeverCrashesOnAnyBytes, (const std::string& bytes)) {
  Response response;
  const Parsed parsed = parse_response(bytes, response);
  RC_ASSERT(parsed != Parsed::complete || response.bytes <= bytes.size());
}

Answer read(int status, std::string_view body) {
  Response response;
  response.status = status;
  response.body = body;
  return read_answer(response);
}

TEST(AnswerReading, AnAdmissionIsAcknowledgedAndARefusalIsNot) {
  const Answer won = read(202, R"({"code":1,"reason":"admitted","ticket":"T","state":"queued","poll_ms":1000})");
  EXPECT_TRUE(won.acknowledged());
  EXPECT_EQ(won.progress(), "queued");
  const Answer lost = read(409, R"({"code":0,"reason":"sold_out","msg":"已抢光"})");
  EXPECT_FALSE(lost.acknowledged());
  EXPECT_EQ(lost.reason, "sold_out");
  const Answer unsure = read(503, R"({"code":-9,"reason":"busy","ticket":"T"})");
  EXPECT_FALSE(unsure.acknowledged());
  EXPECT_EQ(unsure.ticket, "T");
}

TEST(AnswerReading, AnOrdersStateGoesBeforeItsTickets) {
  const Answer paid = read(200, R"({"ticket":"T","state":"ordered","order_state":"paid","amount_minor":4990})");
  EXPECT_EQ(paid.progress(), "paid");
  EXPECT_EQ(paid.amount_minor, 4990);
  EXPECT_TRUE(is_final("paid") && is_final("expired") && is_final("failed"));
  EXPECT_FALSE(is_final("awaiting_payment") || is_final("queued") || is_final(""));
}

TEST(AnswerReading, NonsenseIsAnAnswerWithItsStatusAlone) {
  EXPECT_EQ(read(500, "<html>").status, 500);
  EXPECT_EQ(read(200, "[1]").ticket, "");
  EXPECT_EQ(read(0, R"({"ticket":"T"})").ticket, "");
  EXPECT_EQ(read(200, R"({"ticket":7})").ticket, "");
}

}  // namespace
}  // namespace seckill::rehearse
