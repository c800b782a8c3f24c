#include "gateway/router.hpp"

namespace seckill::gateway {
namespace {

using http::Method;

constexpr std::string_view sales_prefix = "/api/v1/sales/";

constexpr std::array<Route, route_count - 1> table{{
    {RouteId::purchase, Method::post, "/api/v1/sales/{sale}/items/{sku}/purchases", true},
    {RouteId::outcome_by_request, Method::get, "/api/v1/sales/{sale}/items/{sku}/purchases", true},
    {RouteId::outcome_by_ticket, Method::get, "/api/v1/sales/{sale}/items/{sku}/tickets/{ticket}", true},
    {RouteId::time, Method::get, "/api/v1/time", false},
    {RouteId::sales, Method::get, "/api/v1/sales", false},
    {RouteId::sale, Method::get, "/api/v1/sales/{sale}", false},
    {RouteId::item, Method::get, "/api/v1/sales/{sale}/items/{sku}", false},
    {RouteId::stock, Method::get, "/api/v1/sales/{sale}/items/{sku}/stock", false},
    {RouteId::my_state, Method::get, "/api/v1/sales/{sale}/me", true},
    {RouteId::orders, Method::get, "/api/v1/orders", true},
    {RouteId::order, Method::get, "/api/v1/orders/{ticket}", true},
    {RouteId::cancel, Method::post, "/api/v1/orders/{ticket}/cancel", true},
    {RouteId::pay, Method::post, "/api/v1/orders/{ticket}/pay", true},
    {RouteId::demo_login, Method::post, "/api/v1/demo/logins", false},
    {RouteId::page, Method::get, "/", false},
    {RouteId::asset, Method::get, "/assets/{file}", false},
}};

consteval bool in_order_of_ids() {
  for (std::size_t index = 0; index < table.size(); ++index) {
    if (static_cast<std::size_t>(table[index].id) != index) return false;
  }
  return true;
}
static_assert(in_order_of_ids(), "a route's place in the table is its id");

constexpr std::uint32_t bit(Method method) noexcept { return 1U << static_cast<unsigned>(method); }

constexpr bool answers(const Route& route, Method method) noexcept {
  return route.method == method || (route.method == Method::get && method == Method::head);
}

void capture(std::string_view placeholder, std::string_view value, RouteMatch& into) noexcept {
  if (placeholder == "{sale}") into.sale = value;
  if (placeholder == "{sku}") into.sku = value;
  if (placeholder == "{ticket}") into.ticket = value;
  if (placeholder == "{file}") into.file = value;
}

// Walks both texts once, side by side; a placeholder takes one segment that is not empty.
bool fits(std::string_view pattern, std::string_view path, RouteMatch& into) noexcept {
  std::size_t at_pattern = 0;
  std::size_t at_path = 0;
  while (at_pattern < pattern.size()) {
    if (pattern[at_pattern] != '{') {
      if (at_path == path.size() || path[at_path] != pattern[at_pattern]) return false;
      ++at_pattern;
      ++at_path;
      continue;
    }
    const std::size_t close = pattern.find('}', at_pattern) + 1;
    const std::size_t end = path.find('/', at_path);
    const std::string_view value =
        path.substr(at_path, end == std::string_view::npos ? std::string_view::npos : end - at_path);
    if (value.empty()) return false;
    capture(pattern.substr(at_pattern, close - at_pattern), value, into);
    at_pattern = close;
    at_path += value.size();
  }
  return at_path == path.size();
}

// The purchase by hand: in the busiest second nearly every request is one.
bool is_purchase_path(std::string_view path, RouteMatch& into) noexcept {
  constexpr std::string_view items = "/items/";
  constexpr std::string_view tail = "/purchases";
  if (!path.starts_with(sales_prefix) || !path.ends_with(tail)) return false;
  const std::string_view inner = path.substr(sales_prefix.size());
  const std::size_t slash = inner.find('/');
  if (slash == 0 || slash == std::string_view::npos) return false;
  if (!inner.substr(slash).starts_with(items)) return false;
  const std::string_view rest = inner.substr(slash + items.size());
  if (rest.size() <= tail.size()) return false;
  const std::string_view sku = rest.substr(0, rest.size() - tail.size());
  if (sku.find('/') != std::string_view::npos) return false;
  into.sale = inner.substr(0, slash);
  into.sku = sku;
  return true;
}

}  // namespace

std::span<const Route> routes() noexcept { return table; }

std::string_view name(RouteId id) noexcept {
  switch (id) {
    case RouteId::purchase: return "purchase";
    case RouteId::outcome_by_request: return "outcome_by_request";
    case RouteId::outcome_by_ticket: return "outcome_by_ticket";
    case RouteId::time: return "time";
    case RouteId::sales: return "sales";
    case RouteId::sale: return "sale";
    case RouteId::item: return "item";
    case RouteId::stock: return "stock";
    case RouteId::my_state: return "my_state";
    case RouteId::orders: return "orders";
    case RouteId::order: return "order";
    case RouteId::cancel: return "cancel";
    case RouteId::pay: return "pay";
    case RouteId::demo_login: return "demo_login";
    case RouteId::page: return "page";
    case RouteId::asset: return "asset";
    case RouteId::none: return "none";
  }
  return "none";
}

RouteMatch match(http::Method method, std::string_view path) noexcept {
  RouteMatch result;
  if (method == Method::post && is_purchase_path(path, result)) {
    result.id = RouteId::purchase;
    result.needs_login = true;
    return result;
  }
  std::uint32_t allowed = 0;
  for (const Route& route : table) {
    RouteMatch candidate;
    if (!fits(route.pattern, path, candidate)) continue;
    if (answers(route, method)) {
      candidate.id = route.id;
      candidate.needs_login = route.needs_login;
      return candidate;
    }
    allowed |= bit(route.method);
  }
  result = RouteMatch{};
  result.allowed = allowed;
  return result;
}

std::string_view allow_header(std::uint32_t allowed) noexcept {
  const bool get = (allowed & bit(Method::get)) != 0;
  const bool post = (allowed & bit(Method::post)) != 0;
  if (get && post) return "GET, HEAD, POST";
  return get ? "GET, HEAD" : "POST";
}

}  // namespace seckill::gateway
