// Bytes as the beginning of a connection, read by the request parser in three ways: whole (the fast lane where the head
// is plain), by Beast alone, and one byte at a time. All must accept the same heads and read the same things in them,
// and what is accepted must be framed in the one way that RFC 9112 knows (FS-55, FS-62). Chunked bodies are compared
// with a decoder of the simplest kind.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "fuzz/property.hpp"
#include "gateway/http/plain_head.hpp"
#include "gateway/http/request_parser.hpp"

namespace seckill::fuzz {
namespace {

using gateway::http::ParseLimits;
using gateway::http::ParseOutcome;
using gateway::http::RequestHead;
using gateway::http::RequestParser;
using gateway::http::Span;

// Small, so that inputs of a few hundred bytes come to every bound.
constexpr ParseLimits limits{.header_bytes = 768, .headers = 12, .target_bytes = 64, .body_bytes = 128};

struct Reading {
  ParseOutcome outcome = ParseOutcome::need_more;
  RequestHead head;
  std::string forwarded_for;
  std::size_t seen = 0;  // bytes given when the outcome was known
  ParseOutcome body = ParseOutcome::need_more;
  std::string decoded;         // of a chunked body
  std::size_t body_bytes = 0;  // as coded, up to its end
};

std::string_view view(std::string_view bytes, Span span) {
  require(span.at + std::size_t{span.size} <= bytes.size(), "a span lies inside the bytes");
  return bytes.substr(span.at, span.size);
}

constexpr auto fields = std::to_array<Span RequestHead::*>(
    {&RequestHead::path, &RequestHead::query, &RequestHead::host, &RequestHead::authorization,
     &RequestHead::idempotency_key, &RequestHead::content_type, &RequestHead::accept_language, &RequestHead::if_match,
     &RequestHead::if_none_match, &RequestHead::user_agent, &RequestHead::forwarded_for});

void require_same(const RequestHead& a, const RequestHead& b, std::string_view bytes) {
  require(a.method == b.method && a.version_11 == b.version_11, "both readings see one method and version", bytes);
  require(a.keep_alive == b.keep_alive, "both readings agree on the connection's end", bytes);
  require(a.canonical == b.canonical, "both readings agree on the target's spelling", bytes);
  require(a.chunked == b.chunked && a.has_content_length == b.has_content_length &&
              a.content_length == b.content_length && a.bytes == b.bytes,
          "both readings agree on where the request ends", bytes);
  require(a.expect_continue == b.expect_continue && a.headers == b.headers, "both readings agree on the rest", bytes);
  for (const auto field : fields) {
    require((a.*field).at == 0 ? (b.*field).at == 0 : (b.*field).at != 0, "both readings see the same headers", bytes);
    require(view(bytes, a.*field) == view(bytes, b.*field), "both readings see the same values", bytes);
  }
}

// As a session does: decoded bytes leave the buffer, what is left is given again with more.
void read_chunks(RequestParser& parser, std::string_view bytes, std::size_t step, Reading& reading) {
  std::string waiting;
  for (std::size_t at = 0; at < bytes.size() && reading.body == ParseOutcome::need_more; at += step) {
    waiting += bytes.substr(at, step);
    std::size_t consumed = 0;
    reading.body = parser.parse_chunks(waiting, consumed, reading.decoded);
    require(consumed <= waiting.size(), "no more is consumed than was given");
    waiting.erase(0, consumed);
    reading.body_bytes += consumed;
  }
  require(reading.decoded.size() <= limits.body_bytes, "a decoded body keeps its bound (P9)");
}

// `first` bytes, then `step` more each time.
Reading read(std::string_view bytes, std::size_t first, std::size_t step) {
  RequestParser parser{limits};
  Reading reading;
  for (std::size_t given = first;; given += step) {
    given = std::min(given, bytes.size());
    // A copy of exactly these bytes: looking further is seen, and so is a pointer kept from the call before.
    const std::string part{bytes.substr(0, given)};
    reading.outcome = parser.parse_head(part);
    reading.seen = given;
    if (reading.outcome != ParseOutcome::need_more || given == bytes.size()) break;
  }
  if (reading.outcome != ParseOutcome::done) return reading;
  reading.head = parser.head();
  reading.forwarded_for = parser.joined_forwarded_for();
  require(reading.head.bytes <= reading.seen, "a head ends inside what was given");
  if (reading.head.chunked) read_chunks(parser, bytes.substr(reading.head.bytes), step, reading);
  return reading;
}

bool is_token(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           others.find(c) != std::string_view::npos;
  });
}

std::string lower(std::string_view text) {
  std::string out{text};
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

// What RFC 9112 leaves no choice about, looked for by the plainest means.
void require_sound(const RequestHead& head, std::string_view bytes) {
  const std::string_view text = bytes.substr(0, head.bytes);
  require(text.size() <= limits.header_bytes, "an accepted head keeps its bound (P9)", bytes);
  require(text.ends_with("\r\n\r\n") && text.find("\r\n\r\n") + 4 == text.size(), "a head ends at its first empty line",
          bytes);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') require(at > 0 && text[at - 1] == '\r', "no bare line feed is accepted", bytes);
    if (text[at] == '\r') require(text[at + 1] == '\n', "no bare carriage return is accepted", bytes);
    require(text[at] != '\0', "no NUL is accepted", bytes);
  }
  std::string_view rest = text.substr(text.find("\r\n") + 2);
  std::size_t headers = 0, hosts = 0, lengths = 0, codings = 0;
  while (rest != "\r\n") {
    const std::string_view line = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(line.size() + 2);
    const std::string_view name = line.substr(0, line.find(':'));
    require(name.size() < line.size() && is_token(name), "each header line is a token, a colon and a value", line);
    const std::string key = lower(name);
    ++headers;
    hosts += key == "host" ? 1U : 0U;
    lengths += key == "content-length" ? 1U : 0U;
    codings += key == "transfer-encoding" ? 1U : 0U;
  }
  require(headers == head.headers && headers <= limits.headers, "every header line counts (P9)", bytes);
  require(hosts == (head.version_11 ? 1U : std::min<std::size_t>(hosts, 1)), "HTTP/1.1 has exactly one Host", bytes);
  require(lengths + codings <= 1, "a body's length is said once, in one way", bytes);
  require((lengths == 1) == head.has_content_length && (codings == 1) == head.chunked, "and it is obeyed", bytes);
  require(head.content_length <= limits.body_bytes, "a body keeps its bound (P9)", bytes);
  require(view(bytes, head.path).size() <= limits.target_bytes, "a target keeps its bound (P9)", bytes);
  for (const auto field : fields) {
    const std::string_view value = view(bytes, head.*field);
    require(base::utf8_length(value).has_value(), "what a handler sees is UTF-8", value);
    require(std::ranges::none_of(value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }),
            "what a handler sees is free of control bytes", value);
    require(value.empty() || (value.front() != ' ' && value.back() != ' '), "values are trimmed", value);
  }
}

// RFC 9112 section 7.1 without extensions' details: size line, data, line end; zero ends it, nothing may follow.
std::optional<std::string> decode_chunks(std::string_view coded) {
  std::string out;
  for (;;) {
    const std::size_t line_end = coded.find("\r\n");
    if (line_end == std::string_view::npos) return std::nullopt;
    std::size_t size = 0, digits = 0;
    for (; digits < line_end; ++digits) {
      const char c = lower(coded.substr(digits, 1))[0];
      if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) break;
      size = size * 16 + static_cast<std::size_t>(c <= '9' ? c - '0' : c - 'a' + 10);
      if (size > coded.size()) return std::nullopt;
    }
    if (digits == 0) return std::nullopt;
    coded.remove_prefix(line_end + 2);
    if (coded.size() < size + 2 || coded.substr(size, 2) != "\r\n") return std::nullopt;
    out += coded.substr(0, size);
    coded.remove_prefix(size + 2);
    if (size == 0) return coded.empty() ? std::optional{out} : std::nullopt;
  }
}

}  // namespace
}  // namespace seckill::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seckill::fuzz;
  const std::string_view bytes = text_of(data, size);
  const Reading whole = read(bytes, bytes.size(), std::max<std::size_t>(bytes.size(), 1));
  const Reading beast = read(bytes, 1, std::max<std::size_t>(bytes.size(), 1));
  const Reading slow = read(bytes, 1, 1);
  require((whole.outcome == ParseOutcome::done) == (beast.outcome == ParseOutcome::done),
          "the fast lane accepts nothing that Beast refuses, and hides nothing", bytes);
  require((whole.outcome == ParseOutcome::done) == (slow.outcome == ParseOutcome::done),
          "how a head is cut decides nothing", bytes);
  RequestHead plain;
  if (seckill::gateway::http::read_plain_head(bytes, limits, plain)) {
    require(beast.outcome == ParseOutcome::done, "what the fast lane accepts, Beast accepts", bytes);
    require_same(plain, beast.head, bytes);
  }
  if (whole.outcome != ParseOutcome::done) return 0;
  require_sound(whole.head, bytes);
  require_same(whole.head, beast.head, bytes);
  require_same(whole.head, slow.head, bytes);
  require(whole.forwarded_for == beast.forwarded_for && whole.forwarded_for == slow.forwarded_for,
          "X-Forwarded-For is joined alike", bytes);
  if (!whole.head.chunked) return 0;
  require((whole.body == ParseOutcome::done) == (slow.body == ParseOutcome::done), "how a body is cut decides nothing",
          bytes);
  if (whole.body != ParseOutcome::done) return 0;
  require(whole.decoded == slow.decoded && whole.body_bytes == slow.body_bytes, "nor what it decodes to", bytes);
  const auto plainly = decode_chunks(bytes.substr(whole.head.bytes, whole.body_bytes));
  require(plainly == whole.decoded, "a chunked body is what the plainest decoder reads", bytes);
  return 0;
}
