// Landing (落单): a batch of lane records becomes orders in one short transaction (DESIGN §4.2). A violation is found
// by halving the batch until the ticket stands alone, and ends that ticket alone; an environment error touches nobody
// and the same records are offered again. Keeps P1 (oversell guard), P5 and P6.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "queue/intent_queue.hpp"
#include "store/store.hpp"

namespace seckill::orders {

// What landing has done since the start. Any thread, each value by itself.
struct LandingCounters {
  std::atomic<std::uint64_t> batches{0};      // consumed whole
  std::atomic<std::uint64_t> records{0};      // in those batches
  std::atomic<std::uint64_t> orders{0};       // inserted now
  std::atomic<std::uint64_t> duplicates{0};   // had a row before: harmless
  std::atomic<std::uint64_t> failures{0};     // tickets answered `failed`
  std::atomic<std::uint64_t> superseded{0};   // of an older generation, reported as they are
  std::atomic<std::uint64_t> splits{0};       // transactions that were refused and tried again in halves
  std::atomic<std::uint64_t> guard_trips{0};  // stock rows found short (P1): must stay 0
  std::atomic<std::uint64_t> not_now{0};      // environment errors returned to the queue
  std::atomic<std::uint64_t> batch_records_max{0};
  std::atomic<std::uint64_t> commit_ns_total{0};  // time spent in the store for those batches
  std::atomic<std::uint64_t> commit_ns_max{0};
};

class Landing final : public queue::IntentConsumer {
 public:
  // Told when a stock row was short for an admitted hold or a transfer could not land, which must never happen: closes
  // the item's lanes and alerts. Called on a consumer's thread; must not call the store.
  using OversellGuard = std::function<void(const model::ItemKey& item, std::string_view what)>;

  // Borrows store and clock for its whole life.
  Landing(store::Store& store, const base::Clock& clock, OversellGuard guard);

  // One Landed for each intent, in order; transfers have none. Errors: unavailable, timeout, disk_full or corrupt, with
  // nothing counted against any ticket; what of the batch had landed before is a harmless duplicate when offered again.
  // Any thread, several at a time (synchronous ordering). Blocks until durable.
  base::Result<std::vector<store::Landed>> consume(std::span<const model::LaneRecord> records) override;

  // Any thread.
  [[nodiscard]] const LandingCounters& counters() const noexcept { return counters_; }

 private:
  base::Status land(std::span<const model::LaneRecord> records, std::vector<store::Landed>& out);
  base::Status condemn(const model::LaneRecord& record, const base::Error& why, std::vector<store::Landed>& out);
  void count(std::size_t records, std::span<const store::Landed> landed, std::chrono::nanoseconds took) noexcept;

  store::Store& store_;
  const base::Clock& clock_;
  OversellGuard guard_;
  LandingCounters counters_;
};

// True for errors that judge the content of a request and not the day it came on: retrying the same bytes would fail
// again. False for the environment (unreachable, full, timed out, damaged), which counts against nobody. Pure.
[[nodiscard]] bool blames_content(base::Errc code) noexcept;

}  // namespace seckill::orders
