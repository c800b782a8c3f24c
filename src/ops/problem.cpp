#include "ops/problem.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace seckill::ops {

gateway::http::Reply problem_reply(int status, std::string_view type, std::string_view title, std::string_view detail,
                                   const std::vector<std::string>& problems) {
  std::string body = fmt::format(R"({{"type":"urn:seckill:problem:{}","title":)", type);
  base::append_json_string(body, title);
  body += fmt::format(R"(,"status":{},"detail":)", status);
  base::append_json_string(body, detail);
  if (!problems.empty()) {
    body += R"(,"problems":[)";
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (i > 0) body.push_back(',');
      base::append_json_string(body, problems[i]);
    }
    body.push_back(']');
  }
  body.push_back('}');
  return gateway::http::Reply::problem(status, std::move(body));
}

int http_status(base::Errc code) noexcept {
  switch (code) {
    case base::Errc::unavailable:
    case base::Errc::timeout:
    case base::Errc::disk_full:
    case base::Errc::limit: return 503;
    case base::Errc::constraint:
    case base::Errc::already_exists:
    case base::Errc::refused: return 409;
    case base::Errc::stale: return 412;
    case base::Errc::not_found: return 404;
    case base::Errc::invalid: return 422;
    case base::Errc::corrupt:
    case base::Errc::oversell_guard: return 500;
  }
  return 500;
}

gateway::http::Reply problem_reply(const base::Error& error) {
  const std::string_view detail = error.cause.empty() ? std::string_view{error.doing} : std::string_view{error.cause};
  auto reply = problem_reply(http_status(error.code), name(error.code), error.doing, detail);
  if (http_status(error.code) == 503) reply.header("Retry-After", "1");
  return reply;
}

}  // namespace seckill::ops
