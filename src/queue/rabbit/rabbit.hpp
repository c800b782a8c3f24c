// The intent broker on RabbitMQ (DESIGN §4.2): quorum queues per partition with single active consumer, confirmed
// publishing, TTL retry tiers, a parked queue for what cannot be read, a delay queue per pay window as the bell.
// topology.hpp declares all of it; message.hpp says how intents are written. Ports: queue/intent_broker.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "queue/deadline_bell.hpp"
#include "queue/intent_broker.hpp"

namespace seckill::queue::rabbit {

struct RabbitConfig {
  std::vector<std::string> servers;  // "host:port"; tried in turn
  std::string virtual_host = "/";
  std::string user;
  std::string password;
  std::string prefix = "seckill";            // of every exchange and queue
  std::uint32_t partitions = 16;             // the same on every node
  std::size_t queue_messages_max = 200'000;  // a partition; past it publishes are refused, nothing is dropped
  std::chrono::milliseconds connect_longest{2'000};
  std::chrono::milliseconds rpc_longest{5'000};  // declare, bind, consume …
  std::chrono::seconds heartbeat{5};
  std::chrono::milliseconds confirm_longest{5'000};  // then Published::unknown
  std::size_t unconfirmed_max = 1'024;               // messages; past it publish() answers refused
  std::size_t prefetch_messages = 32;                // of one source, over all its partitions
  std::vector<std::chrono::milliseconds> retry_tiers{std::chrono::milliseconds{500}, std::chrono::milliseconds{2'000},
                                                     std::chrono::milliseconds{10'000}};
  std::string connection_name = "seckill";  // shown in the broker's management
};

struct RabbitPublisherCounters {
  std::uint64_t messages = 0, intents = 0, confirmed = 0, refused = 0, unknown = 0, returned = 0;
  std::uint64_t connects = 0, blocked = 0;
};
class RabbitPublisher : public IntentPublisher, public DeadlineBellRinger {
 public:
  // Connects from a thread of its own and goes on trying; until then accepting() is false. Errc::invalid: bad config.
  [[nodiscard]] static base::Result<std::unique_ptr<RabbitPublisher>> start(RabbitConfig config);
  virtual void stop() = 0;  // what is unconfirmed is answered unknown; blocks; idempotent
  [[nodiscard]] virtual RabbitPublisherCounters counters() const noexcept = 0;
};

struct RabbitSourceCounters {
  std::uint64_t messages = 0, redelivered = 0, unreadable = 0, parked = 0, retried = 0, connects = 0;
};
class RabbitSource : public IntentSource {
 public:
  // Consumes every partition with single active consumer: the broker gives each to one of the deployment's sources and
  // moves them when sources come and go. Used by one thread; connects when first asked.
  [[nodiscard]] static base::Result<std::unique_ptr<RabbitSource>> make(RabbitConfig config);
  // Called by receive() when a bell rings: orders of a pay window have become due. Set once, before receive().
  virtual void on_bell(std::function<void()> ring) = 0;
  [[nodiscard]] virtual RabbitSourceCounters counters() const noexcept = 0;  // any thread
};

}  // namespace seckill::queue::rabbit
