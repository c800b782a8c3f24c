#include "admission/redis/lane_keys.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace seckill::admission::redis {
namespace {

constexpr std::array<std::string_view, 13> endings{
    "stock",    "marks",        "tickets",      "intents",        "ages",           "transfers",  "spent",
    "spent_at", "beside:stock", "beside:marks", "beside:tickets", "beside:intents", "beside:ages"};

// No sale or sku has a brace or colon in its name.
std::string key(const LaneKey& lane, std::string_view ending) {
  return fmt::format("seckill:{{{}:{}:{}}}:{}", lane.item.sale.view(), lane.item.sku.view(), lane.lane, ending);
}

}  // namespace

std::vector<std::string> keys_of(const LaneKey& lane, LaneKeys which) {
  std::vector<std::string> keys;
  keys.reserve(static_cast<std::size_t>(which));
  for (std::size_t i = 0; i < static_cast<std::size_t>(which); ++i) keys.push_back(key(lane, endings[i]));
  return keys;
}

std::string routing_key_of(const LaneKey& lane) { return key(lane, endings.front()); }

}  // namespace seckill::admission::redis
