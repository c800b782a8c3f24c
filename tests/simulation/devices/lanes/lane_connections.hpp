// One node's connections to the simulated lanes: what a call goes through between a node and a server, and every way in
// which it can get lost on it. The client's scripts are built on start() alone.
//
//   queued ──connected──► sent ──arrived──► executed ──► answered
//      └─ deadline: unavailable   └─ deadline, connection lost: timeout (it may be executed all the same)
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/devices/lanes/sim_lanes.hpp"

namespace seckill::sim {

// What a server answers: `give` is run on the node, `after` the execution at the earliest. An answer in time for
// nothing (the call is answered, the connection or the node gone) is never given.
struct LaneReply {
  Time after{0};
  std::move_only_function<void()> give;
};

// When and where a call is executed.
struct LaneMoment {
  Time now{0};
  base::UtcMs clock = 0;   // the server's
  Time lag{0};             // of a write, until the replica has it
  bool replicated = true;  // the shard is to have a replica
};

struct LaneConnection;

// One call, whatever its answer's type.
struct LaneCall {
  std::string_view script;  // a literal
  admission::LaneKey lane;
  std::optional<admission::LaneServer> expected;  // none: whoever is there
  bool writes = false;
  bool in_order = true;  // false: its answer waits for nobody's and delays nobody's
  Time deadline{0};
  std::move_only_function<LaneReply(LaneProcess&, const LaneMoment&)> execute;
  std::move_only_function<void()> give_foreign;
  std::move_only_function<void(base::Errc, std::string)> give_error;

  bool sent = false;
  bool answered = false;
  std::weak_ptr<LaneConnection> connection;
};

struct LaneConnection {
  std::shared_ptr<LaneProcess> process;
  ShardIndex shard = 0;
  bool lost = false;   // for the node: no answer comes any more
  bool cut = false;    // for the server: nothing arrives any more
  bool stays = false;  // with an isolated master
  Time last_run{0};
  Time last_reply{0};
  std::vector<std::shared_ptr<LaneCall>> waiting;
};

class LaneConnections : public std::enable_shared_from_this<LaneConnections> {
 public:
  LaneConnections(SimLanes& cluster, Node& node);

  // In the node's name: answers later, exactly once, or never when the node crashed.
  void start(std::shared_ptr<LaneCall> call);
  [[nodiscard]] Time call_deadline() const noexcept { return cluster_.options_.call_deadline; }

 private:
  struct Link {
    std::shared_ptr<LaneConnection> connection;
    bool connecting = false;
    std::vector<std::shared_ptr<LaneCall>> queued;
  };
  using Connection = std::shared_ptr<LaneConnection>;
  using Call = std::shared_ptr<LaneCall>;

  [[nodiscard]] bool living() const noexcept { return node_.alive() && node_.life() == life_; }
  void at_node(Time delay, std::move_only_function<void()> event);
  [[nodiscard]] Time latency();
  void queue(const Call& call);
  void connect(ShardIndex shard);
  void connected(ShardIndex shard);
  void send(const Connection& connection, const Call& call);
  void run_at(const Connection& connection, const Call& call, Time at);
  void run(const Connection& connection, const Call& call);
  [[nodiscard]] LaneReply execute(const LaneConnection& connection, const Call& call);
  void reply(const Connection& connection, const Call& call, LaneReply reply);
  void fail(const Call& call, base::Errc code, std::string_view cause);
  void give_up(const Call& call);
  void lose(Connection connection);  // by value: it takes the link's own

  SimLanes& cluster_;
  Kernel& kernel_;
  Node& node_;
  const std::uint64_t life_;
  std::vector<ShardIndex> owners_;  // of slots, as this node knows them
  std::vector<Link> links_;         // by shard
};

}  // namespace seckill::sim
