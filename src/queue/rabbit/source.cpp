// The source's connection and its turn: listening, looking after seats, publishing with a confirm.
#include "queue/rabbit/source.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {
namespace {

namespace amqp = drivers::amqp;
using base::Errc;
using std::chrono::milliseconds;

constexpr std::string_view doing = "taking intents from RabbitMQ";
constexpr std::chrono::seconds silent_after_alarm{5};

}  // namespace

base::Result<std::unique_ptr<RabbitSource>> RabbitSource::make(RabbitConfig config) {
  auto dialer = Dialer::make(config);
  if (!dialer) return std::unexpected{std::move(dialer).error()};
  return std::make_unique<Source>(std::move(config), *std::move(dialer));
}

Source::Source(RabbitConfig config, Dialer dialer) : config_{std::move(config)}, dialer_{std::move(dialer)} {}

RabbitSourceCounters Source::counters() const noexcept {
  return {.messages = counters_.messages,
          .redelivered = counters_.redelivered,
          .unreadable = counters_.unreadable,
          .parked = counters_.parked,
          .retried = counters_.retried,
          .connects = counters_.connects};
}

base::Result<std::vector<Delivery>> Source::receive(std::size_t intents_max, milliseconds longest) {
  const Time until = threads_.now() + longest;
  if (loss_untold_) {
    loss_untold_ = false;
    return base::fail(Errc::unavailable, std::string{doing}, "the connection was lost");
  }
  if (auto connected = connect(longest); !connected) return std::unexpected{std::move(connected).error()};
  for (;;) {
    base::Status turn = look_after();
    // Whatever is there already, before anything is waited for.
    if (turn) turn = listen(milliseconds{0});
    if (turn) turn = read_inbox();
    if (!turn) {
      loss_untold_ = false;
      return std::unexpected{std::move(turn).error()};
    }
    auto deliveries = take_ready(intents_max);
    const Time now = threads_.now();
    if (!deliveries.empty() || now >= until) return deliveries;
    Time next = std::min(until, look_at_);
    if (!give_backs_.empty()) next = std::min(next, give_backs_.front().when);
    const auto wait = std::max(std::chrono::ceil<milliseconds>(next - now), milliseconds{0});
    if (auto heard = listen(wait); !heard) {
      loss_untold_ = false;
      return std::unexpected{std::move(heard).error()};
    }
  }
}

base::Status Source::connect(milliseconds longest) {
  if (connection_) return {};
  const Time now = threads_.now();
  if (now < dial_at_) {
    threads_.sleep_for(std::min<Time>(longest, dial_at_ - now));
    if (threads_.now() < dial_at_) return base::fail(Errc::unavailable, std::string{doing}, "not connected");
  }
  auto connection = dialer_.dial();
  dial_at_ = threads_.now() + dialer_.pause();
  if (!connection) return std::unexpected{std::move(connection).error()};
  connection_.emplace(*std::move(connection));
  seats_ = {};
  share_put_off_ = 0;
  sequence_ = 0;
  bell_open_ = false;
  bell_at_ = Time{0};
  topology_in_doubt_ = false;
  look_at_ = threads_.now();
  ++counters_.connects;
  base::log::info("{}: takes intents from RabbitMQ", config_.connection_name);
  return {};
}

// All that was delivered and not acknowledged is the broker's again.
void Source::lose(const base::Error& why) {
  base::log::warn("{}: {}", config_.connection_name, why.text());
  connection_.reset();
  subscriptions_.clear();
  inbox_.clear();
  ready_.clear();
  held_.clear();
  give_backs_.clear();
  loss_untold_ = true;
}

// An Error of a call is passed on; when the connection is lost with it, so is everything that hung on it.
base::Status Source::lost_if(base::Status status) {
  if (!status && connection_ && !connection_->alive()) lose(status.error());
  return status;
}

base::Status Source::listen(milliseconds longest) {
  for (;;) {
    auto event = connection_->next(longest);
    if (!event) {
      lose(event.error());
      return std::unexpected{std::move(event).error()};
    }
    if (!*event) return {};
    if (auto heard = hear(**event); !heard) return heard;
    longest = milliseconds{0};  // and what came with it
  }
}

base::Status Source::hear(amqp::Event& event) {
  if (auto* message = std::get_if<amqp::Delivered>(&event)) {
    inbox_.push_back(std::move(*message));
  } else if (const auto* confirmed = std::get_if<amqp::Confirmed>(&event)) {
    const bool ours = confirmed->multiple ? confirmed->sequence >= sequence_ : confirmed->sequence == sequence_;
    if (ours) confirm_ = confirmed->taken;
  } else if (const auto* returned = std::get_if<amqp::Returned>(&event)) {
    topology_in_doubt_ = true;
    if (returned->message_id == std::to_string(sequence_)) returned_ = true;
  } else if (const auto* cancelled = std::get_if<amqp::ConsumerCancelled>(&event)) {
    base::log::warn("{}: the broker cancelled a subscription", config_.connection_name);
    if (connection_->close_channel(cancelled->channel)) channel_gone(cancelled->channel);
  } else if (const auto* closed = std::get_if<amqp::ChannelClosed>(&event)) {
    base::log::warn("{}: the broker closed a channel: {}", config_.connection_name, closed->reason);
    channel_gone(closed->channel);
  } else if (const auto* blocked = std::get_if<amqp::Blocked>(&event); blocked != nullptr && blocked->now) {
    publish_at_ = threads_.now() + silent_after_alarm;
    const base::Error why{Errc::unavailable, std::string{doing}, "the broker takes nothing now: " + blocked->reason};
    lose(why);
    return std::unexpected{why};
  }
  return {};
}

void Source::channel_gone(Channel channel) {
  topology_in_doubt_ = true;
  look_at_ = threads_.now() + milliseconds{100};
  if (channel == Seats::looking_channel || channel == Seats::sitting_channel) seats_.channel_gone(channel);
  if (channel == bell_channel) {
    bell_open_ = false;
    bell_at_ = Time{0};
  }
  forget(channel);
}

// What is due besides messages: seats, missing queues, what is given back.
base::Status Source::look_after() {
  if (auto given = give_back_due(); !given) return given;
  if (threads_.now() < look_at_) return {};
  look_at_ = threads_.now() + seat_look_every;
  if (topology_in_doubt_) {
    topology_in_doubt_ = false;
    if (auto declared = lost_if(Dialer::declare_again(*connection_, config_)); !declared) {
      if (!connection_) return declared;
      base::log::error("{}: {}", config_.connection_name, declared.error().text());
    }
  }
  if (auto bell = listen_to_bell(); !bell) return bell;
  if (auto answered = answer_all_markers(); !answered) return answered;
  if (auto looked = look_at_subscriptions(); !looked) return looked;
  return share_out();
}

base::Status Source::confirmed_publish(const std::string& queue, std::string_view body, const amqp::Properties& from) {
  const Time now = threads_.now();
  if (now < publish_at_) return base::fail(Errc::limit, "publishing to " + queue, "the broker takes nothing now");
  // Counted as the broker counts: what is sent, and nothing else.
  amqp::Properties properties = from;
  properties.message_id = std::to_string(++sequence_);
  confirm_.reset();
  returned_ = false;
  const Time until = now + config_.confirm_longest;
  if (auto sent = lost_if(
          connection_->publish(confirming_channel, {.routing_key = queue, .body = body, .properties = properties}));
      !sent) {
    return sent;
  }
  while (!confirm_) {
    const auto left = std::chrono::ceil<milliseconds>(until - threads_.now());
    if (left <= milliseconds{0}) return base::fail(Errc::timeout, "publishing to " + queue, "not confirmed");
    auto event = connection_->next(left);
    if (!event) {
      lose(event.error());
      return std::unexpected{std::move(event).error()};
    }
    if (!*event) continue;
    if (auto heard = hear(**event); !heard) return heard;
  }
  if (returned_) return base::fail(Errc::not_found, "publishing to " + queue, "there is no such queue");
  if (!*confirm_) return base::fail(Errc::limit, "publishing to " + queue, "the broker refused it");
  return {};
}

}  // namespace seckill::queue::rabbit
