#include "gateway/counters.hpp"

#include "base/hash.hpp"

namespace seckill::gateway {

std::size_t counter_stripe() noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed) % counter_stripes;
  return mine;
}

std::string_view name(FunnelStage stage) noexcept {
  switch (stage) {
    case FunnelStage::viewed: return "viewed";
    case FunnelStage::clicked: return "clicked";
    case FunnelStage::passed_gateway: return "passed_gateway";
    case FunnelStage::admitted: return "admitted";
    case FunnelStage::published: return "published";
  }
  return "unknown";
}

std::string_view name(GatewayEvent event) noexcept {
  switch (event) {
    case GatewayEvent::token_cache_hit: return "token_cache_hit";
    case GatewayEvent::token_verified: return "token_verified";
    case GatewayEvent::token_refused: return "token_refused";
    case GatewayEvent::view_hit: return "view_hit";
    case GatewayEvent::view_miss: return "view_miss";
    case GatewayEvent::view_refresh: return "view_refresh";
    case GatewayEvent::view_negative_hit: return "view_negative_hit";
    case GatewayEvent::view_unavailable: return "view_unavailable";
  }
  return "unknown";
}

void LatencyHistogram::record(std::chrono::nanoseconds took) noexcept {
  const std::int64_t us = took.count() / 1'000;
  std::size_t index = 0;
  while (index < latency_bounds_us.size() && us > latency_bounds_us[index]) ++index;
  counters_.add(index);
  counters_.add(latency_bounds_us.size() + 1, took.count() > 0 ? static_cast<std::uint64_t>(took.count()) : 0);
}

SaleCounters& GatewayCounters::of_sale(std::string_view sale) noexcept {
  std::size_t slot = base::xxh3_64(sale) % slots;
  // Ends at an empty slot: at most half of the slots are ever used.
  while (SaleCounters* found = table_[slot].load(std::memory_order_acquire)) {
    if (found->sale().view() == sale) return *found;
    slot = (slot + 1) % slots;
  }
  return rest_;
}

void GatewayCounters::register_sale(const model::SaleId& sale) {
  const std::lock_guard lock{mutex_};
  if (owned_.size() >= base::limits::sales_open_max) return;
  std::size_t slot = base::xxh3_64(sale.view()) % slots;
  while (const SaleCounters* found = table_[slot].load(std::memory_order_relaxed)) {
    if (found->sale() == sale) return;
    slot = (slot + 1) % slots;
  }
  owned_.push_back(std::make_unique<SaleCounters>(sale));
  table_[slot].store(owned_.back().get(), std::memory_order_release);
}

std::vector<const SaleCounters*> GatewayCounters::sales() const {
  const std::lock_guard lock{mutex_};
  std::vector<const SaleCounters*> all;
  all.reserve(owned_.size() + 1);
  all.push_back(&rest_);
  for (const auto& counters : owned_) all.push_back(counters.get());
  return all;
}

}  // namespace seckill::gateway
