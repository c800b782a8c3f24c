// The two ends of the simulated broker: what a publisher and a worker hold in their hands, and delivery between them.
#include <algorithm>
#include <set>

#include "base/assert.hpp"
#include "simulation/devices/broker/sim_broker.hpp"

namespace seckill::sim {

using base::Errc;

// --- delivery ---

std::vector<queue::Delivery> SimBroker::take(const ClientPtr& client, std::size_t intents_max) {
  std::vector<queue::Delivery> deliveries;
  std::size_t intents = 0;
  const std::size_t first = random_.below(queues_.size());  // no partition starves behind a busy one
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    auto& queue = queues_[(first + i) % queues_.size()];
    if (queue.active != client->id) continue;
    for (auto& message : queue.messages) {
      if (message.consumer != 0 || message.ready_at > kernel_.now()) continue;
      if (intents > 0 && intents + message.intents.size() > intents_max) return deliveries;
      message.consumer = client->id;
      message.tag = next_id_++;
      deliveries.push_back({.tag = message.tag,
                            .intents = message.intents,
                            .redelivered = std::exchange(message.delivered_before, true)});
      ++counters_.delivered;
      if (deliveries.back().redelivered) ++counters_.redelivered;
      intents += message.intents.size();
      if (intents >= intents_max) return deliveries;
    }
  }
  return deliveries;
}

std::optional<queue::Partition> SimBroker::partition_of(const ClientPtr& client, std::uint64_t tag) const {
  for (queue::Partition p = 0; p < config_.partitions; ++p) {
    for (const auto& message : queues_[p].messages) {
      if (message.consumer == client->id && message.tag == tag) return p;
    }
  }
  return std::nullopt;
}

bool SimBroker::remove(const ClientPtr& client, std::uint64_t tag) {
  const auto partition = partition_of(client, tag);
  if (!partition) return false;
  std::erase_if(queues_[*partition].messages, [&](const Message& one) { return one.tag == tag; });
  ++counters_.acknowledged;
  barrier_passed();
  return true;
}

void SimBroker::requeue(Queue& queue, std::size_t index) {
  auto& message = queue.messages[index];
  message.consumer = 0;
  message.tag = 0;
  if (!random_.chance(faults_.requeue_last)) return;
  auto moved = std::move(message);
  queue.messages.erase(queue.messages.begin() + static_cast<std::ptrdiff_t>(index));
  queue.messages.push_back(std::move(moved));
}

void SimBroker::requeue_tag(const ClientPtr& client, std::uint64_t tag) {
  const auto partition = partition_of(client, tag);
  if (!partition) return;
  auto& messages = queues_[*partition].messages;
  const auto at = std::ranges::find(messages, tag, &Message::tag) - messages.begin();
  requeue(queues_[*partition], static_cast<std::size_t>(at));
  wake(*partition);
}

void SimBroker::barrier_passed() {
  const auto open = [this](const std::shared_ptr<Barrier>& barrier) {
    return std::ranges::any_of(queues_[barrier->partition].messages,
                               [&](const Message& one) { return one.durable && one.id <= barrier->last; });
  };
  std::vector<std::shared_ptr<Barrier>> passed;
  for (const auto& barrier : barriers_) {
    if (!open(barrier)) passed.push_back(barrier);
  }
  std::erase_if(barriers_, [&](const auto& barrier) { return !open(barrier); });
  for (const auto& barrier : passed) barrier->passed();
}

// --- the publisher's end ---

class SimPublisher final : public queue::IntentPublisher {
 public:
  SimPublisher(SimBroker& broker, SimBroker::ClientPtr client) : broker_{broker}, client_{std::move(client)} {}

  void publish(queue::Partition partition, std::vector<model::OrderIntent> intents, queue::PublishDone done) override {
    if (client_->lives()) broker_.publish(client_, partition, std::move(intents), std::move(done));
  }
  bool accepting() const noexcept override { return broker_.up_ && !broker_.alarm_; }
  base::Status barrier(queue::Partition partition, std::chrono::milliseconds longest) override;

 private:
  SimBroker& broker_;
  SimBroker::ClientPtr client_;
};

base::Status SimPublisher::barrier(queue::Partition partition, std::chrono::milliseconds longest) {
  auto& kernel = broker_.kernel_;
  if (!broker_.up_) {
    kernel.sleep(broker_.net());
    return base::fail(Errc::unavailable, "passing a barrier", "the broker is down");
  }
  const bool passed = kernel.await<bool>([&](std::move_only_function<void(bool)> done) {
    auto once = std::make_shared<std::move_only_function<void(bool)>>(std::move(done));
    const auto answer = [once](bool value) {
      if (auto told = std::exchange(*once, nullptr)) told(value);
    };
    auto barrier = std::make_shared<SimBroker::Barrier>();
    barrier->partition = partition;
    barrier->last = broker_.next_id_++;
    barrier->passed = [answer] { answer(true); };
    broker_.barriers_.push_back(barrier);
    // The handle may be gone by then, with its node's life; the broker is there as long as `alive` says so.
    kernel.after(std::chrono::nanoseconds{longest}, [broker = &broker_, alive = broker_.alive_, barrier, answer] {
      if (*alive) std::erase(broker->barriers_, barrier);
      answer(false);
    });
    kernel.after(broker_.net(), [broker = &broker_, alive = broker_.alive_] {
      if (*alive) broker->barrier_passed();
    });
  });
  if (passed) return {};
  return base::fail(Errc::timeout, "passing a barrier", "something is not acknowledged yet");
}

// --- the worker's end ---

class SimSource final : public queue::IntentSource {
 public:
  SimSource(SimBroker& broker, SimBroker::ClientPtr client) : broker_{broker}, client_{std::move(client)} {}
  ~SimSource() override {
    // A worker that ends in good order closes its connection; a dead one's is found out in time.
    if (!client_->lives()) return;
    broker_.lose_connection(client_);
    broker_.clients_.erase(client_->id);
  }
  SimSource(const SimSource&) = delete;
  SimSource& operator=(const SimSource&) = delete;

  base::Result<std::vector<queue::Delivery>> receive(std::size_t intents_max,
                                                     std::chrono::milliseconds longest) override;
  base::Status acknowledge(std::uint64_t tag) override;
  base::Status retry_later(std::uint64_t tag, std::vector<model::OrderIntent> intents,
                           std::chrono::milliseconds delay) override;

 private:
  [[nodiscard]] std::unexpected<base::Error> lost() const {
    return base::fail(Errc::unavailable, "talking to the broker", "the connection is lost");
  }
  // Waits for a delivery, the connection's end or the time.
  void wait(Time longest);
  // A confirmed publish into the partition's own queue, ready only later.
  [[nodiscard]] bool publish_later(queue::Partition partition, std::vector<model::OrderIntent> intents, Time delay);

  SimBroker& broker_;
  SimBroker::ClientPtr client_;
  std::set<std::uint64_t> used_up_;  // tags whose acknowledgement may be on its way still
};

void SimSource::wait(Time longest) {
  (void)broker_.kernel_.await<bool>([&](std::move_only_function<void(bool)> done) {
    auto once = std::make_shared<std::move_only_function<void(bool)>>(std::move(done));
    const auto answer = [once] {
      if (auto told = std::exchange(*once, nullptr)) told(true);
    };
    client_->waiter = answer;
    broker_.kernel_.after(longest, answer);
  });
  client_->waiter = nullptr;
}

base::Result<std::vector<queue::Delivery>> SimSource::receive(std::size_t intents_max,
                                                              std::chrono::milliseconds longest) {
  auto& kernel = broker_.kernel_;
  if (client_->lives() && broker_.random_.chance(broker_.faults_.lose_connection)) broker_.lose_connection(client_);
  const Time until = kernel.now() + longest;
  for (;;) {
    broker_.reap();
    if (!client_->connected || !client_->lives()) {
      kernel.sleep(broker_.net());  // throws for a dead node
      if (!broker_.up_) return lost();
      client_->connected = true;
      broker_.subscribe(client_);
      return lost();
    }
    auto deliveries = broker_.take(client_, intents_max);
    if (!deliveries.empty()) {
      kernel.passing("broker.delivered");
      return deliveries;
    }
    if (kernel.now() >= until) return deliveries;
    wait(until - kernel.now());
  }
}

base::Status SimSource::acknowledge(std::uint64_t tag) {
  if (!client_->lives()) return lost();
  if (!client_->connected) return lost();
  if (used_up_.contains(tag) || !broker_.partition_of(client_, tag)) {
    return base::fail(Errc::stale, "acknowledging a delivery", "its tag is used up");
  }
  broker_.kernel_.passing("broker.acked");
  if (!client_->lives()) return lost();
  if (broker_.random_.chance(broker_.faults_.lose_connection)) {
    broker_.lose_connection(client_);
    return lost();
  }
  used_up_.insert(tag);
  broker_.kernel_.after(broker_.net(), [&broker = broker_, alive = broker_.alive_, client = client_, tag] {
    if (*alive) (void)broker.remove(client, tag);
  });
  return {};
}

base::Status SimSource::retry_later(std::uint64_t tag, std::vector<model::OrderIntent> intents,
                                    std::chrono::milliseconds delay) {
  if (!client_->lives() || !client_->connected) return lost();
  const auto partition = broker_.partition_of(client_, tag);
  if (intents.empty() || used_up_.contains(tag) || !partition) return acknowledge(tag);
  if (publish_later(*partition, std::move(intents), delay)) return acknowledge(tag);
  broker_.requeue_tag(client_, tag);
  return base::fail(Errc::timeout, "putting intents off", "not confirmed");
}

bool SimSource::publish_later(queue::Partition partition, std::vector<model::OrderIntent> intents, Time delay) {
  auto& kernel = broker_.kernel_;
  const bool lose = broker_.random_.chance(broker_.faults_.lose_publish);
  const bool silent = broker_.random_.chance(broker_.faults_.lose_confirm);
  return kernel.await<bool>([&](std::move_only_function<void(bool)> done) {
    auto once = std::make_shared<std::move_only_function<void(bool)>>(std::move(done));
    const auto answer = [once](bool value) {
      if (auto told = std::exchange(*once, nullptr)) told(value);
    };
    kernel.after(broker_.config_.publish_deadline, [answer] { answer(false); });
    if (lose) return;
    kernel.after(broker_.net(), [&broker = broker_, alive = broker_.alive_, boot = broker_.boot_, partition, delay,
                                 silent, answer, intents = std::move(intents)]() mutable {
      if (!*alive || broker.boot_ != boot || !broker.up_) return;
      if (broker.alarm_) return answer(false);
      broker.store(partition, std::move(intents), broker.kernel_.now() + delay, [answer, silent] {
        if (!silent) answer(true);
      });
    });
  });
}

std::unique_ptr<queue::IntentPublisher> SimBroker::publisher(Node& node) {
  return std::make_unique<SimPublisher>(*this, connect(node));
}

std::unique_ptr<queue::IntentSource> SimBroker::source(Node& node, std::vector<queue::Partition> own) {
  auto client = connect(node);
  client->own = std::move(own);
  subscribe(client);
  return std::make_unique<SimSource>(*this, std::move(client));
}

}  // namespace seckill::sim
