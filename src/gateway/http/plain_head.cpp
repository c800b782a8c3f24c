#include "gateway/http/plain_head.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/text.hpp"
#include "gateway/http/target.hpp"

namespace seckill::gateway::http {
namespace {

// RFC 9110 section 5.6.2: tchar.
consteval std::array<bool, 256> token_table() {
  std::array<bool, 256> table{};
  for (const char c :
       std::string_view{"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}

constexpr std::array<bool, 256> is_token = token_table();

// Compares token characters with lower-case letters and '-', ignoring case. Setting bit 0x20 maps nothing but the other
// case onto a letter, and among token characters only '-' itself onto '-'.
template <std::size_t N>
[[nodiscard]] bool is(const char* at, const char (&lower)[N]) noexcept {
  constexpr std::size_t size = N - 1;
  std::size_t i = 0;
  std::uint64_t differ = 0;
  for (; i + 8 <= size; i += 8) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, at + i, 8);
    std::memcpy(&b, lower + i, 8);
    differ |= (a | 0x2020202020202020U) ^ b;
  }
  for (; i < size; ++i) {
    differ |= static_cast<unsigned char>((at[i] | 0x20) ^ lower[i]);
  }
  return differ == 0;
}

// The first byte in [at, end) that is not printable ASCII, or end.
[[nodiscard]] const char* skip_printable(const char* at, const char* end) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    for (; end - at >= 8; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      // Below 0x20 borrows, 0x7f carries, above is set already. Borrow and carry run upwards, so the lowest hit is
      // exact.
      const std::uint64_t hits =
          (word | (word - 0x2020202020202020U) | (word + 0x0101010101010101U)) & 0x8080808080808080U;
      if (hits != 0) {
        return at + std::countr_zero(hits) / 8;
      }
    }
  }
  while (at != end && static_cast<unsigned char>(*at) >= 0x20 && static_cast<unsigned char>(*at) < 0x7f) {
    ++at;
  }
  return at;
}

class PlainHead {
 public:
  PlainHead(std::string_view bytes, const ParseLimits& limits, RequestHead& head) noexcept
      : begin_{bytes.data()}, at_{begin_}, end_{begin_ + bytes.size()}, limits_{limits}, head_{head} {}

  [[nodiscard]] bool read() noexcept {
    if (!request_line()) {
      return false;
    }
    while (end_ - at_ >= 2) {
      if (*at_ == '\r') {
        at_ += 2;
        return at_[-1] == '\n' && finish();
      }
      if (!header()) {
        return false;
      }
    }
    return false;
  }

 private:
  [[nodiscard]] Span span(std::string_view text) const noexcept {
    return {static_cast<std::uint32_t>(text.data() - begin_), static_cast<std::uint32_t>(text.size())};
  }

  template <std::size_t N>
  [[nodiscard]] bool method(const char (&text)[N], Method m) noexcept {
    if (end_ - at_ < static_cast<std::ptrdiff_t>(N) || std::memcmp(at_, text, N - 1) != 0) {
      return false;
    }
    head_.method = m;
    at_ += N - 1;
    return true;
  }

  [[nodiscard]] bool request_line() noexcept {
    if (!method("POST ", Method::post) && !method("GET ", Method::get) && !method("PATCH ", Method::patch) &&
        !method("PUT ", Method::put) && !method("DELETE ", Method::delete_) && !method("HEAD ", Method::head) &&
        !method("OPTIONS ", Method::options)) {
      return false;
    }
    const auto* blank = static_cast<const char*>(std::memchr(at_, ' ', static_cast<std::size_t>(end_ - at_)));
    constexpr std::string_view version = "HTTP/1.1\r\n";
    if (blank == nullptr || end_ - blank <= static_cast<std::ptrdiff_t>(version.size()) ||
        std::memcmp(blank + 1, version.data(), version.size()) != 0) {
      return false;
    }
    const std::string_view target{at_, static_cast<std::size_t>(blank - at_)};
    if (target.size() > limits_.target_bytes) {
      return false;
    }
    const TargetReading reading = read_target(target);
    if (!reading.legal) {
      return false;
    }
    head_.canonical = reading.canonical;
    head_.path = span(target.substr(0, reading.path_bytes));
    if (reading.path_bytes < target.size()) {
      head_.query = span(target.substr(reading.path_bytes + 1));
    }
    at_ = blank + 1 + version.size();
    return true;
  }

  // One header line with its line end.
  [[nodiscard]] bool header() noexcept {
    const char* const name = at_;
    const char* at = name;  // a local, because the compiler stores the member at every step
    const char* const end = end_;
    while (at != end && is_token[static_cast<unsigned char>(*at)]) {
      ++at;
    }
    const auto name_size = static_cast<std::size_t>(at - name);
    if (at == end || *at != ':' || name_size == 0 || ++head_.headers > limits_.headers) {
      return false;
    }
    ++at;
    while (at != end && *at == ' ') {
      ++at;
    }
    const char* const value = at;
    at = skip_printable(at, end);
    if (end - at < 2 || at[0] != '\r' || at[1] != '\n') {
      return false;  // a tab, a high or control byte, or not all is here
    }
    const char* value_end = at;
    while (value_end != value && value_end[-1] == ' ') {
      --value_end;
    }
    at_ = at + 2;
    return keep(name, name_size, {value, static_cast<std::size_t>(value_end - value)});
  }

  // Every name that request_parser.cpp looks at must be looked at here, or be refused here.
  [[nodiscard]] bool keep(const char* name, std::size_t size, std::string_view value) noexcept {
    switch (size) {
      case 4: return !is(name, "host") || once(head_.host, value);
      case 6: return !is(name, "expect");
      case 8: return !is(name, "if-match") || once(head_.if_match, value);
      case 10:
        if (is(name, "user-agent")) {
          return once(head_.user_agent, value);
        }
        return !is(name, "connection") || connection(value);
      case 12: return !is(name, "content-type") || once(head_.content_type, value);
      case 13:
        if (is(name, "authorization")) {
          return once(head_.authorization, value);
        }
        return !is(name, "if-none-match") || once(head_.if_none_match, value);
      case 14: return !is(name, "content-length") || content_length(value);
      case 15:
        if (is(name, "idempotency-key")) {
          return once(head_.idempotency_key, value);
        }
        if (is(name, "x-forwarded-for")) {
          return once(head_.forwarded_for, value);
        }
        return !is(name, "accept-language") || once(head_.accept_language, value);
      case 16: return !is(name, "proxy-connection");
      case 17: return !is(name, "transfer-encoding");
      default: return true;
    }
  }

  [[nodiscard]] bool once(Span& into, std::string_view value) noexcept {
    if (into.at != 0) {
      return false;
    }
    into = span(value);
    return true;
  }

  [[nodiscard]] bool connection(std::string_view value) noexcept {
    if (value == "close") {
      close_ = true;
      return true;
    }
    return value == "keep-alive";
  }

  [[nodiscard]] bool content_length(std::string_view value) noexcept {
    const auto length = base::parse_decimal(value);
    if (head_.has_content_length || !length || static_cast<std::uint64_t>(*length) > limits_.body_bytes) {
      return false;
    }
    head_.has_content_length = true;
    head_.content_length = static_cast<std::uint64_t>(*length);
    return true;
  }

  [[nodiscard]] bool finish() noexcept {
    const auto size = static_cast<std::size_t>(at_ - begin_);
    if (head_.host.at == 0 || size > limits_.header_bytes) {
      return false;
    }
    head_.bytes = static_cast<std::uint32_t>(size);
    head_.version_11 = true;
    head_.keep_alive = !close_;
    return true;
  }

  const char* const begin_;
  const char* at_;
  const char* const end_;
  const ParseLimits& limits_;
  RequestHead& head_;
  bool close_ = false;
};

}  // namespace

bool read_plain_head(std::string_view bytes, const ParseLimits& limits, RequestHead& head) noexcept {
  if (PlainHead{bytes, limits, head}.read()) [[likely]] {
    return true;
  }
  head = {};
  return false;
}

}  // namespace seckill::gateway::http
