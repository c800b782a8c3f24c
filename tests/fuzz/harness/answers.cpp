// What a program on our side reads from a peer: the crowd's reader of HTTP responses and of their JSON. A response is
// cut out of the bytes in one way however much of it has come, and an answer's fields are those of its body.
#include <algorithm>
#include <string>
#include <string_view>

#include "fuzz/property.hpp"
#include "rehearse/answer.hpp"
#include "rehearse/wire.hpp"

namespace seckill::fuzz {
namespace {

using rehearse::Parsed;
using rehearse::Response;

void require_same(const Response& a, const Response& b, std::string_view bytes) {
  require(a.status == b.status && a.retry_after_ms == b.retry_after_ms && a.close == b.close && a.bytes == b.bytes &&
              a.body == b.body,
          "a response is read alike whatever follows it", bytes);
}

void check_stream(std::string_view bytes) {
  Response whole;
  const Parsed parsed = rehearse::parse_response(bytes, whole);
  for (std::size_t size = 0; size <= std::min<std::size_t>(bytes.size(), 1'024); ++size) {
    const std::string part{bytes.substr(0, size)};
    Response early;
    const Parsed so_far = rehearse::parse_response(part, early);
    if (so_far == Parsed::complete) {
      require(parsed == Parsed::complete, "what was complete stays so", bytes);
      require_same(early, whole, bytes);
      require(early.bytes == size, "a response is complete with its last byte", bytes);
      break;
    }
    if (so_far == Parsed::malformed) {
      require(parsed == Parsed::malformed, "what is malformed stays so", bytes);
      break;
    }
  }
  if (parsed != Parsed::complete) return;
  require(whole.status >= 200 && whole.status <= 599, "a status is one", bytes);
  require(whole.bytes <= bytes.size() && whole.body.size() <= rehearse::response_bytes_max,
          "a response is in its bytes", bytes);
  require(whole.retry_after_ms >= 0, "nobody waits for the past", bytes);
  const rehearse::Answer answer = rehearse::read_answer(whole);
  require(answer.status == whole.status && answer.body_bytes == whole.body.size(), "an answer has its status", bytes);
  require(!answer.acknowledged() || !answer.ticket.empty(), "an acknowledgement has its ticket (P5)", bytes);
  require(answer.ticket.empty() || whole.body.find("ticket") != std::string_view::npos ||
              whole.body.find('\\') != std::string_view::npos,
          "a ticket is not made up", bytes);
}

void check_request(std::string_view bytes) {
  // What the crowd asks with is its own, so only its framing matters: one request, its length stated.
  rehearse::Request request{
      .post = true, .target = "/p", .token = {}, .idempotency_key = "k", .body = std::string{bytes}};
  std::string out;
  rehearse::append_request(out, request);
  require(out.ends_with(bytes) && out.find("\r\n\r\n") + 4 + bytes.size() == out.size(), "a request is framed", out);
}

}  // namespace
}  // namespace seckill::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seckill::fuzz;
  const std::string_view bytes = text_of(data, size);
  check_stream(bytes);
  check_request(bytes);
  // The body alone, behind a head that is always good.
  const std::string framed = "HTTP/1.1 202 Accepted\r\nContent-Length: " + std::to_string(bytes.size()) + "\r\n\r\n";
  check_stream(framed + std::string{bytes});
  return 0;
}
