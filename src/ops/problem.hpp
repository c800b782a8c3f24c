// Refusals of the admin API as RFC 9457 problems: {"type","title","status","detail","problems"?}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gateway/http/reply.hpp"

namespace seckill::ops {

// `type` is a short word of ours and becomes "urn:seckill:problem:<type>". Any thread.
[[nodiscard]] gateway::http::Reply problem_reply(int status, std::string_view type, std::string_view title,
                                                 std::string_view detail,
                                                 const std::vector<std::string>& problems = {});

// The HTTP status and wording of an environment error or refusal.
[[nodiscard]] gateway::http::Reply problem_reply(const base::Error& error);

[[nodiscard]] int http_status(base::Errc code) noexcept;

}  // namespace seckill::ops
