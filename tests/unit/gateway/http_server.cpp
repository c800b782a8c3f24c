// The HTTP core against real sockets: what honest clients may count on.
#include <mutex>
#include <vector>

#include "unit/gateway/http_wire.hpp"

namespace seckill::gateway::http::testing {
namespace {

TEST(HttpServer, AnswersManyRequestsOnOneConnection) {
  TestServer t;
  Wire wire = t.connect();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(wire.send(post("/a/" + std::to_string(i), "hello")));
    const auto reply = wire.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->body, "POST /a/" + std::to_string(i) + " hello");
    EXPECT_FALSE(reply->says_close());
    EXPECT_NE(reply->head.find("\r\nDate: "), std::string::npos);
  }
  EXPECT_EQ(t.server->stats().accepted, 1U);
  EXPECT_EQ(t.server->stats().requests, 50U);
}

TEST(HttpServer, GivesTheHandlerTheHeadersItNames) {
  std::string copy;
  TestServer t{[&](const Request& r, ReplySlot reply) {
    copy = std::string{r.path} + "|" + std::string{r.query} + "|" + std::string{r.host} + "|" +
           std::string{r.authorization} + "|" + std::string{r.idempotency_key} + "|" + std::string{r.content_type} +
           "|" + std::string{r.accept_language} + "|" + std::string{r.if_match} + "|" + std::string{r.if_none_match} +
           "|" + std::string{r.user_agent} + "|" + std::string{r.forwarded_for} + "|" + std::string{r.body} + "|" +
           r.peer.text() + (r.has_idempotency_key ? "|key" : "|no key");
    reply.send(Reply::json(200, "{}"));
  }};
  Wire wire = t.connect();
  wire.send(
      "POST /api/v1/x?request_id=7&b=%20 HTTP/1.1\r\nhost: shop.example\r\nAUTHORIZATION: Bearer x.y\r\n"
      "Idempotency-Key:  k-1 \r\nContent-Type: application/json\r\nAccept-Language: zh-CN\r\nIf-Match: \"3\"\r\n"
      "If-None-Match: \"4\"\r\nUser-Agent: \xe6\xb5\x8f\r\nX-Forwarded-For: 10.0.0.1\r\nX-Forwarded-For: 10.0.0.2\r\n"
      "X-Unknown: y\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(wire.status(), 200);
  EXPECT_EQ(copy,
            "/api/v1/x|request_id=7&b=%20|shop.example|Bearer x.y|k-1|application/json|zh-CN|\"3\"|\"4\"|\xe6\xb5\x8f|"
            "10.0.0.1, 10.0.0.2|{}|127.0.0.1|key");
}

TEST(HttpServer, PassesEveryMethodOn) {
  TestServer t;
  Wire wire = t.connect();
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    wire.send(std::string{method} + " /m HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto reply = wire.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body, std::string{method} + " /m ");
  }
  wire.send("BREW /m HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(wire.reply()->body, "OTHER /m ");
}

TEST(HttpServer, AnswersHeadWithoutABodyAndGoesOn) {
  const PreparedReply prepared{Reply::json(200, "{\"a\":1}")};
  TestServer t{[&](const Request& r, ReplySlot reply) {
    if (r.path == "/prepared") {
      reply.send(prepared);
    } else {
      reply.send(Reply::json(200, "{\"a\":1}"));
    }
  }};
  Wire wire = t.connect();
  for (const char* path : {"/prepared", "/rendered"}) {
    wire.send(std::string{"HEAD "} + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto head = wire.reply(/*body_follows=*/false);
    ASSERT_TRUE(head);
    EXPECT_NE(head->head.find("Content-Length: 7\r\n"), std::string::npos);
    wire.send(get(path));
    EXPECT_EQ(wire.reply()->body, "{\"a\":1}");
  }
}

TEST(HttpServer, AnswersPipelinedRequestsInOrderAlsoWhenEarlierAnswersComeLate) {
  std::mutex mutex;
  std::vector<ReplySlot> late;
  TestServer t{[&](const Request& r, ReplySlot reply) {
    if (r.path.ends_with("late")) {
      const std::scoped_lock lock{mutex};
      late.push_back(std::move(reply));
    } else {
      reply.send(Reply{200, "text/plain", std::string{r.path}});
    }
  }};
  Wire wire = t.connect();
  std::string burst;
  for (int i = 0; i < 300; ++i) {
    burst += get(i % 100 == 50 ? "/" + std::to_string(i) + "late" : "/" + std::to_string(i));
  }
  wire.send(burst);
  std::jthread answers{[&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const std::scoped_lock lock{mutex};
      for (ReplySlot& slot : late) {
        slot.send(Reply{200, "text/plain", "late"});
      }
      late.clear();
    }
  }};
  for (int i = 0; i < 300; ++i) {
    const auto reply = wire.reply();
    ASSERT_TRUE(reply) << i;
    EXPECT_EQ(reply->body, i % 100 == 50 ? "late" : "/" + std::to_string(i));
  }
}

TEST(HttpServer, TakesARequestThatArrivesByteByByte) {
  TestServer t;
  Wire wire = t.connect();
  for (const char byte : post("/slow", "body")) {
    ASSERT_TRUE(wire.send({&byte, 1}));
  }
  EXPECT_EQ(wire.reply()->body, "POST /slow body");
  for (const char byte : std::string{"POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                                     "3;x=\"y\"\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"}) {
    ASSERT_TRUE(wire.send({&byte, 1}));
  }
  EXPECT_EQ(wire.reply()->body, "POST /c abc0123456789");
}

TEST(HttpServer, TakesAnEmptyChunkedBodyInAnyPieces) {
  TestServer t;
  Wire wire = t.connect();
  const std::string head = "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string body = "0\r\n\r\n";
  for (std::size_t cut = 0; cut <= body.size(); ++cut) {
    for (std::size_t second = cut; second <= body.size(); ++second) {
      std::uint64_t sent = t.server->stats().bytes_in;
      for (const std::string& piece :
           {head + body.substr(0, cut), body.substr(cut, second - cut), body.substr(second)}) {
        wire.send(piece);
        sent += piece.size();
        t.await([&](const ServerStats& s) { return s.bytes_in >= sent; });  // so that each piece is read by itself
      }
      EXPECT_EQ(wire.reply()->body, "POST /c ");
    }
  }
}

TEST(HttpServer, TakesChunkedAndPlainBodiesPipelined) {
  TestServer t;
  Wire wire = t.connect();
  const std::string large(16 * 1024, 'x');
  std::string chunked = "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n";
  for (int i = 0; i < 16; ++i) {
    chunked += "400\r\n" + std::string(1024, 'x') + "\r\n";
  }
  chunked += "0\r\n\r\n";
  wire.send(post("/p", large) + chunked + get("/g") + chunked + post("/q", "z"));
  EXPECT_EQ(wire.reply()->body, "POST /p " + large);
  EXPECT_EQ(wire.reply()->body, "POST /c " + large);
  EXPECT_EQ(wire.reply()->body, "GET /g ");
  EXPECT_EQ(wire.reply()->body, "POST /c " + large);
  EXPECT_EQ(wire.reply()->body, "POST /q z");
}

TEST(HttpServer, ClosesWhenTheClientAsksForIt) {
  TestServer t;
  for (const char* request : {"GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET /a HTTP/1.0\r\n\r\n",
                              "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"}) {
    Wire wire = t.connect();
    wire.send(request);
    const auto reply = wire.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200);
    EXPECT_TRUE(reply->says_close());
    EXPECT_TRUE(wire.closed());
  }
}

TEST(HttpServer, AnswersAClientThatHasShutItsSendingSide) {
  TestServer t;
  Wire wire = t.connect();
  wire.send(get("/half"));
  wire.shut_send();
  EXPECT_EQ(wire.status(), 200);
  EXPECT_TRUE(wire.closed());
}

TEST(HttpServer, SendsContinueOnlyForABodyItWillTake) {
  TestServer t;
  Wire wire = t.connect();
  wire.send("POST /e HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-Continue\r\n\r\n");
  EXPECT_EQ(wire.reply(/*body_follows=*/false)->status, 100);
  wire.send("body");
  EXPECT_EQ(wire.reply()->body, "POST /e body");

  Wire too_large = t.connect();
  too_large.send("POST /e HTTP/1.1\r\nHost: a\r\nContent-Length: 16385\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(too_large.status(), 413);
  EXPECT_TRUE(too_large.closed());

  Wire unknown = t.connect();
  unknown.send("POST /e HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 200-maybe\r\n\r\n");
  EXPECT_EQ(unknown.status(), 417);
  EXPECT_TRUE(unknown.closed());
}

TEST(HttpServer, AnswersBusyWhenTheHandlerForgets) {
  std::vector<std::thread> threads;
  TestServer t{[&](const Request& r, ReplySlot reply) {
    if (r.path == "/elsewhere") {
      threads.emplace_back([slot = std::move(reply)]() mutable { const ReplySlot dropped = std::move(slot); });
    }
  }};
  Wire wire = t.connect();
  wire.send(get("/here"));
  EXPECT_EQ(wire.status(), 503);
  wire.send(get("/elsewhere"));
  EXPECT_EQ(wire.status(), 503);
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(t.server->stats().unanswered, 2U);
}

TEST(HttpServer, AnswersBusyWhenTheHandlerIsTooLateAndIgnoresTheLateAnswer) {
  ServerConfig config = quick_config();
  config.reply_wait_time = std::chrono::milliseconds{60};
  std::mutex mutex;
  std::vector<ReplySlot> kept;
  TestServer t{[&](const Request&, ReplySlot reply) {
                 const std::scoped_lock lock{mutex};
                 kept.push_back(std::move(reply));
               },
               config};
  Wire wire = t.connect();
  wire.send(get("/late"));
  const auto reply = wire.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
  EXPECT_TRUE(reply->says_close());
  {
    const std::scoped_lock lock{mutex};
    kept.front().send(Reply::json(200, "{}"));
  }
  EXPECT_TRUE(wire.closed());
  EXPECT_EQ(t.server->stats().reply_timeouts, 1U);
}

TEST(HttpServer, AnswersAnEscapedExceptionWith500AndKeepsServingOthers) {
  std::string logged;
  std::mutex mutex;
  ServerConfig config = quick_config();
  config.log_fault = [&](std::string_view text) {
    const std::scoped_lock lock{mutex};
    logged = text;
  };
  TestServer t{[](const Request& r, ReplySlot reply) {
                 if (r.path == "/throws") {
                   throw std::runtime_error("the handler's own trouble");
                 }
                 if (r.path == "/throws-int") {
                   throw 7;
                 }
                 reply.send(Reply::json(200, "{}"));
                 if (r.path == "/throws-after") {
                   throw std::runtime_error("too late to say");
                 }
               },
               config};
  Wire other = t.connect();
  for (const char* path : {"/throws", "/throws-int"}) {
    Wire wire = t.connect();
    wire.send(get(path) + get("/hidden"));
    EXPECT_EQ(wire.status(), 500);
    EXPECT_TRUE(wire.closed());
  }
  Wire after = t.connect();
  after.send(get("/throws-after"));
  EXPECT_EQ(after.status(), 200);
  EXPECT_TRUE(after.closed());
  other.send(get("/fine"));
  EXPECT_EQ(other.status(), 200);
  EXPECT_EQ(t.server->stats().handler_exceptions, 3U);
  const std::scoped_lock lock{mutex};
  EXPECT_FALSE(logged.empty());
}

TEST(HttpServer, SendsALargeSharedReplyToASlowReaderWhole) {
  const std::string body(3 * 1024 * 1024, 'b');
  const auto shared = std::make_shared<const PreparedReply>(Reply{200, "text/plain", body});
  TestServer t{[&](const Request& r, ReplySlot reply) {
    if (r.path == "/shared") {
      reply.send(shared);
    } else if (r.path == "/rendered") {
      reply.send(Reply{200, "text/plain", body});
    } else {
      std::thread{[slot = std::move(reply), shared]() mutable { slot.send(shared); }}.join();
    }
  }};
  Wire wire = t.connect(4096);
  wire.send(get("/shared") + get("/rendered") + get("/elsewhere") + get("/shared"));
  for (int i = 0; i < 4; ++i) {
    const auto reply = wire.reply();
    ASSERT_TRUE(reply) << i;
    EXPECT_TRUE(reply->body == body) << i;
  }
}

TEST(HttpServer, OffersOneAnswerOnly) {
  TestServer t{[](const Request&, ReplySlot reply) {
    ReplySlot moved = std::move(reply);
    moved.send(Reply{200, "text/plain", "first"});
    EXPECT_FALSE(moved);
    moved.send(Reply{200, "text/plain", "second"});
  }};
  Wire wire = t.connect();
  wire.send(get("/a") + get("/b"));
  EXPECT_EQ(wire.reply()->body, "first");
  EXPECT_EQ(wire.reply()->body, "first");
}

TEST(HttpServer, ASlotMayOutliveItsConnectionAndItsServer) {
  std::mutex mutex;
  std::vector<ReplySlot> kept;
  {
    TestServer t{[&](const Request&, ReplySlot reply) {
      const std::scoped_lock lock{mutex};
      kept.push_back(std::move(reply));
    }};
    Wire gone = t.connect();
    gone.send(get("/a"));
    t.await([](const ServerStats& s) { return s.requests == 1; });
    EXPECT_FALSE(t.server->drain(std::chrono::milliseconds{50}));
  }
  kept.front().send(Reply::json(200, "{}"));
  kept.clear();
}

TEST(HttpServer, ServesOnEveryThreadAndCountsThem) {
  ServerConfig config = quick_config();
  config.threads = 3;
  TestServer t{echo, config};
  EXPECT_EQ(t.server->thread_ids().size(), 3U);
  std::vector<Wire> wires;
  for (int i = 0; i < 60; ++i) {
    wires.push_back(t.connect());
    wires.back().send(get("/t"));
  }
  for (Wire& wire : wires) {
    EXPECT_EQ(wire.status(), 200);
  }
  EXPECT_EQ(t.server->stats().open, 60U);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_GE(t.server->loop_lag(i).count(), 0);
  }
}

TEST(HttpServer, RunsPeriodicWorkOnEveryThread) {
  FunctionHandler handler{echo};
  ServerConfig config = quick_config();
  config.threads = 2;
  Server server{config, handler};
  std::atomic<int> first{0};
  std::atomic<int> second{0};
  server.every(std::chrono::milliseconds{30}, [&](unsigned thread) { (thread == 0 ? first : second).fetch_add(1); });
  ASSERT_TRUE(server.start());
  while (first.load() < 3 || second.load() < 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

}  // namespace
}  // namespace seckill::gateway::http::testing
