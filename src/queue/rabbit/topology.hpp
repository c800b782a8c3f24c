// Every queue there is on the broker, and the only place that says how they are declared. All are reached through the
// default exchange by their names, so there is no binding that could get lost on its own.
//
//   <prefix>.intents.<p>        quorum, single active consumer, refuses past its length; never drops, no delivery limit
//   <prefix>.retry.<ms>.<p>     quorum, TTL <ms>, dead-letters at least once to <prefix>.intents.<p>
//   <prefix>.parked             quorum: what could not be read, with the reason as the message's type
//   <prefix>.bell               rings, for whichever worker is free; hints, so it may drop old ones, and when it cannot
//                               be had (it is on one node, which may be down) all else goes on without it
//   <prefix>.bell.after.<ms>    TTL <ms>, dead-letters to <prefix>.bell; made on demand, expires when unused
//   <prefix>.seat.<k>           transient, so that none is stuck on a node that is down; holds no message: who consumes
//                               it alone is the worker with number k (seats.hpp)
//
// What a queue's settings depend on and people change is part of its name (tiers, pay windows): another value declares
// another queue, and the old one empties itself (FS-52). The one exception is queue_messages_max.
#pragma once

#include <chrono>
#include <string>

#include "drivers/amqp/connection.hpp"
#include "queue/rabbit/rabbit.hpp"

namespace seckill::queue::rabbit {

[[nodiscard]] std::string intents_queue(const RabbitConfig& config, Partition partition);
[[nodiscard]] std::string retry_queue(const RabbitConfig& config, Partition partition, std::chrono::milliseconds tier);
[[nodiscard]] std::string parked_queue(const RabbitConfig& config);
[[nodiscard]] std::string bell_queue(const RabbitConfig& config);
[[nodiscard]] std::string bell_after_queue(const RabbitConfig& config, std::chrono::milliseconds pay_window);

// The tier nearest to `delay`. Requires: the config has one.
[[nodiscard]] std::chrono::milliseconds tier_for(const RabbitConfig& config, std::chrono::milliseconds delay);

// All but bells and seats; harmless when they are there. Errc::refused: one exists with other settings, in a sentence
// for the operator; `channel` is closed then. Else as Connection::declare.
[[nodiscard]] base::Status declare_topology(drivers::amqp::Connection& connection, drivers::amqp::ChannelNumber channel,
                                            const RabbitConfig& config);
// Declaring again before it expires keeps it alive: at least every bell_lease.
inline constexpr std::chrono::minutes bell_lease{30};
[[nodiscard]] base::Status declare_bell(drivers::amqp::Connection& connection, drivers::amqp::ChannelNumber channel,
                                        const RabbitConfig& config, std::chrono::milliseconds pay_window);
// Also says whether somebody sits there: one consumer.
[[nodiscard]] base::Result<drivers::amqp::QueueState> declare_seat(drivers::amqp::Connection& connection,
                                                                   drivers::amqp::ChannelNumber channel,
                                                                   const std::string& queue);
[[nodiscard]] std::string seat_queue(const RabbitConfig& config, std::uint32_t seat);

// A message that is no batch of intents, by its content type.
inline constexpr std::string_view barrier_content_type = "application/vnd.seckill.barrier";
inline constexpr std::string_view bell_content_type = "application/vnd.seckill.bell";

}  // namespace seckill::queue::rabbit
