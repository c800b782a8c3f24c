// The verdict: do the promises P1 … P9 hold, told from a picture of store, lanes and queues taken at one time. The
// demo, the admin API and the tests print the same sentences. It judges and never repairs.
//
// A picture is `drained` when no request, intent, end or deadline is under way; what can only be judged then (that
// every unit a lane holds has its order, that every end reached its lane) is left open otherwise and the sentence says
// so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admission/admission.hpp"
#include "base/result.hpp"
#include "store/store.hpp"

namespace seckill::orders {

// One item as store and lanes have it.
struct ItemPicture {
  store::ItemAudit audit;
  std::vector<admission::LaneView> lanes;  // empty: not open here, only the store is judged
  bool sold_out_while_units = false;  // for more than a second a buyer without a mark is told sold_out all the same
};

// Something that must not grow past its bound.
struct BoundedPlace {
  std::string what;  // "intents waiting to land"
  std::size_t depth = 0;
  std::size_t capacity = 0;
};

// What a crowd of clients saw with its own eyes; only a rehearsal can add it.
struct CrowdEvidence {
  std::int64_t acknowledged = 0;               // tickets that were answered 202 or 200
  std::int64_t acknowledged_without_row = 0;   // of these, unknown to the store
  std::int64_t repeats = 0;                    // requests sent again under the same id
  std::int64_t repeats_with_other_ticket = 0;  // of these, answered with another ticket than before
  std::int64_t shared_tickets = 0;             // tickets that two different requests were given
};

struct Picture {
  std::vector<ItemPicture> items;
  std::vector<BoundedPlace> places;
  std::int64_t releases_pending = 0;  // outbox rows that no lane has acknowledged
  std::size_t in_flight = 0;          // intents and ends under way
  bool drained = false;
  std::optional<CrowdEvidence> crowd;
};

struct PromiseVerdict {
  std::string_view promise;  // "P1"
  std::string_view title;    // "Never oversell"
  bool holds = false;
  std::string detail;  // one sentence: the figures it rests on, or the first thing that is wrong
};

// Nine verdicts, P1 … P9, in order. Pure.
[[nodiscard]] std::vector<PromiseVerdict> judge(const Picture& picture);

// Whether every item's lanes are here, all open, and have the units that their rows have. Pure.
[[nodiscard]] bool lanes_match_rows(const Picture& picture) noexcept;
// Whether two pictures of the same items show the same units in every lane. Pure.
[[nodiscard]] bool same_units(const Picture& one, const Picture& other) noexcept;

// True when every promise holds. Pure.
[[nodiscard]] bool all_hold(std::span<const PromiseVerdict> verdicts) noexcept;

// Reads items and outbox from the store, lanes and flags from admission. `places`, `in_flight`, `drained` and `crowd`
// are the caller's to add. Errors: the store's. Blocks, for a second more where a sold-out flag and
// units meet (P8 allows that second); a worker thread.
[[nodiscard]] base::Result<Picture> take_picture(store::Store& store, admission::Admission& admission,
                                                 std::span<const model::ItemKey> items, base::UtcMs now);

}  // namespace seckill::orders
