#include "rehearse/admin_api.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/json.hpp"
#include "base/text.hpp"

namespace seckill::rehearse {
namespace {

using base::number_of;
using base::text_of;
using boost::json::object;

bool flag_of(const object& from, const char* key) {
  const auto* value = from.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}
const boost::json::array& array_of(const object& from, const char* key) {
  static const boost::json::array none;
  const auto* value = from.if_contains(key);
  return value != nullptr && value->is_array() ? value->get_array() : none;
}
std::map<std::string, std::int64_t> counts_of(const object& from, const char* key) {
  std::map<std::string, std::int64_t> counts;
  const auto* value = from.if_contains(key);
  if (value == nullptr || !value->is_object()) return counts;
  for (const auto& [name, count] : value->get_object()) {
    if (count.is_int64()) counts.emplace(std::string{name.data(), name.size()}, count.get_int64());
  }
  return counts;
}

ServerItem read_item(const object& item) {
  ServerItem out;
  out.sku = text_of(item, "sku");
  out.limit = number_of(item, "limit");
  out.total = number_of(item, "total");
  const auto* stock = item.if_contains("stock");
  if (stock == nullptr || !stock->is_object()) return out;
  const object& units = stock->get_object();
  out.total = number_of(units, "total");
  out.available = number_of(units, "available");
  out.held = number_of(units, "held");
  out.sold = number_of(units, "sold");
  out.pool = number_of(units, "pool");
  return out;
}

ServerOrder read_order(const object& order) {
  return {text_of(order, "ticket"), text_of(order, "buyer"),   text_of(order, "sku"),
          text_of(order, "state"),  number_of(order, "units"), number_of(order, "amount_minor")};
}

}  // namespace

AdminApi::AdminApi(std::uint16_t port, std::string operator_token)
    : base_url_{fmt::format("http://127.0.0.1:{}", port)}, token_{std::move(operator_token)} {}

base::Result<object> AdminApi::call(std::string method, std::string_view path, std::string body) {
  drivers::HttpRequest request;
  const std::string doing = fmt::format("asking {} {}", method, path);
  request.method = std::move(method);
  request.url = base_url_ + std::string{path};
  request.headers.push_back("Authorization: Bearer " + token_);
  if (!body.empty()) request.headers.emplace_back("Content-Type: application/json");
  request.body = std::move(body);
  const auto response = http_.send(request);
  if (!response) return std::unexpected(response.error());
  const auto value = base::parse_json(response->body);
  if (response->status < 200 || response->status > 299 || !value || !value->is_object()) {
    std::string said = base::printable(response->body, 600);
    if (value && value->is_object()) {
      const std::string detail = text_of(value->get_object(), "detail");
      if (!detail.empty()) said = detail;
      for (const auto& problem : array_of(value->get_object(), "problems")) {
        said += "; " + boost::json::serialize(problem);
      }
    }
    return base::fail(base::Errc::refused, doing, fmt::format("{}: {}", response->status, said));
  }
  return value->get_object();
}

base::Status AdminApi::create_sale(const object& sale) {
  auto created = call("POST", "/admin/v1/sales", boost::json::serialize(sale));
  if (!created) return std::unexpected(std::move(created.error()));
  return {};
}

base::Status AdminApi::preload(std::string_view sale) {
  auto done = call("POST", fmt::format("/admin/v1/sales/{}/preload", sale));
  if (!done) return std::unexpected(std::move(done.error()));
  return {};
}

base::Result<ServerFacts> AdminApi::facts(std::string_view sale) {
  ServerFacts facts;
  const auto shown = call("GET", fmt::format("/admin/v1/sales/{}", sale));
  if (!shown) return std::unexpected(shown.error());
  for (const auto& item : array_of(*shown, "items")) {
    if (item.is_object()) facts.items.push_back(read_item(item.get_object()));
  }
  std::string before;
  for (int page = 0; page < 100'000; ++page) {
    const auto listed = call("GET", fmt::format("/admin/v1/orders?sale={}&limit=1000{}", sale, before));
    if (!listed) return std::unexpected(listed.error());
    for (const auto& order : array_of(*listed, "orders")) {
      if (order.is_object()) facts.orders.push_back(read_order(order.get_object()));
    }
    const std::int64_t next = number_of(*listed, "next");
    if (next == 0) break;
    before = fmt::format("&before={}", next);
  }
  return facts;
}

base::Result<Verdict> AdminApi::verdict(std::string_view sale) {
  const auto told = call("GET", fmt::format("/admin/v1/sales/{}/verdict", sale));
  if (!told) return std::unexpected(told.error());
  Verdict verdict;
  verdict.drained = flag_of(*told, "drained");
  for (const auto& line : array_of(*told, "promises")) {
    if (!line.is_object()) continue;
    const object& promise = line.get_object();
    verdict.promises.push_back({text_of(promise, "promise"), text_of(promise, "title"), text_of(promise, "detail"),
                                flag_of(promise, "holds")});
  }
  return verdict;
}

base::Result<Funnel> AdminApi::funnel(std::string_view sale) {
  const auto told = call("GET", fmt::format("/admin/v1/sales/{}/funnel", sale));
  if (!told) return std::unexpected(told.error());
  Funnel funnel;
  for (const auto& stage : array_of(*told, "stages")) {
    if (!stage.is_object()) continue;
    funnel.stages.emplace_back(text_of(stage.get_object(), "stage"), number_of(stage.get_object(), "count"));
  }
  funnel.refusals = counts_of(*told, "refusals");
  funnel.orders = counts_of(*told, "orders");
  return funnel;
}

}  // namespace seckill::rehearse
