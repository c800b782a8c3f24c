// What is asked of a Redis server before lanes are put on it.
#include <fmt/format.h>

#include <charconv>

#include "admission/redis/redis_lanes.hpp"

namespace seckill::admission::redis {
namespace {

using drivers::redis::Redis;
using drivers::redis::RedisReply;

constexpr std::chrono::milliseconds longest{2'000};

// The value of a `name:value` line of INFO.
std::string_view info_value(std::string_view info, std::string_view name) {
  std::size_t at = 0;
  while (at < info.size()) {
    const std::size_t end = std::min(info.find("\r\n", at), info.size());
    const std::string_view line = info.substr(at, end - at);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return line.substr(name.size() + 1);
    }
    at = end + 2;
  }
  return {};
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class Checks {
 public:
  Checks(Redis& redis, std::vector<std::string>& faults) : redis_{redis}, faults_{faults} {}

  // `is_sound`: of the setting's value. `fault`: what is wrong with another one, and what to set.
  template <typename Sound>
  base::Status setting(const std::string& name, const Sound& is_sound, std::string_view fault) {
    auto replies = redis_.ask_masters({"CONFIG", "GET", name}, longest);
    if (!replies) return std::unexpected{replies.error()};
    for (const auto& [server, reply] : *replies) {
      if (reply.items().size() < 2) {
        faults_.push_back(fmt::format("Redis {}: setting {} cannot be read ({})", server, name, reply.text()));
      } else if (!is_sound(reply.items()[1].text())) {
        faults_.push_back(fmt::format("Redis {}: {} is \"{}\": {}", server, name, reply.items()[1].text(), fault));
      }
    }
    return {};
  }
  base::Status replicas() {
    auto replies = redis_.ask_masters({"INFO", "replication"}, longest);
    if (!replies) return std::unexpected{replies.error()};
    for (const auto& [server, reply] : *replies) {
      if (number(info_value(reply.text(), "connected_slaves")) < 1) {
        faults_.push_back(fmt::format(
            "Redis {}: connected_slaves is 0: give each master a replica, or the loss of one machine loses lanes",
            server));
      }
    }
    return {};
  }

 private:
  Redis& redis_;
  std::vector<std::string>& faults_;
};

}  // namespace

base::Result<std::vector<std::string>> check_settings(Redis& redis, bool cluster) {
  std::vector<std::string> faults;
  Checks checks{redis, faults};
  auto asked = checks.setting(
      "appendonly", [](std::string_view value) { return value == "yes"; },
      "set it to yes, or a restart forgets who was admitted");
  if (asked) {
    asked = checks.setting(
        "maxmemory-policy", [](std::string_view value) { return value == "noeviction"; },
        "set it to noeviction, or stock and buyers are evicted when memory is short");
  }
  if (asked && cluster) {
    asked = checks.setting(
        "min-replicas-to-write", [](std::string_view value) { return number(value) >= 1; },
        "set it to 1 or more, or a master that is cut off goes on admitting");
  }
  if (asked && cluster) asked = checks.replicas();
  if (!asked) return std::unexpected{asked.error()};
  return faults;
}

base::Result<std::vector<std::string>> check_replicas(Redis& redis) {
  std::vector<std::string> faults;
  if (auto asked = Checks{redis, faults}.replicas(); !asked) return std::unexpected{asked.error()};
  return faults;
}

}  // namespace seckill::admission::redis
