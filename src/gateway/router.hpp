// The buyer API's one table of routes. The dispatcher, the counters and the contract test that holds
// docs/api/openapi.yaml against the code all read it, so a route cannot exist in one of them alone.
// A path has one spelling: whatever differs by a byte is another path and does not exist (FS-48). Keeps P9: matching
// allocates nothing, and the purchase route is tried first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "gateway/http/request.hpp"

namespace seckill::gateway {

// Also a counter's index and a metric's label.
enum class RouteId : std::uint8_t {
  purchase,
  outcome_by_request,
  outcome_by_ticket,
  time,
  sales,
  sale,
  item,
  stock,
  my_state,
  orders,
  order,
  cancel,
  pay,
  demo_login,
  page,
  asset,
  none,  // no such path, or no such method there
};
inline constexpr std::size_t route_count = 17;

struct Route {
  RouteId id;
  http::Method method;       // a GET answers HEAD too
  std::string_view pattern;  // {sale}, {sku}, {ticket} and {file} stand for one whole segment each
  bool needs_login;
};

[[nodiscard]] std::span<const Route> routes() noexcept;
// "purchase", as metrics and logs spell it.
[[nodiscard]] std::string_view name(RouteId id) noexcept;

// Views into the path that was matched; not yet judged as ids.
struct RouteMatch {
  RouteId id = RouteId::none;
  bool needs_login = false;
  std::string_view sale;
  std::string_view sku;
  std::string_view ticket;
  std::string_view file;
  // Set when the path exists but not with this method: bits of 1 << Method for those it has.
  std::uint32_t allowed = 0;
};

// `path` as http::Request promises it. Any thread, no allocation.
[[nodiscard]] RouteMatch match(http::Method method, std::string_view path) noexcept;

// "GET, HEAD" for RouteMatch::allowed. Literals.
[[nodiscard]] std::string_view allow_header(std::uint32_t allowed) noexcept;

}  // namespace seckill::gateway
