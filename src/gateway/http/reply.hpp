// Replies in two forms. Reply: built for one request, rendered to bytes by the thread that sends it. PreparedReply:
// rendered once and sent any number of times without allocating or formatting, which is what makes a refusal cheap
// (P9).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seckill::gateway::http {

// Owned by one thread at a time. Header names and values come from our own code, never from a client: a value with a
// control byte is a broken promise and aborts.
class Reply {
 public:
  // Requires: 200 <= status <= 599. `content_type` is a literal; empty means that no Content-Type is sent.
  Reply(int status, std::string_view content_type, std::string body)
      : status_{status}, content_type_{content_type}, body_{std::move(body)} {}

  [[nodiscard]] static Reply json(int status, std::string body) {
    return {status, "application/json", std::move(body)};
  }
  // RFC 9457.
  [[nodiscard]] static Reply problem(int status, std::string body) {
    return {status, "application/problem+json", std::move(body)};
  }

  // `name` is a literal ("ETag"). Content-Length, Connection, Date and Content-Type are not for callers.
  Reply&& header(std::string_view name, std::string value) &&;
  Reply& header(std::string_view name, std::string value) &;
  Reply&& retry_after(std::chrono::seconds after) &&;

  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] const std::string& body() const noexcept { return body_; }

 private:
  friend class RenderedReply;
  friend class PreparedReply;
  int status_;
  std::string_view content_type_;
  std::string body_;
  std::vector<std::pair<std::string_view, std::string>> headers_;
};

// A reply's bytes, and where its head ends, so that "Connection: close" can still be put in and a HEAD cut off.
class RenderedReply {
 public:
  RenderedReply() = default;
  // Appends nothing and frees nothing when `into` already has the room. 204 and 304 carry neither body nor length.
  static void render(const Reply& reply, bool with_date, RenderedReply& into);
  [[nodiscard]] static RenderedReply of(const Reply& reply);

  // The status line and headers up to, not with, the empty line.
  [[nodiscard]] std::string_view head() const noexcept { return {bytes_.data(), head_bytes_}; }
  [[nodiscard]] std::string_view all() const noexcept { return bytes_; }
  // all() without the body, as HEAD is answered.
  [[nodiscard]] std::string_view without_body() const noexcept { return {bytes_.data(), head_bytes_ + 2}; }
  // Adds "Connection: close". At most once.
  void say_close();

 private:
  friend class PreparedReply;
  std::string bytes_;
  std::size_t head_bytes_ = 0;
};

// Constant after construction; any thread may send it. It has no Date header.
class PreparedReply {
 public:
  explicit PreparedReply(const Reply& reply);

  // The bytes to send: `close` adds "Connection: close", `head_only` leaves the body out.
  [[nodiscard]] std::string_view bytes(bool close, bool head_only) const noexcept {
    const RenderedReply& chosen = close ? close_ : keep_;
    return head_only ? chosen.without_body() : chosen.all();
  }
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] const RenderedReply& keep_alive() const noexcept { return keep_; }

 private:
  int status_;
  RenderedReply keep_;
  RenderedReply close_;
};

// "Tue, 11 Nov 2026 02:00:00 GMT" for the present second, from a copy each thread keeps. Valid until this thread's next
// call.
[[nodiscard]] std::string_view http_date_now();

}  // namespace seckill::gateway::http
