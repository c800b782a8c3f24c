// The listening sockets of a server: one a thread, all on one port, and refusals that say what to do.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "gateway/http/server.hpp"

namespace seckill::gateway::http {

struct Listeners {
  std::vector<int> sockets;  // non-blocking, listening; the caller closes them
  std::uint16_t port = 0;
};

// Errors as Server::start(). On an error nothing stays open.
[[nodiscard]] base::Result<Listeners> open_listeners(const ServerConfig& config);

}  // namespace seckill::gateway::http
