// The publishing end, as two threads around one board: the connection's thread writes messages and hears confirms, the
// answering thread tells callers, also at their deadline while the other is held up by a broker that does not answer.
//
//   publish() ──► outgoing ──► [connection] ──► broker ──► [connection] ──► answers ──► [answering] ──► PublishDone
//        └─ not accepting, window full: refused ──────────────────────────────┘
//                  pending: from publish() to the answer; whose deadline passes is answered unknown
//
// P5: confirmed is only what the broker acknowledged and did not return. For publisher*.cpp alone.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <variant>

#include "base/threads.hpp"
#include "queue/rabbit/dialer.hpp"
#include "queue/rabbit/rabbit.hpp"

namespace seckill::queue::rabbit {

class Publisher final : public RabbitPublisher {
 public:
  Publisher(RabbitConfig config, Dialer dialer, int wake_descriptor);
  ~Publisher() override;
  void start();

  void publish(Partition partition, std::vector<model::OrderIntent> intents, PublishDone done) override;
  [[nodiscard]] bool accepting() const noexcept override;
  base::Status barrier(Partition partition, std::chrono::milliseconds longest) override;
  void ring_after(std::chrono::milliseconds pay_window) noexcept override;
  void stop() override;
  [[nodiscard]] RabbitPublisherCounters counters() const noexcept override;

 private:
  using Time = std::chrono::nanoseconds;  // of threads_
  using Id = std::uint64_t;

  struct Pending {
    PublishDone done;
    std::size_t intents = 0;
    bool returned = false;
  };
  struct Outgoing {
    Id id = 0;
    Partition partition = 0;
    std::vector<model::OrderIntent> intents;
  };
  // One message that a worker answers when everything before it is done. A barrier sends one through its partition and
  // one through each retry tier that is not empty.
  struct Marker {
    Id barrier = 0;
    std::string queue;
    friend auto operator<=>(const Marker&, const Marker&) = default;
  };
  struct Barrier {
    Partition partition = 0;
    bool begun = false;
    std::set<std::string> waits_for;  // queues whose marker is not answered yet
    Time send_again_at{0};            // a purge takes markers along
    std::optional<base::Status> ended;
  };
  struct Bell {
    std::chrono::milliseconds pay_window{0};
  };
  using Sent = std::variant<Id, Marker, Bell>;

  // --- any thread; the lock is held where a lock is passed ---
  void answer(Id id, Published how);
  void wake() noexcept;
  void run_answers();

  // --- the connection's thread (publisher_connection.cpp, publisher_barriers.cpp) ---
  void run_connection();
  void serve(drivers::amqp::Connection& connection);
  void disconnected();
  bool write_some(drivers::amqp::Connection& connection);
  bool write(drivers::amqp::Connection& connection, Outgoing& message);
  bool send(drivers::amqp::Connection& connection, const drivers::amqp::Publication& message, Sent sent);
  void ring_bells(drivers::amqp::Connection& connection);
  void begin_barriers(drivers::amqp::Connection& connection);
  std::set<std::string> queues_to_pass(drivers::amqp::Connection& connection, Partition partition);
  bool hear(drivers::amqp::Connection& connection, drivers::amqp::Event& event);
  void heard(const drivers::amqp::Confirmed& confirmed);
  void heard(const drivers::amqp::Returned& returned);
  void heard(const drivers::amqp::Delivered& reply);
  void settled(const Sent& sent, bool taken);

  // Constant after construction.
  const RabbitConfig config_;
  base::Threads& threads_ = base::system_threads();
  const int wake_descriptor_;  // an eventfd

  std::mutex mutex_;
  const std::unique_ptr<base::Signal> answers_changed_ = threads_.make_signal();
  const std::unique_ptr<base::Signal> barriers_changed_ = threads_.make_signal();
  // Guarded by mutex_.
  Id next_id_ = 1;
  std::unordered_map<Id, Pending> pending_;
  std::deque<std::pair<Time, Id>> deadlines_;  // ascending: all have the same patience
  std::deque<Outgoing> outgoing_;
  std::deque<std::pair<PublishDone, Published>> answers_;  // as many as callers have under way
  std::size_t answering_ = 0;
  std::map<Id, Barrier> barriers_;
  std::set<std::chrono::milliseconds> bells_;  // to be rung: at most bells_waiting_max
  bool stopping_ = false;
  bool ending_ = false;  // the answering thread's turn

  // Owned by the connection's thread.
  Dialer dialer_;
  std::string reply_queue_;
  std::uint64_t sequence_ = 0;          // of the last message sent on this connection
  std::map<std::uint64_t, Sent> sent_;  // by sequence, not confirmed yet
  std::map<std::chrono::milliseconds, Time> bells_declared_;
  bool topology_in_doubt_ = false;  // something came back
  Time topology_declared_at_{0};
  bool blocked_ = false;
  std::string buffer_;

  // Any thread.
  std::atomic<bool> open_{false};  // connected and not blocked
  std::atomic<std::size_t> under_way_{0};
  struct {
    std::atomic<std::uint64_t> messages{0}, intents{0}, confirmed{0}, refused{0}, unknown{0}, returned{0}, connects{0},
        blocked{0};
  } counters_;

  std::unique_ptr<base::Thread> connection_thread_;
  std::unique_ptr<base::Thread> answering_thread_;
};

}  // namespace seckill::queue::rabbit
