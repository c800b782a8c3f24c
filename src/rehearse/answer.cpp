#include "rehearse/answer.hpp"

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>

#include "base/json.hpp"

namespace seckill::rehearse {
namespace {

std::string text_of(const boost::json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

}  // namespace

Answer read_answer(const Response& response) {
  Answer answer;
  answer.status = response.status;
  answer.retry_after_ms = response.retry_after_ms;
  answer.body_bytes = response.body.size();
  const auto body = base::parse_json(response.body);
  if (response.status == 0 || !body || !body->is_object()) return answer;
  const boost::json::object& object = body->get_object();
  answer.reason = text_of(object, "reason");
  answer.ticket = text_of(object, "ticket");
  answer.state = text_of(object, "state");
  answer.order_state = text_of(object, "order_state");
  const auto* amount = object.if_contains("amount_minor");
  if (amount != nullptr && amount->is_int64()) answer.amount_minor = amount->get_int64();
  return answer;
}

bool is_final(std::string_view progress) noexcept {
  static constexpr std::array<std::string_view, 5> ended{"paid", "cancelled", "expired", "failed", "refunded"};
  return std::ranges::find(ended, progress) != ended.end();
}

}  // namespace seckill::rehearse
