// What anybody may have put into the queue of intents. Whatever it is, reading ends in intents that can be what a lane
// wrote, and in pieces of the text that cannot; and no event has a say in its neighbours (FS-09).
#include <string>
#include <string_view>

#include "base/limits.hpp"
#include "fuzz/property.hpp"
#include "queue/rabbit/message.hpp"

namespace seckill::fuzz {
namespace {

using queue::rabbit::message_intents_max;
using queue::rabbit::read_intents;
using queue::rabbit::ReadMessage;
using queue::rabbit::write_intents;

namespace limits = base::limits;

std::string written(std::span<const model::OrderIntent> intents) {
  std::string text;
  write_intents(text, intents);
  return text;
}

model::OrderIntent neighbour(std::uint8_t number) {
  base::Bytes16 bytes{};
  bytes[0] = 3 << 2;
  bytes[15] = number;
  model::OrderIntent intent;
  intent.ticket = model::Ticket{bytes};
  intent.item = {model::SaleId::trusted("11-11"), model::Sku::trusted("phone")};
  intent.buyer = *model::BuyerId::parse("alice");
  intent.request_id = *model::RequestId::parse("r-1");
  intent.lane = 3;
  intent.units = 1;
  intent.limit = 5;
  return intent;
}

void check_intent(const model::OrderIntent& intent, std::string_view text) {
  require(!intent.ticket.is_none() && intent.lane == intent.ticket.lane(), "a ticket names its lane", text);
  require(intent.units >= 1 && intent.limit >= 1 && intent.generation >= 1, "there is something to hold", text);
  require(intent.units <= limits::units_per_item_max && intent.price_minor <= limits::price_minor_max,
          "no product of the two overflows", text);
  require(intent.price_minor >= 0 && intent.pay_window_ms >= 0 && intent.admitted_at >= 0, "nothing is negative", text);
  require(intent.pay_window_ms <= limits::pay_window_ms_max, "a pay window is bounded", text);
  require(!intent.fields || intent.fields->size() <= limits::http_body_bytes_max, "order fields are bounded", text);
}

// Between two that are well, its pieces are what they were by themselves.
void check_neighbours(const ReadMessage& read, std::string_view text) {
  const std::string before = written(std::vector{neighbour(1)});
  const std::string after = written(std::vector{neighbour(2)});
  for (const auto& piece : read.unreadable) {
    const std::string between =
        before.substr(0, before.size() - 1) + "," + piece.raw + "," + after.substr(1, after.size() - 1);
    const ReadMessage all = read_intents(between);
    require(all.intents.size() == 2 && all.unreadable.size() == 1, "an event has no say in its neighbours", text);
    require(all.unreadable[0].raw == piece.raw, "what cannot be read is kept as it came", text);
    require(written(all.intents) == before.substr(0, before.size() - 1) + "," + after.substr(1),
            "the neighbours of what cannot be read are whole", text);
  }
}

void check(std::string_view text) {
  const ReadMessage read = read_intents(text);
  const std::size_t pieces = read.intents.size() + read.unreadable.size();
  require(pieces >= 1 && pieces <= message_intents_max, "all of it is answered for, within the bound (P9)", text);
  for (const auto& piece : read.unreadable) {
    require(!piece.reason.empty(), "it is said why", text);
    require(text.find(piece.raw) != std::string_view::npos, "what cannot be read is kept as it came", text);
  }
  for (const auto& intent : read.intents) check_intent(intent, text);
  const bool as_a_whole = read.intents.empty() && read.unreadable.size() == 1 && read.unreadable[0].raw == text;
  if (!as_a_whole) check_neighbours(read, text);
  if (read.intents.empty()) return;
  // A message that is put off is written again from what was read of it.
  const std::string again = written(read.intents);
  const ReadMessage reread = read_intents(again);
  require(reread.unreadable.empty() && reread.intents.size() == read.intents.size(), "what was read can be written",
          again);
  require(written(reread.intents) == again, "and is the same then", again);
}

}  // namespace
}  // namespace seckill::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  seckill::fuzz::check(seckill::fuzz::text_of(data, size));
  return 0;
}
