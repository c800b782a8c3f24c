// The queue between admission and landing: at least once, bounded, in order within a lane. One port, two engines:
// direct (in process) and RabbitMQ. Keeps P5 (a confirmation means durable) and P9 (full is said before a unit goes).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "model/purchase.hpp"
#include "store/store.hpp"

namespace seckill::queue {

// What became of a published record, told once it is durable.
// Direct queue: the record's order row is committed and `landed` says how. A broker: confirmed, `landed` is empty.
struct Confirmation {
  bool durable = false;  // false: unknown (deadline passed, broker lost), never "failed"
  std::optional<store::Landed> landed;
};
// Called exactly once, from a thread of the queue's, never inside publish(). Must be quick and must not block.
using Confirm = std::move_only_function<void(const Confirmation&)>;

class IntentQueue {
 public:
  virtual ~IntentQueue() = default;

  // Reserves `records` places before the lane's lock is taken; false when the queue is too full or refusing writes
  // (disk full, stopping): the caller answers busy and has taken nothing. Any thread, does not block.
  [[nodiscard]] virtual bool try_reserve(std::size_t records) noexcept = 0;
  // Gives reserved places back unused.
  virtual void cancel_reservation(std::size_t records) noexcept = 0;
  // Publishes on one reserved place; cannot fail. Called under the lane's lock, so that queue order is lane order.
  virtual void publish(model::LaneRecord record, Confirm confirm) noexcept = 0;
  // Records accepted and not yet confirmed.
  [[nodiscard]] virtual std::size_t depth() const noexcept = 0;
};

// The queue's other end, implemented by orders/landing and handed to the queue by app. Called from the queue's
// consumer thread with 1 … landing_batch_max records; blocks until they are durable. One Landed for each intent in
// order. It retries what may pass by itself; an Error means "not now": the same records are offered again.
class IntentConsumer {
 public:
  virtual ~IntentConsumer() = default;
  virtual base::Result<std::vector<store::Landed>> consume(std::span<const model::LaneRecord> records) = 0;
};

}  // namespace seckill::queue
