// A RabbitMQ that a test starts for itself, to kill, restart and put under alarm: own port mapper, ports, cookie and
// data in a temporary folder, all on loopback. Runs as whoever runs the test.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "queue/rabbit/rabbit.hpp"

namespace seckill::queue::rabbit {

class OwnBroker {
 public:
  // Null when RabbitMQ is not installed or does not come up.
  static std::unique_ptr<OwnBroker> start();
  ~OwnBroker();  // everything ends, the folder goes

  [[nodiscard]] RabbitConfig config() const;
  void kill();         // −9, the Erlang machine with it
  bool start_again();  // with the data as it was left
  void lose_data();    // while it is down: the machine with its disk
  // rabbitmqctl; true when it succeeded.
  bool control(const std::vector<std::string>& words);

 private:
  OwnBroker() = default;
  std::vector<std::string> environment() const;
  bool wait_until_up();

  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  std::uint16_t distribution_port_ = 0;
  std::uint16_t epmd_port_ = 0;
  pid_t epmd_ = -1;
  pid_t server_ = -1;
};

}  // namespace seckill::queue::rabbit
