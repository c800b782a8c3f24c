// How a publisher or a source gets its connection: the servers in turn, with waits that grow after failures, and the
// whole topology declared on each new connection, also after a broker lost everything. Owned by one thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "drivers/amqp/connection.hpp"
#include "queue/rabbit/rabbit.hpp"

namespace seckill::queue::rabbit {

// Numbers of channels that both ends use.
inline constexpr drivers::amqp::ChannelNumber declaring_channel = 1;
inline constexpr drivers::amqp::ChannelNumber confirming_channel = 2;  // in confirm mode

class Dialer {
 public:
  // Errc::invalid: a config that no broker could serve, in one sentence.
  [[nodiscard]] static base::Result<Dialer> make(const RabbitConfig& config);

  // One attempt at the next server: connected, both channels open, topology declared. Blocks; each step is bounded.
  base::Result<drivers::amqp::Connection> dial();
  // How long to wait before dial() is called again; 0 after a success. Jittered.
  [[nodiscard]] std::chrono::milliseconds pause() const noexcept { return pause_; }

  // Whatever is missing is there again. The declaring channel stays open whatever comes of it, unless the connection is
  // lost.
  static base::Status declare_again(drivers::amqp::Connection& connection, const RabbitConfig& config);

 private:
  struct Server {
    std::string host;
    std::uint16_t port = 0;
  };
  explicit Dialer(const RabbitConfig& config) : config_{config} {}
  base::Result<drivers::amqp::Connection> attempt(const Server& server);

  RabbitConfig config_;
  std::vector<Server> servers_;
  std::size_t next_ = 0;
  std::chrono::milliseconds backoff_{0};
  std::chrono::milliseconds pause_{0};
  std::string last_complaint_;  // each is logged once, not at every attempt
};

}  // namespace seckill::queue::rabbit
