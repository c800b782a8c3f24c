// Landing (落单): a batch of lane records becomes orders in one short transaction (DESIGN §4.2). A violation is found by
// landing ticket by ticket and ends that ticket alone; an environment error touches nobody and is tried again.
// Keeps P1 (oversell guard), P5 and P6.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "queue/intent_queue.hpp"
#include "store/store.hpp"

namespace seckill::orders {

class Landing final : public queue::IntentConsumer {
 public:
  // Told when a stock row was short for an admitted hold, which must never happen: closes the item's lanes and alerts.
  using OversellGuard = std::function<void(const model::ItemKey& item, std::string_view what)>;

  Landing(store::Store& store, const base::Clock& clock, OversellGuard guard);

  // The queue's consumer thread only. Blocks until durable.
  base::Result<std::vector<store::Landed>> consume(std::span<const model::LaneRecord> records) override;

 private:
  base::Result<std::vector<store::Landed>> one_by_one(std::span<const model::LaneRecord> records);

  store::Store& store_;
  const base::Clock& clock_;
  OversellGuard guard_;
};

}  // namespace seckill::orders
