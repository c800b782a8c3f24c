// One AMQP 0-9-1 connection to RabbitMQ over librabbitmq, which is seen by connection.cpp alone: connecting, channels,
// declaring, publishing, consuming, and what the broker says as a closed list of events. Knows nothing of the domain.
//
//   open ──► channels, declarations, publish … next() ──► Event      any Error of kind `lost` ──► only destroy it
//
// Every wait has a deadline and heartbeats are served inside next(), so its owner calls that at least each heartbeat.
// Whatever the peer sends, nothing here throws, aborts or waits for ever. One thread a connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace seckill::drivers::amqp {

using ChannelNumber = std::uint16_t;  // 1 … 2,000

struct ConnectionSettings {
  std::string host;
  std::uint16_t port = 5672;
  std::string virtual_host = "/";
  std::string user;
  std::string password;
  std::string name;  // shown in the broker's management
  std::chrono::milliseconds connect_longest{2'000};
  std::chrono::milliseconds rpc_longest{5'000};
  // A write that the peer does not take for so long, and a quarter more, ends the connection: a broker in an alarm, or
  // paused, stops reading, and a write into its full buffers would otherwise wait for ever (write_watch.hpp).
  std::chrono::milliseconds write_longest{5'000};
  std::chrono::seconds heartbeat{5};
};

struct QueueArgument {
  std::string name;
  std::variant<std::int64_t, std::string, bool> value;
};
struct QueueDeclaration {
  std::string name;  // empty: the broker makes one up
  bool durable = true;
  bool exclusive = false;
  bool auto_delete = false;
  std::vector<QueueArgument> arguments;
};
struct QueueState {
  std::string name;
  std::uint32_t messages = 0;  // ready ones
  std::uint32_t consumers = 0;
};

// What travels beside a body. Empty texts are left out.
struct Properties {
  std::string content_type;
  std::string message_id;
  std::string correlation_id;
  std::string reply_to;
  std::string type;
  bool persistent = true;
};
struct Publication {
  std::string_view routing_key;  // through the default exchange: a queue's name
  std::string_view body;
  const Properties& properties;
  bool mandatory = true;
};

struct Delivered {
  ChannelNumber channel = 0;
  std::uint64_t tag = 0;
  bool redelivered = false;
  bool cut = false;  // longer than body_bytes_max; the rest was dropped
  std::string routing_key;
  Properties properties;
  std::string body;
};
struct Confirmed {
  ChannelNumber channel = 0;
  std::uint64_t sequence = 0;
  bool multiple = false;  // and all before it
  bool taken = true;      // false: nack
};
struct Returned {  // comes before its Confirmed
  ChannelNumber channel = 0;
  std::string message_id;
  std::string reason;
};
struct Blocked {
  bool now = false;
  std::string reason;
};
struct ConsumerCancelled {
  ChannelNumber channel = 0;
};
struct ChannelClosed {  // already answered: the number is free
  ChannelNumber channel = 0;
  std::string reason;
};
using Event = std::variant<Delivered, Confirmed, Returned, Blocked, ConsumerCancelled, ChannelClosed>;

inline constexpr std::size_t body_bytes_max = 8 * 1024 * 1024;

class Connection {
 public:
  // Blocks ≤ 2 × connect_longest. Errc::unavailable: not reached or not logged in; Errc::refused: wrong user or host.
  [[nodiscard]] static base::Result<Connection> open(const ConnectionSettings& settings);

  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();  // closes the socket without a word: what is not acknowledged is delivered again

  // --- calls that wait for the broker's answer, ≤ rpc_longest ---
  // Errc::refused: the broker closed the channel instead (the cause is its sentence); the connection lives on and the
  // channel's number is free. Errc::unavailable, timeout: the connection is lost.
  base::Status open_channel(ChannelNumber channel);
  base::Status close_channel(ChannelNumber channel);
  base::Status confirm_select(ChannelNumber channel);
  base::Status prefetch(ChannelNumber channel, std::uint16_t messages);  // of each consumer subscribed after it
  base::Result<QueueState> declare(ChannelNumber channel, const QueueDeclaration& queue);
  base::Result<QueueState> look_at(ChannelNumber channel, std::string_view queue);  // passive
  base::Status purge(ChannelNumber channel, std::string_view queue);
  base::Status remove(ChannelNumber channel, std::string_view queue);  // with what is in it
  base::Status consume(ChannelNumber channel, std::string_view queue, bool no_ack, bool exclusive);

  // --- sent without an answer; an Error means the connection is lost ---
  base::Status publish(ChannelNumber channel, const Publication& message);
  base::Status acknowledge(ChannelNumber channel, std::uint64_t tag);
  base::Status requeue(ChannelNumber channel, std::uint64_t tag);

  // The next thing the broker says; nullopt after `longest`, or as soon as `wake_descriptor` (−1: none) is readable.
  // An Error means that the connection is lost.
  base::Result<std::optional<Event>> next(std::chrono::milliseconds longest, int wake_descriptor = -1);

  // False once a call said that the connection is lost.
  [[nodiscard]] bool alive() const noexcept;

 private:
  struct State;
  explicit Connection(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace seckill::drivers::amqp
