// A request as a handler sees it: only the headers somebody reads, as views into the connection's buffer, already
// checked. What reaches a handler is well framed, within its caps (base/limits.hpp) and free of control bytes and of
// invalid UTF-8 in every field but the body. Keeps P9: nothing is copied or allocated to refuse a request.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace seckill::gateway::http {

enum class Method : std::uint8_t { get, post, put, patch, delete_, head, options, other };

// "GET"; "OTHER" for every method without an enumerator of its own. Any thread.
[[nodiscard]] std::string_view name(Method method) noexcept;

// The address of the machine at the other end of the connection (a proxy's, when one stands in between). IPv4 is kept
// in its mapped form ::ffff:a.b.c.d, so that equal machines have equal bytes on any listener. Constant after
// construction.
struct PeerAddress {
  std::array<std::uint8_t, 16> bytes{};
  bool is_v4 = false;

  friend bool operator==(const PeerAddress&, const PeerAddress&) noexcept = default;

  // "192.0.2.7" or "2001:db8::1".
  [[nodiscard]] std::string text() const;
  // Strict dotted decimal or RFC 4291 text without zone, port or brackets; a mapped IPv4 address becomes IPv4.
  [[nodiscard]] static std::optional<PeerAddress> parse(std::string_view text) noexcept;
};

// Views are valid until RequestHandler::handle() returns; a handler that answers later copies what it needs.
// A header that was not sent is an empty view. Duplicates of the single-valued headers never reach a handler (400).
struct Request {
  std::uint64_t id = 0;  // unique on its listener while the process lives
  Method method = Method::other;
  bool has_idempotency_key = false;  // tells an empty header from a missing one

  // Canonical: begins with '/', ASCII pchar and '/' only, no "//", no dot segment, no '%', no ';'. One spelling each.
  std::string_view path;
  std::string_view query;  // what stands after the first '?', not decoded; printable ASCII

  std::string_view host;
  std::string_view authorization;
  std::string_view idempotency_key;
  std::string_view content_type;
  std::string_view accept_language;
  std::string_view if_match;
  std::string_view if_none_match;
  std::string_view user_agent;
  std::string_view forwarded_for;  // X-Forwarded-For; repeated headers joined with ", " in the order sent

  std::string_view body;  // whole, chunked coding removed; any bytes
  PeerAddress peer;
};

}  // namespace seckill::gateway::http
