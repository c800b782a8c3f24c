// The small readings everything rests on: numbers, UTF-8, instants, lengths of time, ids, tickets, money, base 32 and
// hex. Each is compared with a naive reader, or goes out and comes back unchanged; one value has one spelling.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "admission/memory/packed_request_id.hpp"
#include "base/base32.hpp"
#include "base/crypto.hpp"
#include "base/duration.hpp"
#include "base/text.hpp"
#include "fuzz/property.hpp"
#include "model/ids.hpp"
#include "model/money.hpp"
#include "model/order_state.hpp"
#include "model/purchase.hpp"
#include "model/ticket.hpp"

namespace seckill::fuzz {
namespace {

std::optional<std::int64_t> naive_decimal(std::string_view text) {
  std::string printed;
  __int128 value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = std::min<__int128>(value * 10 + (c - '0'), __int128{INT64_MAX} + 1);
  }
  if (value > INT64_MAX || std::to_string(static_cast<std::int64_t>(value)) != text) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// Decodes code points by arithmetic and judges the result, instead of ranges of bytes.
std::optional<std::size_t> naive_utf8_length(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t size = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (size == 0 || at + size > text.size()) return std::nullopt;
    std::uint32_t point = size == 1 ? lead : lead & (0x7FU >> size);
    for (std::size_t i = 1; i < size; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if (next >> 6 != 2) return std::nullopt;
      point = point << 6 | (next & 63U);
    }
    constexpr std::array<std::uint32_t, 5> least{0, 1, 0x80, 0x800, 0x10000};  // less is NUL or an overlong form
    if (point < least[size] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return std::nullopt;
    at += size;
  }
  return count;
}

void check_text(std::string_view text) {
  require(base::parse_decimal(text) == naive_decimal(text), "a decimal number has one reading", text);
  require(base::utf8_length(text) == naive_utf8_length(text), "UTF-8 is what RFC 3629 says", text);
  const std::string shown = base::printable(text, 40);
  require(shown.size() <= 43, "what is logged keeps its bound", text);
  require(base::utf8_length(shown).has_value(), "what is logged is UTF-8", text);
  require(std::ranges::none_of(shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }),
          "what is logged has no control bytes", text);
}

void check_times(std::string_view text) {
  if (const auto instant = base::parse_instant(text)) {
    const std::string printed = base::format_instant(*instant);
    // What an offset brings before 1970 or past 9999 is printed, but not one of the texts that are taken.
    if (*instant >= 0 && *instant <= 253'402'300'799'999) {
      require(base::parse_instant(printed) == instant, "an instant is itself again", text);
    }
    require(*instant % 1'000 == 0 || text.find('.') != std::string_view::npos, "no milliseconds are made up", text);
  }
  if (const auto ms = base::parse_duration_ms(text)) {
    require(*ms >= 0, "a length of time is not negative", text);
    require(base::parse_duration_ms(base::format_duration(*ms)) == ms, "a length of time is itself again", text);
  }
}

template <typename Id>
void check_id(std::string_view text, std::size_t bytes_max) {
  const auto id = Id::parse(text);
  if (!id) return;
  require(id->view() == text && text.size() <= bytes_max && !text.empty(), "an id is kept byte for byte (FS-68)", text);
}

void check_ids(std::string_view text) {
  namespace limits = base::limits;
  check_id<model::SaleId>(text, limits::sale_id_bytes_max);
  check_id<model::Sku>(text, limits::sku_bytes_max);
  check_id<model::BuyerId>(text, limits::buyer_bytes_max);
  check_id<model::RequestId>(text, limits::request_id_bytes_max);
  if (const auto buyer = model::BuyerId::parse(text)) {
    require(naive_utf8_length(text).has_value(), "a buyer is UTF-8", text);
    for (std::uint32_t lanes = 1; lanes <= limits::lanes_max; ++lanes) {
      require(model::lane_of(buyer->view(), lanes) < lanes, "a buyer's lane exists", text);
    }
  }
  if (const auto request = model::RequestId::parse(text)) {
    const admission::memory::PackedRequestId packed{*request};
    require(packed.unpack(packed.tag(), packed.bytes()) == *request, "a packed request id loses nothing (P4)", text);
  }
  if (const auto currency = model::Currency::parse(text)) {
    require(currency->view() == text, "a currency is three letters as given", text);
  }
}

void check_tickets(std::string_view text) {
  if (const auto ticket = model::Ticket::parse(text)) {
    require(ticket->str() == text, "a ticket has one spelling", text);
    require(ticket->lane() < base::limits::lanes_max, "a ticket names a lane that can exist", text);
  }
  base::Bytes16 bytes{};
  std::ranges::copy(text.substr(0, bytes.size()), bytes.begin());
  const std::string printed = base::to_base32(bytes);
  require(base::from_base32(printed) == bytes, "16 bytes come back from base 32", printed);
  std::string spoiled = printed;
  spoiled[text.size() % spoiled.size()] = static_cast<char>(text.empty() ? 0 : text.back());
  const auto other = base::from_base32(spoiled);
  require(!other || base::to_base32(*other) == spoiled, "no other text means the same", spoiled);

  base::Bytes16 hexed{};
  if (base::from_hex(text, hexed))
    require(base::to_hex(hexed).size() == text.size(), "hex has two digits a byte", text);
  require(base::from_hex(base::to_hex(bytes), hexed) && hexed == bytes, "16 bytes come back from hex", text);

  Taker taker{text};
  const std::string_view buyer = taker.text();
  const std::string_view request = taker.text();
  const auto key_of = [](std::string_view name) {
    return model::ItemKey{*model::SaleId::parse("s"), *model::Sku::parse(name)};
  };
  if (const auto id = model::BuyerId::parse(buyer)) {
    const auto lane = model::lane_of(buyer, 7);
    const auto ticket = model::derive_ticket({}, key_of("a"), *id, request, lane);
    require(ticket.lane() == lane && !ticket.is_none(), "a ticket names its lane", text);
    require(ticket == model::derive_ticket({}, key_of("a"), *id, request, lane), "a ticket is derived (P4)", text);
    require(ticket != model::derive_ticket({}, key_of("b"), *id, request, lane), "each item has its own", text);
    require(ticket != model::derive_ticket({}, key_of("a"), *id, std::string{request.substr(0, 200)} + "x", lane),
            "and each request", text);
  }
}

void check_numbers(std::string_view text) {
  Taker taker{text};
  const std::int64_t a = taker.number();
  const std::int64_t b = taker.number();
  if (const auto state = model::order_state_from(a)) {
    require(static_cast<std::int64_t>(*state) == a && model::name(*state) != "unknown",
            "a stored state is one of ours");
  }
  if (const auto reason = model::fail_reason_from(a)) {
    require(static_cast<std::int64_t>(*reason) == a && model::name(*reason) != "unknown", "a stored reason is ours");
  }
  if (a >= 0 && b >= 0) {
    const __int128 product = __int128{a} * b;
    const auto amount = model::amount_minor(a, b);
    require(amount.has_value() == (product <= INT64_MAX), "an amount that does not fit is refused (P7)");
    require(!amount || *amount == product, "and one that fits is exact");
  }
  constexpr std::int64_t far = 200'000'000'000'000;  // years that chrono's calendar has
  if (a > -far && a < far) {
    const std::string printed = base::format_instant(a);
    if (a >= 0 && a <= 253'402'300'799'999) require(base::parse_instant(printed) == a, "an instant is itself", printed);
  }
}

}  // namespace
}  // namespace seckill::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace seckill::fuzz;
  const std::string_view text = text_of(data, size);
  check_text(text);
  check_times(text);
  check_ids(text);
  check_tickets(text);
  check_numbers(text);
  return 0;
}
