#include "queue/rabbit/dialer.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {
namespace {

namespace amqp = drivers::amqp;
using base::Errc;
using std::chrono::milliseconds;

constexpr milliseconds backoff_min{100};
constexpr milliseconds backoff_max{5'000};
constexpr std::size_t prefix_bytes_max = 64;  // a queue's name has at most 255
constexpr std::size_t tiers_max = 8;
constexpr milliseconds tier_max{3'600'000};

std::string problem_of(const RabbitConfig& config) {
  if (config.servers.empty()) return "no server is named";
  if (config.partitions < 1 || config.partitions > base::limits::lanes_max) return "partitions must be 1 to 64";
  if (config.prefix.empty() || config.prefix.size() > prefix_bytes_max) return "the prefix must have 1 to 64 bytes";
  if (config.retry_tiers.empty() || config.retry_tiers.size() > tiers_max) return "retry_tiers must be 1 to 8";
  for (const auto tier : config.retry_tiers) {
    if (tier < milliseconds{1} || tier > tier_max) return "a retry tier must be 1 ms to an hour";
  }
  if (config.queue_messages_max < 1 || config.queue_messages_max > 100'000'000) {
    return "queue_messages_max must be 1 to 100,000,000";
  }
  if (config.unconfirmed_max < 1 || config.unconfirmed_max > 1'000'000) return "unconfirmed_max must be 1 to 1,000,000";
  if (config.prefetch_messages < 1 || config.prefetch_messages > 65'535) return "prefetch_messages must be 1 to 65,535";
  if (config.heartbeat < std::chrono::seconds{1} || config.heartbeat > std::chrono::seconds{600}) {
    return "heartbeat must be 1 s to 600 s";
  }
  for (const auto time : {config.connect_longest, config.rpc_longest, config.confirm_longest}) {
    if (time < milliseconds{10} || time > milliseconds{600'000}) return "deadlines must be 10 ms to 10 minutes";
  }
  return {};
}

}  // namespace

base::Result<Dialer> Dialer::make(const RabbitConfig& config) {
  const std::string doing = "configuring RabbitMQ";
  if (auto problem = problem_of(config); !problem.empty()) return base::fail(Errc::invalid, doing, std::move(problem));
  Dialer dialer{config};
  for (const auto& server : config.servers) {
    const auto colon = server.rfind(':');
    const auto port =
        colon == std::string::npos ? std::nullopt : base::parse_decimal(std::string_view{server}.substr(colon + 1));
    if (!port || *port < 1 || *port > 65'535 || colon == 0) {
      return base::fail(Errc::invalid, doing, "\"" + base::printable(server) + "\" is not host:port");
    }
    dialer.servers_.push_back({server.substr(0, colon), static_cast<std::uint16_t>(*port)});
  }
  // Not everybody begins at the first server.
  dialer.next_ = base::system_random().next() % dialer.servers_.size();
  return dialer;
}

base::Result<amqp::Connection> Dialer::dial() {
  const Server& server = servers_[next_];
  next_ = (next_ + 1) % servers_.size();
  auto connection = attempt(server);
  if (connection) {
    backoff_ = pause_ = milliseconds{0};
    last_complaint_.clear();
    return connection;
  }
  backoff_ = std::clamp(backoff_ * 2, backoff_min, backoff_max);
  pause_ = milliseconds{base::system_random().between(backoff_.count() / 2, backoff_.count())};
  if (auto complaint = connection.error().text(); complaint != last_complaint_) {
    base::log::warn("{}: {}", config_.connection_name, complaint);
    last_complaint_ = std::move(complaint);
  }
  return connection;
}

base::Result<amqp::Connection> Dialer::attempt(const Server& server) {
  auto connection = amqp::Connection::open({.host = server.host,
                                            .port = server.port,
                                            .virtual_host = config_.virtual_host,
                                            .user = config_.user,
                                            .password = config_.password,
                                            .name = config_.connection_name,
                                            .connect_longest = config_.connect_longest,
                                            .rpc_longest = config_.rpc_longest,
                                            .write_longest = config_.confirm_longest,
                                            .heartbeat = config_.heartbeat});
  if (!connection) return connection;
  auto ready = connection->open_channel(confirming_channel);
  if (ready) ready = connection->confirm_select(confirming_channel);
  if (ready) ready = connection->open_channel(declaring_channel);
  if (ready) ready = declare_topology(*connection, declaring_channel, config_);
  if (!ready) return std::unexpected{std::move(ready).error()};
  return connection;
}

base::Status Dialer::declare_again(amqp::Connection& connection, const RabbitConfig& config) {
  auto declared = declare_topology(connection, declaring_channel, config);
  if (declared || declared.error().code != Errc::refused) return declared;
  if (auto opened = connection.open_channel(declaring_channel); !opened) return opened;
  return declared;
}

}  // namespace seckill::queue::rabbit
