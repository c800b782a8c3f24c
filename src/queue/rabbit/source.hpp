// One worker's end. A partition is consumed on a channel of its own, so that giving it up is closing the channel: what
// was not acknowledged goes to the next worker, in its old order and before anything newer.
//
//   broker ──► inbox ──► [read] ──► ready ──► receive() ──► held by the worker ──► acknowledge / retry_later
//                          └─ unreadable: confirmed publish to parked               └─ failed: given back, a little
//                          later
//
// Nothing is awaited while something else is awaited: what arrives during a confirmed publish waits in the inbox, which
// the prefetch bounds. Used by one thread. For source*.cpp alone.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/threads.hpp"
#include "queue/rabbit/dialer.hpp"
#include "queue/rabbit/message.hpp"
#include "queue/rabbit/rabbit.hpp"
#include "queue/rabbit/seats.hpp"

namespace seckill::queue::rabbit {

inline constexpr drivers::amqp::ChannelNumber bell_channel = 5;
inline constexpr drivers::amqp::ChannelNumber first_partition_channel = 16;

class Source final : public RabbitSource {
 public:
  Source(RabbitConfig config, Dialer dialer);

  base::Result<std::vector<Delivery>> receive(std::size_t intents_max, std::chrono::milliseconds longest) override;
  base::Status acknowledge(std::uint64_t tag) override;
  base::Status retry_later(std::uint64_t tag, std::vector<model::OrderIntent> intents,
                           std::chrono::milliseconds delay) override;
  void on_bell(std::function<void()> ring) override { ring_ = std::move(ring); }
  [[nodiscard]] RabbitSourceCounters counters() const noexcept override;

 private:
  using Time = std::chrono::nanoseconds;  // of threads_
  using Channel = drivers::amqp::ChannelNumber;

  // A barrier's marker that waits for what came before it.
  struct Marker {
    std::uint64_t broker_tag = 0;
    std::string reply_to;
    std::string correlation_id;
  };
  struct Subscription {
    Partition partition = 0;
    std::uint16_t prefetch = 0;
    std::set<std::uint64_t> unacknowledged;  // the broker's tags, markers not included
    std::deque<Marker> markers;
    int not_known = 0;  // looks in a row at which the broker had no consumer of the queue
  };
  struct Held {
    Channel channel = 0;
    std::uint64_t broker_tag = 0;
  };
  struct GiveBack {
    Time when{0};
    Held held;
  };

  // --- connection (source.cpp) ---
  base::Status connect(std::chrono::milliseconds longest);
  void lose(const base::Error& why);
  base::Status lost_if(base::Status status);
  // One thing the broker says, or nothing within `longest`.
  base::Status listen(std::chrono::milliseconds longest);
  base::Status hear(drivers::amqp::Event& event);
  void channel_gone(Channel channel);
  base::Status look_after();
  base::Status confirmed_publish(const std::string& queue, std::string_view body,
                                 const drivers::amqp::Properties& properties);

  // --- partitions (source_partitions.cpp) ---
  base::Status share_out();
  base::Status look_at_subscriptions();
  base::Status subscribe(Partition partition, std::uint16_t prefetch);
  base::Status give_up(Channel channel);
  base::Status listen_to_bell();
  void forget(Channel channel);
  [[nodiscard]] Channel free_channel();

  // --- messages (source_messages.cpp) ---
  base::Status read_inbox();
  base::Status read(drivers::amqp::Delivered& message, Subscription& subscription);
  base::Status park(const drivers::amqp::Delivered& message, const std::vector<Unreadable>& unreadable);
  base::Status done_with(const Held& held);
  base::Status answer_markers(Channel channel, Subscription& subscription);
  base::Status answer_all_markers();
  void give_back_later(const Held& held);
  base::Status give_back_due();
  std::vector<Delivery> take_ready(std::size_t intents_max);

  // Constant after construction.
  const RabbitConfig config_;
  base::Threads& threads_ = base::system_threads();
  std::function<void()> ring_;

  Dialer dialer_;
  std::optional<drivers::amqp::Connection> connection_;
  Time dial_at_{0};
  bool loss_untold_ = false;
  bool bell_open_ = false;
  Time bell_at_{0};  // to be subscribed to again
  bool topology_in_doubt_ = false;
  // A broker in an alarm stops reading from whoever publishes, acknowledgements included. So for a while after it said
  // so nothing is published, and the connection is a new one: what can be handled without publishing goes on (FS-27).
  Time publish_at_{0};
  Time look_at_{0};
  Time subscriptions_at_{0};  // to be looked at again
  Seats seats_;
  int share_put_off_ = 0;

  std::map<Channel, Subscription> subscriptions_;
  Channel last_channel_ = 0;
  std::deque<drivers::amqp::Delivered> inbox_;
  std::deque<Delivery> ready_;
  std::unordered_map<std::uint64_t, Held> held_;  // by our tag, ready ones included
  std::uint64_t next_tag_ = 1;                    // never used again, so a tag of an older connection is known as such
  std::deque<GiveBack> give_backs_;

  std::uint64_t sequence_ = 0;   // of confirmed publishes
  std::optional<bool> confirm_;  // of the last one
  bool returned_ = false;

  struct {
    std::atomic<std::uint64_t> messages{0}, redelivered{0}, unreadable{0}, parked{0}, retried{0}, connects{0};
  } counters_;
};

}  // namespace seckill::queue::rabbit
