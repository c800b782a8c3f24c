// The adapters against an independent implementation of the providers' public rules (vectors/rules.py): every notice of
// vectors/notices.inc is judged, every call is made byte for byte, every answer of vectors/answers.inc is read.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "unit/payments/counterparties.hpp"

namespace seckill::payments::test {
namespace {

constexpr const char* notice_lines[] = {
#include "unit/payments/vectors/notices.inc"
};
constexpr const char* answer_lines[] = {
#include "unit/payments/vectors/answers.inc"
};

using boost::json::object;

object read(const char* line) { return base::parse_json(line).value().get_object(); }

std::string title(const object& vector) {
  return base::text_of(vector, "provider") + " " + base::text_of(vector, "call") + " " + base::text_of(vector, "name");
}

std::vector<Header> headers_of(const object& vector) {
  std::vector<Header> headers;
  for (const auto& pair : vector.at("headers").get_array()) {
    headers.push_back({pair.at(0).get_string().c_str(), pair.at(1).get_string().c_str()});
  }
  return headers;
}

void expect_same(const Notice& notice, const object& expected) {
  EXPECT_EQ(name(notice.event), base::text_of(expected, "event"));
  EXPECT_EQ(notice.out_trade_no, base::text_of(expected, "out_trade_no"));
  EXPECT_EQ(notice.ticket.has_value(), expected.at("is_ticket").get_bool());
  if (notice.ticket) EXPECT_EQ(notice.ticket->str(), notice.out_trade_no);
  EXPECT_EQ(notice.transaction_id, base::text_of(expected, "transaction_id"));
  EXPECT_EQ(notice.refund_id, base::text_of(expected, "refund_id"));
  EXPECT_EQ(notice.amount_minor, expected.at("amount_minor").get_int64());
  // Alipay tells what a trade was worth in every notice of it.
  if (notice.event != NoticeEvent::closed) EXPECT_EQ(notice.total_minor, expected.at("total_minor").get_int64());
  EXPECT_EQ(notice.currency.view(), base::text_of(expected, "currency"));
  EXPECT_EQ(notice.merchant_id, base::text_of(expected, "merchant_id"));
  EXPECT_EQ(notice.occurred_at, expected.at("occurred_at").get_int64());
  EXPECT_FALSE(notice.notice_id.empty());
  if (expected.contains("notice_id")) EXPECT_EQ(notice.notice_id, base::text_of(expected, "notice_id"));
}

TEST(PaymentVectors, every_notice_is_judged_as_the_providers_rules_say) {
  std::set<std::string> faults;
  for (const char* line : notice_lines) {
    const object vector = read(line);
    SCOPED_TRACE(title(vector));
    const std::vector<Header> headers = headers_of(vector);
    std::string body = base::text_of(vector, "body");
    if (vector.contains("body_spaces"))
      body.assign(static_cast<std::size_t>(vector.at("body_spaces").get_int64()), ' ');
    int asked = 0;
    const AppliedBefore applied = [&](std::string_view id) {
      ++asked;
      return vector.contains("applied") && vector.at("applied").as_array().at(0).as_string() == id;
    };
    const Judged judged =
        provider_named(base::text_of(vector, "provider")).judge({headers, body}, vectors_now, applied);
    const std::string fault = base::text_of(vector, "fault");
    EXPECT_EQ(judged ? "" : name(judged.error()), fault);
    // Only who is believed may ask what was applied.
    EXPECT_EQ(asked, judged || fault == "repeated" ? 1 : 0);
    if (judged && fault.empty()) expect_same(*judged, vector.at("notice").get_object());
    faults.insert(fault);
  }
  EXPECT_EQ(faults.size(), 11u) << "every fault, and none, has a vector";
}

Call made(const Provider& provider, std::string_view call) {
  if (call == "query") return provider.query(ticket_text, vectors_stamp());
  if (call == "close") return provider.close(ticket_text, vectors_stamp());
  if (call == "refund") return provider.refund(vectors_refund(), vectors_stamp());
  return provider.refund_query(vectors_refund(), vectors_stamp());
}

void expect_sent(const Call& call, const object& request) {
  EXPECT_EQ(call.method, base::text_of(request, "method"));
  EXPECT_EQ(call.url, base::text_of(request, "url"));
  EXPECT_EQ(call.body, base::text_of(request, "body"));
  const std::string header = request.at("header").at(0).as_string().c_str();
  const auto found = std::ranges::find(call.headers, header, &Header::name);
  ASSERT_NE(found, call.headers.end()) << header;
  EXPECT_EQ(found->value, request.at("header").at(1).as_string());
}

// State and code of an answer, with the payment that a query tells.
struct Read {
  std::string_view state;
  std::string code;
  std::optional<Notice> notice;
};

Read read_answer(const Provider& provider, std::string_view call, const CallAnswer& answer) {
  if (call == "query") {
    QueryAnswer got = provider.read_query(ticket_text, vectors_stamp(), answer, vectors_now);
    return {name(got.state), got.code, got.notice};
  }
  if (call == "close") {
    CloseAnswer got = provider.read_close(ticket_text, vectors_stamp(), answer, vectors_now);
    return {name(got.state), got.code, {}};
  }
  RefundAnswer got = call == "refund"
                         ? provider.read_refund(vectors_refund(), vectors_stamp(), answer, vectors_now)
                         : provider.read_refund_query(vectors_refund(), vectors_stamp(), answer, vectors_now);
  return {name(got.state), got.code, {}};
}

void expect_payment(const Notice& notice, const object& vector) {
  const bool alipay = base::text_of(vector, "provider") == "alipay";
  EXPECT_EQ(notice.event, NoticeEvent::paid);
  EXPECT_EQ(notice.out_trade_no, ticket_text);
  EXPECT_TRUE(notice.ticket.has_value());
  EXPECT_EQ(notice.transaction_id, "4200001");
  EXPECT_EQ(notice.amount_minor, 8'888);
  EXPECT_EQ(notice.currency.view(), "CNY");
  EXPECT_EQ(notice.merchant_id, alipay ? "2088102146225135" : "1900000109");
  EXPECT_EQ(notice.occurred_at, vector.at("occurred_at").get_int64());
}

TEST(PaymentVectors, every_call_is_the_one_the_provider_verifies_and_every_answer_is_read) {
  std::size_t calls = 0;
  for (const char* line : answer_lines) {
    const object vector = read(line);
    SCOPED_TRACE(title(vector));
    const Provider& provider = provider_named(base::text_of(vector, "provider"));
    const std::string call = base::text_of(vector, "call");
    if (vector.contains("request")) {
      expect_sent(made(provider, call), vector.at("request").get_object());
      ++calls;
      continue;
    }
    const CallAnswer answer{static_cast<int>(vector.at("status").get_int64()), headers_of(vector),
                            base::text_of(vector, "body")};
    const Read got = read_answer(provider, call, answer);
    EXPECT_EQ(got.state, base::text_of(vector, "state"));
    EXPECT_EQ(got.code, base::text_of(vector, "code"));
    EXPECT_EQ(got.notice.has_value(), vector.contains("occurred_at"));
    if (got.notice && vector.contains("occurred_at")) expect_payment(*got.notice, vector);
  }
  EXPECT_EQ(calls, 12u);
}

// Whatever byte of a genuine message is changed, it is not believed: what is outside a signature is not read.
TEST(PaymentVectors, no_byte_of_a_genuine_notice_can_be_changed) {
  for (const char* line : notice_lines) {
    const object vector = read(line);
    const std::string provider = base::text_of(vector, "provider");
    if (base::text_of(vector, "name") != "paid") continue;
    SCOPED_TRACE(title(vector));
    const std::vector<Header> headers = headers_of(vector);
    const std::string body = base::text_of(vector, "body");
    // RSA takes its time under the sanitizers; a stride that shares no factor with the text's shape sees all its parts.
    const std::size_t stride = provider == "generic" ? 1 : 7;
    for (std::size_t i = 0; i < body.size(); i += stride) {
      std::string changed = body;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      const Judged judged = provider_named(provider).judge({headers, changed}, vectors_now, {});
      ASSERT_FALSE(judged.has_value()) << i;
      ASSERT_EQ(reception_of(judged.error()), Reception::refused) << i;
    }
    for (std::size_t size = 0; size < body.size(); size += 17) {
      ASSERT_FALSE(provider_named(provider).judge({headers, body.substr(0, size)}, vectors_now, {}).has_value())
          << size;
    }
  }
}

}  // namespace
}  // namespace seckill::payments::test
