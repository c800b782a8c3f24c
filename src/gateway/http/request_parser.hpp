// Reads one HTTP/1.1 request from a connection's buffer, strictly: whatever two programs could read in two ways is
// refused (RFC 9112; FS-55, FS-62). Boost.Beast's basic_parser does the tokens, our callbacks keep offsets of the few
// headers somebody needs, and nothing is copied. Plain requests take a faster lane that can only accept
// (plain_head.hpp). This header hides Beast, so that one translation unit compiles it.
// Keeps P9: caps on target, headers and body are judged while the bytes arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/http/request.hpp"

namespace seckill::gateway::http {

enum class ParseOutcome : std::uint8_t {
  need_more,
  done,
  bad_request,         // 400: malformed or ambiguous
  target_too_long,     // 414
  headers_too_large,   // 431
  body_too_large,      // 413
  expectation_failed,  // 417
};

// Constant for a listener.
struct ParseLimits {
  std::uint32_t header_bytes;
  std::uint32_t headers;
  std::uint32_t target_bytes;
  std::uint64_t body_bytes;
};

// A range of bytes counted from the request's first byte; stays right when the buffer moves. at == 0: not sent.
struct Span {
  std::uint32_t at = 0;
  std::uint32_t size = 0;
};

// What the head said. Valid once parse_head() answered done.
struct RequestHead {
  Method method = Method::other;
  bool version_11 = false;
  bool keep_alive = false;
  bool canonical = true;  // the path has its one spelling
  bool chunked = false;
  bool expect_continue = false;
  bool has_content_length = false;
  std::uint32_t bytes = 0;  // of the whole head, with its empty line
  std::uint32_t headers = 0;
  std::uint64_t content_length = 0;
  Span path, query;
  Span host, authorization, idempotency_key, content_type, accept_language, if_match, if_none_match, user_agent,
      forwarded_for;
};

// Owned by one session, used on its thread. reset() before each request.
class RequestParser {
 public:
  explicit RequestParser(const ParseLimits& limits) noexcept;
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  void reset() noexcept;

  // `bytes` begins at the request's first byte each time; call again with the same bytes and more after need_more.
  // After any outcome but need_more or done only reset() may follow.
  [[nodiscard]] ParseOutcome parse_head(std::string_view bytes);

  // Requires: head().chunked. `bytes` are those after what earlier calls consumed. Decoded data is appended to `body`.
  // Trailers are refused.
  [[nodiscard]] ParseOutcome parse_chunks(std::string_view bytes, std::size_t& consumed, std::string& body);

  [[nodiscard]] const RequestHead& head() const noexcept { return head_; }
  // The text of X-Forwarded-For where it came in several headers; empty otherwise.
  [[nodiscard]] const std::string& joined_forwarded_for() const noexcept { return joined_forwarded_for_; }

 private:
  class Beast;  // derives from boost::beast::http::basic_parser<true>

  [[nodiscard]] ParseOutcome parse_head_with_beast(std::string_view bytes);
  [[nodiscard]] Beast& beast() noexcept;

  static constexpr std::size_t beast_bytes = 160;

  const ParseLimits& limits_;
  RequestHead head_;
  std::string joined_forwarded_for_;
  bool beast_made_ = false;  // storage_ holds a parser; a plain request never makes one
  std::uint32_t head_consumed_ = 0;
  std::uint64_t chunk_bytes_ = 0;  // of the coded body, so that framing cannot outgrow data without bound
  alignas(16) std::byte storage_[beast_bytes];
};

}  // namespace seckill::gateway::http
