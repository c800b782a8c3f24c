// The simulated message broker: what cluster mode relies on of RabbitMQ (quorum or durable queues, publisher confirms,
// single active consumer), with its faults as commands and as chances. An engine of queue/intent_broker.hpp.
//
//   publish ─net─► stored ─sync─► durable ─net─► confirmed        nack, full, alarm ─► refused
//                    │                                           lost on either way, connection gone ─► unknown
//                    └─► delivered to the partition's active consumer ─► acknowledged ─► gone
//                              └─ consumer or connection dies ─► delivered again, marked
//
// What is durable survives crash(); what was stored and not synced does not, although it may have been delivered
// before. Only purge() and lose_everything() destroy durable messages: an operator's accident, or the loss of the
// machine with its disk.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "queue/intent_broker.hpp"
#include "simulation/kernel/kernel.hpp"

namespace seckill::sim {

// Chances in permille, each drawn once a message or call. All zero: a broker that only takes its time.
struct BrokerFaults {
  std::uint32_t lose_publish = 0;     // never arrives: the publisher is told unknown at its deadline
  std::uint32_t lose_confirm = 0;     // arrives and is durable; the publisher is told unknown all the same
  std::uint32_t refuse = 0;           // nack
  std::uint32_t duplicate = 0;        // stored twice, as after a publisher's own repetition
  std::uint32_t late = 0;             // delivered only after up to `late_longest`, others overtake it
  std::uint32_t requeue_last = 0;     // what is to be delivered again goes behind all others, not to its old place
  std::uint32_t lose_connection = 0;  // of the client, at one of its calls
  Time late_longest = 5s;
};

struct BrokerConfig {
  std::uint32_t partitions = 1;
  Time net_longest = 2ms;              // one way
  Time sync_longest = 5ms;             // from stored to durable
  Time publish_deadline = 1s;          // then unknown
  Time notice_longest = 2s;            // until a dead consumer is noticed
  Time standby_after = 200ms;          // until a worker is registered on partitions that are not its own
  std::size_t messages_max = 100'000;  // a partition; past it publishing is refused
};

struct BrokerCounters {
  std::uint64_t published = 0;
  std::uint64_t confirmed = 0;  // answers that were told
  std::uint64_t refused = 0;
  std::uint64_t unknown = 0;
  std::uint64_t delivered = 0;
  std::uint64_t redelivered = 0;  // of these
  std::uint64_t acknowledged = 0;
  std::uint64_t tail_lost = 0;  // stored, not durable, gone in a crash
  std::uint64_t purged = 0;     // durable, destroyed by command
};

// Single-threaded like its kernel. Outlives the handles it gives out.
class SimBroker {
 public:
  SimBroker(Kernel& kernel, BrokerConfig config);
  ~SimBroker();
  SimBroker(const SimBroker&) = delete;
  SimBroker& operator=(const SimBroker&) = delete;

  // --- the product's ends; each belongs to the node's present life ---
  [[nodiscard]] std::unique_ptr<queue::IntentPublisher> publisher(Node& node);
  // Active at once on those of its `own` partitions that nobody has; on all others it stands by.
  [[nodiscard]] std::unique_ptr<queue::IntentSource> source(Node& node, std::vector<queue::Partition> own);

  // --- faults by command ---
  void set_faults(const BrokerFaults& faults) noexcept { faults_ = faults; }
  // Stops at once and starts again after `down_for`; every connection is lost.
  void crash(Time down_for);
  // The disk or memory alarm: everything published is refused.
  void set_alarm(bool alarm) noexcept { alarm_ = alarm; }
  // The node's connections break; it connects again by itself.
  void disconnect(const Node& node);
  void purge(queue::Partition partition);
  void lose_everything();

  // --- for the oracle ---
  [[nodiscard]] bool up() const noexcept { return up_; }
  // Durable, not acknowledged, waiting or delivered, in queue order.
  [[nodiscard]] std::vector<model::OrderIntent> contents(queue::Partition partition) const;
  [[nodiscard]] bool holds(const model::Ticket& ticket) const;
  // Nothing is stored, durable or not.
  [[nodiscard]] bool empty() const noexcept;
  [[nodiscard]] const BrokerCounters& counters() const noexcept { return counters_; }

 private:
  friend class SimPublisher;
  friend class SimSource;

  struct Message {
    std::uint64_t id = 0;
    std::vector<model::OrderIntent> intents;
    bool durable = false;
    Time ready_at{};
    bool delivered_before = false;
    std::uint64_t consumer = 0;  // who has it unacknowledged; 0: nobody
    std::uint64_t tag = 0;
  };
  struct Queue {
    std::deque<Message> messages;
    std::vector<std::uint64_t> consumers;  // in the order they came
    std::uint64_t active = 0;
  };
  struct Barrier {
    queue::Partition partition = 0;
    std::uint64_t last = 0;
    std::function<void()> passed;
  };
  // One published message whose publisher waits.
  struct Pending {
    std::function<void(queue::Published)> tell;
  };
  // One client's connection; shared by its handle and what is on the way.
  struct Client {
    Node* node = nullptr;
    std::uint64_t life = 0;
    std::uint64_t id = 0;
    bool connected = true;
    std::uint64_t connection = 1;                 // raised at each loss
    std::vector<std::weak_ptr<Pending>> pending;  // publishers
    std::vector<queue::Partition> own;            // sources
    std::function<void()> waiter;
    std::optional<Time> dead_since;

    [[nodiscard]] bool lives() const noexcept { return node->alive() && node->life() == life; }
  };
  using ClientPtr = std::shared_ptr<Client>;

  [[nodiscard]] ClientPtr connect(Node& node);
  void lose_connection(const ClientPtr& client);
  void subscribe(const ClientPtr& client);
  void join(const ClientPtr& client, queue::Partition partition);
  void leave(std::uint64_t consumer);
  void reap();
  void elect(queue::Partition partition);
  void wake(queue::Partition partition);
  [[nodiscard]] Time net() noexcept;

  void publish(const ClientPtr& client, queue::Partition partition, std::vector<model::OrderIntent> intents,
               queue::PublishDone done);
  void arrive(const ClientPtr& client, queue::Partition partition, std::vector<model::OrderIntent> intents,
              const std::shared_ptr<Pending>& pending);
  // `confirm` is called once the message is durable; never, when it is lost before.
  void store(queue::Partition partition, std::vector<model::OrderIntent> intents, Time ready_at,
             std::function<void()> confirm);
  [[nodiscard]] std::vector<queue::Delivery> take(const ClientPtr& client, std::size_t intents_max);
  [[nodiscard]] std::optional<Time> next_ready(const ClientPtr& client) const;
  bool remove(const ClientPtr& client, std::uint64_t tag);
  void requeue(Queue& queue, std::size_t index);
  void requeue_tag(const ClientPtr& client, std::uint64_t tag);
  [[nodiscard]] std::optional<queue::Partition> partition_of(const ClientPtr& client, std::uint64_t tag) const;
  void barrier_passed();
  void tell(const ClientPtr& client, const std::shared_ptr<Pending>& pending, queue::Published published, Time after);

  Kernel& kernel_;
  const BrokerConfig config_;
  Random random_;
  BrokerFaults faults_;
  bool up_ = true;
  bool alarm_ = false;
  std::uint64_t boot_ = 1;  // raised at each crash
  std::uint64_t next_id_ = 1;
  std::vector<Queue> queues_;
  std::map<std::uint64_t, ClientPtr> clients_;
  std::vector<std::shared_ptr<Barrier>> barriers_;
  BrokerCounters counters_;
  // Events that are on their way when the broker ends find it gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace seckill::sim
