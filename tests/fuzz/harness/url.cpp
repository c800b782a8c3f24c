// Targets, routes and queries. A target is accepted in one spelling (FS-48), by a reader that is compared with a naive
// one; the router's fast match agrees with a walk over the table by segments; a query gives back what was
// percent-encoded into it, and nothing that is not UTF-8.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "app/admin_client.hpp"
#include "base/text.hpp"
#include "fuzz/property.hpp"
#include "gateway/http/target.hpp"
#include "gateway/router.hpp"
#include "ops/query.hpp"

namespace seckill::fuzz {
namespace {

using gateway::http::Method;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// As RFC 3986 lists them: pchar without percent and the sub-delimiter ';', which are another spelling to us.
bool plain(char c) {
  constexpr std::string_view others = "-._~!$&'()*+,=:@";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         others.find(c) != std::string_view::npos;
}

void check_target(std::string_view target) {
  const auto reading = gateway::http::read_target(target);
  if (!reading.legal) return;
  require(target.starts_with('/'), "a target is in origin form", target);
  require(std::ranges::all_of(target, [](char c) { return c > 0x20 && c < 0x7f && c != '#'; }),
          "a target is printable ASCII without a fragment", target);
  require(reading.path_bytes == std::min(target.find('?'), target.size()), "the path ends at the first '?'", target);
  const std::string_view path = target.substr(0, reading.path_bytes);
  const auto segments = split(path.substr(1), '/');
  bool canonical = true;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string_view segment = segments[i];
    require(std::ranges::all_of(segment, [](char c) { return plain(c) || c == '%' || c == ';'; }),
            "a path has the characters of RFC 3986 only", target);
    if (segment == "." || segment == ".." || segment.find_first_of("%;") != std::string_view::npos) canonical = false;
    if (segment.empty() && i + 1 < segments.size()) canonical = false;
  }
  require(canonical == reading.canonical, "a canonical path has no other spelling", target);
}

// The table read the slow way: same number of segments, each equal or a placeholder for one that is not empty.
bool fits(std::string_view pattern, std::string_view path) {
  const auto want = split(pattern, '/');
  const auto have = split(path, '/');
  if (want.size() != have.size()) return false;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i].starts_with('{') ? have[i].empty() : want[i] != have[i]) return false;
  }
  return true;
}

void check_route(std::string_view path) {
  for (const Method method : {Method::get, Method::head, Method::post, Method::put, Method::other}) {
    const gateway::RouteMatch match = gateway::match(method, path);
    gateway::RouteId expected = gateway::RouteId::none;
    bool exists = false;
    for (const gateway::Route& route : gateway::routes()) {
      if (!fits(route.pattern, path)) continue;
      exists = true;
      const bool answers = route.method == method || (route.method == Method::get && method == Method::head);
      if (answers && expected == gateway::RouteId::none) expected = route.id;
    }
    require(match.id == expected, "the router finds what its table says", path);
    require((match.allowed != 0) == (exists && expected == gateway::RouteId::none),
            "methods are told exactly for a path that exists without this one", path);
    for (const std::string_view part : {match.sale, match.sku, match.ticket, match.file}) {
      require(part.find('/') == std::string_view::npos, "a placeholder is one segment", path);
      require(part.empty() || (part.data() >= path.data() && part.data() + part.size() <= path.data() + path.size()),
              "what was captured views the path", path);
    }
  }
}

void check_query(std::string_view text) {
  ops::Query query{text, {"limit", "state", "q"}};
  const std::int64_t limit = query.integer("limit", 1, 1'000, 20);
  require(limit >= 1 && limit <= 1'000, "a number of a query is within its bounds", text);
  for (const std::string_view name : {"limit", "state", "q"}) {
    const auto value = query.text(name);
    if (value) require(base::utf8_length(*value).has_value(), "a value of a query is UTF-8", text);
  }
  for (const std::string& problem : query.problems()) {
    require(base::utf8_length(problem).has_value() && problem.find('\n') == std::string::npos,
            "a complaint can be printed", problem);
  }
  // Any text, encoded as the command line encodes it, comes back; what is no UTF-8 is refused.
  ops::Query again{"state=a&q=" + app::url_encoded(text), {"state", "q"}};
  const auto back = again.text("q");
  require(back.has_value() == base::utf8_length(text).has_value(), "exactly UTF-8 passes through a query", text);
  require(!back || *back == text, "a query gives back what was encoded into it", text);
}

}  // namespace
}  // namespace seckill::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seckill::fuzz;
  const std::string_view target = text_of(data, size);
  check_target(target);
  check_route(target.substr(0, target.find('?')));
  check_query(target);
  if (const std::size_t at = target.find('?'); at != std::string_view::npos) check_query(target.substr(at + 1));
  return 0;
}
