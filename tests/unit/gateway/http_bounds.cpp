// Bounds against a real listener: sizes (FS-55), times (FS-56), connections, descriptors, start and end of a server.
#include <fcntl.h>
#include <sys/resource.h>

#include <mutex>
#include <vector>

#include "unit/gateway/http_wire.hpp"

namespace seckill::gateway::http::testing {
namespace {

using std::chrono::milliseconds;

// Sends `head`, then `more` again and again, until the server has answered and closed; at most 8 MB.
int pour(Wire& wire, const std::string& head, const std::string& more) {
  wire.send(head);
  for (std::size_t sent = 0; sent < 8U * 1024 * 1024; sent += more.size()) {
    pollfd ready{wire.socket(), POLLIN, 0};
    if (::poll(&ready, 1, 0) == 1 || !wire.send(more)) break;
  }
  return wire.status();
}

TEST(HttpBounds, FS_55_CapsHeadersTargetsAndBodiesAlikeForChunkedAndPlain) {
  TestServer t;
  const std::string kilobyte(1024, 'a');
  const std::string chunked = "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  struct Case {
    const char* what;
    std::string head, more;
    int status;
  };
  const Case cases[] = {
      {"one endless header", "GET /h HTTP/1.1\r\nHost: a\r\nX: ", kilobyte, 431},
      {"endless headers", "GET /h HTTP/1.1\r\nHost: a\r\n", "X-A: b\r\n", 431},
      {"an endless URL", "GET /", kilobyte, 414},
      {"an endless method", "", kilobyte, 414},
      {"a huge Content-Length", "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n", kilobyte, 413},
      {"endless chunks", chunked, "400\r\n" + kilobyte + "\r\n", 413},
      {"endless small chunks", chunked, "1\r\na\r\n", 413},
      {"one huge chunk", chunked + "40000000\r\n", kilobyte, 413},
      {"an endless chunk extension", chunked + "1;x=", kilobyte, 413},
      {"many chunk extensions", chunked, "1;x=" + kilobyte.substr(0, 400) + "\r\na\r\n", 413},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Wire wire = t.connect();
    EXPECT_EQ(pour(wire, c.head, c.more), c.status);
    EXPECT_EQ(wire.rest(), "");
  }
  // An endless trailer section holds no header a client may send: refused one way or the other.
  Wire trailer = t.connect();
  EXPECT_GE(pour(trailer, chunked + "0\r\n", "X-A: b\r\n"), 400);
  EXPECT_EQ(t.handler.handled.load(), 0);
  Wire next = t.connect();
  next.send(get("/next"));
  EXPECT_EQ(next.status(), 200);
}

TEST(HttpBounds, FS_55_TakesExactlyTheCapAndNotAByteMore) {
  TestServer t;
  Wire wire = t.connect();
  const std::string path = "/" + std::string(base::limits::http_target_bytes_max - 1, 'p');
  wire.send(get(path));
  EXPECT_EQ(wire.status(), 200);
  const std::string body(base::limits::http_body_bytes_max, 'b');
  wire.send(post("/b", body));
  EXPECT_EQ(wire.status(), 200);
  std::string filled = get("/h", "X: \r\n");
  filled.insert(filled.size() - 4, std::string(base::limits::http_header_bytes_max - filled.size(), 'h'));
  wire.send(filled);
  EXPECT_EQ(wire.status(), 200);
  std::string many;
  for (std::size_t i = 1; i < base::limits::http_headers_max; ++i) {
    many += "X: y\r\n";
  }
  wire.send(get("/n", many));
  EXPECT_EQ(wire.status(), 200);

  const auto refused = [&](const std::string& request) {
    Wire one_more = t.connect();
    one_more.send(request);
    return one_more.status();
  };
  EXPECT_EQ(refused(get(path + "p")), 414);
  EXPECT_EQ(refused(post("/b", body + "b")), 413);
  filled.insert(filled.size() - 4, "h");
  EXPECT_EQ(refused(filled), 431);
  EXPECT_EQ(refused(get("/n", many + "X: y\r\n")), 431);
}

TEST(HttpBounds, FS_62_AMethodIsBoundedHoweverItIsCut) {
  TestServer t;
  for (const auto& [method, status] : {std::pair{std::string(20, 'M'), 200}, {std::string(21, 'M'), 414}}) {
    const std::string request = method + " /m HTTP/1.1\r\nHost: a\r\n\r\n";
    for (const std::size_t first : {request.size(), method.size(), std::size_t{1}}) {
      SCOPED_TRACE(request.substr(0, first));
      Wire wire = t.connect();
      wire.send(std::string_view{request}.substr(0, first));
      wire.send(std::string_view{request}.substr(first));
      EXPECT_EQ(wire.status(), status);
    }
  }
}

TEST(HttpBounds, FS_55_ManyOversizedClientsDoNotDisturbAnHonestOne) {
  TestServer t;
  std::vector<Wire> wires;
  for (int i = 0; i < 200; ++i) {
    wires.push_back(t.connect());
    wires.back().send("POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    wires.back().send("4000\r\n" + std::string(10'000, 'x'));
  }
  Wire honest = t.connect();
  for (int i = 0; i < 20; ++i) {
    honest.send(post("/honest", "1"));
    EXPECT_EQ(honest.status(), 200);
  }
  for (Wire& wire : wires) {
    wire.send(std::string(0x4000 - 10'000, 'x') + "\r\n1\r\nx\r\n");
  }
  for (Wire& wire : wires) {
    EXPECT_EQ(wire.status(), 413);
  }
  EXPECT_EQ(t.server->stats().body_too_large, 200U);
}

TEST(HttpBounds, FS_56_EndsSlowAndSilentClientsAndGivesTheirDescriptorsBack) {
  ServerConfig config = quick_config();
  config.header_time = config.body_time = milliseconds{500};
  config.idle_time = config.write_time = milliseconds{1'500};
  config.write_bytes_per_second_min = 1U << 30U;
  const auto huge = std::make_shared<const PreparedReply>(Reply{200, "text/plain", std::string(8U << 20U, 'h')});
  TestServer t{[&](const Request& r, ReplySlot reply) {
                 if (r.path == "/huge") {
                   reply.send(huge);
                 } else {
                   reply.send(Reply{200, "text/plain", "ok"});
                 }
               },
               config};
  constexpr int each = 40;
  std::vector<Wire> slow_head, slow_body, idle, deaf;
  for (int i = 0; i < each; ++i) {
    slow_head.push_back(t.connect());
    slow_head.back().send("G");
    slow_body.push_back(t.connect());
    slow_body.back().send("POST /s HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    idle.push_back(t.connect());
    deaf.push_back(t.connect(4096));
    deaf.back().send(get("/huge"));
  }
  std::jthread drip{[&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {  // a byte now and then never restarts a total time
      for (const Wire& wire : slow_head) (void)!::send(wire.socket(), "G", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      for (const Wire& wire : slow_body) (void)!::send(wire.socket(), "b", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      std::this_thread::sleep_for(milliseconds{30});
    }
  }};
  int honest = 0;
  t.await([&](const ServerStats& s) {
    Wire wire = t.connect();
    wire.send(post("/honest", "1"));
    honest += wire.status() == 200 ? 1 : 1'000'000;
    return s.header_timeouts + s.body_timeouts + s.idle_timeouts + s.write_timeouts >= 4 * each;
  });
  const ServerStats stats = t.server->stats();
  EXPECT_GT(stats.header_timeouts, 0U);
  EXPECT_GT(stats.body_timeouts, 0U);
  EXPECT_GT(stats.idle_timeouts, 0U);
  EXPECT_GT(stats.write_timeouts, 0U);
  EXPECT_LT(honest, 1'000'000) << "every honest request was answered";
  drip.request_stop();
  t.await([](const ServerStats& s) { return s.open == 0; });
}

TEST(HttpBounds, CapsConnectionsOfOneAddressAndOfAThread) {
  for (const bool by_address : {true, false}) {
    ServerConfig config = quick_config();
    (by_address ? config.connections_per_address_max : config.connections_per_thread_max) = 5;
    TestServer t{echo, config};
    std::vector<Wire> wires;
    for (int i = 0; i < 5; ++i) {
      wires.push_back(t.connect());
      wires.back().send(get("/in"));
      EXPECT_EQ(wires.back().status(), 200);
    }
    Wire over = t.connect();
    EXPECT_EQ(over.status(), 503);
    EXPECT_TRUE(over.closed());
    const ServerStats stats = t.server->stats();
    EXPECT_EQ(by_address ? stats.refused_over_address_cap : stats.refused_over_thread_cap, 1U);
    wires.pop_back();
    t.await([](const ServerStats& s) { return s.open == 4; });
    Wire again = t.connect();
    again.send(get("/again"));
    EXPECT_EQ(again.status(), 200);
  }
}

TEST(HttpBounds, DoesNotCountATrustedProxysConnections) {
  ServerConfig config = quick_config();
  config.connections_per_address_max = 1;
  config.uncapped_addresses = {"127.0.0.1"};
  TestServer t{echo, config};
  std::vector<Wire> wires;
  for (int i = 0; i < 5; ++i) {
    wires.push_back(t.connect());
    wires.back().send(get("/in"));
    EXPECT_EQ(wires.back().status(), 200);
  }
}

TEST(HttpBounds, ServesWaitingConnectionsWhenDescriptorsReturn) {
  TestServer t;
  std::vector<Wire> wires;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<int> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(::socket(AF_INET, SOCK_STREAM, 0));
  }
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(clients.back()) + 50;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  std::vector<int> fillers;
  for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0; fd = ::open("/dev/null", O_RDONLY)) {
    fillers.push_back(fd);
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(t.server->port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string request = get("/waiting");
  for (const int client : clients) {
    ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    ASSERT_EQ(::send(client, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  }
  t.await([](const ServerStats& s) { return s.accept_errors >= 2; });
  EXPECT_EQ(t.server->stats().accepted, 0U);
  for (const int fd : fillers) {
    ::close(fd);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const int client : clients) {
    pollfd ready{client, POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, patience_ms), 1);
    ::close(client);
  }
}

TEST(HttpBounds, FS_43_DrainFinishesWhatWasTakenAndClosesWhatIsIdle) {
  std::mutex mutex;
  std::vector<ReplySlot> kept;
  TestServer t{[&](const Request& r, ReplySlot reply) {
    if (r.path == "/in-flight") {
      const std::scoped_lock lock{mutex};
      kept.push_back(std::move(reply));
    } else {
      echo(r, std::move(reply));
    }
  }};
  Wire idle = t.connect();
  idle.send(get("/a"));
  EXPECT_EQ(idle.status(), 200);
  Wire in_flight = t.connect();
  in_flight.send(get("/in-flight"));
  Wire half = t.connect();
  half.send("GET /half HTTP/1.1\r\nHo");
  t.await([](const ServerStats& s) { return s.requests == 2 && s.open == 3 && s.bytes_in > 70; });

  bool drained = false;
  std::thread drain{[&] { drained = t.server->drain(milliseconds{patience_ms}); }};
  EXPECT_TRUE(idle.closed());
  half.send("st: a\r\n\r\n");
  const auto half_reply = half.reply();
  ASSERT_TRUE(half_reply);
  EXPECT_EQ(half_reply->status, 200);
  EXPECT_TRUE(half_reply->says_close());
  EXPECT_TRUE(half.closed());
  {
    const std::scoped_lock lock{mutex};
    kept.front().send(Reply{200, "text/plain", "done"});
  }
  const auto reply = in_flight.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "done");
  EXPECT_TRUE(reply->says_close());
  EXPECT_TRUE(in_flight.closed());
  // The clients above still hold their side open; ours lingers until they close or its time is over.
  drain.join();
  EXPECT_TRUE(drained);
  EXPECT_EQ(t.server->stats().open, 0U);
  EXPECT_TRUE(t.server->drain(milliseconds{1})) << "draining again changes nothing";
}

TEST(HttpBounds, StopAcceptingRefusesNewConnectionsAndServesTheRest) {
  TestServer t;
  Wire before = t.connect();
  before.send(get("/a"));
  EXPECT_EQ(before.status(), 200);
  t.server->stop_accepting();
  const int probe_port = t.server->port();
  for (bool refused = false; !refused;) {
    const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(probe_port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    refused = ::connect(probe, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0;
    ::close(probe);
  }
  before.send(get("/b"));
  EXPECT_EQ(before.status(), 200);
}

TEST(HttpBounds, RefusesAPortInUseWithASentenceThatHelps) {
  for (const unsigned threads : {1U, 2U}) {
    ServerConfig config = quick_config();
    config.threads = threads;
    TestServer t{echo, config};
    config.port = t.server->port();
    FunctionHandler handler{echo};
    Server second{config, handler};
    const auto started = second.start();
    ASSERT_FALSE(started) << "a second server never shares the port silently";
    EXPECT_EQ(started.error().code, base::Errc::already_exists);
    EXPECT_NE(started.error().text().find("port " + std::to_string(config.port) + " is already in use on 127.0.0.1"),
              std::string::npos);
  }
}

TEST(HttpBounds, RefusesAddressesThatCannotServe) {
  FunctionHandler handler{echo};
  for (const char* address : {"", "localhost", "1.2.3", "203.0.113.7", "2001:db8::7", "1.2.3.4.5", "::g"}) {
    ServerConfig config = quick_config();
    config.address = address;
    Server server{config, handler};
    const auto started = server.start();
    ASSERT_FALSE(started) << address;
    EXPECT_EQ(started.error().code, base::Errc::invalid);
    EXPECT_FALSE(started.error().cause.empty());
  }
}

TEST(HttpBounds, ServesIPv4OnTheDualStackAddressWhereIPv6Exists) {
  FunctionHandler handler{
      [](const Request& r, ReplySlot reply) { reply.send(Reply{200, "text/plain", r.peer.text()}); }};
  ServerConfig config = quick_config();
  config.address = "::";
  Server server{config, handler};
  const auto started = server.start();
  if (!started) {
    EXPECT_NE(started.error().text().find("IPv6"), std::string::npos);
    GTEST_SKIP() << started.error().text();
  }
  Wire wire{server.port()};
  wire.send(get("/a"));
  EXPECT_EQ(wire.reply()->body, "127.0.0.1");
}

}  // namespace
}  // namespace seckill::gateway::http::testing
