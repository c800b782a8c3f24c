#include "rehearse/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/text.hpp"

namespace seckill::rehearse {
namespace {

// Our server asks for seconds; a peer that asks for days is another program.
constexpr std::int64_t retry_after_seconds_max = 86'400;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool same_name(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, lower, lower); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

struct Head {
  Response response;
  std::optional<std::int64_t> length;
};

bool read_header(std::string_view line, Head& head) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (same_name(name, "content-length")) {
    head.length = base::parse_decimal(value);
    return head.length.has_value() && *head.length <= static_cast<std::int64_t>(response_bytes_max);
  }
  if (same_name(name, "transfer-encoding")) return false;
  if (same_name(name, "retry-after")) {
    const std::int64_t seconds = base::parse_decimal(value).value_or(0);
    if (seconds > retry_after_seconds_max) return false;
    head.response.retry_after_ms = seconds * 1'000;
  }
  if (same_name(name, "connection")) head.response.close = same_name(value, "close");
  return true;
}

}  // namespace

void append_request(std::string& out, const Request& request) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{} {} HTTP/1.1\r\nHost: localhost\r\n", request.post ? "POST" : "GET", request.target);
  if (!request.token.empty()) fmt::format_to(to, "Authorization: Bearer {}\r\n", request.token);
  if (!request.idempotency_key.empty()) fmt::format_to(to, "Idempotency-Key: {}\r\n", request.idempotency_key);
  if (!request.body.empty()) out.append("Content-Type: application/json\r\n");
  if (request.post) fmt::format_to(to, "Content-Length: {}\r\n", request.body.size());
  out.append("\r\n").append(request.body);
}

Parsed parse_response(std::string_view bytes, Response& response) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return bytes.size() > 64 * 1024 ? Parsed::malformed : Parsed::incomplete;
  if (end < 12 || !bytes.starts_with("HTTP/1.1 ")) return Parsed::malformed;
  const auto status = base::parse_decimal(bytes.substr(9, 3));
  if (!status || *status < 200 || *status > 599) return Parsed::malformed;
  Head head;
  head.response.status = static_cast<int>(*status);
  std::string_view rest = bytes.substr(0, end);
  std::size_t at = rest.find("\r\n");
  while (at != std::string_view::npos) {
    rest.remove_prefix(at + 2);
    at = rest.find("\r\n");
    if (!read_header(rest.substr(0, at), head)) return Parsed::malformed;
  }
  if (!head.length && *status != 204 && *status != 304) return Parsed::malformed;
  const auto length = static_cast<std::size_t>(head.length.value_or(0));
  const std::size_t begin = end + 4;
  if (bytes.size() - begin < length) return Parsed::incomplete;
  response = head.response;
  response.body = bytes.substr(begin, length);
  response.bytes = begin + length;
  return Parsed::complete;
}

}  // namespace seckill::rehearse
