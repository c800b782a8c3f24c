// The relay: from the lanes' streams to the queue. Publishes intents, at most so many messages a partition in flight;
// what waits meanwhile goes together in the next message. When the broker has confirmed, the tickets' waiting answers
// are released and the lanes are told (confirmations.hpp).
//
//   outcome of a message        waiting answers      the intents
//   confirmed                   durable              out of their streams, marks `published`
//   refused (nack, full)        not known durable    stay in their streams: the sweep publishes again
//   unknown (timeout, lost)     not known durable    stay in their streams: the sweep publishes again
//
// The publish path never releases a unit, whatever the broker does (DESIGN §4.1.5).
//
// Synchronous ordering (§4.6): while the switch is on, intents go to the landing in this process instead, behind a
// bounded queue and on a thread of the relay's; their rows in the store are what makes them durable. A ticket whose row
// has ended or failed is released before its intent leaves the stream, so a lane that cannot be reached is told by the
// sweep's next round. A superseded intent is not landed and not told durable.
//
// Threads: publish() from any; answers come from the publisher's threads and the relay's own, never inside publish().
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "admission/remote/config.hpp"
#include "admission/remote/confirmations.hpp"
#include "admission/remote/gate.hpp"
#include "admission/remote/places.hpp"
#include "admission/remote/remote_item.hpp"

namespace seckill::admission::remote {

// What is known of one published intent. `landed`: synchronous ordering only.
struct Relayed {
  bool durable = false;
  std::optional<store::Landed> landed;
};
using RelayDone = std::move_only_function<void(const Relayed&)>;

struct RelayCounters {
  std::atomic<std::uint64_t> confirmed{0};  // intents
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> unknown{0};
  std::atomic<std::uint64_t> landed{0};      // synchronous ordering
  std::atomic<std::uint64_t> not_marked{0};  // their lanes were not told: the sweep does it again
};

class Relay {
 public:
  Relay(const Ports& ports, const Config& config, const Gate& gate, RemoteItems& items);

  void start();
  // Tells the lanes what was confirmed so far, and none of what is confirmed from now on. Blocks. Before the gate
  // closes.
  void stop_confirming() { confirmations_.stop(); }
  // Stops the landing thread; what it has not landed is told not durable. Confirmations of the broker still come.
  void stop();

  // A place for one intent, taken before its lane is asked; nullopt: too many are unconfirmed, or nothing takes intents
  // now. The caller answers busy and has taken nothing.
  [[nodiscard]] std::optional<Places::Place> try_reserve();
  // An intent and the place it is published on; `done` is called exactly once.
  struct Publication {
    model::OrderIntent intent;
    Places::Place place;
    RelayDone done;
  };
  // What goes to one partition goes in one message, as far as that has room. Cannot fail.
  void publish(std::vector<Publication> together);

  [[nodiscard]] std::size_t unconfirmed() const noexcept { return places_.taken(); }
  [[nodiscard]] const RelayCounters& counters() const noexcept { return counters_; }

 private:
  struct Sent;
  struct PartitionLine {
    std::deque<Publication> waiting;
    std::size_t in_flight = 0;  // messages
  };

  [[nodiscard]] bool synchronous() const;
  void pump(queue::Partition partition);
  void send(queue::Partition partition, std::vector<Publication> batch);
  void published(queue::Partition partition, std::vector<Sent>& sent, queue::Published how);
  void run_landing();
  void land(std::vector<Publication> batch);
  void release_then_confirm(const model::ItemKey& item, const model::Ticket& ticket);

  // Constant after construction.
  const Ports& ports_;
  const Config& config_;
  const Gate& gate_;
  RemoteItems& items_;
  const std::unique_ptr<base::Signal> landing_changed_;

  Places places_;
  Places landing_places_;
  RelayCounters counters_;
  Confirmations confirmations_;

  std::mutex mutex_;
  std::vector<PartitionLine> lines_;  // by partition; under the mutex
  std::deque<Publication> landing_;   // under the mutex
  bool stopping_ = false;
  std::unique_ptr<base::Thread> landing_thread_;  // owned by start() and stop()
};

}  // namespace seckill::admission::remote
