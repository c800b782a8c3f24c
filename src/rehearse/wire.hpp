// HTTP/1.1 as a client of our own server needs it: one request as bytes, one response out of a stream of bytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace seckill::rehearse {

struct Request {
  bool post = false;
  std::string target{};           // "/api/v1/…"
  std::string_view token{};       // a login; empty: none. Borrowed until the request is written
  std::string idempotency_key{};  // empty: none
  std::string body{};
};

// Appends the request as it goes over the wire.
void append_request(std::string& out, const Request& request);

struct Response {
  int status = 0;  // 0: no answer came; whether it happened is unknown
  std::int64_t retry_after_ms = 0;
  bool close = false;     // the server closes the connection after it
  std::string_view body;  // borrowed from the bytes that were parsed
  std::size_t bytes = 0;  // of the whole response
};

enum class Parsed : std::uint8_t { complete, incomplete, malformed };

inline constexpr std::size_t response_bytes_max = 1u << 20;

// Reads one response at the beginning of `bytes`. Only what our server sends is understood: a status line, headers and
// a body of stated length; more than response_bytes_max is malformed.
[[nodiscard]] Parsed parse_response(std::string_view bytes, Response& response);

}  // namespace seckill::rehearse
