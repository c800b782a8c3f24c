// The admin API's answers about orders, the verdict, the funnel, the audit log; and the backup.
#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <filesystem>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "ops/admin_api.hpp"
#include "ops/json_fields.hpp"
#include "ops/problem.hpp"
#include "ops/query.hpp"
#include "ops/sale_json.hpp"
#include "orders/verdict.hpp"

namespace seckill::ops {
namespace {

namespace http = gateway::http;
namespace limits = base::limits;

// Lanes on other machines are read each second, jittered.
constexpr std::chrono::milliseconds reading_period{1'300};

constexpr std::array all_order_states{
    model::OrderState::parked,  model::OrderState::failed,  model::OrderState::awaiting_payment,
    model::OrderState::closing, model::OrderState::paid,    model::OrderState::cancelled,
    model::OrderState::expired, model::OrderState::refunded};

boost::json::string_view js(std::string_view text) { return {text.data(), text.size()}; }

http::Reply json_reply(int status, const boost::json::object& object) {
  return http::Reply::json(status, boost::json::serialize(object));
}

http::Reply invalid(const Complaints& complaints) {
  return problem_reply(422, "invalid", "The request cannot be accepted as it is", complaints.front(), complaints);
}

struct SaleSums {
  std::array<std::int64_t, 9> orders{};  // by OrderState number
  std::int64_t total = 0;
  std::int64_t pool = 0;
  ledger::LaneStock lanes;
};

void add(SaleSums& sums, const store::ItemAudit& audit) {
  for (std::size_t i = 0; i < sums.orders.size(); ++i) sums.orders[i] += audit.orders_by_state[i];
  sums.total += audit.stock.total;
  sums.pool += audit.stock.pool;
  for (const store::LaneRow& row : audit.stock.lanes) {
    sums.lanes.available += row.stock.available;
    sums.lanes.held += row.stock.held;
    sums.lanes.sold += row.stock.sold;
  }
}

boost::json::object orders_object(const SaleSums& sums) {
  boost::json::object orders;
  for (const model::OrderState state : all_order_states) {
    orders[js(model::name(state))] = sums.orders[static_cast<std::size_t>(state)];
  }
  return orders;
}

std::vector<model::ItemKey> keys_of(const model::Sale& sale) {
  std::vector<model::ItemKey> keys;
  keys.reserve(sale.items.size());
  for (const model::SaleItem& item : sale.items) keys.push_back({sale.id, item.sku});
  return keys;
}

std::optional<model::OrderState> state_named(std::string_view text) {
  for (const model::OrderState state : all_order_states) {
    if (model::name(state) == text) return state;
  }
  return std::nullopt;
}

}  // namespace

http::Reply AdminApi::show_order(const Call& call) {
  const auto ticket = model::Ticket::parse(call.parameters[0]);
  if (!ticket)
    return problem_reply(404, "not_found", "There is no such order", "a ticket is 26 characters, as printed");
  const auto order = parts_.store.find_order(*ticket);
  if (!order) return problem_reply(order.error());
  if (!*order) return problem_reply(404, "not_found", "There is no such order", "no row has this ticket");
  return json_reply(200, order_object(**order));
}

http::Reply AdminApi::list_orders(const Call& call) {
  Query query{call.query, {"sale", "buyer", "state", "before", "limit"}};
  store::OrderQuery wanted;
  wanted.before = query.integer("before", 1, INT64_MAX, 0);
  wanted.limit = query.integer("limit", 1, 1'000, 20);
  if (const auto sale = query.text("sale")) {
    wanted.sale = model::SaleId::parse(*sale);
    if (!wanted.sale) query.problem("sale", "is not a sale's id");
  }
  if (const auto buyer = query.text("buyer")) {
    wanted.buyer = model::BuyerId::parse(*buyer);
    if (!wanted.buyer) query.problem("buyer", "must be 1..64 bytes of UTF-8 without control characters");
  }
  if (const auto state = query.text("state")) {
    wanted.state = state_named(*state);
    if (!wanted.state) query.problem("state", "is not the name of an order state");
  }
  if (!query.problems().empty()) return invalid(query.problems());
  const auto page = parts_.store.list_orders(wanted);
  if (!page) return problem_reply(page.error());
  boost::json::array orders;
  for (const store::Order& order : page->orders) orders.emplace_back(order_object(order));
  return json_reply(200, {{"orders", std::move(orders)}, {"next", page->next}});
}

// Rises with everything that moves units here; equal before and after a picture means that nothing moved meanwhile.
std::uint64_t AdminApi::activity() const noexcept {
  return parts_.landing.records.load() + parts_.ends.counters().done.load() + parts_.ends.counters().lane_told.load();
}

std::size_t AdminApi::intents_waiting() const noexcept { return parts_.queue == nullptr ? 0 : parts_.queue->depth(); }

bool AdminApi::quiet() const noexcept {
  return intents_waiting() == 0 && parts_.ends.quiet() &&
         (parts_.deadlines == nullptr || parts_.deadlines->counters().in_flight.load() == 0);
}

// A picture of a deployment whose other nodes move units too. Nothing is under way when every lane has what its row has
// and a second picture, by later readings of the lanes, is the same.
base::Result<orders::Picture> AdminApi::picture_of_all(const std::vector<model::ItemKey>& items) {
  auto first = orders::take_picture(parts_.store, parts_.admission, items, parts_.clock.now_utc());
  if (!first || !orders::lanes_match_rows(*first)) return first;
  base::system_threads().sleep_for(reading_period);
  auto second = orders::take_picture(parts_.store, parts_.admission, items, parts_.clock.now_utc());
  if (!second) return second;
  second->drained =
      second->releases_pending == 0 && orders::lanes_match_rows(*second) && orders::same_units(*first, *second);
  return second;
}

http::Reply AdminApi::verdict(const Call& call) {
  const auto id = model::SaleId::parse(call.parameters[0]);
  const auto sale =
      id ? parts_.store.find_sale(*id) : base::fail(base::Errc::not_found, "reading a sale", "there is no such sale");
  if (!sale) return problem_reply(sale.error());
  const bool quiet_before = quiet();
  const std::uint64_t before = activity();
  const base::UtcMs now = parts_.clock.now_utc();
  auto picture = parts_.cluster ? picture_of_all(keys_of(*sale))
                                : orders::take_picture(parts_.store, parts_.admission, keys_of(*sale), now);
  if (!picture) return problem_reply(picture.error());
  picture->places = {{"ends waiting for the store", parts_.ends.waiting(), limits::ends_waiting_max}};
  if (parts_.queue != nullptr) {
    picture->places.push_back({"intents waiting to land", intents_waiting(), limits::queue_records_max});
  }
  if (parts_.reads != nullptr) {
    picture->places.push_back(
        {"reads waiting for the store", parts_.reads->waiting(), limits::store_reads_waiting_max});
  }
  picture->in_flight = intents_waiting() + parts_.ends.waiting();
  const bool at_rest = parts_.cluster ? picture->drained : picture->releases_pending == 0;
  picture->drained = at_rest && quiet_before && quiet() && activity() == before;
  const auto verdicts = orders::judge(*picture);
  boost::json::array promises;
  for (const orders::PromiseVerdict& one : verdicts) {
    promises.emplace_back(boost::json::object{
        {"promise", js(one.promise)}, {"title", js(one.title)}, {"holds", one.holds}, {"detail", js(one.detail)}});
  }
  SaleSums sums;
  for (const orders::ItemPicture& item : picture->items) add(sums, item.audit);
  return json_reply(200, {{"sale", js(sale->id.view())},
                          {"at", now},
                          {"drained", picture->drained},
                          {"holds", orders::all_hold(verdicts)},
                          {"promises", std::move(promises)},
                          {"counts",
                           {{"total", sums.total},
                            {"pool", sums.pool},
                            {"available", sums.lanes.available},
                            {"held", sums.lanes.held},
                            {"sold", sums.lanes.sold},
                            {"orders", orders_object(sums)}}}});
}

http::Reply AdminApi::funnel(const Call& call) {
  const auto id = model::SaleId::parse(call.parameters[0]);
  const auto sale =
      id ? parts_.store.find_sale(*id) : base::fail(base::Errc::not_found, "reading a sale", "there is no such sale");
  if (!sale) return problem_reply(sale.error());
  const base::UtcMs now = parts_.clock.now_utc();
  SaleSums sums;
  for (const model::ItemKey& item : keys_of(*sale)) {
    const auto audit = parts_.store.audit_item(item, now);
    if (!audit) return problem_reply(audit.error());
    add(sums, *audit);
  }
  const gateway::SaleCounters* counters = parts_.counters == nullptr ? nullptr : &parts_.counters->of_sale(id->view());
  const bool counted = counters != nullptr && counters->sale() == *id;
  boost::json::array stages;
  const auto stage = [&](std::string_view name, std::int64_t count) {
    stages.emplace_back(boost::json::object{{"stage", js(name)}, {"count", count}});
  };
  for (std::size_t i = 0; i < gateway::funnel_stages; ++i) {
    const auto one = static_cast<gateway::FunnelStage>(i);
    stage(gateway::name(one), counted ? static_cast<std::int64_t>(counters->stage(one)) : 0);
  }
  const auto in_state = [&](model::OrderState state) { return sums.orders[static_cast<std::size_t>(state)]; };
  std::int64_t ordered = 0;
  for (const model::OrderState state : all_order_states) {
    if (state != model::OrderState::failed && state != model::OrderState::parked) ordered += in_state(state);
  }
  stage("ordered", ordered);
  stage("paid", in_state(model::OrderState::paid) + in_state(model::OrderState::refunded));
  boost::json::object refusals;
  for (const model::PurchaseAnswer answer : model::all_purchase_answers) {
    if (answer == model::PurchaseAnswer::admitted || answer == model::PurchaseAnswer::replayed) continue;
    refusals[js(model::name(answer))] = counted ? counters->answers(answer) : 0;
  }
  return json_reply(200, {{"sale", js(id->view())},
                          {"at", now},
                          {"stages", std::move(stages)},
                          {"refusals", std::move(refusals)},
                          {"orders", orders_object(sums)}});
}

http::Reply AdminApi::audit_log(const Call& call) {
  Query query{call.query, {"before", "limit"}};
  const std::int64_t before = query.integer("before", 1, INT64_MAX, 0);
  const std::int64_t limit = query.integer("limit", 1, 1'000, 50);
  if (!query.problems().empty()) return invalid(query.problems());
  const auto rows = parts_.store.audit_log(before, limit);
  if (!rows) return problem_reply(rows.error());
  boost::json::array entries;
  for (const store::AuditRow& row : *rows) {
    boost::json::object entry{{"id", row.id},
                              {"actor", js(row.entry.actor)},
                              {"action", js(row.entry.action)},
                              {"at", row.entry.at},
                              {"at_text", js(base::format_instant(row.entry.at))}};
    auto detail = base::parse_json(row.entry.detail);
    entry["detail"] = detail ? *std::move(detail) : boost::json::value{js(row.entry.detail)};
    entries.emplace_back(std::move(entry));
  }
  const bool more = static_cast<std::int64_t>(rows->size()) == limit;
  return json_reply(200, {{"entries", std::move(entries)}, {"next", more ? rows->back().id : 0}});
}

http::Reply AdminApi::backup(const Call& call) {
  const auto body = base::parse_json(call.body);
  if (!body) return invalid({"the body is not sound JSON: " + body.error().cause});
  Complaints complaints;
  JsonFields fields{*body, "", complaints};
  const auto path = fields.text("path", Need::required);
  fields.finish();
  if (path && !path->starts_with('/')) {
    complaints.emplace_back("path must be absolute: it is a file on the server's machine");
  }
  if (!complaints.empty()) return invalid(complaints);
  if (const auto done = parts_.store.backup(*path); !done) return problem_reply(done.error());
  std::string detail = R"({"path":)";
  base::append_json_string(detail, *path);
  const auto audited = parts_.store.append_audit(
      {.actor = call.actor, .action = "backup", .detail = detail + "}", .at = parts_.clock.now_utc()});
  if (!audited) base::log::warn("a backup was made but its audit row was not: {}", audited.error().text());
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(*path, unknown);
  return json_reply(200, {{"path", js(*path)}, {"bytes", unknown ? 0 : static_cast<std::int64_t>(bytes)}});
}

}  // namespace seckill::ops
