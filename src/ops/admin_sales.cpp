// The admin API's answers about sales and their stock.
#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "ops/admin_api.hpp"
#include "ops/problem.hpp"
#include "ops/query.hpp"
#include "ops/sale_json.hpp"

namespace seckill::ops {
namespace {

namespace http = gateway::http;

http::Reply json_reply(int status, const boost::json::object& object) {
  return http::Reply::json(status, boost::json::serialize(object));
}

http::Reply invalid(const Complaints& complaints) {
  return problem_reply(422, "invalid", "The request cannot be accepted as it is",
                       complaints.size() == 1 ? complaints.front() : fmt::format("{} problems", complaints.size()),
                       complaints);
}

http::Reply no_such_sale() {
  return problem_reply(404, "not_found", "There is no such sale", "look at /admin/v1/sales");
}

}  // namespace

http::Reply AdminApi::sale_reply(int status, const model::Sale& sale) {
  const auto units = desk_.units_of(sale);
  if (!units) return problem_reply(units.error());
  return json_reply(status, sale_object(sale, parts_.clock.now_utc(), *units));
}

http::Reply AdminApi::create_sale(const Call& call) {
  auto sale = read_sale(call.body);
  if (!sale) return invalid(sale.error());
  const auto created = desk_.create(*std::move(sale), call.actor);
  if (!created) return problem_reply(created.error());
  auto reply = sale_reply(201, *created);
  reply.header("Location", "/admin/v1/sales/" + created->id.str());
  return reply;
}

http::Reply AdminApi::list_sales(const Call& call) {
  Query query{call.query, {"limit"}};
  const std::int64_t limit = query.integer("limit", 1, 1'000, 100);
  if (!query.problems().empty()) return invalid(query.problems());
  const auto sales = parts_.store.list_sales(limit);
  if (!sales) return problem_reply(sales.error());
  const base::UtcMs now = parts_.clock.now_utc();
  boost::json::array list;
  for (const model::Sale& sale : *sales) list.emplace_back(sale_object(sale, now, {}));
  return json_reply(200, {{"now_ms", now}, {"sales", std::move(list)}});
}

http::Reply AdminApi::show_sale(const Call& call) {
  const auto id = model::SaleId::parse(call.parameters[0]);
  if (!id) return no_such_sale();
  const auto sale = parts_.store.find_sale(*id);
  return sale ? sale_reply(200, *sale) : problem_reply(sale.error());
}

http::Reply AdminApi::edit_sale(const Call& call) {
  const auto id = model::SaleId::parse(call.parameters[0]);
  if (!id) return no_such_sale();
  const auto edit = read_edit(call.body);
  if (!edit) return invalid(edit.error());
  const auto edited = desk_.edit(*id, *edit, call.actor);
  return edited ? sale_reply(200, *edited) : problem_reply(edited.error());
}

http::Reply AdminApi::command(const Call& call, model::SaleCommand command) {
  const auto id = model::SaleId::parse(call.parameters[0]);
  if (!id) return no_such_sale();
  const auto sale = desk_.command(*id, command, call.actor);
  return sale ? sale_reply(200, *sale) : problem_reply(sale.error());
}

http::Reply AdminApi::top_up(const Call& call) {
  const auto id = model::SaleId::parse(call.parameters[0]);
  const auto sku = model::Sku::parse(call.parameters[1]);
  if (!id || !sku) return no_such_sale();
  const auto change = read_stock_change(call.body, StockChangeKind::top_up);
  if (!change) return invalid(change.error());
  const model::ItemKey item{*id, *sku};
  const auto moved = desk_.top_up(item, *change, call.actor);
  if (!moved) return problem_reply(moved.error());
  const auto units = desk_.units_of(item);
  if (!units) return problem_reply(units.error());
  return json_reply(200, {{"moved", moved->units}, {"repeated", moved->repeated}, {"stock", stock_object(*units)}});
}

http::Reply AdminApi::reduce(const Call& call) {
  const auto id = model::SaleId::parse(call.parameters[0]);
  const auto sku = model::Sku::parse(call.parameters[1]);
  if (!id || !sku) return no_such_sale();
  const auto change = read_stock_change(call.body, StockChangeKind::reduce);
  if (!change) return invalid(change.error());
  const model::ItemKey item{*id, *sku};
  const auto taken = desk_.reduce(item, *change, call.actor);
  if (!taken) return problem_reply(taken.error());
  const auto units = desk_.units_of(item);
  if (!units) return problem_reply(units.error());
  return json_reply(200, {{"taken", taken->units},
                          {"asked", change->units},
                          {"repeated", taken->repeated},
                          {"stock", stock_object(*units)}});
}

}  // namespace seckill::ops
