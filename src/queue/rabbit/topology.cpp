#include "queue/rabbit/topology.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"

namespace seckill::queue::rabbit {
namespace {

namespace amqp = drivers::amqp;
using std::chrono::milliseconds;

constexpr std::int64_t parked_messages_max = 100'000;
constexpr std::int64_t bells_max = 1'000;
constexpr std::int64_t seat_expires_ms = 60'000;
// An unused bell lives on for this long after its last ring could have rung.
constexpr std::int64_t bell_expires_after_ms = 2 * milliseconds{bell_lease}.count();
// RabbitMQ keeps times in 32 bits of milliseconds.
static_assert(base::limits::pay_window_ms_max + bell_expires_after_ms < INT64_C(0xFFFFFFFF));

std::vector<amqp::QueueArgument> refusing(std::int64_t messages_max) {
  return {{"x-queue-type", std::string{"quorum"}},
          {"x-overflow", std::string{"reject-publish"}},
          {"x-max-length", messages_max}};
}

amqp::QueueDeclaration intents(const RabbitConfig& config, Partition partition) {
  auto arguments = refusing(static_cast<std::int64_t>(config.queue_messages_max));
  arguments.push_back({"x-single-active-consumer", true});
  return {.name = intents_queue(config, partition), .arguments = std::move(arguments)};
}

amqp::QueueDeclaration retry(const RabbitConfig& config, Partition partition, milliseconds tier) {
  auto arguments = refusing(static_cast<std::int64_t>(config.queue_messages_max));
  arguments.push_back({"x-message-ttl", std::int64_t{tier.count()}});
  arguments.push_back({"x-dead-letter-exchange", std::string{}});
  arguments.push_back({"x-dead-letter-routing-key", intents_queue(config, partition)});
  arguments.push_back({"x-dead-letter-strategy", std::string{"at-least-once"}});
  return {.name = retry_queue(config, partition, tier), .arguments = std::move(arguments)};
}

base::Status declare(amqp::Connection& connection, amqp::ChannelNumber channel, const amqp::QueueDeclaration& queue) {
  const auto state = connection.declare(channel, queue);
  if (state) return {};
  if (state.error().code != base::Errc::refused) return std::unexpected{state.error()};
  return base::fail(
      base::Errc::refused, "declaring queue " + queue.name,
      state.error().cause + "; put the setting back, or let the queue run empty, delete it and it is declared anew");
}

}  // namespace

std::string intents_queue(const RabbitConfig& config, Partition partition) {
  return fmt::format("{}.intents.{}", config.prefix, partition);
}
std::string retry_queue(const RabbitConfig& config, Partition partition, milliseconds tier) {
  return fmt::format("{}.retry.{}.{}", config.prefix, tier.count(), partition);
}
std::string parked_queue(const RabbitConfig& config) { return config.prefix + ".parked"; }
std::string bell_queue(const RabbitConfig& config) { return config.prefix + ".bell"; }
std::string bell_after_queue(const RabbitConfig& config, milliseconds pay_window) {
  return fmt::format("{}.bell.after.{}", config.prefix, pay_window.count());
}
std::string seat_queue(const RabbitConfig& config, std::uint32_t seat) {
  return fmt::format("{}.seat.{}", config.prefix, seat);
}

milliseconds tier_for(const RabbitConfig& config, milliseconds delay) {
  SECKILL_ASSERT(!config.retry_tiers.empty(), "there is a tier to put off to");
  return *std::ranges::min_element(config.retry_tiers, {},
                                   [&](milliseconds tier) { return tier > delay ? tier - delay : delay - tier; });
}

base::Status declare_topology(amqp::Connection& connection, amqp::ChannelNumber channel, const RabbitConfig& config) {
  std::vector<amqp::QueueDeclaration> queues;
  for (Partition partition = 0; partition < config.partitions; ++partition) {
    queues.push_back(intents(config, partition));
    for (const auto tier : config.retry_tiers) queues.push_back(retry(config, partition, tier));
  }
  queues.push_back({.name = parked_queue(config), .arguments = refusing(parked_messages_max)});
  for (const auto& queue : queues) {
    if (auto declared = declare(connection, channel, queue); !declared) return declared;
  }
  const auto bell =
      declare(connection, channel, {.name = bell_queue(config), .arguments = {{"x-max-length", bells_max}}});
  if (bell || bell.error().code != base::Errc::refused) return bell;
  // Orders are taken without it: the sweep finds what is due.
  base::log::warn("{}: no bell: {}", config.connection_name, bell.error().text());
  return connection.open_channel(channel);
}

base::Status declare_bell(amqp::Connection& connection, amqp::ChannelNumber channel, const RabbitConfig& config,
                          milliseconds pay_window) {
  const std::int64_t ttl = pay_window.count();
  return declare(connection, channel,
                 {.name = bell_after_queue(config, pay_window),
                  .arguments = {{"x-message-ttl", ttl},
                                {"x-expires", ttl + bell_expires_after_ms},
                                {"x-dead-letter-exchange", std::string{}},
                                {"x-dead-letter-routing-key", bell_queue(config)}}});
}

base::Result<amqp::QueueState> declare_seat(amqp::Connection& connection, amqp::ChannelNumber channel,
                                            const std::string& queue) {
  return connection.declare(channel, {.name = queue, .durable = false, .arguments = {{"x-expires", seat_expires_ms}}});
}

}  // namespace seckill::queue::rabbit
