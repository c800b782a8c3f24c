// From librabbitmq's frames to events: content arrives as method, header and body frames, those of several channels
// interleaved. Everything is copied, since the library takes a frame's memory back. For connection.cpp alone.
#pragma once

#include <amqp.h>
#include <amqp_framing.h>

#include <map>
#include <optional>
#include <string>

#include "drivers/amqp/connection.hpp"

namespace seckill::drivers::amqp {

[[nodiscard]] std::string text_of(const amqp_bytes_t& bytes);

// Owned by its connection.
class Assembly {
 public:
  // What this frame completes, if anything. Frames that make no sense where they come are dropped. Not for
  // channel.close and connection.close.
  [[nodiscard]] std::optional<Event> take(const amqp_frame_t& frame);
  // What had begun on the channel will not be completed.
  void forget(ChannelNumber channel) { begun_.erase(channel); }

 private:
  struct Content {
    Event event;  // a Delivered or a Returned
    std::uint64_t left = 0;
    bool header_seen = false;
  };
  std::optional<Event> take_method(ChannelNumber channel, const amqp_method_t& method);
  void take_header(Content& content, const amqp_frame_t& frame);
  static void take_body(Content& content, const amqp_bytes_t& part);

  std::map<ChannelNumber, Content> begun_;
};

}  // namespace seckill::drivers::amqp
