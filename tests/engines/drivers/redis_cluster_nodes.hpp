// A Redis Cluster of a test's own redis-server children, and what an operator does to one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drivers/redis_server.hpp"

namespace seckill::drivers::redis {

class RedisCluster {
 public:
  // Joined by redis-cli, whole when this returns. Throws when it does not come up.
  RedisCluster(std::size_t masters, std::size_t replicas_each);

  [[nodiscard]] std::vector<std::string> addresses() const;
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] RedisServer& node(std::size_t i) { return *nodes_[i]; }

  // The running server that masters the slot, as a running node says; null: nobody does now.
  [[nodiscard]] RedisServer* master_of(std::uint16_t slot);
  // A running master that does not serve the slot. Requires: there is one.
  [[nodiscard]] RedisServer& other_master(std::uint16_t slot);
  // A running replica of that master; null: none.
  [[nodiscard]] RedisServer* replica_of(const RedisServer& master);

  // The slot goes from one master to another, as redis-cli --cluster reshard does it: open it, move keys, close it.
  void open_migration(std::uint16_t slot, RedisServer& from, RedisServer& to);
  void move_keys(RedisServer& from, RedisServer& to, const std::string& keys);  // by name, divided by spaces
  void close_migration(std::uint16_t slot, RedisServer& from, RedisServer& to);

  // Every running node says that every slot is served and every master has its replicas.
  [[nodiscard]] bool becomes_whole();

 private:
  struct Known;  // a line of CLUSTER NODES
  [[nodiscard]] std::vector<Known> known();
  [[nodiscard]] RedisServer* at(std::uint16_t port);

  std::size_t replicas_;
  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

}  // namespace seckill::drivers::redis
