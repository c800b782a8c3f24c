// Reading what anybody may have put into the queue. The array is cut into its elements before anything is parsed, so
// that whatever is wrong inside an element stays inside it.
#include <boost/json/value.hpp>
#include <charconv>
#include <expected>
#include <optional>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "queue/rabbit/message.hpp"

namespace seckill::queue::rabbit {
namespace {

namespace limits = base::limits;

template <typename T>
using Read = std::expected<T, std::string>;  // else what is wrong

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// The elements of a JSON array as text, by brackets and quotes alone.
Read<std::vector<std::string_view>> elements_of(std::string_view body) {
  const std::string_view text = trimmed(body);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::unexpected{"not a JSON array"};
  const std::string_view inside = text.substr(1, text.size() - 2);
  std::vector<std::string_view> elements;
  std::size_t from = 0;
  std::size_t depth = 0;
  bool quoted = false;
  const auto close = [&](std::size_t to) {
    elements.push_back(trimmed(inside.substr(from, to - from)));
    from = to + 1;
  };
  for (std::size_t at = 0; at < inside.size(); ++at) {
    const char c = inside[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return std::unexpected{"brackets that do not match"};
      --depth;
    } else if (c == ',' && depth == 0) {
      if (elements.size() >= message_intents_max) return std::unexpected{"too many events"};
      close(at);
    }
  }
  if (depth != 0 || quoted) return std::unexpected{"not a whole JSON array"};
  close(inside.size());
  if (elements.size() > message_intents_max) return std::unexpected{"too many events"};
  if (elements.size() == 1 && elements.front().empty()) return std::unexpected{"an array of no events"};
  return elements;
}

// Members of `data`; the first that does not fit is remembered, and everything after it means nothing.
class Members {
 public:
  explicit Members(const boost::json::object& data) : data_{data} {}

  std::string_view text(std::string_view key) {
    const auto* value = data_.if_contains(key);
    if (value == nullptr || !value->is_string()) {
      complain(key);
      return {};
    }
    return {value->get_string().data(), value->get_string().size()};
  }
  std::int64_t number(std::string_view key, std::int64_t lowest, std::int64_t highest) {
    const auto* value = data_.if_contains(key);
    if (value == nullptr || !value->is_int64() || value->get_int64() < lowest || value->get_int64() > highest) {
      complain(key);
      return lowest;
    }
    return value->get_int64();
  }
  // Unwraps what was made of a member's text.
  template <typename T>
  T made(std::string_view key, std::optional<T> value) {
    if (value) return *std::move(value);
    complain(key);
    return T{};
  }
  bool has(std::string_view key) const { return data_.contains(key); }
  void complain(std::string_view key) {
    if (wrong_.empty()) wrong_ = std::string{key} + " is missing or cannot be so";
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  const boost::json::object& data_;
  std::string wrong_;
};

std::optional<std::uint64_t> digest_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc{} || end.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// An object of texts, as the gateway made it.
std::optional<model::OrderFields> fields_of(std::string_view text) {
  const auto parsed = base::parse_json(text);
  if (text.size() > limits::http_body_bytes_max || !parsed || !parsed->is_object()) return std::nullopt;
  if (parsed->get_object().size() > limits::order_fields_max) return std::nullopt;
  for (const auto& [name, value] : parsed->get_object()) {
    if (!value.is_string()) return std::nullopt;
  }
  return std::make_shared<const std::string>(text);
}

Read<model::OrderIntent> intent_of(const boost::json::object& event) {
  const auto* type = event.if_contains("type");
  if (type == nullptr || *type != "seckill.intent") return std::unexpected{"not an event of type seckill.intent"};
  const auto* data = event.if_contains("data");
  const auto* id = event.if_contains("id");
  if (data == nullptr || !data->is_object() || id == nullptr || !id->is_string()) {
    return std::unexpected{"an event without id or data"};
  }
  const auto ticket = model::Ticket::parse(std::string_view{id->get_string()});
  if (!ticket || ticket->is_none()) return std::unexpected{"an id that is not a ticket"};
  Members members{data->get_object()};
  model::OrderIntent intent;
  intent.ticket = *ticket;
  intent.item.sale = members.made("sale", model::SaleId::parse(members.text("sale")));
  intent.item.sku = members.made("sku", model::Sku::parse(members.text("sku")));
  intent.buyer = members.made("buyer", model::BuyerId::parse(members.text("buyer")));
  intent.request_id = members.made("request_id", model::RequestId::stored(members.text("request_id")));
  intent.digest = members.made("digest", digest_of(members.text("digest")));
  intent.lane = static_cast<model::LaneIndex>(members.number("lane", 0, limits::lanes_max - 1));
  intent.generation = static_cast<model::Generation>(members.number("generation", 1, UINT32_MAX));
  intent.units = members.number("units", 1, limits::units_per_item_max);
  intent.price_minor = members.number("price_minor", 0, limits::price_minor_max);
  intent.currency = members.made("currency", model::Currency::parse(members.text("currency")));
  intent.limit = members.number("limit", 1, limits::units_per_item_max);
  intent.pay_window_ms = members.number("pay_window_ms", 0, limits::pay_window_ms_max);
  intent.admitted_at = members.number("admitted_at", 0, INT64_MAX);
  if (members.has("fields")) intent.fields = members.made("fields", fields_of(members.text("fields")));
  // A ticket names its lane; another one would land in a stock row that never held it.
  if (intent.lane != intent.ticket.lane()) members.complain("lane");
  if (!members.wrong().empty()) return std::unexpected{members.wrong()};
  return intent;
}

Read<model::OrderIntent> intent_in(std::string_view element) {
  const auto parsed = base::parse_json(element);
  if (!parsed) return std::unexpected{parsed.error().text()};
  if (!parsed->is_object()) return std::unexpected{"not an object"};
  return intent_of(parsed->get_object());
}

}  // namespace

ReadMessage read_intents(std::string_view body) {
  ReadMessage read;
  if (body.size() > message_bytes_max) {
    read.unreadable.push_back({std::string{body}, "longer than any message of intents"});
    return read;
  }
  const auto elements = elements_of(body);
  if (!elements) {
    read.unreadable.push_back({std::string{body}, elements.error()});
    return read;
  }
  read.intents.reserve(elements->size());
  for (const std::string_view element : *elements) {
    if (auto intent = intent_in(element)) {
      read.intents.push_back(*std::move(intent));
    } else {
      read.unreadable.push_back({std::string{element}, std::move(intent).error()});
    }
  }
  return read;
}

}  // namespace seckill::queue::rabbit
