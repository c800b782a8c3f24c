// How order intents travel through RabbitMQ: a CloudEvents 1.0 batch in JSON, one event an intent.
//
//   [{"specversion":"1.0","id":"<ticket>","type":"seckill.intent","source":"/sales/11-11/items/phone/lanes/3",
//     "time":"2026-11-11T02:00:00.500Z","datacontenttype":"application/json",
//     "data":{"sale":…,"sku":…,"buyer":…,"request_id":…,"digest":"…","lane":3,"generation":1,"units":1,
//             "price_minor":199900,"currency":"CNY","limit":1,"pay_window_ms":900000,"admitted_at":1794362400500,
//             "fields":"{…}"}}, …]
//
// `digest` can exceed 2^53 and so is text. `fields` is the declared order fields' canonical text, left out when there
// are none. Members a reader does not know are passed over: two versions work side by side. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/purchase.hpp"

namespace seckill::queue::rabbit {

inline constexpr std::string_view batch_content_type = "application/cloudevents-batch+json";
inline constexpr std::size_t message_intents_max = 100;
// A hundred intents with every declared field at its longest, escaped twice.
inline constexpr std::size_t message_bytes_max = 6 * 1024 * 1024;

// Appends the batch. Requires: 1 … message_intents_max intents.
void write_intents(std::string& out, std::span<const model::OrderIntent> intents);

// What cannot be an intent, as it came, and why in a few words.
struct Unreadable {
  std::string raw;
  std::string reason;
};
struct ReadMessage {
  std::vector<model::OrderIntent> intents;  // in their order
  std::vector<Unreadable> unreadable;
};
// Reads whatever came. An event that cannot be read does not touch its neighbours; text that is not an array of 1 …
// message_intents_max elements is unreadable as a whole. Never throws.
[[nodiscard]] ReadMessage read_intents(std::string_view body);

}  // namespace seckill::queue::rabbit
