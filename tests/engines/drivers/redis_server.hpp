// redis-server children of a test: on free loopback ports, with a folder of their own, killed and removed at its end.
// Only what a test starts itself may be killed, paused or filled without harm to others.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "drivers/redis/redis.hpp"

namespace seckill::drivers::redis {

// True when redis-server can be started here; tests skip otherwise.
[[nodiscard]] bool redis_server_found();

class RedisServer {
 public:
  // Starts it and waits until it answers. `options` are words of its command line. Throws when it does not come up.
  explicit RedisServer(std::vector<std::string> options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  void start();   // after kill() or shut_down(), with the same port and data
  void kill();    // -9
  void pause();   // SIGSTOP
  void resume();  // SIGCONT
  // What redis-cli prints for these words, asked over a connection of its own.
  std::string cli(const std::string& words) const;

 private:
  void spawn();
  void reap();

  std::filesystem::path folder_;
  std::vector<std::string> options_;
  std::uint16_t port_ = 0;
  pid_t child_ = -1;
};

// Masters with `replicas` each, joined to a cluster by redis-cli.
class RedisCluster {
 public:
  explicit RedisCluster(std::size_t masters = 3, std::size_t replicas = 1);

  [[nodiscard]] std::vector<std::string> addresses() const;
  // The server that masters the slot, as the first node alive says; waits until there is one.
  RedisServer& master_of(std::uint16_t slot);
  // Any other master.
  RedisServer& other_master(std::uint16_t slot);
  [[nodiscard]] RedisServer& node(std::size_t i) { return *nodes_[i]; }
  [[nodiscard]] RedisServer& replica_of(const RedisServer& master);
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  // `key`'s slot goes to another master; `between` runs while the slot is on its way, its keys not yet moved.
  void migrate(std::uint16_t slot, RedisServer& from, RedisServer& to, const std::function<void()>& between);
  // All nodes agree that every slot is served.
  void wait_until_whole();

 private:
  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

// What redis-cli prints for these words of a shell command line; without the last newline.
std::string shell(const std::string& command);

// Waits until `holds`, at most a generous time; false when it never did.
bool wait_until(const std::function<bool()>& holds, std::chrono::milliseconds longest = std::chrono::seconds{30});

// A running driver to them.
std::unique_ptr<Redis> start_driver(RedisConfig config);

// One call, waited for.
base::Result<CallAnswer> ask(Redis& redis, RedisCall call);
// The words of a command divided by spaces; its first key is `key`.
RedisCall command(const std::string& words, std::chrono::milliseconds longest = std::chrono::seconds{5});
RedisCall script_call(const RedisScript& script, std::vector<std::string> keys, std::vector<std::string> args = {},
                      std::chrono::milliseconds longest = std::chrono::seconds{5});
base::Result<std::optional<std::uint32_t>> wait_for_replicas(Redis& redis, const std::string& key,
                                                             std::uint32_t replicas, std::chrono::milliseconds longest,
                                                             std::optional<RedisIdentity> expected = std::nullopt);

// Answers of many calls, counted as they come.
class Answers {
 public:
  CallDone take(std::size_t place);  // the answer of that place
  void wait_for(std::size_t number);
  [[nodiscard]] std::size_t number() const;
  [[nodiscard]] std::vector<std::pair<std::size_t, base::Result<CallAnswer>>> all() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::pair<std::size_t, base::Result<CallAnswer>>> answers_;
};

}  // namespace seckill::drivers::redis
