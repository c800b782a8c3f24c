#include "simulation/devices/broker/sim_broker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.hpp"

namespace seckill::sim {

using queue::Published;

SimBroker::SimBroker(Kernel& kernel, BrokerConfig config)
    : kernel_{kernel}, config_{config}, random_{kernel.random().fork("broker")}, queues_(config.partitions) {
  SECKILL_ASSERT(config.partitions >= 1, "a broker has a partition");
}

SimBroker::~SimBroker() { *alive_ = false; }

Time SimBroker::net() noexcept { return Time{random_.between(20'000, config_.net_longest.count())}; }

// --- connections and consumers ---

SimBroker::ClientPtr SimBroker::connect(Node& node) {
  auto client = std::make_shared<Client>();
  client->node = &node;
  client->life = node.life();
  client->id = next_id_++;
  clients_.emplace(client->id, client);
  return client;
}

void SimBroker::lose_connection(const ClientPtr& client) {
  if (!client->connected) return;
  client->connected = false;
  ++client->connection;
  leave(client->id);
  for (const auto& one : std::exchange(client->pending, {})) {
    if (const auto pending = one.lock()) tell(client, pending, Published::unknown, net());
  }
  if (const auto waiter = std::exchange(client->waiter, nullptr)) waiter();
}

void SimBroker::disconnect(const Node& node) {
  const auto clients = clients_;
  for (const auto& [id, client] : clients) {
    if (client->node == &node) lose_connection(client);
  }
}

void SimBroker::subscribe(const ClientPtr& client) {
  for (const auto partition : client->own) join(client, partition);
  const auto rest = [this, alive = alive_, client, connection = client->connection] {
    if (!*alive || !client->connected || client->connection != connection) return;
    for (queue::Partition p = 0; p < config_.partitions; ++p) join(client, p);
  };
  kernel_.after(config_.standby_after, rest);
}

void SimBroker::join(const ClientPtr& client, queue::Partition partition) {
  auto& consumers = queues_[partition].consumers;
  if (std::ranges::find(consumers, client->id) != consumers.end()) return;
  consumers.push_back(client->id);
  elect(partition);
}

// What this consumer had and did not acknowledge is delivered again, to whoever is active then.
void SimBroker::leave(std::uint64_t consumer) {
  for (queue::Partition p = 0; p < config_.partitions; ++p) {
    auto& queue = queues_[p];
    std::erase(queue.consumers, consumer);
    // From behind, so that what goes back to its place does not move what is still to be looked at.
    for (std::size_t i = queue.messages.size(); i-- > 0;) {
      if (queue.messages[i].consumer == consumer) requeue(queue, i);
    }
    if (queue.active == consumer) queue.active = 0;
    elect(p);
  }
}

void SimBroker::elect(queue::Partition partition) {
  auto& queue = queues_[partition];
  if (queue.active == 0 && !queue.consumers.empty()) queue.active = queue.consumers.front();
  wake(partition);
}

// A consumer that died without a word is found out only after a while.
void SimBroker::reap() {
  std::vector<ClientPtr> gone;
  for (const auto& [id, client] : clients_) {
    if (client->lives()) continue;
    if (!client->dead_since) {
      client->dead_since = kernel_.now() + Time{random_.between(0, config_.notice_longest.count())};
      kernel_.after(*client->dead_since - kernel_.now(), [this, alive = alive_] {
        if (*alive) reap();
      });
    }
    if (kernel_.now() >= *client->dead_since) gone.push_back(client);
  }
  for (const auto& client : gone) {
    client->connected = false;
    ++client->connection;
    leave(client->id);
    clients_.erase(client->id);
  }
}

void SimBroker::wake(queue::Partition partition) {
  const auto client = clients_.find(queues_[partition].active);
  if (client == clients_.end()) return;
  if (const auto waiter = std::exchange(client->second->waiter, nullptr)) waiter();
}

// --- publishing ---

void SimBroker::tell(const ClientPtr& client, const std::shared_ptr<Pending>& pending, Published published,
                     Time after) {
  kernel_.after(after, [this, alive = alive_, client, pending, published] {
    if (!*alive || !pending->tell || !client->lives()) return;
    // In the name of the node, so that a crash planned here is this node's.
    kernel_.after(*client->node, Time{0}, [this, alive, client, pending, published] {
      if (!*alive || !pending->tell || !client->lives()) return;
      if (published == Published::confirmed) {
        kernel_.passing("broker.confirmed");
        if (!client->lives()) return;
      }
      ++(published == Published::confirmed ? counters_.confirmed
         : published == Published::refused ? counters_.refused
                                           : counters_.unknown);
      const auto told = std::exchange(pending->tell, nullptr);
      told(published);
    });
  });
}

void SimBroker::publish(const ClientPtr& client, queue::Partition partition, std::vector<model::OrderIntent> intents,
                        queue::PublishDone done) {
  SECKILL_ASSERT(partition < config_.partitions && !intents.empty() && intents.size() <= 100, "the port's bounds");
  kernel_.passing("broker.published");
  if (!client->lives()) return;
  ++counters_.published;
  auto pending = std::make_shared<Pending>();
  pending->tell = [done = std::make_shared<queue::PublishDone>(std::move(done))](Published one) { (*done)(one); };
  if (up_ && !client->connected) client->connected = true;  // a publisher connects again when it has something to say
  if (!up_ || random_.chance(faults_.lose_connection)) {
    lose_connection(client);
    tell(client, pending, Published::unknown, net());
    // What was written just before the connection broke may have arrived all the same.
    if (!up_ || random_.chance(500)) return;
  }
  std::erase_if(client->pending, [](const auto& one) { return one.expired(); });
  client->pending.push_back(pending);
  tell(client, pending, Published::unknown, config_.publish_deadline);
  if (random_.chance(faults_.lose_publish)) return;
  kernel_.after(net(), [this, alive = alive_, boot = boot_, client, partition, pending, connection = client->connection,
                        intents = std::move(intents)]() mutable {
    if (!*alive || boot != boot_ || !up_) return;
    if (client->connection != connection && random_.chance(500)) return;
    arrive(client, partition, std::move(intents), pending);
  });
}

void SimBroker::arrive(const ClientPtr& client, queue::Partition partition, std::vector<model::OrderIntent> intents,
                       const std::shared_ptr<Pending>& pending) {
  const bool full = queues_[partition].messages.size() >= config_.messages_max;
  if (alarm_ || full || random_.chance(faults_.refuse)) return tell(client, pending, Published::refused, net());
  const bool late = random_.chance(faults_.late);
  const Time ready_at = kernel_.now() + (late ? Time{random_.between(0, faults_.late_longest.count())} : Time{0});
  const bool silent = random_.chance(faults_.lose_confirm);
  if (random_.chance(faults_.duplicate)) store(partition, intents, ready_at, [] {});
  store(partition, std::move(intents), ready_at, [this, client, pending, silent] {
    if (!silent) tell(client, pending, Published::confirmed, net());
  });
}

void SimBroker::store(queue::Partition partition, std::vector<model::OrderIntent> intents, Time ready_at,
                      std::function<void()> confirm) {
  const std::uint64_t id = next_id_++;
  queues_[partition].messages.push_back({.id = id,
                                         .intents = std::move(intents),
                                         .durable = false,
                                         .ready_at = ready_at,
                                         .delivered_before = false,
                                         .consumer = 0,
                                         .tag = 0});
  wake(partition);
  if (ready_at > kernel_.now()) {
    kernel_.after(ready_at - kernel_.now(), [this, alive = alive_, partition] {
      if (*alive) wake(partition);
    });
  }
  const Time synced = Time{random_.between(10'000, config_.sync_longest.count())};
  kernel_.after(synced, [this, alive = alive_, boot = boot_, partition, id, confirm = std::move(confirm)] {
    if (!*alive || boot != boot_) return;
    auto& messages = queues_[partition].messages;
    const auto message = std::ranges::find(messages, id, &Message::id);
    // Acknowledged already: that is as good as durable.
    if (message != messages.end()) message->durable = true;
    confirm();
  });
}

// --- faults by command ---

void SimBroker::crash(Time down_for) {
  kernel_.note(fmt::format("broker crashes for {} ms", down_for / 1ms));
  up_ = false;
  ++boot_;
  const auto clients = clients_;
  for (const auto& [id, client] : clients) lose_connection(client);
  for (auto& queue : queues_) {
    counters_.tail_lost += std::erase_if(queue.messages, [](const Message& one) { return !one.durable; });
  }
  kernel_.after(down_for, [this, alive = alive_, boot = boot_] {
    if (*alive && boot == boot_) up_ = true;
  });
}

void SimBroker::purge(queue::Partition partition) {
  kernel_.note(
      fmt::format("broker partition {} is purged of {} messages", partition, queues_[partition].messages.size()));
  counters_.purged += queues_[partition].messages.size();
  queues_[partition].messages.clear();
  barrier_passed();
}

void SimBroker::lose_everything() {
  for (queue::Partition p = 0; p < config_.partitions; ++p) purge(p);
}

// --- for the oracle ---

std::vector<model::OrderIntent> SimBroker::contents(queue::Partition partition) const {
  std::vector<model::OrderIntent> all;
  for (const auto& message : queues_[partition].messages) {
    if (message.durable) all.insert(all.end(), message.intents.begin(), message.intents.end());
  }
  return all;
}

bool SimBroker::holds(const model::Ticket& ticket) const {
  return std::ranges::any_of(queues_, [&](const Queue& queue) {
    return std::ranges::any_of(queue.messages, [&](const Message& message) {
      return message.durable &&
             std::ranges::find(message.intents, ticket, &model::OrderIntent::ticket) != message.intents.end();
    });
  });
}

bool SimBroker::empty() const noexcept {
  return std::ranges::all_of(queues_, [](const Queue& queue) { return queue.messages.empty(); });
}

}  // namespace seckill::sim
