// For the HTTP core's tests: a server on a free loopback port with a handler given as a function, and a client that
// sends exact bytes. A client waits at most `patience` for anything, so a test that would hang fails instead.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "gateway/http/handler.hpp"
#include "gateway/http/server.hpp"

namespace seckill::gateway::http::testing {

inline constexpr int patience_ms = 30'000;

class FunctionHandler final : public RequestHandler {
 public:
  using Function = std::function<void(const Request&, ReplySlot)>;
  explicit FunctionHandler(Function function) : function_{std::move(function)} {}
  void handle(const Request& request, ReplySlot reply) override {
    handled.fetch_add(1);
    function_(request, std::move(reply));
  }
  std::atomic<int> handled{0};

 private:
  Function function_;
};

// What a client read: nothing when the connection ended before a whole reply.
struct WireReply {
  int status = 0;
  std::string head;
  std::string body;

  [[nodiscard]] bool says_close() const { return head.find("\r\nConnection: close\r\n") != std::string::npos; }
};

class Wire {
 public:
  explicit Wire(std::uint16_t port, int receive_buffer = 0) : socket_{::socket(AF_INET, SOCK_STREAM, 0)} {
    if (receive_buffer > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
      ADD_FAILURE() << "connect: " << std::strerror(errno);
    }
  }
  Wire(Wire&& other) noexcept : socket_{std::exchange(other.socket_, -1)}, buffer_{std::move(other.buffer_)} {}
  Wire& operator=(Wire&&) = delete;
  ~Wire() {
    if (socket_ >= 0) ::close(socket_);
  }

  // False once the server has gone.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      pollfd ready{socket_, POLLOUT, 0};
      if (::poll(&ready, 1, patience_ms) != 1) return false;
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // The next reply; `body_follows` false for the answer to a HEAD and for 100 Continue.
  std::optional<WireReply> reply(bool body_follows = true) {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more()) return std::nullopt;
    }
    WireReply result;
    result.head = buffer_.substr(0, end + 2);
    result.status = std::atoi(result.head.c_str() + 9);
    std::size_t length = 0;
    if (const auto at = result.head.find("Content-Length: "); body_follows && at != std::string::npos) {
      length = static_cast<std::size_t>(std::atol(result.head.c_str() + at + 16));
    }
    while (buffer_.size() < end + 4 + length) {
      if (!read_more()) return std::nullopt;
    }
    result.body = buffer_.substr(end + 4, length);
    buffer_.erase(0, end + 4 + length);
    return result;
  }

  // Status of the next reply, 0 when there is none.
  int status() {
    const auto next = reply();
    return next ? next->status : 0;
  }

  // True when the server ends the connection without saying more.
  bool closed() {
    if (!buffer_.empty()) return false;
    return !read_more() && buffer_.empty() && !timed_out_;
  }

  // Everything until the end of the connection.
  std::string rest() {
    while (read_more()) {
    }
    return std::exchange(buffer_, {});
  }

  void shut_send() const { ::shutdown(socket_, SHUT_WR); }
  [[nodiscard]] int socket() const { return socket_; }

 private:
  bool read_more() {
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, patience_ms) != 1) {
      timed_out_ = true;
      ADD_FAILURE() << "the server neither answered nor closed";
      return false;
    }
    char bytes[16 * 1024];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  int socket_;
  std::string buffer_;
  bool timed_out_ = false;
};

// Echoes method, path and body as the default answer.
inline void echo(const Request& request, ReplySlot reply) {
  std::string body{name(request.method)};
  body.append(" ").append(request.path).append(" ").append(request.body);
  reply.send(Reply{200, "text/plain", std::move(body)});
}

inline ServerConfig quick_config() {
  ServerConfig config;
  config.tick = std::chrono::milliseconds{20};
  return config;
}

struct TestServer {
  explicit TestServer(FunctionHandler::Function function = echo, ServerConfig config = quick_config())
      : handler{std::move(function)}, server{std::make_unique<Server>(std::move(config), handler)} {
    const auto started = server->start();
    if (!started) ADD_FAILURE() << started.error().text();
  }
  [[nodiscard]] Wire connect(int receive_buffer = 0) const { return Wire{server->port(), receive_buffer}; }
  // Waits until `done`, which must come.
  void await(const std::function<bool(const ServerStats&)>& done) const {
    for (int i = 0; i < patience_ms && !done(server->stats()); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    EXPECT_TRUE(done(server->stats()));
  }
  FunctionHandler handler;
  std::unique_ptr<Server> server;
};

inline std::string get(std::string_view target, std::string_view more_headers = {}) {
  return std::string{"GET "}.append(target).append(" HTTP/1.1\r\nHost: a\r\n").append(more_headers).append("\r\n");
}

inline std::string post(std::string_view target, std::string_view body, std::string_view more_headers = {}) {
  return std::string{"POST "}
      .append(target)
      .append(" HTTP/1.1\r\nHost: a\r\nContent-Length: ")
      .append(std::to_string(body.size()))
      .append("\r\n")
      .append(more_headers)
      .append("\r\n")
      .append(body);
}

}  // namespace seckill::gateway::http::testing
