// JSON from outside: what base::parse_json accepts, a second library accepts too and reads alike, prints and reads
// back, has no key twice and no depth past its bound. A purchase's body means the same to the fast and the full reader;
// a sale, an edit or a stock change that is accepted is sound, and each sale survives the way out and in again.
#include "base/json.hpp"

#include <fmt/format.h>
#include <jansson.h>

#include <boost/json.hpp>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "fuzz/property.hpp"
#include "gateway/purchase_body.hpp"
#include "ops/sale_json.hpp"

namespace seckill::fuzz {
namespace {

namespace json = boost::json;

using Jansson = std::unique_ptr<json_t, decltype(&json_decref)>;

// Bounds, and whether a number with a fraction stands in it: the library rounds its last digit in some, each time anew.
bool require_bounded(const json::value& value, std::size_t depth, std::string_view text) {
  bool fraction = value.is_double();
  if (const auto* object = value.if_object()) {
    require(depth < base::json_depth_max, "JSON keeps its depth (P9)", text);
    std::set<std::string_view> keys;
    for (const auto& entry : *object) {
      const std::string_view key{entry.key().data(), entry.key().size()};
      require(keys.insert(key).second, "no key stands twice in an object", text);
      fraction |= require_bounded(entry.value(), depth + 1, text);
    }
  } else if (const auto* array = value.if_array()) {
    require(depth < base::json_depth_max, "JSON keeps its depth (P9)", text);
    for (const json::value& entry : *array) fraction |= require_bounded(entry, depth + 1, text);
  }
  return fraction;
}

bool same(const json::value& ours, const json_t* theirs) {
  switch (json_typeof(theirs)) {
    case JSON_OBJECT: {
      if (!ours.is_object() || ours.get_object().size() != json_object_size(theirs)) return false;
      for (const auto& entry : ours.get_object()) {
        const json_t* other = json_object_get(theirs, std::string{entry.key()}.c_str());
        // The other library cannot be asked for a key that holds a NUL.
        if (entry.key().find('\0') == json::string_view::npos && (other == nullptr || !same(entry.value(), other))) {
          return false;
        }
      }
      return true;
    }
    case JSON_ARRAY:
      if (!ours.is_array() || ours.get_array().size() != json_array_size(theirs)) return false;
      for (std::size_t i = 0; i < json_array_size(theirs); ++i) {
        if (!same(ours.get_array()[i], json_array_get(theirs, i))) return false;
      }
      return true;
    case JSON_STRING:
      return ours.is_string() && std::string_view{ours.get_string()} ==
                                     std::string_view{json_string_value(theirs), json_string_length(theirs)};
    case JSON_INTEGER: return ours.is_int64() && ours.get_int64() == json_integer_value(theirs);
    case JSON_REAL: return ours.is_double();
    case JSON_TRUE: return ours.is_bool() && ours.get_bool();
    case JSON_FALSE: return ours.is_bool() && !ours.get_bool();
    case JSON_NULL: return ours.is_null();
  }
  return false;
}

void check_value(std::string_view text) {
  const auto value = base::parse_json(text);
  if (!value) return;
  require(base::utf8_length(text).has_value(), "accepted JSON is UTF-8", text);
  const bool fraction = require_bounded(*value, 0, text);
  json_error_t error{};
  const Jansson theirs{
      json_loadb(text.data(), text.size(), JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error),
      &json_decref};
  const auto code = theirs ? json_error_unknown : json_error_code(&error);
  // It refuses numbers past its bounds, and NUL inside keys, which we take.
  const bool theirs_alone = code == json_error_numeric_overflow || code == json_error_null_byte_in_key;
  require(theirs != nullptr || theirs_alone, "what we accept another reader accepts", text);
  require(theirs == nullptr || same(*value, theirs.get()), "and reads alike", text);
  const std::string printed = json::serialize(*value);
  const auto again = base::parse_json(printed);
  require(again.has_value(), "what was read can be printed and read again", printed);
  require(fraction || *again == *value, "and is the same", printed);
}

void check_purchase(std::string_view text) {
  const auto body = gateway::read_purchase_body(text);
  const auto full = gateway::read_purchase_body(" " + std::string{text});  // a blank is never the fast reader's
  require(body.has_value() == full.has_value(), "fast and full reader accept the same purchases", text);
  if (!body) {
    require(body.error() == full.error(), "fast and full reader refuse alike", text);
    return;
  }
  require(body->quantity == full->quantity && body->fields == full->fields, "and read the same", text);
  require(body->quantity >= 1, "a quantity is at least one (FS-17)", text);
  require(body->fields.size() <= base::limits::order_fields_max, "order fields keep their bound", text);
  const auto canonical = gateway::canonical_fields(*body);
  require((canonical == nullptr) == body->fields.empty(), "no fields have no canonical form", text);
  if (canonical == nullptr) return;
  const auto read = gateway::read_purchase_body(fmt::format(R"({{"quantity":1,"fields":{}}})", *canonical));
  require(read.has_value() && read->fields == body->fields, "the canonical form says the same", *canonical);
  require(*gateway::canonical_fields(*read) == *canonical, "and is canonical", *canonical);
}

// A sale as a file or a client would write it.
std::string written(const model::Sale& sale) {
  json::object object = ops::sale_object(sale, 0, {});
  for (const char* told : {"state", "phase", "version", "starts_at_text", "ends_at_text", "created_at", "now_ms"}) {
    object.erase(told);
  }
  return json::serialize(object);
}

void check_admin(std::string_view text) {
  if (const auto sale = ops::read_sale(text)) {
    require(model::problems_of(*sale).empty(), "an accepted sale is sound", text);
    const std::string printed = written(*sale);
    const auto again = ops::read_sale(printed);
    require(again.has_value(), "a sale that is shown can be put in again", printed);
    require(written(*again) == printed, "and stays itself", printed);
  } else {
    require(!sale.error().empty(), "a refused sale is told why", text);
  }
  if (const auto edit = ops::read_edit(text)) {
    require(edit->version >= 1, "an edit names the version it was made on", text);
    model::Sale sale;
    sale.version = edit->version;
    sale.starts_at = 1'000'000;
    sale.ends_at = 2'000'000;
    const auto edited = model::apply_edit(sale, *edit, 500'000);
    require(!edited || edited->version == sale.version + 1, "an edit raises the version", text);
  }
  for (const auto kind : {ops::StockChangeKind::top_up, ops::StockChangeKind::reduce}) {
    const auto change = ops::read_stock_change(text, kind);
    if (!change) continue;
    require(change->units >= 1 && change->units <= base::limits::units_per_item_max && !change->id.empty(),
            "a stock change has units and an id", text);
  }
}

void check_writing(std::string_view text) {
  std::string printed;
  base::append_json_string(printed, text);
  const auto read = base::parse_json(printed);
  require(read.has_value() && read->is_string(), "any text can be written as a JSON string", printed);
  if (base::utf8_length(text)) {
    require(std::string_view{read->get_string()} == text, "and valid text is itself again", text);
  }
}

}  // namespace
}  // namespace seckill::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seckill::fuzz;
  const std::string_view text = text_of(data, size);
  check_value(text);
  check_purchase(text);
  check_admin(text);
  check_writing(text);
  return 0;
}
