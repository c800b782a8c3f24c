// The publisher's connection: one thread connects, writes, hears, and begins anew when the broker is lost.
#include <poll.h>
#include <unistd.h>

#include "base/log.hpp"
#include "queue/rabbit/message.hpp"
#include "queue/rabbit/publisher.hpp"
#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {
namespace {

namespace amqp = drivers::amqp;
using std::chrono::milliseconds;

constexpr amqp::ChannelNumber reply_channel = 3;
// Messages written before the broker is listened to: it confirms meanwhile, and an alarm is heard soon.
constexpr int writes_at_once = 16;
constexpr milliseconds idle{200};  // also how often barriers are looked after
constexpr std::chrono::seconds declare_again_after{1};
// How many confirms may be owed before the oldest, long answered as unknown, are no longer waited for.
constexpr std::size_t owed_factor = 4;

void drain(int descriptor) {
  std::uint64_t count = 0;
  (void)!read(descriptor, &count, sizeof count);
}

}  // namespace

void Publisher::run_connection() {
  for (;;) {
    {
      const std::scoped_lock lock{mutex_};
      if (stopping_) break;
    }
    auto connection = dialer_.dial();
    if (connection) {
      serve(*connection);
      disconnected();
      continue;
    }
    pollfd woken{.fd = wake_descriptor_, .events = POLLIN, .revents = 0};
    // Nobody but stop() wakes it now: nothing is accepted.
    (void)poll(&woken, 1, static_cast<int>(dialer_.pause().count()));
    drain(wake_descriptor_);
  }
  disconnected();
}

void Publisher::serve(amqp::Connection& connection) {
  sequence_ = 0;
  blocked_ = false;
  topology_in_doubt_ = false;
  topology_declared_at_ = threads_.now();
  bells_declared_.clear();
  if (!connection.open_channel(reply_channel)) return;
  auto reply = connection.declare(
      reply_channel, {.name = {}, .durable = false, .exclusive = true, .auto_delete = true, .arguments = {}});
  if (!reply) return;
  reply_queue_ = std::move(reply->name);
  if (!connection.consume(reply_channel, reply_queue_, true, true)) return;
  ++counters_.connects;
  base::log::info("{}: publishes to RabbitMQ", config_.connection_name);
  open_ = true;
  bool more = false;
  for (;;) {
    auto event = connection.next(more ? milliseconds{0} : idle, wake_descriptor_);
    while (event && *event) {
      if (!hear(connection, **event)) return;
      event = connection.next(milliseconds{0});
    }
    if (!event) {
      base::log::warn("{}: {}", config_.connection_name, event.error().text());
      return;
    }
    drain(wake_descriptor_);
    {
      const std::scoped_lock lock{mutex_};
      if (stopping_) return;
    }
    if (topology_in_doubt_ && threads_.now() - topology_declared_at_ >= declare_again_after) {
      topology_in_doubt_ = false;
      topology_declared_at_ = threads_.now();
      if (auto declared = Dialer::declare_again(connection, config_); !declared) {
        base::log::error("{}: {}", config_.connection_name, declared.error().text());
      }
    }
    if (blocked_) {
      more = false;
      continue;
    }
    more = write_some(connection);
    ring_bells(connection);
    begin_barriers(connection);
    if (!connection.alive()) {
      base::log::warn("{}: the broker does not take what is written to it", config_.connection_name);
      return;
    }
  }
}

// Nothing of what was written is known any more; what was not written certainly is not there.
void Publisher::disconnected() {
  open_ = false;
  const std::scoped_lock lock{mutex_};
  for (const auto& [sequence, sent] : sent_) {
    if (const auto* id = std::get_if<Id>(&sent)) answer(*id, Published::unknown);
  }
  sent_.clear();
  for (const auto& message : outgoing_) answer(message.id, stopping_ ? Published::unknown : Published::refused);
  outgoing_.clear();
  bells_.clear();
  for (auto& [id, barrier] : barriers_) {
    if (!barrier.ended) {
      barrier.ended = base::fail(base::Errc::unavailable, "passing partition " + std::to_string(barrier.partition),
                                 "the broker was lost");
    }
  }
  barriers_changed_->notify_all();
}

// True when there is more to write.
bool Publisher::write_some(amqp::Connection& connection) {
  for (int written = 0; written < writes_at_once; ++written) {
    Outgoing message;
    {
      const std::scoped_lock lock{mutex_};
      while (!outgoing_.empty() && !pending_.contains(outgoing_.front().id)) outgoing_.pop_front();
      if (outgoing_.empty()) return false;
      message = std::move(outgoing_.front());
      outgoing_.pop_front();
    }
    if (!write(connection, message)) return false;
  }
  return true;
}

bool Publisher::write(amqp::Connection& connection, Outgoing& message) {
  static const amqp::Properties batch{.content_type = std::string{batch_content_type},
                                      .message_id = {},
                                      .correlation_id = {},
                                      .reply_to = {},
                                      .type = {}};
  buffer_.clear();
  write_intents(buffer_, message.intents);
  amqp::Properties properties = batch;
  properties.message_id = std::to_string(sequence_ + 1);
  const std::string queue = intents_queue(config_, message.partition);
  return send(connection, {.routing_key = queue, .body = buffer_, .properties = properties}, message.id);
}

bool Publisher::send(amqp::Connection& connection, const amqp::Publication& message, Sent sent) {
  // Remembered first: a failed write may have reached the broker.
  sent_.emplace(++sequence_, std::move(sent));
  while (sent_.size() > owed_factor * config_.unconfirmed_max) sent_.erase(sent_.begin());
  return connection.publish(confirming_channel, message).has_value();
}

// False: the connection is of no use any more.
bool Publisher::hear(amqp::Connection& connection, amqp::Event& event) {
  if (const auto* confirmed = std::get_if<amqp::Confirmed>(&event)) {
    heard(*confirmed);
  } else if (const auto* returned = std::get_if<amqp::Returned>(&event)) {
    heard(*returned);
  } else if (const auto* reply = std::get_if<amqp::Delivered>(&event)) {
    heard(*reply);
  } else if (const auto* blocked = std::get_if<amqp::Blocked>(&event)) {
    if (blocked->now != blocked_)
      base::log::warn(
          "{}: {}", config_.connection_name,
          blocked->now ? "the broker takes nothing now: " + blocked->reason : "the broker takes messages again");
    if (blocked->now) ++counters_.blocked;
    blocked_ = blocked->now;
    open_ = !blocked_;
    const std::scoped_lock lock{mutex_};
    for (const auto& message : outgoing_) answer(message.id, Published::refused);
    outgoing_.clear();
  } else if (const auto* closed = std::get_if<amqp::ChannelClosed>(&event)) {
    base::log::warn("{}: the broker closed a channel: {}", config_.connection_name, closed->reason);
    return false;
  } else if (std::holds_alternative<amqp::ConsumerCancelled>(event)) {
    return false;  // the queue of replies is gone: its node went
  }
  return connection.alive();
}

void Publisher::heard(const amqp::Confirmed& confirmed) {
  if (confirmed.multiple) {
    while (!sent_.empty() && sent_.begin()->first <= confirmed.sequence) {
      settled(sent_.begin()->second, confirmed.taken);
      sent_.erase(sent_.begin());
    }
  } else if (const auto found = sent_.find(confirmed.sequence); found != sent_.end()) {
    settled(found->second, confirmed.taken);
    sent_.erase(found);
  }
}

// The broker acknowledges what it returned as well, afterwards (FS-16).
void Publisher::heard(const amqp::Returned& returned) {
  if (!topology_in_doubt_) base::log::warn("{}: a message came back: {}", config_.connection_name, returned.reason);
  topology_in_doubt_ = true;
  const auto sequence = std::strtoull(returned.message_id.c_str(), nullptr, 10);
  const auto found = sent_.find(sequence);
  if (found == sent_.end()) return;
  const std::scoped_lock lock{mutex_};
  if (const auto* id = std::get_if<Id>(&found->second)) {
    ++counters_.returned;
    if (const auto pending = pending_.find(*id); pending != pending_.end()) pending->second.returned = true;
  } else if (const auto* bell = std::get_if<Bell>(&found->second)) {
    bells_declared_.erase(bell->pay_window);
    bells_.insert(bell->pay_window);
  }
}

void Publisher::settled(const Sent& sent, bool taken) {
  const auto* id = std::get_if<Id>(&sent);
  if (id == nullptr) return;  // markers are sent again, bells are hints
  const std::scoped_lock lock{mutex_};
  const auto pending = pending_.find(*id);
  if (pending == pending_.end()) return;
  answer(*id, taken && !pending->second.returned ? Published::confirmed : Published::refused);
}

void Publisher::ring_bells(amqp::Connection& connection) {
  std::set<milliseconds> bells;
  {
    const std::scoped_lock lock{mutex_};
    bells.swap(bells_);
  }
  for (const auto pay_window : bells) {
    const auto declared = bells_declared_.find(pay_window);
    if (declared == bells_declared_.end() || threads_.now() - declared->second >= bell_lease) {
      if (bells_declared_.size() >= 256) bells_declared_.clear();
      if (auto made = declare_bell(connection, declaring_channel, config_, pay_window); !made) {
        base::log::warn("{}: no bell after {} ms: {}", config_.connection_name, pay_window.count(),
                        made.error().text());
        if (made.error().code != base::Errc::refused || !connection.open_channel(declaring_channel)) return;
        continue;  // the sweep stands behind it
      }
      bells_declared_[pay_window] = threads_.now();
    }
    const amqp::Properties properties{.content_type = std::string{bell_content_type},
                                      .message_id = std::to_string(sequence_ + 1),
                                      .correlation_id = {},
                                      .reply_to = {},
                                      .type = {}};
    const std::string queue = bell_after_queue(config_, pay_window);
    if (!send(connection, {.routing_key = queue, .body = {}, .properties = properties}, Bell{pay_window})) return;
  }
}

}  // namespace seckill::queue::rabbit
