// One run's deployment and plan, drawn from its seed: the sale, the queue's bounds, the crowd, what breaks.
#pragma once

#include <string>
#include <vector>

#include "model/sale.hpp"
#include "queue/direct/direct_queue.hpp"
#include "simulation/kernel/kernel.hpp"
#include "simulation/runner/plan.hpp"

namespace seckill::sim::embedded {

// Fixed by the seed; no step of the plan.
struct Setup {
  model::Sale sale;  // a draft
  queue::direct::DirectQueueConfig queue;
  std::int64_t buyers = 2;
  Time plan_length{};  // when the last step has begun
};

// The steps, and what their numbers mean. `item` is an index into the sale's items, `buyer` and `request` make names.
namespace step {
inline constexpr const char* buy = "buy";            // item buyer request units content reply_is_lost
inline constexpr const char* pay = "pay";            // item buyer request
inline constexpr const char* cancel = "cancel";      // item buyer request
inline constexpr const char* look = "look";          // item buyer request
inline constexpr const char* edit = "edit";          // item field value; fields below
inline constexpr const char* pause = "pause";        //
inline constexpr const char* resume = "resume";      //
inline constexpr const char* close = "close";        //
inline constexpr const char* top_up = "top up";      // item units id from_reserve
inline constexpr const char* reduce = "reduce";      // item units id
inline constexpr const char* faults = "faults";      // unavailable‰ disk_full‰ slow‰ unknown‰ for_ms
inline constexpr const char* down = "store down";    // for_ms
inline constexpr const char* crash_at = "crash at";  // point (index into crash_points) nth down_ms
inline constexpr const char* kill = "kill";          // down_ms
}  // namespace step
enum class EditedField : std::uint8_t { limit, price, tickets_max, pay_window_ms };

// ARCHITECTURE, "Life of a purchase".
[[nodiscard]] const std::vector<std::string>& crash_points();

[[nodiscard]] Setup setup_of(std::uint64_t seed);
[[nodiscard]] Plan draw(std::uint64_t seed);

}  // namespace seckill::sim::embedded
