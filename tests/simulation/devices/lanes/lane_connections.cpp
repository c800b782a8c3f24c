#include "simulation/devices/lanes/lane_connections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace seckill::sim {

LaneConnections::LaneConnections(SimLanes& cluster, Node& node)
    : cluster_{cluster},
      kernel_{cluster.kernel_},
      node_{node},
      life_{node.life()},
      owners_{cluster.owners_},
      links_(cluster.shards_.size()) {}

void LaneConnections::at_node(Time delay, std::move_only_function<void()> event) {
  if (living()) kernel_.after(node_, delay, std::move(event));
}

Time LaneConnections::latency() { return Time{cluster_.random_.between(20'000, 300'000)}; }

// --- on the node ---

void LaneConnections::start(std::shared_ptr<LaneCall> call) {
  if (!living()) return;
  at_node(call->deadline, [self = shared_from_this(), call] { self->give_up(call); });
  if (cluster_.random_.chance(cluster_.options_.faults.not_sent)) {
    at_node(latency(), [self = shared_from_this(), call] {
      self->fail(call, base::Errc::unavailable, "the connection was refused");
    });
    return;
  }
  queue(call);
}

void LaneConnections::queue(const Call& call) {
  Link& link = links_[owners_[SimLanes::slot_of(call->lane)]];
  // A connection to a process that has ended is noticed before anything is sent on it.
  if (link.connection && !link.connection->process->alive) lose(link.connection);
  if (link.connection) return send(link.connection, call);
  link.queued.push_back(call);
  connect(owners_[SimLanes::slot_of(call->lane)]);
}

void LaneConnections::connect(ShardIndex shard) {
  if (std::exchange(links_[shard].connecting, true)) return;
  at_node(latency() * 2, [self = shared_from_this(), shard] { self->connected(shard); });
}

void LaneConnections::connected(ShardIndex shard) {
  Link& link = links_[shard];
  const std::shared_ptr<LaneProcess>& master = cluster_.shards_[shard].master;
  if (master->alive && master->free_at > kernel_.now()) {
    // It greets nobody before it runs again.
    return at_node(master->free_at - kernel_.now(), [self = shared_from_this(), shard] { self->connected(shard); });
  }
  link.connecting = false;
  const std::vector<Call> queued = std::exchange(link.queued, {});
  if (!master->alive) {
    for (const Call& call : queued) fail(call, base::Errc::unavailable, "nobody listens there");
    return;
  }
  const Connection connection = std::make_shared<LaneConnection>();
  connection->process = master;
  connection->shard = shard;
  link.connection = connection;
  for (const Call& call : queued) {
    if (!call->answered) connection->lost ? queue(call) : send(connection, call);
  }
}

void LaneConnections::send(const Connection& connection, const Call& call) {
  const LaneCallFaults& faults = cluster_.options_.faults;
  Random& random = cluster_.random_;
  call->sent = true;
  call->connection = connection;
  connection->waiting.push_back(call);
  if (random.chance(faults.request_lost)) {
    connection->cut = true;
    return lose(connection);
  }
  Time delay = latency();
  if (random.chance(faults.late)) delay = Time{random.between(0, faults.late_max.count())};
  run_at(connection, call, kernel_.now() + delay);
}

void LaneConnections::fail(const Call& call, base::Errc code, std::string_view cause) {
  if (std::exchange(call->answered, true)) return;
  if (const Connection connection = call->connection.lock()) std::erase(connection->waiting, call);
  call->give_error(code, std::string{cause});
}

// The call's deadline has come. Giving up the whole connection is what some clients do and others don't.
void LaneConnections::give_up(const Call& call) {
  if (call->answered) return;
  const Connection connection = call->connection.lock();
  fail(call, call->sent ? base::Errc::timeout : base::Errc::unavailable, "no answer in time");
  if (connection && cluster_.random_.chance(500)) lose(connection);
}

// No answer comes by this connection any more; what was sent on it may be executed unless it is cut.
void LaneConnections::lose(Connection connection) {
  if (std::exchange(connection->lost, true)) return;
  Link& link = links_[connection->shard];
  if (link.connection == connection) link.connection.reset();
  for (const Call& call : std::exchange(connection->waiting, {})) {
    at_node(latency(),
            [self = shared_from_this(), call] { self->fail(call, base::Errc::timeout, "the connection was lost"); });
  }
}

// --- on the server ---

// Not before what was sent earlier on the connection.
void LaneConnections::run_at(const Connection& connection, const Call& call, Time at) {
  connection->last_run = std::max(connection->last_run, at);
  kernel_.after(connection->last_run - kernel_.now(),
                [self = shared_from_this(), connection, call] { self->run(connection, call); });
}

void LaneConnections::run(const Connection& connection, const Call& call) {
  LaneProcess& process = *connection->process;
  if (connection->cut) return;
  if (!process.alive) return lose(connection);
  if (process.isolated && !connection->stays) {
    connection->stays = process.all_stay || cluster_.random_.chance(500);
    connection->cut = !connection->stays;
    if (connection->cut) return lose(connection);
  }
  if (process.free_at > kernel_.now()) {
    // Connections are served in any order when it wakes, each one's calls in theirs.
    return run_at(connection, call, process.free_at + Time{cluster_.random_.between(0, 1'000'000)});
  }
  if (process.slow_by > Time{0}) process.free_at = kernel_.now() + process.slow_by;
  LaneReply answer = execute(*connection, call);
  at_node(Time{0}, [self = shared_from_this(), script = call->script] {
    self->kernel_.passing(fmt::format("lane.{}.executed", script));
  });
  reply(connection, call, std::move(answer));
}

LaneReply LaneConnections::execute(const LaneConnection& connection, const Call& call) {
  LaneProcess& process = *connection.process;
  const ShardIndex owner = cluster_.shard_of(call->lane);
  if (!process.isolated && owner != connection.shard) {
    // MOVED: the node learns where the slot is, and that the lane is not where it believed.
    return {.give = [self = shared_from_this(), call, owner] {
      self->owners_[SimLanes::slot_of(call->lane)] = owner;
      call->give_foreign();
    }};
  }
  if (call->expected && *call->expected != process.identity) return {.give = [call] { call->give_foreign(); }};
  if (call->writes && cluster_.options_.replicas &&
      process.refuses_writes(kernel_.now(), cluster_.options_.replica_max_lag)) {
    return {.give = [call] { call->give_error(base::Errc::unavailable, "the server has too few replicas to write"); }};
  }
  return call->execute(process, {.now = kernel_.now(),
                                 .clock = cluster_.clock_of(connection.shard),
                                 .lag = cluster_.lag(),
                                 .replicated = cluster_.options_.replicas});
}

void LaneConnections::reply(const Connection& connection, const Call& call, LaneReply answer) {
  if (cluster_.random_.chance(cluster_.options_.faults.reply_lost)) {
    connection->cut = cluster_.random_.chance(500);
    return lose(connection);
  }
  if (answer.after > Time{0}) {
    // Sent later, if the process is there then.
    const Time wait = std::exchange(answer.after, Time{0});
    return kernel_.after(wait, [self = shared_from_this(), connection, call, sent = std::move(answer)]() mutable {
      if (!connection->process->alive) return self->lose(connection);
      self->reply(connection, call, std::move(sent));
    });
  }
  Time at = kernel_.now() + latency();
  if (call->in_order) at = connection->last_reply = std::max(connection->last_reply, at);
  at_node(at - kernel_.now(), [self = shared_from_this(), connection, call, give = std::move(answer.give)]() mutable {
    if (call->answered || connection->lost) return;
    self->kernel_.passing(fmt::format("lane.{}.replied", call->script));
    if (!self->living()) return;
    call->answered = true;
    std::erase(connection->waiting, call);
    give();
  });
}

}  // namespace seckill::sim
