#include "gateway/replies.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/assert.hpp"

namespace seckill::gateway {
namespace {

struct Wording {
  Refusal refusal;
  int status;
  int code;
  std::string_view reason;
  std::string_view zh;
  std::string_view en;
};

using enum Refusal;

constexpr std::array<Wording, refusal_count> wordings{{
    {sold_out, 409, 0, "sold_out", "已抢光，感谢参与", "Sold out"},
    {limit_reached, 409, -1, "limit_reached", "已达到限购数量", "Purchase limit reached"},
    {request_conflict, 422, -2, "request_conflict", "请求编号已用于其他内容", "Request id used with other content"},
    {not_started, 409, -3, "not_started", "活动还没开始", "The sale has not started"},
    {ended, 409, -4, "ended", "活动已结束", "The sale has ended"},
    {paused, 409, -5, "paused", "活动暂停，请稍候", "The sale is paused"},
    {rate_limited, 429, -6, "rate_limited", "点得太快，请稍后再试", "Too fast, try again shortly"},
    {challenge_required, 403, -7, "challenge_required", "请先完成验证", "Challenge required"},
    {rejected_by_risk, 403, -8, "rejected_by_risk", "请查询抢购结果", "Check your outcome"},
    {busy, 503, -9, "busy", "活动太火爆，请稍后再试", "Very busy, please try again shortly"},
    {bad_token, 403, -10, "bad_token", "请刷新页面后查询结果", "Reload, then check your outcome"},
    {bad_json, 400, 400, "bad_request", "请求内容无法读取", "The body is not acceptable JSON"},
    {bad_key, 400, 400, "bad_request", "请求含有未知字段", "The body has an unknown key"},
    {bad_quantity, 400, 400, "bad_request", "数量不正确", "quantity: whole number, 1 to the limit"},
    {bad_fields, 400, 400, "bad_request", "填写的信息不正确", "fields: declared names, texts <= 255"},
    {bad_idempotency_key, 400, 400, "bad_request", "请求编号不正确", "One Idempotency-Key: [A-Za-z0-9_.-]{1,64}"},
    {bad_query, 400, 400, "bad_request", "查询参数不正确", "A query parameter is not acceptable"},
    {bad_buyer, 400, 400, "bad_request", "用户名不正确", "buyer: 1 to 64 bytes of plain text"},
    {unauthorized, 401, 401, "unauthorized", "请先登录", "Please log in"},
    {session_expired, 401, 401, "unauthorized", "登录已过期", "Your login has expired"},
    {Refusal::not_found, 404, 404, "not_found", "没有找到", "Not found"},
    {no_record, 404, 404, "no_record", "没有记录", "No record"},
    {too_large, 413, 413, "too_large", "请求内容过大", "The body is too large"},
    {calls_limited, 429, 429, "rate_limited", "点得太快，请稍后再试", "Too fast, try again shortly"},
    {unavailable, 503, 503, "unavailable", "系统繁忙，请稍后再试", "Cannot tell now, please try again"},
    {internal, 500, 500, "internal", "系统错误，请稍后再试", "Internal error, please try again"},
}};

consteval bool in_order() {
  for (std::size_t index = 0; index < wordings.size(); ++index) {
    if (static_cast<std::size_t>(wordings[index].refusal) != index) return false;
  }
  return true;
}
static_assert(in_order(), "a refusal's wording stands at its number");

const Wording& wording(Refusal refusal) noexcept { return wordings[static_cast<std::size_t>(refusal)]; }

// A quality value in thousandths, 1000 when it is missing; 0 when it is not one.
int quality_of(std::string_view parameters) noexcept {
  const std::size_t at = parameters.find("q=");
  if (at == std::string_view::npos) return 1'000;
  const std::string_view text = parameters.substr(at + 2);
  if (text.empty() || (text[0] != '0' && text[0] != '1')) return 0;
  int value = (text[0] - '0') * 1'000;
  if (text.size() > 1 && text[1] != '.') return value;
  int weight = 100;
  for (std::size_t index = 2; index < text.size() && weight > 0; ++index, weight /= 10) {
    if (text[index] < '0' || text[index] > '9') break;
    value += (text[index] - '0') * weight;
  }
  return value > 1'000 ? 1'000 : value;
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_language(std::string_view tag, char first, char second) noexcept {
  if (tag.size() < 2 || (tag[0] | 0x20) != first || (tag[1] | 0x20) != second) return false;
  return tag.size() == 2 || tag[2] == '-' || tag[2] == ';' || tag[2] == ' ';
}

http::PreparedReply prepare(const Wording& words, Language language, const Replies::RetryAfter& retry_after) {
  std::string body = open_refusal_body(words.refusal, language) + "}";
  SECKILL_ASSERT(body.size() <= refusal_body_bytes_max, "P9: a refusal is at most 96 bytes");
  http::Reply reply = http::Reply::json(words.status, std::move(body));
  if (words.status == 429) reply.header("Retry-After", std::to_string(retry_after.rate_limited.count()));
  if (words.status == 503) reply.header("Retry-After", std::to_string(retry_after.busy.count()));
  if (words.status == 401) reply.header("WWW-Authenticate", "Bearer");
  // Only a GET's refusal could be kept by a cache on the way.
  if (words.status == 401 || words.status == 404) reply.header("Cache-Control", "no-store");
  return http::PreparedReply{reply};
}

http::PreparedReply core(int status, std::string_view reason, std::string_view sentence) {
  return http::PreparedReply{
      http::Reply::json(status, fmt::format(R"({{"code":{},"reason":"{}","msg":"{}"}})", status, reason, sentence))};
}

}  // namespace

Language language_of(std::string_view accept_language) noexcept {
  int best = 0;
  Language chosen = Language::zh;
  while (!accept_language.empty()) {
    const std::size_t comma = accept_language.find(',');
    const std::string_view tag = trimmed(accept_language.substr(0, comma));
    const bool en = is_language(tag, 'e', 'n');
    if (en || is_language(tag, 'z', 'h')) {
      const int quality = quality_of(tag);
      if (quality > best) {
        best = quality;
        chosen = en ? Language::en : Language::zh;
      }
      if (best == 1'000) break;  // nothing later can be better
    }
    if (comma == std::string_view::npos) break;
    accept_language.remove_prefix(comma + 1);
  }
  return chosen;
}

Refusal refusal_of(model::PurchaseAnswer answer) noexcept {
  switch (answer) {
    case model::PurchaseAnswer::sold_out: return sold_out;
    case model::PurchaseAnswer::limit_reached: return limit_reached;
    case model::PurchaseAnswer::request_conflict: return request_conflict;
    case model::PurchaseAnswer::not_started: return not_started;
    case model::PurchaseAnswer::ended: return ended;
    case model::PurchaseAnswer::paused: return paused;
    case model::PurchaseAnswer::rate_limited: return rate_limited;
    case model::PurchaseAnswer::challenge_required: return challenge_required;
    case model::PurchaseAnswer::rejected_by_risk: return rejected_by_risk;
    case model::PurchaseAnswer::bad_token: return bad_token;
    case model::PurchaseAnswer::busy:
    case model::PurchaseAnswer::admitted:
    case model::PurchaseAnswer::replayed: return busy;  // the last two are no refusals and are not asked for
  }
  return busy;
}

int http_status(Refusal refusal) noexcept { return wording(refusal).status; }
int wire_code(Refusal refusal) noexcept { return wording(refusal).code; }
std::string_view reason(Refusal refusal) noexcept { return wording(refusal).reason; }
std::string_view sentence(Refusal refusal, Language language) noexcept {
  return language == Language::zh ? wording(refusal).zh : wording(refusal).en;
}

std::string open_refusal_body(Refusal refusal, Language language) {
  return fmt::format(R"({{"code":{},"reason":"{}","msg":"{}")", wire_code(refusal), reason(refusal),
                     sentence(refusal, language));
}

Replies::Replies(RetryAfter retry_after) : retry_after_{retry_after} {
  prepared_.reserve(wordings.size() * 2);
  for (const Wording& words : wordings) {
    for (const Language language : {Language::zh, Language::en}) {
      prepared_.push_back(prepare(words, language, retry_after_));
    }
  }
}

http::CoreReplies buyer_core_replies() {
  http::CoreReplies replies;
  replies.bad_request = core(400, "bad_request", "The request is malformed");
  replies.not_found = core(404, "not_found", "Not found");
  replies.request_timeout = core(408, "request_timeout", "The request took too long");
  replies.body_too_large = core(413, "too_large", "The body is too large");
  replies.target_too_long = core(414, "too_large", "The address is too long");
  replies.expectation_failed = core(417, "bad_request", "Only Expect: 100-continue");
  replies.headers_too_large = core(431, "too_large", "The headers are too large");
  const Replies own{{}};
  replies.internal = own.get(internal, Language::zh);
  replies.busy = own.get(Refusal::busy, Language::zh);
  return replies;
}

}  // namespace seckill::gateway
