// Barriers: a marker goes through the partition's queue, and through each of its retry tiers that holds something; the
// worker that gets it answers when everything that was delivered before is acknowledged.
//
//   barrier() ──► markers sent ──(every 2 s again: a purge takes them along)──► all answered: passed
#include "queue/rabbit/message.hpp"
#include "queue/rabbit/publisher.hpp"
#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {
namespace {

namespace amqp = drivers::amqp;

constexpr std::chrono::seconds send_again_after{2};

}  // namespace

void Publisher::begin_barriers(amqp::Connection& connection) {
  struct Due {
    Id id = 0;
    Partition partition = 0;
    bool begun = false;
    std::set<std::string> queues;
  };
  std::vector<Due> due;
  {
    const std::scoped_lock lock{mutex_};
    const Time now = threads_.now();
    for (auto& [id, barrier] : barriers_) {
      if (barrier.ended || now < barrier.send_again_at) continue;
      barrier.send_again_at = now + send_again_after;
      due.push_back({id, barrier.partition, barrier.begun, barrier.waits_for});
    }
  }
  for (auto& one : due) {
    if (!one.begun) {
      one.queues = queues_to_pass(connection, one.partition);
      const std::scoped_lock lock{mutex_};
      const auto barrier = barriers_.find(one.id);
      if (barrier == barriers_.end()) continue;
      barrier->second.begun = true;
      barrier->second.waits_for = one.queues;
    }
    // A later marker of the same queue passes only after everything before the first.
    for (const auto& queue : one.queues) {
      const amqp::Properties properties{.content_type = std::string{barrier_content_type},
                                        .message_id = std::to_string(sequence_ + 1),
                                        .correlation_id = std::to_string(one.id) + "/" + queue,
                                        .reply_to = reply_queue_,
                                        .type = {}};
      if (!connection.alive()) return;
      (void)send(connection, {.routing_key = queue, .body = {}, .properties = properties}, Marker{one.id, queue});
    }
  }
}

std::set<std::string> Publisher::queues_to_pass(amqp::Connection& connection, Partition partition) {
  std::set<std::string> queues{intents_queue(config_, partition)};
  for (const auto tier : config_.retry_tiers) {
    std::string queue = retry_queue(config_, partition, tier);
    const auto state = connection.look_at(declaring_channel, queue);
    if (!state && state.error().code == base::Errc::refused) {
      topology_in_doubt_ = true;  // gone, so there is nothing in it
      (void)connection.open_channel(declaring_channel);
    }
    if (state && state->messages > 0) queues.insert(std::move(queue));
  }
  return queues;
}

void Publisher::heard(const amqp::Delivered& reply) {
  const std::string& words = reply.properties.correlation_id;
  const auto slash = words.find('/');
  if (reply.properties.content_type != barrier_content_type || slash == std::string::npos) return;
  const std::scoped_lock lock{mutex_};
  const auto barrier = barriers_.find(std::strtoull(words.c_str(), nullptr, 10));
  if (barrier == barriers_.end() || barrier->second.ended) return;
  barrier->second.waits_for.erase(words.substr(slash + 1));
  if (!barrier->second.waits_for.empty()) return;
  barrier->second.ended = base::Status{};
  barriers_changed_->notify_all();
}

}  // namespace seckill::queue::rabbit
