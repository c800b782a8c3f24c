// Every refusal the buyer API can give, rendered once per language at start: {"code":0,"reason":"sold_out","msg":"…"},
// at most 96 bytes. What a client program reads is `reason`; `msg` is for people. Keeps P9: sending one allocates
// nothing.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/http/reply.hpp"
#include "gateway/http/server.hpp"
#include "model/purchase.hpp"

namespace seckill::gateway {

enum class Language : std::uint8_t { zh, en };

// The better of the two by RFC 9110 §12.5.4 (quality, then order); zh when neither is asked for. Any thread.
[[nodiscard]] Language language_of(std::string_view accept_language) noexcept;

inline constexpr std::size_t refusal_body_bytes_max = 96;

enum class Refusal : std::uint8_t {
  // Answers to a purchase.
  sold_out,
  limit_reached,
  request_conflict,
  not_started,
  ended,
  paused,
  rate_limited,
  challenge_required,
  rejected_by_risk,
  busy,
  bad_token,
  // 400, each with its own sentence.
  bad_json,
  bad_key,
  bad_quantity,
  bad_fields,
  bad_idempotency_key,
  bad_query,
  bad_buyer,
  // The rest.
  unauthorized,
  session_expired,
  not_found,
  no_record,
  too_large,
  calls_limited,  // 429 to anything but a purchase
  unavailable,    // 503 to anything but a purchase
  internal,
};
inline constexpr std::size_t refusal_count = 26;

[[nodiscard]] Refusal refusal_of(model::PurchaseAnswer answer) noexcept;
[[nodiscard]] int http_status(Refusal refusal) noexcept;
[[nodiscard]] int wire_code(Refusal refusal) noexcept;  // the answer's code; else the HTTP status
[[nodiscard]] std::string_view reason(Refusal refusal) noexcept;
[[nodiscard]] std::string_view sentence(Refusal refusal, Language language) noexcept;

// {"code":…,"reason":"…","msg":"…" — without the closing brace, for refusals that carry more.
[[nodiscard]] std::string open_refusal_body(Refusal refusal, Language language);

// Constant after construction; any thread.
class Replies {
 public:
  struct RetryAfter {
    std::chrono::seconds rate_limited{1};
    std::chrono::seconds busy{1};
  };
  explicit Replies(RetryAfter retry_after);

  [[nodiscard]] const http::PreparedReply& get(Refusal refusal, Language language) const noexcept {
    return prepared_[static_cast<std::size_t>(refusal) * 2 + static_cast<std::size_t>(language)];
  }
  [[nodiscard]] const RetryAfter& retry_after() const noexcept { return retry_after_; }

 private:
  RetryAfter retry_after_;
  std::vector<http::PreparedReply> prepared_;
};

// What the HTTP core answers by itself on the buyers' port, in the same shape.
[[nodiscard]] http::CoreReplies buyer_core_replies();

}  // namespace seckill::gateway
