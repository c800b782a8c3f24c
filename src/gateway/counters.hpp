// What the buyer API counts: the funnel, answers, HTTP statuses, filters, latency. Written by io and worker threads
// without ever waiting for each other, read by ops for metrics and the funnel. Keeps P9: per-sale counters exist only
// for sales that the store has, at most limits::sales_open_max of them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "gateway/router.hpp"
#include "model/ids.hpp"
#include "model/purchase.hpp"

namespace seckill::gateway {

inline constexpr std::size_t counter_stripes = 8;

// The stripe of the calling thread; threads take turns. Any thread.
[[nodiscard]] std::size_t counter_stripe() noexcept;

// N counters, each kept once a stripe, so that threads do not fight over a cache line. Any thread; sums are approximate
// while others count, and never go back.
template <std::size_t N>
class StripedCounters {
 public:
  void add(std::size_t index, std::uint64_t amount = 1) noexcept {
    stripes_[counter_stripe()].values[index].fetch_add(amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t sum(std::size_t index) const noexcept {
    std::uint64_t total = 0;
    for (const Stripe& stripe : stripes_) total += stripe.values[index].load(std::memory_order_relaxed);
    return total;
  }

 private:
  struct alignas(64) Stripe {
    std::array<std::atomic<std::uint64_t>, N> values{};
  };
  std::array<Stripe, counter_stripes> stripes_;
};

// The funnel's stages that the gateway sees; the store counts ordered and paid.
enum class FunnelStage : std::uint8_t {
  viewed,          // a sale or item view was answered
  clicked,         // a purchase request arrived
  passed_gateway,  // every filter and check passed; admission was asked
  admitted,        // admission held units for a new ticket
  published,       // its intent is durable, and the buyer was told so
};
inline constexpr std::size_t funnel_stages = 5;
[[nodiscard]] std::string_view name(FunnelStage stage) noexcept;

inline constexpr std::size_t answer_count = model::all_purchase_answers.size();

// One sale's funnel and purchase answers. Any thread.
class SaleCounters {
 public:
  explicit SaleCounters(model::SaleId sale) : sale_{sale} {}
  void count(FunnelStage stage) noexcept { counters_.add(static_cast<std::size_t>(stage)); }
  void count(model::PurchaseAnswer answer) noexcept { counters_.add(funnel_stages + static_cast<std::size_t>(answer)); }
  [[nodiscard]] const model::SaleId& sale() const noexcept { return sale_; }
  [[nodiscard]] std::uint64_t stage(FunnelStage stage) const noexcept {
    return counters_.sum(static_cast<std::size_t>(stage));
  }
  [[nodiscard]] std::uint64_t answers(model::PurchaseAnswer answer) const noexcept {
    return counters_.sum(funnel_stages + static_cast<std::size_t>(answer));
  }

 private:
  model::SaleId sale_;
  StripedCounters<funnel_stages + answer_count> counters_;
};

// Upper bounds of the latency buckets in microseconds; one more bucket holds what is slower.
inline constexpr std::array<std::int64_t, 16> latency_bounds_us{
    50,     100,    250,     500,     1'000,   2'500,     5'000,     10'000,
    25'000, 50'000, 100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000};

class LatencyHistogram {
 public:
  void record(std::chrono::nanoseconds took) noexcept;
  // Observations no slower than latency_bounds_us[index] and slower than the bound before; index 16 has the rest.
  [[nodiscard]] std::uint64_t bucket(std::size_t index) const noexcept { return counters_.sum(index); }
  [[nodiscard]] std::uint64_t sum_us() const noexcept { return counters_.sum(latency_bounds_us.size() + 1) / 1'000; }

 private:
  StripedCounters<latency_bounds_us.size() + 2> counters_;  // the last sums nanoseconds
};

// Single counts that belong to no route or sale.
enum class GatewayEvent : std::uint8_t {
  token_cache_hit,
  token_verified,
  token_refused,
  view_hit,
  view_miss,          // waited for, or asked, the store
  view_refresh,       // a read of the store by the view cache
  view_negative_hit,  // answered "no such sale" without asking
  view_unavailable,   // the store could not be asked, or too many were waiting
};
inline constexpr std::size_t gateway_events = 8;
[[nodiscard]] std::string_view name(GatewayEvent event) noexcept;

class GatewayCounters {
 public:
  GatewayCounters() = default;
  GatewayCounters(const GatewayCounters&) = delete;
  GatewayCounters& operator=(const GatewayCounters&) = delete;

  void count(GatewayEvent event) noexcept { events_.add(static_cast<std::size_t>(event)); }
  void count_http(RouteId route, int status) noexcept {
    http_.add(static_cast<std::size_t>(route) * 5 + static_cast<std::size_t>(status / 100 - 1));
  }
  [[nodiscard]] std::uint64_t events(GatewayEvent event) const noexcept {
    return events_.sum(static_cast<std::size_t>(event));
  }
  // Requires: 1 <= status_class <= 5 (2 for 2xx).
  [[nodiscard]] std::uint64_t http(RouteId route, int status_class) const noexcept {
    return http_.sum(static_cast<std::size_t>(route) * 5 + static_cast<std::size_t>(status_class - 1));
  }
  [[nodiscard]] LatencyHistogram& purchase_latency() noexcept { return purchase_latency_; }
  [[nodiscard]] LatencyHistogram& other_latency() noexcept { return other_latency_; }
  [[nodiscard]] const LatencyHistogram& purchase_latency() const noexcept { return purchase_latency_; }
  [[nodiscard]] const LatencyHistogram& other_latency() const noexcept { return other_latency_; }

  // The sale's counters, or those of "every other sale" (an empty id) when it was never registered. Never null; lives
  // as long as this. Any thread, no lock, no allocation.
  [[nodiscard]] SaleCounters& of_sale(std::string_view sale) noexcept;
  // Gives a sale that the store has its own counters; harmless when repeated or when the table is full. Any thread.
  void register_sale(const model::SaleId& sale);
  // Registered sales and the rest, in order of registration; the rest comes first.
  [[nodiscard]] std::vector<const SaleCounters*> sales() const;

 private:
  static constexpr std::size_t slots = 2'048;
  static_assert(base::limits::sales_open_max * 2 <= slots, "probing stays short");

  StripedCounters<route_count * 5> http_;
  StripedCounters<gateway_events> events_;
  LatencyHistogram purchase_latency_;
  LatencyHistogram other_latency_;
  std::array<std::atomic<SaleCounters*>, slots> table_{};  // open addressing; a slot once set never changes
  SaleCounters rest_{model::SaleId{}};
  mutable std::mutex mutex_;  // guards owned_ and writing to table_
  std::vector<std::unique_ptr<SaleCounters>> owned_;
};

}  // namespace seckill::gateway
