#include "base/result.hpp"

namespace seckill::base {

std::string_view name(Errc code) noexcept {
  switch (code) {
    case Errc::unavailable: return "unavailable";
    case Errc::timeout: return "timeout";
    case Errc::disk_full: return "disk_full";
    case Errc::constraint: return "constraint";
    case Errc::stale: return "stale";
    case Errc::not_found: return "not_found";
    case Errc::already_exists: return "already_exists";
    case Errc::invalid: return "invalid";
    case Errc::refused: return "refused";
    case Errc::corrupt: return "corrupt";
    case Errc::oversell_guard: return "oversell_guard";
    case Errc::limit: return "limit";
  }
  return "unknown";
}

std::string Error::text() const { return cause.empty() ? doing : doing + ": " + cause; }

}  // namespace seckill::base
