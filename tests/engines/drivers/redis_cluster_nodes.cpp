#include "drivers/redis_cluster_nodes.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>

namespace seckill::drivers::redis {

struct RedisCluster::Known {
  std::string id;
  std::uint16_t port = 0;
  bool is_master = false;
  bool has_failed = false;
  std::string master_id;
  std::vector<std::pair<int, int>> slots;
};

namespace {

int number(std::string_view text) {
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

RedisCluster::RedisCluster(std::size_t masters, std::size_t replicas_each) : replicas_(masters * replicas_each) {
  std::string all;
  for (std::size_t i = 0; i < masters + replicas_; ++i) {
    nodes_.push_back(std::make_unique<RedisServer>(std::vector<std::string>{
        "--cluster-enabled", "yes", "--cluster-node-timeout", "1500", "--repl-diskless-sync-delay", "0",
        "--cluster-replica-validity-factor", "0", "--appendonly", "yes"}));
    all += " " + nodes_.back()->address();
  }
  const std::string said = shell("timeout 60 redis-cli --cluster create" + all + " --cluster-replicas " +
                                 std::to_string(replicas_each) + " --cluster-yes 2>&1");
  if (!becomes_whole()) throw std::runtime_error("no cluster: " + said);
}

std::vector<std::string> RedisCluster::addresses() const {
  std::vector<std::string> all;
  for (const auto& node : nodes_) all.push_back(node->address());
  return all;
}

RedisServer* RedisCluster::at(std::uint16_t port) {
  for (const auto& node : nodes_) {
    if (node->port() == port) return node.get();
  }
  return nullptr;
}

std::vector<RedisCluster::Known> RedisCluster::known() {
  std::vector<Known> all;
  for (const auto& node : nodes_) {
    if (!node->is_running()) continue;
    std::istringstream lines(node->cli("cluster nodes"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      Known one;
      std::string address;
      std::string flags;
      std::string skipped;
      words >> one.id >> address >> flags >> one.master_id >> skipped >> skipped >> skipped >> skipped;
      const std::size_t colon = address.find(':');
      if (colon == std::string::npos) continue;
      one.port = static_cast<std::uint16_t>(number(address.substr(colon + 1)));
      one.is_master = flags.contains("master");
      one.has_failed = flags.contains("fail");
      for (std::string range; words >> range;) {
        if (range.starts_with('[')) continue;  // on its way
        const std::size_t dash = range.find('-');
        const int first = number(range);
        one.slots.emplace_back(first, dash == std::string::npos ? first : number(range.substr(dash + 1)));
      }
      all.push_back(std::move(one));
    }
    if (!all.empty()) break;
  }
  return all;
}

RedisServer* RedisCluster::master_of(std::uint16_t slot) {
  for (const Known& one : known()) {
    if (!one.is_master || one.has_failed) continue;
    for (const auto& [first, last] : one.slots) {
      if (first <= slot && slot <= last) {
        RedisServer* const server = at(one.port);
        return server != nullptr && server->is_running() ? server : nullptr;
      }
    }
  }
  return nullptr;
}

RedisServer& RedisCluster::other_master(std::uint16_t slot) {
  const RedisServer* const owner = master_of(slot);
  for (const Known& one : known()) {
    RedisServer* const server = at(one.port);
    if (one.is_master && !one.has_failed && !one.slots.empty() && server != owner && server->is_running())
      return *server;
  }
  throw std::runtime_error("no other master");
}

RedisServer* RedisCluster::replica_of(const RedisServer& master) {
  const std::vector<Known> all = known();
  const auto it = std::ranges::find(all, master.port(), &Known::port);
  if (it == all.end()) return nullptr;
  for (const Known& one : all) {
    RedisServer* const server = at(one.port);
    if (!one.is_master && one.master_id == it->id && server != nullptr && server->is_running()) return server;
  }
  return nullptr;
}

void RedisCluster::open_migration(std::uint16_t slot, RedisServer& from, RedisServer& to) {
  const std::string number = std::to_string(slot);
  to.cli("cluster setslot " + number + " importing " + from.cli("cluster myid"));
  from.cli("cluster setslot " + number + " migrating " + to.cli("cluster myid"));
}

void RedisCluster::move_keys(RedisServer& from, RedisServer& to, const std::string& keys) {
  if (keys.empty()) return;
  const std::string said = from.cli("migrate 127.0.0.1 " + std::to_string(to.port()) + " '' 0 5000 keys " + keys);
  if (said != "OK") throw std::runtime_error("keys do not move: " + said);
}

void RedisCluster::close_migration(std::uint16_t slot, RedisServer& from, RedisServer& to) {
  const std::string number = std::to_string(slot);
  for (std::string keys; !(keys = from.cli("cluster getkeysinslot " + number + " 1000 | xargs")).empty();) {
    move_keys(from, to, keys);
  }
  const std::string to_id = to.cli("cluster myid");
  to.cli("cluster setslot " + number + " node " + to_id);
  from.cli("cluster setslot " + number + " node " + to_id);
}

bool RedisCluster::becomes_whole() {
  return wait_until(
      [this] {
        for (const auto& node : nodes_) {
          if (node->is_running() && !node->cli("cluster info").contains("cluster_state:ok")) return false;
        }
        std::size_t linked = 0;
        for (const auto& node : nodes_) {
          if (!node->is_running()) continue;
          const std::string said = node->cli("info replication");
          if (said.contains("role:slave") && said.contains("master_link_status:up")) ++linked;
        }
        return linked == replicas_;
      },
      std::chrono::seconds{60});
}

}  // namespace seckill::drivers::redis
