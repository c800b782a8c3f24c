#include "model/purchase.hpp"

#include "base/hash.hpp"

namespace seckill::model {

std::string_view name(PurchaseAnswer answer) noexcept {
  switch (answer) {
    case PurchaseAnswer::admitted: return "admitted";
    case PurchaseAnswer::replayed: return "replayed";
    case PurchaseAnswer::sold_out: return "sold_out";
    case PurchaseAnswer::limit_reached: return "limit_reached";
    case PurchaseAnswer::request_conflict: return "request_conflict";
    case PurchaseAnswer::not_started: return "not_started";
    case PurchaseAnswer::ended: return "ended";
    case PurchaseAnswer::paused: return "paused";
    case PurchaseAnswer::rate_limited: return "rate_limited";
    case PurchaseAnswer::challenge_required: return "challenge_required";
    case PurchaseAnswer::rejected_by_risk: return "rejected_by_risk";
    case PurchaseAnswer::busy: return "busy";
    case PurchaseAnswer::bad_token: return "bad_token";
  }
  return "unknown";
}

int answer_code(PurchaseAnswer answer) noexcept {
  switch (answer) {
    case PurchaseAnswer::admitted:
    case PurchaseAnswer::replayed: return 1;
    case PurchaseAnswer::sold_out: return 0;
    case PurchaseAnswer::limit_reached: return -1;
    case PurchaseAnswer::request_conflict: return -2;
    case PurchaseAnswer::not_started: return -3;
    case PurchaseAnswer::ended: return -4;
    case PurchaseAnswer::paused: return -5;
    case PurchaseAnswer::rate_limited: return -6;
    case PurchaseAnswer::challenge_required: return -7;
    case PurchaseAnswer::rejected_by_risk: return -8;
    case PurchaseAnswer::busy: return -9;
    case PurchaseAnswer::bad_token: return -10;
  }
  return -9;
}

int http_status(PurchaseAnswer answer) noexcept {
  switch (answer) {
    case PurchaseAnswer::admitted: return 202;
    case PurchaseAnswer::replayed: return 200;
    case PurchaseAnswer::sold_out:
    case PurchaseAnswer::limit_reached:
    case PurchaseAnswer::not_started:
    case PurchaseAnswer::ended:
    case PurchaseAnswer::paused: return 409;
    case PurchaseAnswer::request_conflict: return 422;
    case PurchaseAnswer::rate_limited: return 429;
    case PurchaseAnswer::challenge_required:
    case PurchaseAnswer::rejected_by_risk:
    case PurchaseAnswer::bad_token: return 403;
    case PurchaseAnswer::busy: return 503;
  }
  return 503;
}

std::uint64_t content_digest(std::int64_t units, const OrderFields& fields) noexcept {
  const std::uint64_t seed = static_cast<std::uint64_t>(units) * 0x9E3779B97F4A7C15ULL;
  return base::xxh3_64_seeded(fields ? std::string_view{*fields} : std::string_view{}, seed);
}

}  // namespace seckill::model
