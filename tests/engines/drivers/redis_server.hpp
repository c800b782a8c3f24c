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
#include <utility>
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

  void start();                  // after kill(), with the same port and data
  void start_without_waiting();  // … it may still be loading them
  void kill();                   // -9
  void pause();                  // SIGSTOP
  void resume();                 // SIGCONT
  [[nodiscard]] bool is_running() const noexcept { return child_ > 0; }
  void add_options(const std::vector<std::string>& options);  // for the next start
  // What redis-cli prints for these words, asked over a connection of its own.
  std::string cli(const std::string& words) const;

 private:
  void reap();

  std::filesystem::path folder_;
  std::vector<std::string> options_;
  std::uint16_t port_ = 0;
  pid_t child_ = -1;
};

// What a shell command line prints, without the last newline.
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

// Answers of many calls, kept as they come; a call may outlive it.
class Answers {
 public:
  using Placed = std::pair<std::size_t, base::Result<CallAnswer>>;

  CallDone take(std::size_t place);
  void wait_for(std::size_t number);  // throws when they do not come
  [[nodiscard]] std::size_t number() const;
  [[nodiscard]] std::vector<Placed> all() const;

 private:
  struct Kept {
    std::mutex mutex;
    std::condition_variable came;
    std::vector<Placed> answers;
  };
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace seckill::drivers::redis
