// Writing runs once an intent on the publisher's thread: appended by hand into one buffer, no tree in between.
#include <charconv>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "queue/rabbit/message.hpp"

namespace seckill::queue::rabbit {
namespace {

template <typename Integer>
void append_number(std::string& out, Integer value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end.ptr);
}

void write_intent(std::string& out, const model::OrderIntent& intent) {
  // Tickets, sales, SKUs and currencies are of characters that JSON does not escape.
  out += R"({"specversion":"1.0","id":")";
  out += intent.ticket.str();
  out += R"(","type":"seckill.intent","source":"/sales/)";
  out += intent.item.sale.view();
  out += "/items/";
  out += intent.item.sku.view();
  out += "/lanes/";
  append_number(out, intent.lane);
  out += R"(","time":")";
  out += base::format_instant(intent.admitted_at);
  out += R"(","datacontenttype":"application/json","data":{"sale":")";
  out += intent.item.sale.view();
  out += R"(","sku":")";
  out += intent.item.sku.view();
  out += R"(","buyer":)";
  base::append_json_string(out, intent.buyer.view());
  out += R"(,"request_id":)";
  base::append_json_string(out, intent.request_id.view());
  out += R"(,"digest":")";
  append_number(out, intent.digest);
  out += R"(","lane":)";
  append_number(out, intent.lane);
  out += R"(,"generation":)";
  append_number(out, intent.generation);
  out += R"(,"units":)";
  append_number(out, intent.units);
  out += R"(,"price_minor":)";
  append_number(out, intent.price_minor);
  out += R"(,"currency":")";
  out += intent.currency.view();
  out += R"(","limit":)";
  append_number(out, intent.limit);
  out += R"(,"pay_window_ms":)";
  append_number(out, intent.pay_window_ms);
  out += R"(,"admitted_at":)";
  append_number(out, intent.admitted_at);
  if (intent.fields) {
    out += R"(,"fields":)";
    base::append_json_string(out, *intent.fields);
  }
  out += "}}";
}

}  // namespace

void write_intents(std::string& out, std::span<const model::OrderIntent> intents) {
  SECKILL_ASSERT(!intents.empty() && intents.size() <= message_intents_max, "a message has 1–100 intents");
  char before = '[';
  for (const auto& intent : intents) {
    out += before;
    write_intent(out, intent);
    before = ',';
  }
  out += ']';
}

}  // namespace seckill::queue::rabbit
