// Refusals: small, valid, in the buyer's language, and the same bytes every time.
#include "gateway/replies.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "base/json.hpp"

namespace seckill::gateway {
namespace {

std::string_view body_of(const http::PreparedReply& reply) {
  const std::string_view all = reply.bytes(false, false);
  return all.substr(all.find("\r\n\r\n") + 4);
}

TEST(Replies, EveryRefusalIsSmallValidJsonWithItsCodeAndReason) {
  const Replies replies{{}};
  for (std::size_t index = 0; index < refusal_count; ++index) {
    const auto refusal = static_cast<Refusal>(index);
    for (const Language language : {Language::zh, Language::en}) {
      const http::PreparedReply& reply = replies.get(refusal, language);
      const std::string_view body = body_of(reply);
      EXPECT_LE(body.size(), refusal_body_bytes_max) << body;
      const auto parsed = base::parse_json(body);
      ASSERT_TRUE(parsed) << body;
      EXPECT_EQ(parsed->at("code").as_int64(), wire_code(refusal));
      EXPECT_EQ(std::string_view{parsed->at("reason").as_string()}, reason(refusal));
      EXPECT_EQ(std::string_view{parsed->at("msg").as_string()}, sentence(refusal, language));
      EXPECT_EQ(reply.status(), http_status(refusal));
    }
  }
}

TEST(Replies, PurchaseAnswersKeepTheModelsCodeNameAndStatus) {
  for (const model::PurchaseAnswer answer : model::all_purchase_answers) {
    if (answer == model::PurchaseAnswer::admitted || answer == model::PurchaseAnswer::replayed) continue;
    const Refusal refusal = refusal_of(answer);
    EXPECT_EQ(reason(refusal), model::name(answer));
    EXPECT_EQ(wire_code(refusal), model::answer_code(answer));
    EXPECT_EQ(http_status(refusal), model::http_status(answer));
  }
}

TEST(Replies, WhatMayPassSaysWhenToComeBack) {
  const Replies replies{{std::chrono::seconds{7}, std::chrono::seconds{3}}};
  const auto has = [&](Refusal refusal, std::string_view header) {
    return replies.get(refusal, Language::en).bytes(false, false).find(header) != std::string_view::npos;
  };
  EXPECT_TRUE(has(Refusal::rate_limited, "\r\nRetry-After: 7\r\n"));
  EXPECT_TRUE(has(Refusal::busy, "\r\nRetry-After: 3\r\n"));
  EXPECT_TRUE(has(Refusal::unavailable, "\r\nRetry-After: 3\r\n"));
  EXPECT_FALSE(has(Refusal::sold_out, "Retry-After"));
  EXPECT_TRUE(has(Refusal::unauthorized, "\r\nWWW-Authenticate: Bearer\r\n"));
}

TEST(Replies, ReadsTheBuyersLanguage) {
  EXPECT_EQ(language_of(""), Language::zh);
  EXPECT_EQ(language_of("zh-CN,zh;q=0.9,en;q=0.8"), Language::zh);
  EXPECT_EQ(language_of("en-US,en;q=0.9,zh;q=0.8"), Language::en);
  EXPECT_EQ(language_of("EN"), Language::en);
  EXPECT_EQ(language_of("fr, en;q=0.5, zh;q=0.7"), Language::zh);
  EXPECT_EQ(language_of("zh;q=0.1, en;q=0.9"), Language::en);
  EXPECT_EQ(language_of("zh;q=0, en;q=0.001"), Language::en);
  EXPECT_EQ(language_of("en;q=0"), Language::zh);
  EXPECT_EQ(language_of("fr"), Language::zh);
  EXPECT_EQ(language_of("*"), Language::zh);
  EXPECT_EQ(language_of(",,;;q=,en;q=x,\xFF,=,-"), Language::zh);
  EXPECT_EQ(language_of("english"), Language::zh);
}

TEST(Replies, TheCoresOwnAnswersHaveTheSameShape) {
  const http::CoreReplies core = buyer_core_replies();
  for (const http::PreparedReply* reply :
       {&core.bad_request, &core.not_found, &core.request_timeout, &core.body_too_large, &core.target_too_long,
        &core.expectation_failed, &core.headers_too_large, &core.internal, &core.busy}) {
    const auto parsed = base::parse_json(body_of(*reply));
    ASSERT_TRUE(parsed);
    EXPECT_TRUE(parsed->at("code").is_int64());
    EXPECT_TRUE(parsed->at("reason").is_string());
    EXPECT_TRUE(parsed->at("msg").is_string());
    EXPECT_LE(body_of(*reply).size(), refusal_body_bytes_max);
  }
}

}  // namespace
}  // namespace seckill::gateway
