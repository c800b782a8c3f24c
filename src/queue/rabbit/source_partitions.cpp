// Which partitions the source has: its share of them, each on a channel of its own.
#include <algorithm>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "queue/rabbit/source.hpp"
#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {
namespace {

// Partitions are given up between two batches if possible, so that no order is handled twice for it; but not for ever.
constexpr int put_off_max = 5;
constexpr std::chrono::seconds bell_again_after{30};
constexpr std::chrono::seconds subscriptions_every{2};
// A quorum queue that does not answer its own node at once is reported as one without consumers.
constexpr int not_known_max = 3;

}  // namespace

base::Status Source::share_out() {
  auto share = seats_.look(*connection_, config_);
  if (!share) return lost_if(std::unexpected{std::move(share).error()});
  const auto workers = std::max<std::uint32_t>(share->workers, 1);
  const std::size_t partitions = (config_.partitions + workers - 1) / workers;
  const auto prefetch = static_cast<std::uint16_t>(
      std::clamp<std::size_t>(config_.prefetch_messages / partitions, 1, config_.prefetch_messages));
  std::set<Partition> missing;
  for (Partition partition = 0; partition < config_.partitions; ++partition) {
    if (share->has(partition)) missing.insert(partition);
  }
  std::vector<Channel> leaving;
  for (const auto& [channel, subscription] : subscriptions_) {
    if (share->has(subscription.partition) && subscription.prefetch == prefetch) {
      missing.erase(subscription.partition);
    } else {
      leaving.push_back(channel);
    }
  }
  const bool in_hand = held_.size() > ready_.size();
  if (!leaving.empty() && in_hand && ++share_put_off_ <= put_off_max) return {};
  share_put_off_ = 0;
  if (leaving.empty() && missing.empty()) return {};
  for (const Channel channel : leaving) {
    if (auto given_up = give_up(channel); !given_up) return given_up;
  }
  for (const Partition partition : missing) {
    if (auto subscribed = subscribe(partition, prefetch); !subscribed) {
      if (!connection_) return subscribed;
      base::log::warn("{}: {}", config_.connection_name, subscribed.error().text());
      topology_in_doubt_ = true;
    }
  }
  base::log::info("{}: has {} of {} partitions, one of {} workers", config_.connection_name, subscriptions_.size(),
                  config_.partitions, workers);
  return {};
}

// A queue that is deleted while it is being subscribed to and declared again takes the consumer along without a word to
// it (FS-11): nobody would ever take what comes into it.
base::Status Source::look_at_subscriptions() {
  if (threads_.now() < subscriptions_at_) return {};
  subscriptions_at_ = threads_.now() + subscriptions_every;
  std::vector<Channel> lost;
  for (auto& [channel, subscription] : subscriptions_) {
    const std::string queue = intents_queue(config_, subscription.partition);
    const auto state = connection_->look_at(declaring_channel, queue);
    if (!state && !connection_->alive()) return lost_if(std::unexpected{state.error()});
    if (!state) {
      topology_in_doubt_ = true;
      if (auto opened = lost_if(connection_->open_channel(declaring_channel)); !opened) return opened;
    }
    subscription.not_known = state && state->consumers > 0 ? 0 : subscription.not_known + 1;
    if (subscription.not_known >= not_known_max) lost.push_back(channel);
  }
  for (const Channel channel : lost) {
    base::log::warn("{}: partition {} has no consumer at the broker; it is subscribed to again",
                    config_.connection_name, subscriptions_.at(channel).partition);
    if (auto given_up = give_up(channel); !given_up) return given_up;
  }
  return {};
}

base::Status Source::subscribe(Partition partition, std::uint16_t prefetch) {
  const Channel channel = free_channel();
  if (auto opened = lost_if(connection_->open_channel(channel)); !opened) return opened;
  if (auto bounded = lost_if(connection_->prefetch(channel, prefetch)); !bounded) return bounded;
  // Before the first delivery can come.
  subscriptions_[channel] = {
      .partition = partition, .prefetch = prefetch, .unacknowledged = {}, .markers = {}, .not_known = 0};
  auto consuming = lost_if(connection_->consume(channel, intents_queue(config_, partition), false, false));
  if (!consuming) subscriptions_.erase(channel);
  return consuming;
}

base::Status Source::give_up(Channel channel) {
  auto closed = lost_if(connection_->close_channel(channel));
  if (closed) forget(channel);
  return closed;
}

// What came on the channel is the broker's again.
void Source::forget(Channel channel) {
  subscriptions_.erase(channel);
  std::erase_if(inbox_, [&](const auto& message) { return message.channel == channel; });
  std::erase_if(give_backs_, [&](const auto& one) { return one.held.channel == channel; });
  std::erase_if(ready_, [&](const Delivery& one) { return held_.at(one.tag).channel == channel; });
  std::erase_if(held_, [&](const auto& one) { return one.second.channel == channel; });
}

base::Status Source::listen_to_bell() {
  if (bell_open_ || threads_.now() < bell_at_) return {};
  if (auto opened = lost_if(connection_->open_channel(bell_channel)); !opened) return opened;
  auto consuming = lost_if(connection_->consume(bell_channel, bell_queue(config_), true, false));
  bell_open_ = consuming.has_value();
  if (consuming || !connection_) return consuming;
  topology_in_doubt_ = true;
  bell_at_ = threads_.now() + bell_again_after;
  return {};  // the sweep stands behind it
}

// Not one that was in use a moment ago: a late delivery of that one must not be taken for one of this.
Source::Channel Source::free_channel() {
  const auto numbers = static_cast<Channel>(config_.partitions * 8);
  for (Channel tried = 0; tried < numbers; ++tried) {
    last_channel_ = static_cast<Channel>((last_channel_ + 1) % numbers);
    const auto channel = static_cast<Channel>(first_partition_channel + last_channel_);
    if (!subscriptions_.contains(channel)) return channel;
  }
  SECKILL_ASSERT(false, "there are more channels than partitions");
  return first_partition_channel;
}

}  // namespace seckill::queue::rabbit
