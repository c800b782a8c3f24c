#include "ops/sale_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "ops/json_fields.hpp"

namespace seckill::ops {
namespace {

namespace limits = base::limits;

boost::json::string_view js(std::string_view text) { return {text.data(), text.size()}; }

// Numbers of 64 bits that must be in a smaller field: what does not fit is told as such, not wrapped.
void read_uint32(JsonFields& fields, std::string_view key, std::uint32_t low, std::uint32_t high, std::uint32_t& into) {
  if (const auto value = fields.integer(key, Need::optional, low, high)) into = static_cast<std::uint32_t>(*value);
}

template <typename T>
void take(const std::optional<T>& value, T& into) {
  if (value) into = *value;
}

model::SaleItem read_item(const boost::json::value& value, std::size_t index, Complaints& complaints) {
  model::SaleItem item;
  std::string path = fmt::format("items[{}]", index);
  if (const auto* object = value.if_object()) {
    // From here on the item is named as the operator knows it.
    const auto* sku = object->if_contains("sku");
    if (sku != nullptr && sku->is_string()) {
      if (const auto parsed = model::Sku::parse(std::string_view{sku->get_string().data(), sku->get_string().size()})) {
        item.sku = *parsed;
        path = "items." + parsed->str();
      }
    }
  }
  JsonFields fields{value, path, complaints};
  if (fields.text("sku", Need::required) && item.sku.empty()) {
    fields.problem("sku", fmt::format("must be 1..{} of [A-Za-z0-9_-]", limits::sku_bytes_max));
  }
  take(fields.text("title", Need::required), item.title);
  take(fields.integer("price_minor", Need::required), item.price_minor);
  take(fields.integer("list_price_minor", Need::optional), item.list_price_minor);
  take(fields.integer("total", Need::required), item.total);
  take(fields.integer("reserve", Need::optional), item.reserve);
  take(fields.integer("limit", Need::optional), item.limit);
  read_uint32(fields, "tickets_max", 1, limits::tickets_per_buyer_max, item.tickets_max);
  take(fields.duration_ms("pay_window"), item.pay_window_ms);
  read_uint32(fields, "lanes", 0, limits::lanes_max, item.lanes);
  take(fields.texts("order_fields"), item.order_fields);
  fields.finish();
  return item;
}

// What the model's rules say about fields that already have a complaint would be noise.
bool told_before(std::string_view sentence, const Complaints& before) {
  const std::string_view subject = sentence.substr(0, sentence.find(' '));
  return std::ranges::any_of(before, [&](const std::string& earlier) {
    return earlier.starts_with(subject) && earlier.size() > subject.size() && earlier[subject.size()] == ' ';
  });
}

void add_model_problems(const model::Sale& sale, bool times_known, bool items_known, Complaints& complaints) {
  const Complaints before = complaints;
  for (std::string& sentence : model::problems_of(sale)) {
    const bool about_times =
        sentence.starts_with("ends_at ") || sentence.starts_with("starts_at ") || sentence.starts_with("a sale lasts");
    const bool about_items = sentence.starts_with("the number of items") ||
                             sentence.starts_with("an item has no sku") || sentence.starts_with("sku  ") ||
                             sentence.starts_with("items..");
    if ((about_times && !times_known) || (about_items && !items_known) || told_before(sentence, before)) continue;
    complaints.push_back(std::move(sentence));
  }
}

std::expected<boost::json::value, Complaints> parse_body(std::string_view json) {
  auto value = base::parse_json(json);
  if (!value) return std::unexpected(Complaints{"the body is not sound JSON: " + value.error().cause});
  return *std::move(value);
}

boost::json::object lane_object(std::int64_t lane, std::int64_t generation, const ledger::LaneStock& stock) {
  return {{"lane", lane},
          {"generation", generation},
          {"available", stock.available},
          {"held", stock.held},
          {"sold", stock.sold}};
}

boost::json::object item_object(const model::SaleItem& item) {
  boost::json::array order_fields;
  for (const std::string& field : item.order_fields) order_fields.emplace_back(js(field));
  return {{"sku", js(item.sku.view())},
          {"title", js(item.title)},
          {"price_minor", item.price_minor},
          {"list_price_minor", item.list_price_minor},
          {"total", item.total},
          {"reserve", item.reserve},
          {"limit", item.limit},
          {"tickets_max", item.tickets_max},
          {"pay_window_ms", item.pay_window_ms},
          {"lanes", item.lanes},
          {"order_fields", std::move(order_fields)}};
}

}  // namespace

std::expected<model::Sale, Complaints> read_sale(std::string_view json) {
  const auto body = parse_body(json);
  if (!body) return std::unexpected(body.error());
  Complaints complaints;
  model::Sale sale;
  JsonFields fields{*body, "", complaints};
  if (const auto id = fields.text("id", Need::required)) {
    const auto parsed = model::SaleId::parse(*id);
    if (parsed)
      sale.id = *parsed;
    else
      fields.problem("id", fmt::format("must be 1..{} of [A-Za-z0-9_-]", limits::sale_id_bytes_max));
  }
  take(fields.text("title", Need::required), sale.title);
  if (const auto kind = fields.text("kind", Need::optional)) {
    if (const auto parsed = model::sale_kind_from(std::string_view{*kind}))
      sale.kind = *parsed;
    else
      fields.problem("kind", base::printable(*kind, 60) + " is none of goods, coupon, slot, entry");
  }
  if (const auto currency = fields.text("currency", Need::optional)) {
    if (const auto parsed = model::Currency::parse(*currency))
      sale.currency = *parsed;
    else
      fields.problem("currency", base::printable(*currency, 60) + " is not three capital letters (ISO 4217)");
  }
  take(fields.instant("starts_at", Need::required), sale.starts_at);
  take(fields.instant("ends_at", Need::required), sale.ends_at);
  const boost::json::array* items = fields.array("items", Need::required);
  if (items != nullptr && items->size() > limits::items_per_sale_max) {
    fields.problem("items", fmt::format("are {}; at most {}", items->size(), limits::items_per_sale_max));
    items = nullptr;
  }
  bool items_known = items != nullptr;
  for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
    sale.items.push_back(read_item((*items)[i], i, complaints));
    items_known = items_known && !sale.items.back().sku.empty();
  }
  fields.finish();
  add_model_problems(sale, !fields.failed("starts_at") && !fields.failed("ends_at"), items_known, complaints);
  if (!complaints.empty()) return std::unexpected(std::move(complaints));
  return sale;
}

std::expected<model::SaleEdit, Complaints> read_edit(std::string_view json) {
  const auto body = parse_body(json);
  if (!body) return std::unexpected(body.error());
  Complaints complaints;
  model::SaleEdit edit;
  JsonFields fields{*body, "", complaints};
  take(fields.integer("version", Need::required, 1, INT64_MAX), edit.version);
  edit.title = fields.text("title", Need::optional);
  edit.starts_at = fields.instant("starts_at", Need::optional);
  edit.ends_at = fields.instant("ends_at", Need::optional);
  const boost::json::array* items = fields.array("items", Need::optional);
  for (std::size_t i = 0; items != nullptr && i < std::min(items->size(), limits::items_per_sale_max + 1); ++i) {
    JsonFields item_fields{(*items)[i], fmt::format("items[{}]", i), complaints};
    model::ItemEdit change;
    if (const auto sku = item_fields.text("sku", Need::required)) {
      const auto parsed = model::Sku::parse(*sku);
      if (parsed)
        change.sku = *parsed;
      else
        item_fields.problem("sku", fmt::format("must be 1..{} of [A-Za-z0-9_-]", limits::sku_bytes_max));
      if (parsed && std::ranges::find(edit.items, *parsed, &model::ItemEdit::sku) != edit.items.end()) {
        item_fields.problem("sku", parsed->str() + " appears twice");
      }
    }
    change.title = item_fields.text("title", Need::optional);
    change.price_minor = item_fields.integer("price_minor", Need::optional);
    change.limit = item_fields.integer("limit", Need::optional);
    if (const auto tickets = item_fields.integer("tickets_max", Need::optional, 1, limits::tickets_per_buyer_max)) {
      change.tickets_max = static_cast<std::uint32_t>(*tickets);
    }
    change.pay_window_ms = item_fields.duration_ms("pay_window");
    item_fields.finish();
    edit.items.push_back(std::move(change));
  }
  fields.finish();
  if (!complaints.empty()) return std::unexpected(std::move(complaints));
  return edit;
}

std::expected<StockChange, Complaints> read_stock_change(std::string_view json, StockChangeKind kind) {
  const auto body = parse_body(json);
  if (!body) return std::unexpected(body.error());
  Complaints complaints;
  StockChange change;
  JsonFields fields{*body, "", complaints};
  take(fields.integer("units", Need::required, 1, limits::units_per_item_max), change.units);
  if (const auto id = fields.text("id", Need::required)) {
    if (model::SaleId::parse(*id))
      change.id = *id;
    else
      fields.problem("id", "must be 1..32 of [A-Za-z0-9_-]: it names this change, so that repeating it is harmless");
  }
  if (kind == StockChangeKind::top_up) {
    const auto from = fields.text("from", Need::required);
    if (from && *from != "new" && *from != "reserve") fields.problem("from", "must be new or reserve");
    change.from_reserve = from == "reserve";
  }
  fields.finish();
  if (!complaints.empty()) return std::unexpected(std::move(complaints));
  return change;
}

boost::json::object stock_object(const ItemUnits& units) {
  ledger::LaneStock stored;
  boost::json::array lanes;
  for (const store::LaneRow& row : units.stored.lanes) {
    stored.available += row.stock.available;
    stored.held += row.stock.held;
    stored.sold += row.stock.sold;
    lanes.emplace_back(lane_object(row.lane, row.generation, row.stock));
  }
  ledger::LaneStock live;
  std::int64_t open = 0;
  std::int64_t marks = 0;
  for (const admission::LaneView& view : units.live) {
    live.available += view.stock.available;
    live.held += view.stock.held;
    live.sold += view.stock.sold;
    open += view.open ? 1 : 0;
    marks += view.marks;
  }
  return {{"total", units.stored.total},
          {"pool", units.stored.pool},
          {"available", stored.available},
          {"held", stored.held},
          {"sold", stored.sold},
          {"lanes", std::move(lanes)},
          {"live",
           {{"available", live.available},
            {"held", live.held},
            {"sold", live.sold},
            {"lanes_open", open},
            {"marks", marks}}}};
}

boost::json::object sale_object(const model::Sale& sale, base::UtcMs now, const std::vector<ItemUnits>& units) {
  boost::json::array items;
  for (std::size_t i = 0; i < sale.items.size(); ++i) {
    boost::json::object item = item_object(sale.items[i]);
    if (i < units.size()) item["stock"] = stock_object(units[i]);
    items.emplace_back(std::move(item));
  }
  return {{"id", js(sale.id.view())},
          {"title", js(sale.title)},
          {"kind", js(model::name(sale.kind))},
          {"currency", js(sale.currency.view())},
          {"state", js(model::name(sale.state))},
          {"phase", js(model::name(model::phase_at(sale.state, sale.starts_at, sale.ends_at, now)))},
          {"version", sale.version},
          {"starts_at", sale.starts_at},
          {"starts_at_text", js(base::format_instant(sale.starts_at))},
          {"ends_at", sale.ends_at},
          {"ends_at_text", js(base::format_instant(sale.ends_at))},
          {"created_at", sale.created_at},
          {"now_ms", now},
          {"items", std::move(items)}};
}

boost::json::object order_object(const store::Order& order) {
  boost::json::object object{{"ticket", js(order.ticket.str())},
                             {"sale", js(order.item.sale.view())},
                             {"sku", js(order.item.sku.view())},
                             {"buyer", js(order.buyer.view())},
                             {"request_id", js(order.request_id.view())},
                             {"lane", order.lane},
                             {"units", order.units},
                             {"price_minor", order.price_minor},
                             {"amount_minor", order.amount_minor},
                             {"currency", js(order.currency.view())},
                             {"state", js(model::name(order.state))},
                             {"admitted_at", order.admitted_at},
                             {"landed_at", order.landed_at},
                             {"pay_before", order.pay_before},
                             {"ended_at", order.ended_at}};
  if (order.reason != model::FailReason::none) object["reason"] = js(model::name(order.reason));
  if (!order.fields.empty()) {
    if (auto fields = base::parse_json(order.fields)) object["fields"] = *std::move(fields);
  }
  return object;
}

}  // namespace seckill::ops
