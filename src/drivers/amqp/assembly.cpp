#include "drivers/amqp/assembly.hpp"

#include <algorithm>

namespace seckill::drivers::amqp {
namespace {

template <typename T>
const T& decoded(const amqp_method_t& method) {
  return *static_cast<const T*>(method.decoded);
}

Properties properties_of(const amqp_basic_properties_t& from) {
  const auto text = [&](amqp_flags_t flag, const amqp_bytes_t& bytes) {
    return (from._flags & flag) != 0 ? text_of(bytes) : std::string{};
  };
  return {.content_type = text(AMQP_BASIC_CONTENT_TYPE_FLAG, from.content_type),
          .message_id = text(AMQP_BASIC_MESSAGE_ID_FLAG, from.message_id),
          .correlation_id = text(AMQP_BASIC_CORRELATION_ID_FLAG, from.correlation_id),
          .reply_to = text(AMQP_BASIC_REPLY_TO_FLAG, from.reply_to),
          .type = text(AMQP_BASIC_TYPE_FLAG, from.type),
          .persistent = (from._flags & AMQP_BASIC_DELIVERY_MODE_FLAG) != 0 && from.delivery_mode == 2};
}

}  // namespace

std::string text_of(const amqp_bytes_t& bytes) {
  if (bytes.bytes == nullptr) return {};
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

std::optional<Event> Assembly::take(const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD) return take_method(frame.channel, frame.payload.method);
  const auto found = begun_.find(frame.channel);
  if (found == begun_.end()) return std::nullopt;
  Content& content = found->second;
  if (frame.frame_type == AMQP_FRAME_HEADER && !content.header_seen) {
    take_header(content, frame);
  } else if (frame.frame_type == AMQP_FRAME_BODY && content.header_seen) {
    take_body(content, frame.payload.body_fragment);
  }
  if (!content.header_seen || content.left > 0) return std::nullopt;
  Event whole = std::move(content.event);
  begun_.erase(found);
  return whole;
}

std::optional<Event> Assembly::take_method(ChannelNumber channel, const amqp_method_t& method) {
  switch (method.id) {
    case AMQP_BASIC_DELIVER_METHOD: {
      const auto& from = decoded<amqp_basic_deliver_t>(method);
      begun_[channel] = {.event = Delivered{.channel = channel,
                                            .tag = from.delivery_tag,
                                            .redelivered = from.redelivered != 0,
                                            .cut = false,
                                            .routing_key = text_of(from.routing_key),
                                            .properties = {},
                                            .body = {}}};
      return std::nullopt;
    }
    case AMQP_BASIC_RETURN_METHOD:
      begun_[channel] = {.event = Returned{.channel = channel,
                                           .message_id = {},
                                           .reason = text_of(decoded<amqp_basic_return_t>(method).reply_text)}};
      return std::nullopt;
    case AMQP_BASIC_ACK_METHOD: {
      const auto& from = decoded<amqp_basic_ack_t>(method);
      return Confirmed{
          .channel = channel, .sequence = from.delivery_tag, .multiple = from.multiple != 0, .taken = true};
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto& from = decoded<amqp_basic_nack_t>(method);
      return Confirmed{
          .channel = channel, .sequence = from.delivery_tag, .multiple = from.multiple != 0, .taken = false};
    }
    case AMQP_BASIC_CANCEL_METHOD: return ConsumerCancelled{.channel = channel};
    case AMQP_CONNECTION_BLOCKED_METHOD:
      return Blocked{.now = true, .reason = text_of(decoded<amqp_connection_blocked_t>(method).reason)};
    case AMQP_CONNECTION_UNBLOCKED_METHOD: return Blocked{.now = false, .reason = {}};
    default: return std::nullopt;
  }
}

void Assembly::take_header(Content& content, const amqp_frame_t& frame) {
  content.header_seen = true;
  content.left = frame.payload.properties.body_size;
  if (frame.payload.properties.decoded == nullptr) return;
  auto properties = properties_of(*static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded));
  if (auto* delivered = std::get_if<Delivered>(&content.event)) {
    delivered->properties = std::move(properties);
    delivered->body.reserve(std::min<std::uint64_t>(content.left, body_bytes_max));
  } else if (auto* returned = std::get_if<Returned>(&content.event)) {
    returned->message_id = std::move(properties.message_id);
  }
}

void Assembly::take_body(Content& content, const amqp_bytes_t& part) {
  content.left -= std::min<std::uint64_t>(content.left, part.len);
  auto* delivered = std::get_if<Delivered>(&content.event);
  if (delivered == nullptr) return;  // what came back is known to who sent it
  const std::size_t kept = std::min(part.len, body_bytes_max - delivered->body.size());
  delivered->body.append(static_cast<const char*>(part.bytes), kept);
  delivered->cut = delivered->cut || kept < part.len;
}

}  // namespace seckill::drivers::amqp
