// One node's connections to a Redis server or Redis Cluster: pipelined, with a deadline for every call, over Asio with
// hiredis' reader and formatter. Knows nothing of the domain.
//
//   call(key) ─► slot map ─► link to that master ─► pipeline ─► reply or deadline
//                  ▲             │ MOVED: refresh the map, go there   ASK: ask there once   NOSCRIPT: load, repeat once
//                  └─────────────┘ READONLY, CLUSTERDOWN, lost: refresh, reconnect with backoff, breaker
//
// A call is executed at most once more than it was sent: only replies that say "not executed" (MOVED, ASK, NOSCRIPT,
// TRYAGAIN, LOADING) are followed by another sending. A lost connection or passed deadline is Errc::timeout when the
// command had been written, Errc::unavailable when it certainly was not. A connection on which a call passed its
// deadline is closed, so that nothing old arrives late by it.
//
// Identity: a link reads its server's run id and replication id when it connects, and again each second and on every
// READONLY or MOVED; a call that names another identity is answered `foreign` without being sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace seckill::drivers::redis {

struct RedisConfig {
  std::vector<std::string> servers{};  // "host:port"; of a cluster any few of its nodes
  bool cluster = false;
  std::string user{};      // empty: no AUTH user
  std::string password{};  // empty: no AUTH
  std::chrono::milliseconds connect_longest{1'000};
  std::chrono::milliseconds probe_period{1'000};  // identity and liveness of each link
  std::chrono::milliseconds backoff_min{50};      // between connects; doubles, jittered
  std::chrono::milliseconds backoff_max{1'000};
  std::size_t calls_max = 65'536;               // waiting and under way in all; past it Errc::limit at once
  std::uint32_t breaker_failures = 8;           // deadlines passed or connects failed in a row: unavailable at once
  std::chrono::milliseconds breaker_open{500};  // … for so long, then one call tries
};

// What a server is at this moment of its life (INFO server, INFO replication).
struct RedisIdentity {
  std::string run_id;
  std::string replication_id;
  friend bool operator==(const RedisIdentity&, const RedisIdentity&) = default;
};

// One reply, owned. Error replies of a command (not of the transport) are values of kind `error`.
class RedisReply {
 public:
  enum class Kind : std::uint8_t { nil, integer, text, array, error };

  RedisReply() = default;
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is_error() const noexcept { return kind_ == Kind::error; }
  // integer, or a text that is a whole decimal number; nullopt otherwise.
  [[nodiscard]] std::optional<std::int64_t> integer() const noexcept;
  [[nodiscard]] std::string_view text() const noexcept { return text_; }  // of text and error
  [[nodiscard]] const std::vector<RedisReply>& items() const noexcept { return items_; }

 private:
  friend class ReplyBuilder;
  Kind kind_ = Kind::nil;
  std::int64_t integer_ = 0;
  std::string text_;
  std::vector<RedisReply> items_;
};

// A script: sent as EVALSHA; its text goes only to a server that answered NOSCRIPT. Constant after construction.
class RedisScript {
 public:
  explicit RedisScript(std::string text);
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::string& sha1() const noexcept { return sha1_; }

 private:
  std::string text_;
  std::string sha1_;
};

// One command. `routing_key` decides the slot (of its {tag}); standalone ignores it.
struct RedisCall {
  std::string routing_key;
  const RedisScript* script = nullptr;    // set: EVALSHA sha keys.size() keys… args…; borrowed until the answer
  std::vector<std::string> keys;          // of the script
  std::vector<std::string> args;          // of the script, or the whole command with its name when there is none
  std::optional<RedisIdentity> expected;  // set: only by a link to this very server
  std::chrono::milliseconds longest{1'000};
};

enum class CallEnd : std::uint8_t { replied, foreign };
struct CallAnswer {
  CallEnd end = CallEnd::replied;
  RedisReply reply;        // of `replied`
  RedisIdentity identity;  // of the link, when one was found
};
// Exactly once, on a thread of the driver or before call() returns; quick. Errors: unavailable (not executed), timeout
// (unknown), limit.
using CallDone = std::move_only_function<void(base::Result<CallAnswer>)>;

struct RedisCounters {
  std::uint64_t calls = 0;  // sent, repeats included
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t redirects = 0;  // MOVED and ASK
  std::uint64_t script_loads = 0;
  std::uint64_t connects = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t breaker_opened = 0;
  std::uint64_t foreign = 0;
};

class Redis {
 public:
  // Starts the driver's thread; connects when first asked and goes on trying. Errc::invalid: no or malformed servers.
  [[nodiscard]] static base::Result<std::unique_ptr<Redis>> start(RedisConfig config);
  virtual ~Redis() = default;  // stops

  // Any thread, does not block.
  virtual void call(RedisCall call, CallDone done) = 0;
  // WAIT on a connection of its own to the key's master: the numbers of replicas that have everything written there
  // before this call (it writes a small key of the same slot first, because WAIT speaks of its own connection's last
  // write). Any thread, does not block.
  virtual void wait_replicas(std::string routing_key, std::optional<RedisIdentity> expected, std::uint32_t replicas,
                             std::chrono::milliseconds longest,
                             std::move_only_function<void(base::Result<std::optional<std::uint32_t>>)> done) = 0;
  // One command to every master known (a standalone server is its own); the answers with "host:port". Blocks.
  struct FromServer {
    std::string server;
    RedisReply reply;
  };
  [[nodiscard]] virtual base::Result<std::vector<FromServer>> ask_masters(std::vector<std::string> command,
                                                                          std::chrono::milliseconds longest) = 0;
  // Answers what is under way with unavailable or timeout, as it is, and ends the thread. Blocks. Idempotent.
  virtual void stop() = 0;
  [[nodiscard]] virtual RedisCounters counters() const noexcept = 0;

 protected:
  Redis() = default;
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;
};

}  // namespace seckill::drivers::redis
