#include "gateway/http/reply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>

#include "base/assert.hpp"

namespace seckill::gateway::http {
namespace {

// The reason phrases this server uses; RFC 9112 lets a client ignore them, people reading a trace do not.
std::string_view phrase(int status) noexcept {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Status";
  }
}

bool fit_for_a_header(std::string_view value) noexcept {
  return std::ranges::none_of(value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

Reply& Reply::header(std::string_view name, std::string value) & {
  SECKILL_ASSERT(fit_for_a_header(value), "a header's value never carries a control byte (response splitting)");
  headers_.emplace_back(name, std::move(value));
  return *this;
}

Reply&& Reply::header(std::string_view name, std::string value) && {
  header(name, std::move(value));
  return std::move(*this);
}

Reply&& Reply::retry_after(std::chrono::seconds after) && {
  header("Retry-After", fmt::format("{}", after.count()));
  return std::move(*this);
}

void RenderedReply::render(const Reply& reply, bool with_date, RenderedReply& into) {
  SECKILL_ASSERT(reply.status_ >= 200 && reply.status_ <= 599, "a final status has three digits from 200 to 599");
  std::string& out = into.bytes_;
  out.clear();
  auto end = std::back_inserter(out);
  fmt::format_to(end, "HTTP/1.1 {} {}\r\n", reply.status_, phrase(reply.status_));
  const bool has_body = reply.status_ != 204 && reply.status_ != 304;
  if (has_body && !reply.content_type_.empty()) {
    out.append("Content-Type: ").append(reply.content_type_).append("\r\n");
  }
  if (with_date) {
    out.append("Date: ").append(http_date_now()).append("\r\n");
  }
  for (const auto& [name, value] : reply.headers_) {
    out.append(name).append(": ").append(value).append("\r\n");
  }
  if (has_body) {
    fmt::format_to(end, "Content-Length: {}\r\n", reply.body_.size());
  }
  into.head_bytes_ = out.size();
  out.append("\r\n");
  if (has_body) {
    out.append(reply.body_);
  }
}

RenderedReply RenderedReply::of(const Reply& reply) {
  RenderedReply rendered;
  render(reply, /*with_date=*/true, rendered);
  return rendered;
}

void RenderedReply::say_close() {
  constexpr std::string_view line = "Connection: close\r\n";
  bytes_.insert(head_bytes_, line);
  head_bytes_ += line.size();
}

PreparedReply::PreparedReply(const Reply& reply) : status_{reply.status()} {
  RenderedReply::render(reply, /*with_date=*/false, keep_);
  close_ = keep_;
  close_.say_close();
}

std::string_view http_date_now() {
  struct Cached {
    std::time_t second = -1;
    std::string text;
  };
  thread_local Cached cached;
  const std::time_t now = std::time(nullptr);
  if (now != cached.second) {
    std::tm utc{};
    gmtime_r(&now, &utc);
    // IMF-fixdate (RFC 9110 section 5.6.7), spelled out because strftime follows the locale.
    constexpr std::string_view days = "SunMonTueWedThuFriSat";
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    cached.text = fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                              days.substr(static_cast<std::size_t>(utc.tm_wday) * 3, 3), utc.tm_mday,
                              months.substr(static_cast<std::size_t>(utc.tm_mon) * 3, 3), utc.tm_year + 1900,
                              utc.tm_hour, utc.tm_min, utc.tm_sec);
    cached.second = now;
  }
  return cached.text;
}

}  // namespace seckill::gateway::http
