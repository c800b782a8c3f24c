// How workers share the partitions out. RabbitMQ gives a queue with single active consumer to whoever came first and
// keeps it there, so the first worker would have them all. So each worker sits down: it consumes one of the seat queues
// exclusively, which the broker allows one at a time and takes back the moment its connection is gone. Who looks at all
// seats knows how many workers there are and which of them it is:
//
//   seats 0 2 5 are taken, mine is 2  ──►  worker 1 of 3  ──►  partitions 1, 4, 7, …
//
// Two workers may see this differently for a moment; the single active consumer keeps a partition from having two.
// Owned by one source and of one connection; seats are looked at each seat_look_every.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "drivers/amqp/connection.hpp"
#include "queue/rabbit/rabbit.hpp"

namespace seckill::queue::rabbit {

inline constexpr std::chrono::seconds seat_look_every{1};

struct Share {
  std::uint32_t workers = 0;            // that sit, this one included
  std::optional<std::uint32_t> number;  // which of them this one is; none: no seat, no partitions
  [[nodiscard]] bool has(Partition partition) const noexcept {
    return number && workers > 0 && partition % workers == *number;
  }
  friend bool operator==(const Share&, const Share&) = default;
};
// Pure. `taken` ascending.
[[nodiscard]] Share share_of(const std::vector<std::uint32_t>& taken, std::optional<std::uint32_t> mine);

class Seats {
 public:
  // Looks at every seat and takes one when it has none. Blocks for a few calls. An Error: the connection is lost.
  base::Result<Share> look(drivers::amqp::Connection& connection, const RabbitConfig& config);
  // The broker closed one of the two channels below, and with the second took the seat away.
  void channel_gone(drivers::amqp::ChannelNumber channel) noexcept;

  static constexpr drivers::amqp::ChannelNumber looking_channel = 3;
  static constexpr drivers::amqp::ChannelNumber sitting_channel = 4;

 private:
  base::Status sit_down(drivers::amqp::Connection& connection, const RabbitConfig& config, std::uint32_t seat);
  std::optional<std::uint32_t> mine_;
  bool looking_open_ = false;
  bool sitting_open_ = false;
};

}  // namespace seckill::queue::rabbit
