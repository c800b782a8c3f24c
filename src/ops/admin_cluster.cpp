// The admin API's answers about what only cluster mode has: switches, and the lanes of an item as store and lanes have
// them. Embedded mode answers 409: it is one process, there is nothing to switch over to.
#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "base/json.hpp"
#include "base/text.hpp"
#include "ops/admin_api.hpp"
#include "ops/json_fields.hpp"
#include "ops/problem.hpp"
#include "ops/sale_json.hpp"

namespace seckill::ops {
namespace {

namespace http = gateway::http;

constexpr std::size_t why_bytes_max = 500;

boost::json::string_view js(std::string_view text) { return {text.data(), text.size()}; }

http::Reply json_reply(int status, const boost::json::object& object) {
  return http::Reply::json(status, boost::json::serialize(object));
}

http::Reply invalid(const Complaints& complaints) {
  return problem_reply(422, "invalid", "The request cannot be accepted as it is", complaints.front(), complaints);
}

http::Reply embedded() {
  return problem_reply(409, "refused", "Only cluster mode has this",
                       "this server keeps its lanes in its own memory; see examples/cluster.yaml");
}

std::string quoted(std::string_view text) {
  std::string out;
  base::append_json_string(out, text);
  return out;
}

std::string_view state_name(store::LaneState state) noexcept {
  switch (state) {
    case store::LaneState::lane: return "lane";
    case store::LaneState::store: return "store";
    case store::LaneState::closed: return "closed";
  }
  return "";
}

std::optional<store::LaneState> state_named(std::string_view text) noexcept {
  for (const auto state : {store::LaneState::lane, store::LaneState::store, store::LaneState::closed}) {
    if (state_name(state) == text) return state;
  }
  return std::nullopt;
}

// {"<key>": "<text>", "why": "…"}; complaints otherwise.
struct Wish {
  std::string value;
  std::string why;
};
std::expected<Wish, Complaints> read_wish(const std::string& text, std::string_view key) {
  const auto body = base::parse_json(text);
  if (!body) return std::unexpected(Complaints{"the body is not sound JSON: " + body.error().cause});
  Complaints complaints;
  JsonFields fields{*body, "", complaints};
  const auto value = fields.text(key, Need::required);
  const auto why = fields.text("why", Need::required);
  if (why && (why->empty() || why->size() > why_bytes_max)) {
    fields.problem("why", fmt::format("must be 1 to {} bytes: it is what the audit log will say", why_bytes_max));
  }
  fields.finish();
  if (!complaints.empty()) return std::unexpected(std::move(complaints));
  return Wish{*value, *why};
}

boost::json::object stock_numbers(const ledger::LaneStock& stock) {
  return {{"available", stock.available}, {"held", stock.held}, {"sold", stock.sold}};
}

boost::json::object lane_object(const store::LaneAuthorityRow& row, const admission::LaneView* view) {
  boost::json::object lane{{"lane", row.row.lane},
                           {"state", js(state_name(row.state))},
                           {"generation", row.row.generation},
                           {"drained_generation", row.drained_generation},
                           {"strays", row.strays},
                           {"run_id", js(row.run_id)},
                           {"replication_id", js(row.replication_id)},
                           {"stock", stock_numbers(row.row.stock)}};
  if (view != nullptr) {
    lane["live"] = boost::json::object{{"open", view->open},
                                       {"generation", view->generation},
                                       {"stock", stock_numbers(view->stock)},
                                       {"marks", view->marks}};
  }
  return lane;
}

}  // namespace

http::Reply AdminApi::switches(const Call&) {
  if (!parts_.cluster) return embedded();
  const auto rows = parts_.cluster->board.switches();
  if (!rows) return problem_reply(rows.error());
  boost::json::array list;
  for (const SwitchKind& kind : switch_kinds()) {
    boost::json::object one{{"name", js(kind.name)},
                            {"value", js(kind.usual)},
                            {"followed_here", js(parts_.cluster->switches.followed(kind.what))},
                            {"consequence", js(kind.consequence)}};
    boost::json::array values;
    for (const std::string_view value : kind.values) values.emplace_back(js(value));
    one["values"] = std::move(values);
    for (const store::SwitchRow& row : *rows) {
      if (row.name != kind.name) continue;
      one["value"] = js(row.value);
      one["actor"] = js(row.actor);
      one["changed_at"] = row.changed_at;
      one["changed_at_text"] = js(base::format_instant(row.changed_at));
    }
    list.emplace_back(std::move(one));
  }
  return json_reply(200, {{"switches", std::move(list)}});
}

http::Reply AdminApi::set_switch(const Call& call) {
  if (!parts_.cluster) return embedded();
  const SwitchKind* kind = find_switch(call.parameters[0]);
  if (kind == nullptr) {
    return problem_reply(404, "not_found", "There is no such switch", "look at /admin/v1/switches");
  }
  const auto wish = read_wish(call.body, "value");
  if (!wish) return invalid(wish.error());
  if (std::ranges::find(kind->values, std::string_view{wish->value}) == kind->values.end()) {
    return invalid({fmt::format("value must be one of: {}", fmt::join(kind->values, ", "))});
  }
  const auto detail =
      fmt::format(R"({{"switch":{},"value":{},"why":{}}})", quoted(kind->name), quoted(wish->value), quoted(wish->why));
  const auto set = parts_.cluster->board.set_switch(
      std::string{kind->name}, wish->value,
      {.actor = call.actor, .action = "switch.set", .detail = detail, .at = parts_.clock.now_utc()});
  if (!set) return problem_reply(set.error());
  parts_.cluster->switches.look_soon();
  return switches(call);
}

http::Reply AdminApi::show_lanes(const Call& call) {
  if (!parts_.cluster) return embedded();
  const auto id = model::SaleId::parse(call.parameters[0]);
  const auto sku = model::Sku::parse(call.parameters[1]);
  if (!id || !sku) return problem_reply(404, "not_found", "There is no such item", "look at /admin/v1/sales");
  const model::ItemKey item{*id, *sku};
  const auto authority = parts_.cluster->authority.item_authority(item);
  if (!authority) return problem_reply(authority.error());
  const auto views = parts_.admission.lanes(item);
  boost::json::array lanes;
  for (const store::LaneAuthorityRow& row : authority->lanes) {
    const auto view = std::ranges::find(views, row.row.lane, &admission::LaneView::lane);
    lanes.emplace_back(lane_object(row, view == views.end() ? nullptr : &*view));
  }
  return json_reply(200, {{"sale", js(id->view())},
                          {"sku", js(sku->view())},
                          {"wanted", js(state_name(authority->wanted))},
                          {"pool", authority->pool},
                          {"lanes", std::move(lanes)}});
}

http::Reply AdminApi::want_lanes(const Call& call) {
  if (!parts_.cluster) return embedded();
  const auto id = model::SaleId::parse(call.parameters[0]);
  const auto sku = model::Sku::parse(call.parameters[1]);
  if (!id || !sku) return problem_reply(404, "not_found", "There is no such item", "look at /admin/v1/sales");
  const auto wish = read_wish(call.body, "wanted");
  if (!wish) return invalid(wish.error());
  const auto wanted = state_named(wish->value);
  if (!wanted) return invalid({"wanted must be one of: lane, store, closed"});
  const auto detail = fmt::format(R"({{"sale":{},"sku":{},"wanted":{},"why":{}}})", quoted(id->view()),
                                  quoted(sku->view()), quoted(wish->value), quoted(wish->why));
  const auto set = parts_.cluster->authority.want_state(
      {*id, *sku}, *wanted,
      {.actor = call.actor, .action = "lanes.want", .detail = detail, .at = parts_.clock.now_utc()});
  if (!set) return problem_reply(set.error());
  return show_lanes(call);
}

// After a preload: lanes on other machines are opened by the leader, a moment later.
http::Reply AdminApi::await_lanes(const Call& call) {
  const auto id = model::SaleId::parse(call.parameters[0]);
  const auto sale =
      id ? parts_.store.find_sale(*id) : base::fail(base::Errc::not_found, "reading a sale", "there is no such sale");
  if (!sale) return problem_reply(sale.error());
  const std::chrono::nanoseconds until = parts_.clock.steady_now() + parts_.cluster->lanes_wait;
  for (;;) {
    std::size_t open = 0;
    std::size_t all = 0;
    for (const model::SaleItem& item : sale->items) {
      const auto lanes = parts_.admission.lanes({sale->id, item.sku});
      all += std::max<std::size_t>(lanes.size(), 1);
      open += static_cast<std::size_t>(std::ranges::count(lanes, true, &admission::LaneView::open));
    }
    if (open == all) return sale_reply(200, *sale);
    if (parts_.clock.steady_now() >= until || stopping_) {
      return problem_reply(base::Error{
          base::Errc::unavailable, "opening the lanes of sale " + sale->id.str(),
          fmt::format("the sale is preloaded, but {} of its {} lanes are not open yet: they open by themselves once a "
                      "worker leads and reaches Redis; asking again is harmless",
                      all - open, all)});
    }
    base::system_threads().sleep_for(std::chrono::milliseconds{100});
  }
}

}  // namespace seckill::ops
