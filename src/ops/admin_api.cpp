#include "ops/admin_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

#include "base/crypto.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "gateway/login/login.hpp"
#include "ops/problem.hpp"

namespace seckill::ops {
namespace {

namespace http = gateway::http;

constexpr std::size_t changes_waiting_max = 32;
constexpr std::size_t reads_waiting_max = 64;

// Where a request is answered: on the io thread (nothing there blocks), by a reader, or by the one change worker.
enum class Where : std::uint8_t { io, read, change };

std::string_view hash_view(const base::Bytes32& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

// The pattern's parameters when `path` has its form.
bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& parameters) {
  parameters.clear();
  while (!pattern.empty() && !path.empty()) {
    if (pattern.front() != '/' || path.front() != '/') return false;
    const std::size_t pattern_end = std::min(pattern.find('/', 1), pattern.size());
    const std::size_t path_end = std::min(path.find('/', 1), path.size());
    const std::string_view wanted = pattern.substr(1, pattern_end - 1);
    const std::string_view given = path.substr(1, path_end - 1);
    if (wanted.starts_with('{')) {
      if (given.empty()) return false;
      parameters.emplace_back(given);
    } else if (wanted != given) {
      return false;
    }
    pattern.remove_prefix(pattern_end);
    path.remove_prefix(path_end);
  }
  return pattern.empty() && path.empty();
}

std::string upper_name(http::Method method) { return std::string{http::name(method)}; }

}  // namespace

// The one table of routes.
struct AdminRouteTable {
  struct Row {
    AdminRoute route;
    Where where;
    AdminApi::Answer answer;
    // In cluster mode, once `answer` said 200: answers in its place, on a reader, what may take its time.
    AdminApi::Answer then = nullptr;
  };
  static constexpr std::size_t size = 23;
  static const std::array<Row, size> rows;
};

const std::array<AdminRouteTable::Row, AdminRouteTable::size> AdminRouteTable::rows{{
    {{http::Method::get, "/livez", false}, Where::io, &AdminApi::livez},
    {{http::Method::get, "/readyz", false}, Where::io, &AdminApi::readyz},
    {{http::Method::get, "/metrics", false}, Where::io, &AdminApi::metrics},
    {{http::Method::post, "/admin/v1/sales", true}, Where::change, &AdminApi::create_sale},
    {{http::Method::get, "/admin/v1/sales", true}, Where::read, &AdminApi::list_sales},
    {{http::Method::get, "/admin/v1/sales/{id}", true}, Where::read, &AdminApi::show_sale},
    {{http::Method::patch, "/admin/v1/sales/{id}", true}, Where::change, &AdminApi::edit_sale},
    {{http::Method::post, "/admin/v1/sales/{id}/preload", true},
     Where::change,
     &AdminApi::preload,
     &AdminApi::await_lanes},
    {{http::Method::post, "/admin/v1/sales/{id}/pause", true}, Where::change, &AdminApi::pause},
    {{http::Method::post, "/admin/v1/sales/{id}/resume", true}, Where::change, &AdminApi::resume},
    {{http::Method::post, "/admin/v1/sales/{id}/close", true}, Where::change, &AdminApi::close},
    {{http::Method::get, "/admin/v1/sales/{id}/verdict", true}, Where::read, &AdminApi::verdict},
    {{http::Method::get, "/admin/v1/sales/{id}/funnel", true}, Where::read, &AdminApi::funnel},
    {{http::Method::post, "/admin/v1/sales/{id}/items/{sku}/top-up", true}, Where::change, &AdminApi::top_up},
    {{http::Method::post, "/admin/v1/sales/{id}/items/{sku}/reduce", true}, Where::change, &AdminApi::reduce},
    {{http::Method::get, "/admin/v1/sales/{id}/items/{sku}/lanes", true}, Where::read, &AdminApi::show_lanes},
    {{http::Method::put, "/admin/v1/sales/{id}/items/{sku}/lanes", true}, Where::change, &AdminApi::want_lanes},
    {{http::Method::get, "/admin/v1/switches", true}, Where::read, &AdminApi::switches},
    {{http::Method::put, "/admin/v1/switches/{name}", true}, Where::change, &AdminApi::set_switch},
    {{http::Method::get, "/admin/v1/orders", true}, Where::read, &AdminApi::list_orders},
    {{http::Method::get, "/admin/v1/orders/{ticket}", true}, Where::read, &AdminApi::show_order},
    {{http::Method::get, "/admin/v1/audit", true}, Where::read, &AdminApi::audit_log},
    {{http::Method::post, "/admin/v1/backup", true}, Where::read, &AdminApi::backup},
}};

std::span<const AdminRoute> admin_routes() noexcept {
  static const auto routes = [] {
    std::array<AdminRoute, AdminRouteTable::size> all{};
    std::ranges::transform(AdminRouteTable::rows, all.begin(), &AdminRouteTable::Row::route);
    return all;
  }();
  return routes;
}

AdminApi::AdminApi(const AdminParts& parts, std::string_view operator_token)
    : parts_{parts},
      token_hash_{base::sha_256(operator_token)},
      desk_{parts.store, parts.admission, parts.clock, parts.sale_changed, parts.lanes_kept_ms},
      change_worker_{"ops-change", 1, changes_waiting_max},
      read_workers_{"ops-read", 2, reads_waiting_max},
      keeper_{base::system_threads(), [this] { give_back_lanes(); }},
      sales_keeper_{base::system_threads(), [this] {
                      if (sales_wait_.exchange(true)) return;
                      if (!change_worker_.run([this] { round_of_sales(); })) sales_wait_ = false;
                    }} {}

AdminApi::~AdminApi() { stop(); }

void AdminApi::set_metrics(MetricSources sources) {
  metrics_ = std::move(sources);
  metrics_ready_ = true;
}

void AdminApi::give_back_lanes() {
  if (round_waits_.exchange(true)) return;
  if (!change_worker_.run([this] { round_over_lanes(); })) round_waits_ = false;
}

// On the change worker. The one catch of a round, as of a request.
void AdminApi::round_over_lanes() {
  round_waits_ = false;
  try {
    const auto retired = desk_.retire_over();
    const bool failed_before = std::exchange(rounds_fail_, !retired);
    if (!retired && !failed_before) base::log::warn("lanes of sales that are over stay: {}", retired.error().text());
  } catch (const std::exception& thrown) {
    base::log::error("giving back lanes: {}", thrown.what());
  }
}

base::Status AdminApi::know_sales(std::chrono::milliseconds every) {
  const auto known = desk_.know_all();
  sales_keeper_.start(every);
  return known;
}

// On the change worker.
void AdminApi::round_of_sales() {
  constexpr std::uint64_t rounds_between_whole_looks = 30;
  sales_wait_ = false;
  try {
    const auto known = ++sales_rounds_ % rounds_between_whole_looks == 0 ? desk_.know_all() : desk_.know_newest();
    const bool failed_before = std::exchange(sales_fail_, !known);
    if (!known && !failed_before) base::log::warn("new sales are not heard of: {}", known.error().text());
    if (known && failed_before) base::log::info("sales are known again");
  } catch (const std::exception& thrown) {
    base::log::error("looking for new sales: {}", thrown.what());
  }
}

void AdminApi::stop() {
  stopping_ = true;
  sales_keeper_.stop();
  keeper_.stop();
  change_worker_.stop();
  read_workers_.stop();
}

void AdminApi::handle(const http::Request& request, http::ReplySlot reply) {
  const http::Method method = request.method == http::Method::head ? http::Method::get : request.method;
  const AdminRouteTable::Row* found = nullptr;
  std::string allowed;
  Call call;
  for (const AdminRouteTable::Row& row : AdminRouteTable::rows) {
    std::vector<std::string> parameters;
    if (!matches(row.route.pattern, request.path, parameters)) continue;
    if (row.route.method == method) {
      found = &row;
      call.parameters = std::move(parameters);
      break;
    }
    if (!allowed.empty()) allowed += ", ";
    allowed += upper_name(row.route.method);
  }
  // Who has no token learns nothing about which paths exist below /admin.
  const bool guarded = found != nullptr ? found->route.needs_token : request.path.starts_with("/admin");
  if (guarded && !authorized(request.authorization)) {
    auto refusal = problem_reply(401, "unauthorized", "The operator token is missing or wrong",
                                 "send Authorization: Bearer <operator token>");
    refusal.header("WWW-Authenticate", "Bearer");
    return reply.send(std::move(refusal));
  }
  if (found == nullptr) {
    if (allowed.empty()) {
      return reply.send(problem_reply(404, "not_found", "There is no such path", base::printable(request.path)));
    }
    auto refusal =
        problem_reply(405, "method_not_allowed", "The path does not take this method", "it takes " + allowed);
    refusal.header("Allow", allowed);
    return reply.send(std::move(refusal));
  }
  if (guarded && !open_) {
    return reply.send(
        problem_reply(base::Error{base::Errc::unavailable, "starting", "lanes are being built; ask /readyz"}));
  }
  if (found->where == Where::io) return reply.send((this->*found->answer)(call));

  call.query = request.query;
  call.body = request.body;
  call.actor = "operator";
  WorkerPool& pool = found->where == Where::change ? change_worker_ : read_workers_;
  // When the pool refuses, the task and with it the slot are destroyed, which answers 503 busy.
  const Answer then = parts_.cluster ? found->then : nullptr;
  (void)pool.run([this, answer = found->answer, then, call = std::move(call), slot = std::move(reply)]() mutable {
    Reply first = answered(answer, call);
    if (then == nullptr || first.status() != 200) return slot.send(std::move(first));
    (void)read_workers_.run(
        [this, then, call = std::move(call), slot = std::move(slot)]() mutable { slot.send(answered(then, call)); });
  });
}

// The one catch of a request that a worker answers: nothing of ours throws, so this is a library out of memory.
http::Reply AdminApi::answered(Answer answer, const Call& call) {
  try {
    return (this->*answer)(call);
  } catch (const std::exception& thrown) {
    base::log::error("admin API: {}", thrown.what());
    return problem_reply(500, "internal", "The server failed", "the log says more");
  }
}

bool AdminApi::authorized(std::string_view authorization) const noexcept {
  const std::string_view token = gateway::bearer_token(authorization);
  if (token.empty()) return false;
  const base::Bytes32 offered = base::sha_256(token);
  return base::constant_time_equal(hash_view(offered), hash_view(token_hash_));
}

http::Reply AdminApi::livez(const Call&) { return {200, "text/plain; charset=utf-8", "ok\n"}; }

http::Reply AdminApi::readyz(const Call&) {
  const std::vector<std::string> reasons = parts_.readiness.why_not();
  if (reasons.empty()) return http::Reply::json(200, R"({"ready":true})");
  std::string body = R"({"ready":false,"why":[)";
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (i > 0) body.push_back(',');
    base::append_json_string(body, reasons[i]);
  }
  return http::Reply::json(503, body + "]}");
}

http::Reply AdminApi::metrics(const Call&) {
  if (!metrics_ready_) return problem_reply(503, "unavailable", "Metrics are not ready", "the server is starting");
  return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_text(metrics_)};
}

}  // namespace seckill::ops
