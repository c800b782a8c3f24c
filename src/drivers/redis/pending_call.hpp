// A call on its way through the driver, and what all its parts share: configuration, counters, bounds.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "drivers/redis/redis.hpp"

namespace seckill::drivers::redis {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

inline constexpr std::size_t call_bytes_max = 16u << 20;      // of one command as it is sent
inline constexpr std::size_t waiting_bytes_max = 256u << 20;  // of all commands not answered yet
inline constexpr std::uint32_t redirects_max = 8;             // MOVED and ASK of one call
inline constexpr std::uint32_t script_repeats_max = 2;        // a script may be flushed again between load and repeat
inline constexpr std::uint32_t postponements_max = 64;        // LOADING and TRYAGAIN of one call
inline constexpr std::chrono::milliseconds longest_max{600'000};  // of any call's deadline

// Owned by the thread that makes it, then by the driver's.
struct PendingCall {
  std::string wire;  // the command as it is sent, kept for repeats
  std::uint16_t slot = 0;
  bool pinned = false;  // for this very server: no redirect is followed, no breaker is asked
  bool asking = false;  // the next sending is preceded by ASKING
  const RedisScript* script = nullptr;
  std::optional<RedisIdentity> expected;
  TimePoint deadline;
  CallDone done;
  std::uint32_t redirects = 0;
  std::uint32_t script_repeats = 0;
  std::uint32_t postponements = 0;
  std::uint64_t sent_as = 0;  // number of its last sending on its link
};

// One per driver. Any thread.
struct Shared {
  explicit Shared(RedisConfig with) : config(std::move(with)) {}

  const RedisConfig config;
  std::atomic<std::size_t> calls_open{0};
  std::atomic<std::size_t> bytes_open{0};

  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> bytes_sent{0};
  std::atomic<std::uint64_t> bytes_received{0};
  std::atomic<std::uint64_t> redirects{0};
  std::atomic<std::uint64_t> script_loads{0};
  std::atomic<std::uint64_t> connects{0};
  std::atomic<std::uint64_t> timeouts{0};
  std::atomic<std::uint64_t> breaker_opened{0};
  std::atomic<std::uint64_t> foreign{0};

  // Takes room for one call; false: a bound is reached.
  [[nodiscard]] bool open(std::size_t bytes) noexcept;
  // The driver's own calls, which are few, always have room.
  void open_own(std::size_t bytes) noexcept;
  void close_own(std::size_t bytes) noexcept;
  // Gives the room back, then answers. The only way a call ends.
  void finish(std::unique_ptr<PendingCall> call, base::Result<CallAnswer> answer);
  void fail(std::unique_ptr<PendingCall> call, base::Errc code, std::string_view cause);
};

inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) noexcept {
  counter.fetch_add(n, std::memory_order_relaxed);
}

// A command as it is sent (RESP).
[[nodiscard]] std::string format_command(std::span<const std::string_view> words);
// The call as it is sent: EVALSHA of its script, or its args. Requires: a script, or args.
[[nodiscard]] std::string format_call(const RedisCall& call);

}  // namespace seckill::drivers::redis
