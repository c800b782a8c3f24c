// Whether a node of a deployment should get work: each second the database, Redis and the broker are asked, and the
// clocks compared. More than 200 ms between this node, the database and the lanes' servers: not ready (DESIGN §4).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "admission/remote/periodic.hpp"
#include "base/clock.hpp"
#include "drivers/redis/redis.hpp"
#include "ops/readiness.hpp"
#include "ops/switch_watch.hpp"
#include "queue/intent_broker.hpp"
#include "store/switch_board.hpp"

namespace seckill::app {

// How far a clock is ahead of this node's, and how exactly that is known.
struct ClockReading {
  std::string whose;
  double ahead_ms = 0;
  double give_or_take_ms = 0;
};
// A sentence when two of the clocks, this node's among them, are certainly further apart than 200 ms. Pure.
[[nodiscard]] std::optional<std::string> clocks_apart(const std::vector<ClockReading>& readings);

class ClusterHealth {
 public:
  // Borrowed for its whole life.
  struct Ports {
    store::SwitchBoard& board;
    drivers::redis::Redis& redis;
    const queue::IntentPublisher& publisher;
    const ops::SwitchWatch& switches;
    const base::Clock& clock;
    ops::Readiness& readiness;
    bool redis_cluster = true;
    bool redis_settings_sound = false;
    // Whether every item is admitted by the database, so that nothing needs Redis; asked while Redis is away. Blocks.
    std::function<bool()> all_by_database;
  };
  explicit ClusterHealth(Ports ports);

  // A round each second from now on. Once.
  void start();
  void stop();  // idempotent
  // One round now. Blocks. What the thread does; not while it runs.
  void round();

 private:
  // One sentence of the readiness; empty: nothing to complain of.
  struct Complaint {
    std::string sentence;
  };
  void say(Complaint& complaint, std::string sentence);
  void look_at_store(std::vector<ClockReading>& clocks);
  void look_at_redis(std::vector<ClockReading>& clocks);
  void check_redis_settings();

  Ports ports_;
  Complaint store_, redis_, settings_, broker_, clocks_;
  admission::remote::Periodic thread_;
};

}  // namespace seckill::app
