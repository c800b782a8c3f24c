// The filters: one list, cheapest and least personal first, each place with its reason. Handlers walk this list;
// nothing else decides the order. A filter may delay a buyer who has a ticket (429, busy) but never deny him: what is
// final (sold_out, paused, ended) is answered only to a buyer without a mark. Keeps P9: what one place refuses costs
// nothing at the next.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace seckill::gateway {

enum class Filter : std::uint8_t {
  phase,
  login,
  buyer_bucket,
  buyer_calls,
};

enum class FilterScope : std::uint8_t { purchases, other_calls, all_with_login };

struct FilterPlace {
  Filter filter;
  FilterScope scope;
  std::string_view name;
  std::string_view reason;
};

inline constexpr std::array filter_order{
    FilterPlace{
        Filter::phase, FilterScope::purchases, "phase",
        "first, because when stock is gone nearly every request ends here: one look into the buyer's lane by the "
        "unverified subject, no signature, no JSON; who has a mark goes on, so a forged subject gains nothing"},
    FilterPlace{
        Filter::login, FilterScope::all_with_login, "login",
        "before anything is counted per buyer, else anybody could use up another buyer's bucket; a cached token "
        "costs one table look-up"},
    FilterPlace{Filter::buyer_bucket, FilterScope::purchases, "buyer_bucket",
                "before the body is read, because a buyer who clicks too fast should cost less than one who does not"},
    FilterPlace{
        Filter::buyer_calls, FilterScope::other_calls, "buyer_calls",
        "a bucket of its own for questions, cancels and payments, because they reach the store's few readers and "
        "its writer; polling must not use up a buyer's clicks, nor clicks his polling"},
};
// After these: body and Idempotency-Key, then the item's own bounds, then admission.

inline constexpr std::size_t filter_count = filter_order.size();

[[nodiscard]] constexpr bool applies(const FilterPlace& place, bool to_purchase) noexcept {
  switch (place.scope) {
    case FilterScope::purchases: return to_purchase;
    case FilterScope::other_calls: return !to_purchase;
    case FilterScope::all_with_login: return true;
  }
  return true;
}

[[nodiscard]] constexpr std::string_view name(Filter filter) noexcept {
  return filter_order[static_cast<std::size_t>(filter)].name;
}

consteval bool filters_stand_in_order() {
  for (std::size_t index = 0; index < filter_count; ++index) {
    if (static_cast<std::size_t>(filter_order[index].filter) != index) return false;
  }
  return true;
}
static_assert(filters_stand_in_order(), "a filter's number is its place");

}  // namespace seckill::gateway
