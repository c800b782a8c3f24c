// How many connections each client address has open on a listener, over all its threads. Asked once a connection, so a
// mutex will do. IPv6 counts by /64, because one client owns at least that many addresses (FS-47). Bounded by the
// connections that are open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/http/request.hpp"

namespace seckill::gateway::http {

// Any thread.
class ConnectionCaps {
 public:
  // cap 0: nothing is capped. `uncapped` are exact addresses; text that is none is ignored (start() has judged it).
  ConnectionCaps(std::size_t cap, const std::vector<std::string>& uncapped);

  // What release() needs to be told; 0 for a connection that is not counted.
  using Key = std::uint64_t;

  // False when the address is at its cap; then nothing was counted.
  [[nodiscard]] bool try_take(const PeerAddress& peer, Key& key);
  void release(Key key) noexcept;

 private:
  const std::size_t cap_;
  std::vector<PeerAddress> uncapped_;  // constant after construction
  std::mutex mutex_;
  std::unordered_map<Key, std::size_t> open_;  // under mutex_
};

}  // namespace seckill::gateway::http
