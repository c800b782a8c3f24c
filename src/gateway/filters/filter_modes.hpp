// Each filter's live mode and its counters. In shadow a filter judges and counts but refuses nobody, so that a new
// limit is seen against real traffic before it is enforced.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/counters.hpp"
#include "gateway/filters/order.hpp"

namespace seckill::gateway {

enum class FilterMode : std::uint8_t { off, shadow, enforce };

[[nodiscard]] constexpr std::string_view name(FilterMode mode) noexcept {
  switch (mode) {
    case FilterMode::off: return "off";
    case FilterMode::shadow: return "shadow";
    case FilterMode::enforce: return "enforce";
  }
  return "enforce";
}
[[nodiscard]] constexpr std::optional<FilterMode> filter_mode_from(std::string_view text) noexcept {
  for (const FilterMode mode : {FilterMode::off, FilterMode::shadow, FilterMode::enforce}) {
    if (name(mode) == text) return mode;
  }
  return std::nullopt;
}

// Any thread. All filters start enforced.
class FilterModes {
 public:
  FilterModes() noexcept {
    for (auto& mode : modes_) mode.store(FilterMode::enforce, std::memory_order_relaxed);
  }

  [[nodiscard]] FilterMode mode(Filter filter) const noexcept {
    return modes_[index(filter)].load(std::memory_order_relaxed);
  }
  // False and unchanged for the login filter in any mode but enforce: without it nobody has an identity.
  [[nodiscard]] bool set_mode(Filter filter, FilterMode mode) noexcept {
    if (filter == Filter::login && mode != FilterMode::enforce) return false;
    modes_[index(filter)].store(mode, std::memory_order_relaxed);
    return true;
  }

  // Counts one judgement; true when the request must be refused. Not to be asked in mode off.
  [[nodiscard]] bool refuses(Filter filter, bool would_reject) noexcept {
    counters_.add(index(filter) * 3);
    if (!would_reject) return false;
    counters_.add(index(filter) * 3 + 1);
    if (mode(filter) != FilterMode::enforce) return false;
    counters_.add(index(filter) * 3 + 2);
    return true;
  }

  [[nodiscard]] std::uint64_t seen(Filter filter) const noexcept { return counters_.sum(index(filter) * 3); }
  [[nodiscard]] std::uint64_t would_reject(Filter filter) const noexcept {
    return counters_.sum(index(filter) * 3 + 1);
  }
  [[nodiscard]] std::uint64_t rejected(Filter filter) const noexcept { return counters_.sum(index(filter) * 3 + 2); }

 private:
  static constexpr std::size_t index(Filter filter) noexcept { return static_cast<std::size_t>(filter); }

  std::array<std::atomic<FilterMode>, filter_count> modes_;
  StripedCounters<filter_count * 3> counters_;
};

}  // namespace seckill::gateway
