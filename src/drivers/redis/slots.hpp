// Redis Cluster's keyspace: the slot of a key, addresses, and the map from slots to masters
// (redis.io, "Redis cluster specification": key distribution, redirection, CLUSTER SLOTS).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/redis/redis.hpp"

namespace seckill::drivers::redis {

inline constexpr std::uint16_t slot_count = 16'384;

// What is hashed of a key: between the first '{' and the next '}' when that is not empty, else all of it.
[[nodiscard]] std::string_view hashed_part(std::string_view key) noexcept;
// CRC16 (XMODEM) of the hashed part, mod 16384.
[[nodiscard]] std::uint16_t slot_of(std::string_view key) noexcept;
// A key of the same slot as `key` that begins with `prefix`; never `key` itself.
[[nodiscard]] std::string key_beside(std::string_view prefix, std::string_view key);

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  [[nodiscard]] std::string text() const;  // "host:port", an IPv6 host in brackets
};

// "host:port", "[v6]:port" or "v6:port" (the last colon divides). Without a host, or with "?", which a server says that
// does not know its own address: `asked`'s host, when there is one.
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text, const Endpoint* asked = nullptr);

// A redirect: "MOVED 3999 127.0.0.1:6381", "ASK 3999 :6381".
struct Redirect {
  std::uint16_t slot = 0;
  Endpoint to;
};
[[nodiscard]] std::optional<Redirect> parse_redirect(std::string_view text, const Endpoint& asked);

struct SlotMap {
  static constexpr std::uint16_t nobody = 0xFFFF;

  SlotMap() { owner_of_slot.fill(nobody); }
  std::vector<Endpoint> masters;
  std::vector<Endpoint> others;  // replicas: whom to ask for a map when masters are gone
  std::array<std::uint16_t, slot_count> owner_of_slot;

  [[nodiscard]] const Endpoint* owner(std::uint16_t slot) const noexcept;
  // One slot has moved.
  void assign(std::uint16_t slot, const Endpoint& to);
};

// The reply of CLUSTER SLOTS as `asked` gave it; nullopt: not one.
[[nodiscard]] std::optional<SlotMap> parse_slots(const RedisReply& reply, const Endpoint& asked);

}  // namespace seckill::drivers::redis
