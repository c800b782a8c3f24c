// The message broker between api nodes and order workers, as one port: what cluster mode asks of RabbitMQ. Engines:
// rabbit/ and the simulator's broker. At least once: messages may be lost before they are confirmed, delayed, repeated
// and reordered; a confirmed one survives (P5).
//
// partition = lane mod partitions. One consumer at a time has a partition (single active consumer); when it dies, what
// it had not acknowledged is delivered again, marked.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "model/purchase.hpp"

namespace seckill::queue {

using Partition = std::uint32_t;

enum class Published : std::uint8_t {
  confirmed,  // durable on the broker
  refused,    // nack, returned or full: certainly not taken
  unknown,    // deadline passed or connection lost: may be there, may yet arrive
};
// Exactly once, from any thread, quick, not inside publish().
using PublishDone = std::move_only_function<void(Published)>;

class IntentPublisher {
 public:
  virtual ~IntentPublisher() = default;
  // One message of 1–100 intents of one partition. Does not block. Any thread.
  virtual void publish(Partition partition, std::vector<model::OrderIntent> intents, PublishDone done) = 0;
  // False while the broker refuses or cannot be reached: callers answer busy before they take anything.
  [[nodiscard]] virtual bool accepting() const noexcept = 0;
  // Answers once everything confirmed in the partition before now has been acknowledged by its consumer (the rebuild's
  // barrier), or Errc::timeout after `longest`. What retry_later() put off before now counts. Blocks.
  virtual base::Status barrier(Partition partition, std::chrono::milliseconds longest) = 0;
};

struct Delivery {
  std::uint64_t tag = 0;
  std::vector<model::OrderIntent> intents;
  bool redelivered = false;
};

// One worker's end of its partitions. Owned by one thread.
class IntentSource {
 public:
  virtual ~IntentSource() = default;
  // Up to `intents_max` intents' worth of deliveries, all of partitions this worker has now; empty after `longest`.
  // Errc::unavailable: the broker cannot be reached; everything not acknowledged will be delivered again, to someone.
  virtual base::Result<std::vector<Delivery>> receive(std::size_t intents_max, std::chrono::milliseconds longest) = 0;
  // The broker forgets it. Errors mean only that it may come again; Errc::stale: the tag was used up by an earlier
  // call, or is of a partition or connection that is gone.
  virtual base::Status acknowledge(std::uint64_t tag) = 0;
  // Comes back after about `delay`: a confirmed publish of these intents, then the acknowledgement of `tag`. An Error:
  // not acknowledged, the delivery comes again as it was. No intents: an acknowledgement.
  virtual base::Status retry_later(std::uint64_t tag, std::vector<model::OrderIntent> intents,
                                   std::chrono::milliseconds delay) = 0;
};

}  // namespace seckill::queue
