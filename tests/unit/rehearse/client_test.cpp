// The crowd's phones against a tiny real server on loopback: every request gets exactly one answer, or none in stated
// time.
#include "rehearse/client.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <functional>
#include <map>
#include <thread>

namespace seckill::rehearse {
namespace {

// One connection after the other; `serve` gets the accepted socket and the server goes on when it returns.
class TinyServer {
 public:
  explicit TinyServer(std::function<void(int)> serve) : serve_{std::move(serve)} {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, std::bit_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 64), 0);
    EXPECT_EQ(::getsockname(listener_, std::bit_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] {
      for (;;) {
        const int socket = ::accept(listener_, nullptr, nullptr);
        if (socket < 0) return;
        serve_(socket);
        ::close(socket);
      }
    }};
  }
  ~TinyServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  TinyServer(const TinyServer&) = delete;
  TinyServer& operator=(const TinyServer&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  std::function<void(int)> serve_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::thread thread_;
};

std::string read_request(int socket) {
  std::string bytes;
  char buffer[1024];
  while (bytes.find("\r\n\r\n") == std::string::npos) {
    const ssize_t n = ::recv(socket, buffer, sizeof buffer, 0);
    if (n <= 0) return {};
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
  return bytes;
}
void reply(int socket, std::string_view text) { (void)::send(socket, text.data(), text.size(), MSG_NOSIGNAL); }

struct Heard {
  std::map<std::uint64_t, int> status;
  std::map<std::uint64_t, std::string> body;
  std::size_t answers = 0;
};

Client::OnResponse noting(Heard& heard) {
  return [&heard](std::uint64_t tag, const Response& response) {
    ++heard.answers;
    heard.status[tag] = response.status;
    heard.body[tag] = std::string{response.body};
  };
}

void run(Client& client) {
  while (client.pending() > 0) client.step(std::chrono::milliseconds{20});
}

std::string get(const std::string& target) {
  Request request;
  request.target = target;
  std::string bytes;
  append_request(bytes, request);
  return bytes;
}

TEST(Client, AnswersEveryRequestOnceOverOneKeptConnection) {
  std::atomic<int> connections{0};
  TinyServer server{[&](int socket) {
    ++connections;
    for (;;) {
      const std::string request = read_request(socket);
      if (request.empty()) return;
      const std::string target = request.substr(4, request.find(' ', 4) - 4);
      reply(socket, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(target.size()) + "\r\n\r\n" + target);
    }
  }};
  Heard heard;
  Client client{server.port(), 1, std::chrono::seconds{10}, noting(heard)};
  ASSERT_TRUE(client.open());
  for (std::uint64_t tag = 0; tag < 50; ++tag) client.send(tag, get("/" + std::to_string(tag)));
  EXPECT_EQ(client.pending(), 50u);
  run(client);
  EXPECT_EQ(heard.answers, 50u);
  EXPECT_EQ(heard.body[37], "/37");
  EXPECT_EQ(connections.load(), 1);
  EXPECT_EQ(client.connections_peak(), 1u);
}

TEST(Client, ABrokenConnectionIsNoAnswerAndTheNextRequestGetsANewOne) {
  std::atomic<int> connections{0};
  TinyServer server{[&](int socket) {
    const bool first = ++connections == 1;
    read_request(socket);
    if (!first) reply(socket, "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
  }};
  Heard heard;
  Client client{server.port(), 1, std::chrono::seconds{10}, noting(heard)};
  ASSERT_TRUE(client.open());
  for (std::uint64_t tag = 1; tag <= 3; ++tag) client.send(tag, get("/"));
  run(client);
  EXPECT_EQ(heard.status, (std::map<std::uint64_t, int>{{1, 0}, {2, 202}, {3, 202}}));
}

TEST(Client, NobodyListeningIsNoAnswer) {
  std::uint16_t port = 0;
  {
    port = TinyServer{[](int) {}}.port();
  }
  Heard heard;
  Client client{port, 4, std::chrono::seconds{10}, noting(heard)};
  ASSERT_TRUE(client.open());
  client.send(1, get("/"));
  run(client);
  EXPECT_EQ(heard.status[1], 0);
}

TEST(Client, ASilentServerIsNoAnswerAfterTheDeadline) {
  TinyServer server{[](int socket) {
    read_request(socket);
    char byte = 0;
    (void)::recv(socket, &byte, 1, 0);  // until the client gives up
  }};
  Heard heard;
  Client client{server.port(), 1, std::chrono::milliseconds{50}, noting(heard)};
  ASSERT_TRUE(client.open());
  client.send(1, get("/"));
  run(client);
  EXPECT_EQ(heard.status[1], 0);
  EXPECT_EQ(heard.answers, 1u);
}

TEST(Client, BytesAfterAnAnswerBreakTheConnectionNotTheProgram) {
  TinyServer server{[](int socket) {
    read_request(socket);
    reply(socket, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  }};
  Heard heard;
  Client client{server.port(), 1, std::chrono::seconds{10}, noting(heard)};
  ASSERT_TRUE(client.open());
  client.send(1, get("/"));
  run(client);
  EXPECT_EQ(heard.answers, 1u);
}

}  // namespace
}  // namespace seckill::rehearse
