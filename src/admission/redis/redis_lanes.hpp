// Lanes in Redis or Redis Cluster: LaneScripts as Lua scripts, one call one script in the lane's slot. The scripts are
// translations of lane_steps.hpp, held against it by a randomized test; their layout of a lane's keys is described in
// scripts/README.md. What a caller may rely on is said in lane_scripts.hpp.
#pragma once

#include <memory>

#include "admission/lane_scripts.hpp"
#include "base/result.hpp"
#include "drivers/redis/redis.hpp"

namespace seckill::admission::redis {

struct RedisLanesConfig {
  std::chrono::milliseconds call_longest{1'000};  // a script's deadline; then Errc::timeout: unknown
  // Replicas that wait_replicas() asks for; 0 (standalone, no replica): it always answers `refused`.
  std::uint32_t replicas = 1;
};

// Borrows `redis`, which must be started, for its whole life; the scripts are loaded when a server first misses one.
// Any thread may call it; answers come on a thread of `redis`. Its destructor may run only when every call is answered.
[[nodiscard]] std::unique_ptr<LaneScripts> make_redis_lanes(drivers::redis::Redis& redis, RedisLanesConfig config);

// What a flash sale needs of every master: appendonly on, noeviction, and with `cluster` replicas and
// min-replicas-to-write (DESIGN §4.5). One sentence a fault, naming server, setting and what to set; empty: sound.
// Blocks. Errors: a server cannot be reached.
[[nodiscard]] base::Result<std::vector<std::string>> check_settings(drivers::redis::Redis& redis, bool cluster);

// Of these sentences only those about masters that have no replica now: a state that passes, and in which a master with
// min-replicas-to-write refuses by itself. Blocks. Errors: as above.
[[nodiscard]] base::Result<std::vector<std::string>> check_replicas(drivers::redis::Redis& redis);

}  // namespace seckill::admission::redis
