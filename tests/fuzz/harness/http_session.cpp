// A whole connection in process: a real session on one end of a socket pair, the input's bytes on the other, cut in
// three ways. However they are cut, the handler must see the same requests and the client the same answers, one each,
// in order; after a refusal nothing more is served. The path's first letter says how the handler answers: at once,
// later, never, by a large shared reply, or by an exception.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "fuzz/property.hpp"
#include "gateway/http/handler.hpp"
#include "gateway/http/loop.hpp"
#include "gateway/http/session.hpp"

namespace seckill::fuzz {
namespace {

namespace http = gateway::http;

const http::ServerConfig config = [] {
  http::ServerConfig small;
  small.header_bytes_max = 1'024;
  small.headers_max = 12;
  small.target_bytes_max = 64;
  small.body_bytes_max = 3'000;  // a request may outgrow the session's first buffer
  return small;
}();

std::string shown(const http::Request& request) {
  std::string text{http::name(request.method)};
  for (const std::string_view part :
       {request.path, request.query, request.host, request.authorization, request.idempotency_key, request.content_type,
        request.accept_language, request.if_match, request.if_none_match, request.user_agent, request.forwarded_for}) {
    require(base::utf8_length(part).has_value(), "a handler sees UTF-8 in every field but the body", part);
    (text += '\n') += part;
  }
  require(request.path.starts_with('/') && request.path.find_first_of("%;?#") == std::string_view::npos &&
              request.path.find("//") == std::string_view::npos && request.path.find("/./") == std::string_view::npos,
          "a handler sees canonical paths only (FS-48)", request.path);
  return (text += request.has_idempotency_key ? "\n+\n" : "\n-\n") += request.body;
}

class Answers final : public http::RequestHandler {
 public:
  void handle(const http::Request& request, http::ReplySlot reply) override {
    require(request.body.size() <= 3'000, "a body keeps its bound (P9)");
    seen.push_back(shown(request));
    switch (request.path.size() > 1 ? request.path[1] : '-') {
      case 'l': later.push_back(std::move(reply)); return;
      case 'n': return;  // the slot ends unsent: busy
      case 'p': reply.send(prepared_); return;
      case 'b':
        if (++bigs_ <= 3) return reply.send(big_reply());  // more would only be slow
        [[fallthrough]];
      case 't': throw std::runtime_error{"as asked"};
      default: reply.send(http::Reply{200, "text/plain", "ok"});
    }
  }

  std::vector<std::string> seen;
  std::vector<http::ReplySlot> later;

 private:
  http::PreparedReply prepared_{http::Reply::json(409, R"({"code":0})")};
  // More than a socket takes at once.
  static const std::shared_ptr<const http::PreparedReply>& big_reply() {
    static const auto reply =
        std::make_shared<const http::PreparedReply>(http::Reply{200, "text/plain", std::string(300'000, 'b')});
    return reply;
  }
  int bigs_ = 0;
};

// What a client can tell of a connection.
struct Outcome {
  std::vector<std::string> requests;
  std::vector<int> statuses;  // without 100 Continue
  bool closed = false;
  // A broken head may be refused at once, or waited for to its end or deadline, and which of two faults is named may
  // depend on what has come: the refusal, always the last answer, is taken apart.
  bool refused = false;

  void take_refusal() {
    if (statuses.empty()) return;
    for (const int refusal : {400, 413, 414, 417, 431}) refused = refused || statuses.back() == refusal;
    if (refused) statuses.pop_back();
  }
};

// One connection from its first byte to its end.
class Connection {
 public:
  Connection() {
    http::Mailbox::set_of_this_thread(&loop_.mailbox());
    std::array<int, 2> ends{};
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0, "a socket pair");
    client_ = ends[0];
    http::ConnectionCaps::Key key = 0;
    require(loop_.shared().caps.try_take({}, key), "the first connection is let in");
    loop_.counters().open.add();
    require(session_.open(ends[1], {}, key), "the session is open");
  }
  ~Connection() {
    session_.close();
    ::close(client_);
    http::Mailbox::set_of_this_thread(nullptr);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(client_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
      const bool moved = turn();
      if (!session_.is_open() || (sent <= 0 && !moved)) return;
    }
  }

  // Ends the sending side, after the session came to rest or at once.
  Outcome finish(bool rest_first) {
    if (rest_first) settle();
    ::shutdown(client_, SHUT_WR);
    settle();
    Outcome outcome{.requests = std::move(handler_.seen), .statuses = {}, .closed = !session_.is_open()};
    read_statuses(outcome.statuses);
    outcome.take_refusal();
    return outcome;
  }

 private:
  void settle() {
    for (int idle = 0; idle < 2;) idle = turn() ? 0 : idle + 1;
  }

  // One round of what the loop's thread does; true when something happened.
  bool turn() {
    bool moved = false;
    for (const auto& ready : loop_.ready_set().take()) {
      ready.session->on_ready(ready.readable, ready.writable, ready.ended);
      moved = true;
    }
    session_.read_on();  // where a long run was cut short
    for (http::ReplySlot& slot : std::exchange(handler_.later, {})) {
      moved = true;
      slot.send(http::Reply::json(202, "{}"));
    }
    std::vector<http::Delivery> deliveries;
    loop_.mailbox().take(deliveries);
    for (http::Delivery& delivery : deliveries) {
      moved = true;
      delivery.session->deliver(delivery);
    }
    char buffer[32 * 1024];
    for (ssize_t got = 0; (got = ::recv(client_, buffer, sizeof buffer, 0)) > 0;) {
      moved = true;
      received_.append(buffer, static_cast<std::size_t>(got));
    }
    return moved;
  }

  // Splits what came back into replies, by their own lengths. Requires requests without HEAD after the first refusal.
  void read_statuses(std::vector<int>& statuses) {
    std::string_view rest = received_;
    while (!rest.empty()) {
      const std::size_t end = rest.find("\r\n\r\n");
      require(rest.starts_with("HTTP/1.1 ") && end != std::string_view::npos, "replies are whole and follow each other",
              rest);
      const auto status = base::parse_decimal(rest.substr(9, 3));
      require(status.has_value(), "a reply has a status", rest);
      const std::string_view head = rest.substr(0, end);
      constexpr std::string_view length_name = "Content-Length: ";
      std::size_t length = 0;
      if (const std::size_t at = head.find(length_name); at != std::string_view::npos) {
        const std::string_view digits = head.substr(at + length_name.size());
        length = static_cast<std::size_t>(base::parse_decimal(digits.substr(0, digits.find('\r'))).value_or(0));
      }
      const std::string_view body = rest.substr(end + 4);
      if (body.substr(0, 9) == "HTTP/1.1 " && length > 9) length = 0;  // the answer to a HEAD
      if (body.empty()) length = 0;
      require(body.size() >= length, "a reply's body is whole", rest);
      rest = body.substr(length);
      if (*status != 100) statuses.push_back(static_cast<int>(*status));
    }
  }

  Answers handler_;
  http::ServerShared shared_{config, handler_, [] {}};
  // The loop's own thread is never started: this one does its work. It insists on a listening socket.
  http::Loop loop_{shared_, 0, ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  http::Session session_{loop_};
  int client_ = -1;
  std::string received_;
};

enum class Cut : std::uint8_t { whole, whole_and_gone, bytes, pieces };

Outcome serve(std::string_view bytes, Cut cut) {
  Connection connection;
  std::uint64_t seed = bytes.size();
  for (int cuts = 0; !bytes.empty(); ++cuts) {
    std::size_t step = bytes.size();
    if (cut == Cut::bytes && cuts < 600) step = 1;
    if (cut == Cut::pieces && cuts < 100) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      step = 1 + (seed >> 33U) % 97;
    }
    const std::string_view part = bytes.substr(0, step);
    connection.send(part);
    bytes.remove_prefix(part.size());
  }
  return connection.finish(cut != Cut::whole_and_gone);
}

}  // namespace
}  // namespace seckill::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seckill::fuzz;
  const std::string_view bytes = text_of(data, size);
  const Outcome whole = serve(bytes, Cut::whole);
  require(whole.closed, "a connection ends when its client has", bytes);
  require(whole.statuses.size() >= whole.requests.size(), "each request has its answer", bytes);
  for (const Cut cut : {Cut::whole_and_gone, Cut::bytes, Cut::pieces}) {
    const Outcome other = serve(bytes, cut);
    require(other.closed, "a connection ends when its client has", bytes);
    require(other.requests == whole.requests, "how the bytes are cut decides nothing about the requests", bytes);
    require(other.statuses == whole.statuses, "nor about the answers", bytes);
  }
  return 0;
}
