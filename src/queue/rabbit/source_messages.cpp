// What becomes of a message: read, handed out, acknowledged, put off, parked, given back.
#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "queue/rabbit/source.hpp"
#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {
namespace {

namespace amqp = drivers::amqp;
using base::Errc;
using std::chrono::milliseconds;

// So that what cannot be parked or put off does not come again in a hot loop (FS-09).
constexpr milliseconds give_back_after{500};
constexpr std::size_t reason_bytes_max = 200;  // AMQP's short text has 255

std::unexpected<base::Error> stale() {
  return base::fail(Errc::stale, "answering a delivery", "it is of a partition or connection that is gone");
}

}  // namespace

base::Status Source::read_inbox() {
  while (!inbox_.empty()) {
    amqp::Delivered message = std::move(inbox_.front());
    inbox_.pop_front();
    if (message.channel == bell_channel) {
      if (ring_) ring_();
      continue;
    }
    const auto subscription = subscriptions_.find(message.channel);
    if (subscription == subscriptions_.end()) continue;
    if (auto status = read(message, subscription->second); !status) return status;
  }
  return {};
}

base::Status Source::read(amqp::Delivered& message, Subscription& subscription) {
  if (message.properties.content_type == barrier_content_type) {
    subscription.markers.push_back({.broker_tag = message.tag,
                                    .reply_to = std::move(message.properties.reply_to),
                                    .correlation_id = std::move(message.properties.correlation_id)});
    return answer_markers(message.channel, subscription);
  }
  subscription.unacknowledged.insert(message.tag);
  const Held held{.channel = message.channel, .broker_tag = message.tag};
  ++counters_.messages;
  if (message.redelivered) ++counters_.redelivered;
  ReadMessage content = read_intents(message.body);
  if (!content.unreadable.empty()) {
    if (auto parked = park(message, content.unreadable); !parked) {
      if (!connection_) return parked;
      base::log::error("{}: cannot park what cannot be read: {}", config_.connection_name, parked.error().text());
      give_back_later(held);
      return {};
    }
    counters_.unreadable += content.unreadable.size();
    if (!subscriptions_.contains(held.channel)) return {};  // went while it was parked
    if (content.intents.empty()) return done_with(held);
  }
  const std::uint64_t tag = next_tag_++;
  held_.emplace(tag, held);
  ready_.push_back({.tag = tag, .intents = std::move(content.intents), .redelivered = message.redelivered});
  return {};
}

base::Status Source::park(const amqp::Delivered& message, const std::vector<Unreadable>& unreadable) {
  for (const auto& one : unreadable) {
    const std::string reason = base::printable(one.reason, reason_bytes_max);
    const amqp::Properties properties{.content_type = message.properties.content_type,
                                      .message_id = {},
                                      .correlation_id = base::printable(message.routing_key, reason_bytes_max),
                                      .reply_to = {},
                                      .type = reason};
    if (auto parked = confirmed_publish(parked_queue(config_), one.raw, properties); !parked) return parked;
    ++counters_.parked;
    base::log::error("{}: parked a message of {}: {}", config_.connection_name, message.routing_key, reason);
  }
  return {};
}

std::vector<Delivery> Source::take_ready(std::size_t intents_max) {
  std::vector<Delivery> taken;
  std::size_t intents = 0;
  while (!ready_.empty()) {
    intents += ready_.front().intents.size();
    if (!taken.empty() && intents > intents_max) break;
    taken.push_back(std::move(ready_.front()));
    ready_.pop_front();
  }
  return taken;
}

base::Status Source::acknowledge(std::uint64_t tag) {
  const auto found = held_.find(tag);
  if (found == held_.end()) return stale();
  const Held held = found->second;
  held_.erase(found);
  return done_with(held);
}

base::Status Source::retry_later(std::uint64_t tag, std::vector<model::OrderIntent> intents, milliseconds delay) {
  const auto found = held_.find(tag);
  if (found == held_.end()) return stale();
  const Held held = found->second;
  const Partition partition = subscriptions_.at(held.channel).partition;
  if (!intents.empty()) {
    std::string body;
    write_intents(body, intents);
    const amqp::Properties properties{.content_type = std::string{batch_content_type},
                                      .message_id = {},
                                      .correlation_id = {},
                                      .reply_to = {},
                                      .type = {}};
    auto put_off = confirmed_publish(retry_queue(config_, partition, tier_for(config_, delay)), body, properties);
    if (!held_.contains(tag)) return put_off ? stale() : put_off;  // its channel went meanwhile: it comes again
    if (!put_off) {
      held_.erase(tag);
      give_back_later(held);
      return put_off;
    }
    ++counters_.retried;
  }
  held_.erase(tag);
  return done_with(held);
}

base::Status Source::done_with(const Held& held) {
  if (auto told = lost_if(connection_->acknowledge(held.channel, held.broker_tag)); !told) return told;
  const auto subscription = subscriptions_.find(held.channel);
  if (subscription == subscriptions_.end()) return {};
  subscription->second.unacknowledged.erase(held.broker_tag);
  return answer_markers(held.channel, subscription->second);
}

// The answer goes out on the marker's own channel: the broker has acted on every acknowledgement before it by then. The
// marker is acknowledged last, so when this worker dies in between, the next one answers again.
base::Status Source::answer_markers(Channel channel, Subscription& subscription) {
  while (!subscription.markers.empty() && threads_.now() >= publish_at_) {
    const Marker& marker = subscription.markers.front();
    const auto& waiting = subscription.unacknowledged;
    if (!waiting.empty() && *waiting.begin() < marker.broker_tag) return {};
    const amqp::Properties properties{.content_type = std::string{barrier_content_type},
                                      .message_id = {},
                                      .correlation_id = marker.correlation_id,
                                      .reply_to = {},
                                      .type = {},
                                      .persistent = false};
    auto told = lost_if(connection_->publish(
        channel, {.routing_key = marker.reply_to, .body = {}, .properties = properties, .mandatory = false}));
    if (told) told = lost_if(connection_->acknowledge(channel, marker.broker_tag));
    if (!told) return told;
    subscription.markers.pop_front();
  }
  return {};
}

// Those that an alarm held up.
base::Status Source::answer_all_markers() {
  for (auto& [channel, subscription] : subscriptions_) {
    if (auto answered = answer_markers(channel, subscription); !answered) return answered;
  }
  return {};
}

void Source::give_back_later(const Held& held) { give_backs_.push_back({threads_.now() + give_back_after, held}); }

base::Status Source::give_back_due() {
  while (!give_backs_.empty() && give_backs_.front().when <= threads_.now()) {
    const Held held = give_backs_.front().held;
    give_backs_.pop_front();
    const auto subscription = subscriptions_.find(held.channel);
    if (subscription == subscriptions_.end()) continue;
    subscription->second.unacknowledged.erase(held.broker_tag);
    if (auto told = lost_if(connection_->requeue(held.channel, held.broker_tag)); !told) return told;
    // Behind it again, or they would say that it is done.
    while (!subscription->second.markers.empty()) {
      const std::uint64_t marker = subscription->second.markers.front().broker_tag;
      subscription->second.markers.pop_front();
      if (auto told = lost_if(connection_->requeue(held.channel, marker)); !told) return told;
    }
  }
  return {};
}

}  // namespace seckill::queue::rabbit
