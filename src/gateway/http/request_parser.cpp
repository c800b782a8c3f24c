// One of the few files that include Boost.Beast (it is slow to compile). See request_parser.hpp.
#include "gateway/http/request_parser.hpp"

#include <array>
#include <boost/beast/http/basic_parser.hpp>
#include <cstring>
#include <memory>
#include <new>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "gateway/http/plain_head.hpp"
#include "gateway/http/target.hpp"

namespace seckill::gateway::http {
namespace {

namespace beast = boost::beast;
using beast::http::error;
using beast::http::field;
using beast::http::verb;

// What is left of a chunked body before its end is at least "0", CRLF, CRLF. Beast 1.81 asserts that it sees as much of
// a last chunk when it looks at it again, so a client that sends an empty body byte by byte would stop the process.
constexpr std::size_t chunk_rest_bytes_min = 5;

// What stands in a request line beside the target: method, two blanks, version and line end. A longer method is no
// one's (the longest registered has 17 bytes), and without a bound a head's answer would depend on how it was cut into
// reads.
constexpr std::size_t line_bytes_beside_target = 32;
constexpr std::size_t method_bytes_max = line_bytes_beside_target - std::string_view{"  HTTP/1.1\r\n"}.size();

// A chunk's size line with its extensions; no honest client comes near.
constexpr std::size_t chunk_line_bytes_max = 512;

Method method_of(verb v) noexcept {
  switch (v) {
    case verb::get: return Method::get;
    case verb::post: return Method::post;
    case verb::put: return Method::put;
    case verb::patch: return Method::patch;
    case verb::delete_: return Method::delete_;
    case verb::head: return Method::head;
    case verb::options: return Method::options;
    default: return Method::other;  // a library's enum: everything else is for the router to refuse
  }
}

bool equals_lower(std::string_view text, std::string_view lower) noexcept {
  if (text.size() != lower.size()) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c) != lower[i]) {
      return false;
    }
  }
  return true;
}

// True for text without control bytes that is valid UTF-8. Looks at eight bytes at a time; only text with a high or
// a control byte (or, rarely, a neighbour of one) takes the slow way.
bool clean(std::string_view text) noexcept {
  constexpr std::uint64_t high_bits = 0x8080808080808080U;
  constexpr std::uint64_t spaces = 0x2020202020202020U;
  std::uint64_t suspicious = 0;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    suspicious |= word | (word - spaces);  // a byte below 0x20 borrows and sets its high bit
  }
  if (left != 0) {
    std::uint64_t word = spaces;
    std::memcpy(&word, at, left);
    suspicious |= word | (word - spaces);
  }
  if ((suspicious & high_bits) == 0) [[likely]] {
    return true;
  }
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return false;
    }
  }
  return base::utf8_length(text).has_value();
}

}  // namespace

// Beast calls back for each element; we keep offsets, and refuse. A refusal sets `verdict` and any error code, because
// Beast stops at the first.
class RequestParser::Beast final : public beast::http::basic_parser<true> {
 public:
  explicit Beast(RequestParser& owner) noexcept : owner_{owner} {
    header_limit(owner.limits_.header_bytes);
    body_limit(owner.limits_.body_bytes);
  }

  const char* begin = nullptr;  // the request's first byte, during put()
  std::string* body = nullptr;  // where decoded chunks go, during put()
  ParseOutcome verdict = ParseOutcome::done;

 private:
  void refuse(ParseOutcome why, beast::error_code& ec) noexcept {
    verdict = why;
    ec = error::bad_value;
  }

  [[nodiscard]] Span span(beast::string_view text) const noexcept {
    return {static_cast<std::uint32_t>(text.data() - begin), static_cast<std::uint32_t>(text.size())};
  }

  void on_request_impl(verb method, beast::string_view text, beast::string_view target, int version,
                       beast::error_code& ec) override {
    if (text.size() > method_bytes_max) {
      return refuse(ParseOutcome::target_too_long, ec);
    }
    RequestHead& head = owner_.head_;
    head.method = method_of(method);
    head.version_11 = version == 11;
    if (target.size() > owner_.limits_.target_bytes) {
      return refuse(ParseOutcome::target_too_long, ec);
    }
    const TargetReading reading = read_target({target.data(), target.size()});
    if (!reading.legal) {
      return refuse(ParseOutcome::bad_request, ec);
    }
    head.canonical = reading.canonical;
    head.path = span(target);
    head.path.size = reading.path_bytes;
    if (reading.path_bytes < target.size()) {
      head.query = {head.path.at + reading.path_bytes + 1,
                    static_cast<std::uint32_t>(target.size()) - reading.path_bytes - 1};
    }
  }

  void on_field_impl(field name, beast::string_view name_text, beast::string_view value,
                     beast::error_code& ec) override {
    if (body != nullptr) {
      return refuse(ParseOutcome::bad_request, ec);  // a trailer: nobody here needs one, and they smuggle headers
    }
    RequestHead& head = owner_.head_;
    if (++head.headers > owner_.limits_.headers) {
      return refuse(ParseOutcome::headers_too_large, ec);
    }
    if (folded(name_text, value)) {
      return refuse(ParseOutcome::bad_request, ec);
    }
    const std::string_view text{value.data(), value.size()};
    switch (name) {
      case field::host: return keep_single(head.host, text, ec);
      case field::authorization: return keep_single(head.authorization, text, ec);
      case field::content_type: return keep_single(head.content_type, text, ec);
      case field::if_match: return keep_single(head.if_match, text, ec);
      case field::if_none_match: return keep_single(head.if_none_match, text, ec);
      case field::accept_language: return keep_first(head.accept_language, text, ec);
      case field::user_agent: return keep_first(head.user_agent, text, ec);
      case field::content_length: return content_length(text, ec);
      case field::transfer_encoding: return transfer_encoding(text, ec);
      case field::expect: return expect(text, ec);
      case field::unknown: return unknown({name_text.data(), name_text.size()}, text, ec);
      default: return;  // a library's enum: headers nobody reads
    }
  }

  // Beast joins obsolete folds (RFC 9112 section 5.2) into a buffer of its own, or skips an empty first line: then
  // more than blanks stand between the colon and the value.
  [[nodiscard]] static bool folded(beast::string_view name, beast::string_view value) noexcept {
    const char* at = name.data() + name.size() + 1;
    while (at != value.data()) {
      if (*at != ' ' && *at != '\t') {
        return true;
      }
      ++at;
    }
    return false;
  }

  void keep_single(Span& into, std::string_view value, beast::error_code& ec) noexcept {
    if (into.at != 0) {
      return refuse(ParseOutcome::bad_request, ec);
    }
    keep_first(into, value, ec);
  }

  void keep_first(Span& into, std::string_view value, beast::error_code& ec) noexcept {
    if (!clean(value)) {
      return refuse(ParseOutcome::bad_request, ec);
    }
    if (into.at == 0) {
      into = span({value.data(), value.size()});
    }
  }

  void content_length(std::string_view value, beast::error_code& ec) noexcept {
    RequestHead& head = owner_.head_;
    const auto length = base::parse_decimal(value);
    if (head.has_content_length || head.chunked || !length) {
      return refuse(ParseOutcome::bad_request, ec);
    }
    head.has_content_length = true;
    head.content_length = static_cast<std::uint64_t>(*length);
  }

  void transfer_encoding(std::string_view value, beast::error_code& ec) noexcept {
    RequestHead& head = owner_.head_;
    if (head.has_content_length || head.chunked || !head.version_11 || !equals_lower(value, "chunked")) {
      return refuse(ParseOutcome::bad_request, ec);
    }
    head.chunked = true;
  }

  void expect(std::string_view value, beast::error_code& ec) noexcept {
    if (!equals_lower(value, "100-continue")) {
      return refuse(ParseOutcome::expectation_failed, ec);
    }
    owner_.head_.expect_continue = owner_.head_.version_11;
  }

  void unknown(std::string_view name, std::string_view value, beast::error_code& ec) {
    RequestHead& head = owner_.head_;
    if (equals_lower(name, "idempotency-key")) {
      return keep_single(head.idempotency_key, value, ec);
    }
    if (equals_lower(name, "x-forwarded-for")) {
      return forwarded_for(value, ec);
    }
  }

  // A proxy may add a line of its own instead of extending the client's, so all lines count, in order: keeping only
  // the first would believe the client.
  void forwarded_for(std::string_view value, beast::error_code& ec) {
    Span& first = owner_.head_.forwarded_for;
    const bool again = first.at != 0;
    if (!again || !clean(value)) {
      return keep_first(first, value, ec);
    }
    std::string& joined = owner_.joined_forwarded_for_;
    if (joined.empty()) {
      joined.assign(begin + first.at, first.size);
    }
    joined.append(", ").append(value);
  }

  void on_header_impl(beast::error_code& ec) override {
    const RequestHead& head = owner_.head_;
    if (head.version_11 && head.host.at == 0) {
      return refuse(ParseOutcome::bad_request, ec);
    }
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/, beast::error_code& /*ec*/) override {}
  std::size_t on_body_impl(beast::string_view /*data*/, beast::error_code& ec) override {
    refuse(ParseOutcome::bad_request, ec);  // bodies with a length are read in place and never come here
    return 0;
  }

  void on_chunk_header_impl(std::uint64_t /*size*/, beast::string_view extensions, beast::error_code& ec) override {
    // Beast lets any byte stand in a quoted extension; a bare line feed there is read as a line's end by others.
    for (const char c : extensions) {
      if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) {
        return refuse(ParseOutcome::bad_request, ec);
      }
    }
    if (extensions.size() > chunk_line_bytes_max) {
      return refuse(ParseOutcome::body_too_large, ec);
    }
  }

  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, beast::string_view data,
                                 beast::error_code& /*ec*/) override {
    body->append(data.data(), data.size());
    return data.size();
  }

  void on_finish_impl(beast::error_code& /*ec*/) override {}
  void on_response_impl(int, beast::string_view, int, beast::error_code& ec) override {
    refuse(ParseOutcome::bad_request, ec);  // only called for responses
  }

  RequestParser& owner_;
};

RequestParser::RequestParser(const ParseLimits& limits) noexcept : limits_{limits} {}

RequestParser::~RequestParser() {
  if (beast_made_) {
    std::destroy_at(&beast());
  }
}

RequestParser::Beast& RequestParser::beast() noexcept {
  return *std::launder(reinterpret_cast<Beast*>(storage_));  // placed there by parse_head()
}

void RequestParser::reset() noexcept {
  head_ = {};
  if (!beast_made_) [[likely]] {
    return;
  }
  std::destroy_at(&beast());
  beast_made_ = false;
  joined_forwarded_for_.clear();
  head_consumed_ = 0;
  chunk_bytes_ = 0;
}

ParseOutcome RequestParser::parse_head(std::string_view bytes) {
  if (!beast_made_) {
    if (read_plain_head(bytes, limits_, head_)) [[likely]] {
      return ParseOutcome::done;
    }
    static_assert(sizeof(Beast) <= beast_bytes && alignof(Beast) <= 16, "the hidden parser fits its place");
    new (storage_) Beast(*this);
    beast_made_ = true;
  }
  return parse_head_with_beast(bytes);
}

ParseOutcome RequestParser::parse_head_with_beast(std::string_view bytes) {
  Beast& parser = beast();
  parser.begin = bytes.data();
  beast::error_code ec;
  head_consumed_ += static_cast<std::uint32_t>(
      parser.put(boost::asio::const_buffer(bytes.data() + head_consumed_, bytes.size() - head_consumed_), ec));
  if (!ec) [[likely]] {
    if (head_consumed_ > limits_.header_bytes) {
      return ParseOutcome::headers_too_large;
    }
    if (head_.content_length > limits_.body_bytes) {
      return ParseOutcome::body_too_large;
    }
    head_.bytes = head_consumed_;
    head_.keep_alive = head_.version_11 && parser.keep_alive();  // 1.0 is always closed: its keep-alive is optional
    parser.eager(true);
    return ParseOutcome::done;
  }
  if (parser.verdict != ParseOutcome::done) {
    return parser.verdict;
  }
  // Beast looks at a head that came in pieces only when its end is there, so it cannot tell where the request line
  // ended.
  const std::size_t line_bytes_max = limits_.target_bytes + line_bytes_beside_target;
  const bool in_request_line = bytes.substr(0, line_bytes_max).find('\n') == std::string_view::npos;
  if (ec == error::need_more) {
    if (in_request_line && bytes.size() > line_bytes_max) {
      return ParseOutcome::target_too_long;
    }
    return bytes.size() >= limits_.header_bytes ? ParseOutcome::headers_too_large : ParseOutcome::need_more;
  }
  if (ec == error::header_limit) {
    return in_request_line ? ParseOutcome::target_too_long : ParseOutcome::headers_too_large;
  }
  return ec == error::body_limit ? ParseOutcome::body_too_large : ParseOutcome::bad_request;
}

ParseOutcome RequestParser::parse_chunks(std::string_view bytes, std::size_t& consumed, std::string& body) {
  SECKILL_ASSERT(head_.chunked, "only a chunked body is decoded");
  Beast& parser = beast();
  parser.body = &body;
  consumed = 0;
  while (bytes.size() - consumed >= chunk_rest_bytes_min) {
    beast::error_code ec;
    const std::size_t taken =
        parser.put(boost::asio::const_buffer(bytes.data() + consumed, bytes.size() - consumed), ec);
    consumed += taken;
    chunk_bytes_ += taken;
    if (parser.verdict != ParseOutcome::done) {
      return parser.verdict;
    }
    if (ec == error::body_limit) {
      return ParseOutcome::body_too_large;
    }
    if (ec && ec != error::need_more) {
      return ParseOutcome::bad_request;
    }
    if (parser.is_done()) {
      return ParseOutcome::done;
    }
    if (ec == error::need_more) {
      break;
    }
  }
  const std::size_t left = bytes.size() - consumed;
  if (left > chunk_line_bytes_max || chunk_bytes_ + left > 2 * limits_.body_bytes + 4096) {
    return ParseOutcome::body_too_large;
  }
  return ParseOutcome::need_more;
}

}  // namespace seckill::gateway::http
