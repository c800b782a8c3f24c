// Which request targets exist (FS-48): one spelling for each resource, so that a router, a limiter and a blocklist
// cannot disagree about a path. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace seckill::gateway::http {

struct TargetReading {
  // False (answered 400) for what is no origin-form target (RFC 9112 section 3.2.1): not beginning with '/', a byte
  // that is not printable ASCII, a fragment, or in the path a character RFC 3986 does not allow.
  bool legal = false;
  // False (answered 404) for a legal path with another spelling: "//", "/./", "/../", '%', ';'.
  bool canonical = true;
  std::uint32_t path_bytes = 0;  // up to, not with, the first '?'
};

[[nodiscard]] TargetReading read_target(std::string_view target) noexcept;

}  // namespace seckill::gateway::http
