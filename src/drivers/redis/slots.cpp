#include "drivers/redis/slots.hpp"

#include <algorithm>
#include <charconv>

namespace seckill::drivers::redis {
namespace {

constexpr std::size_t nodes_max = 1'024;  // of a map: more than any cluster has

constexpr std::array<std::uint16_t, 256> crc16_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned value = byte << 8;
    for (int bit = 0; bit < 8; ++bit) value = (value & 0x8000u) != 0 ? (value << 1) ^ 0x1021u : value << 1;
    table[byte] = static_cast<std::uint16_t>(value);
  }
  return table;
}

std::uint16_t crc16(std::string_view bytes) noexcept {
  static constexpr std::array<std::uint16_t, 256> table = crc16_table();
  unsigned crc = 0;
  for (const char byte : bytes) {
    crc = ((crc << 8) & 0xFFFFu) ^ table[((crc >> 8) ^ static_cast<unsigned char>(byte)) & 0xFFu];
  }
  return static_cast<std::uint16_t>(crc);
}

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

// [host, port, id, …] of CLUSTER SLOTS. The host is null or empty where the server does not know it.
std::optional<Endpoint> node_of(const RedisReply& reply, const Endpoint& asked) {
  if (reply.items().size() < 2) return std::nullopt;
  const std::optional<std::int64_t> port = reply.items()[1].integer();
  if (!port || *port <= 0 || *port > 65'535) return std::nullopt;
  const std::string_view host = reply.items()[0].text();
  return Endpoint{host.empty() || host == "?" ? asked.host : std::string(host), static_cast<std::uint16_t>(*port)};
}

std::uint16_t place_of(std::vector<Endpoint>& nodes, const Endpoint& node) {
  const auto found = std::ranges::find(nodes, node);
  if (found != nodes.end()) return static_cast<std::uint16_t>(found - nodes.begin());
  if (nodes.size() >= nodes_max) return SlotMap::nobody;
  nodes.push_back(node);
  return static_cast<std::uint16_t>(nodes.size() - 1);
}

}  // namespace

std::string_view hashed_part(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

std::uint16_t slot_of(std::string_view key) noexcept { return crc16(hashed_part(key)) % slot_count; }

std::string key_beside(std::string_view prefix, std::string_view key) {
  std::string_view tag = hashed_part(key);
  std::string found;
  if (tag.empty() || tag.contains('}')) {
    // It cannot stand between braces. Small numbers reach every slot; the bound is far past what it takes.
    const std::uint16_t wanted = slot_of(key);
    for (std::uint32_t number = 0; number < 1'000'000; ++number) {
      found = std::to_string(number);
      if (slot_of(found) == wanted) break;
    }
    tag = found;
  }
  std::string beside(prefix);
  beside.append("{").append(tag).append("}");
  return beside;
}

std::string Endpoint::text() const {
  const std::string number = std::to_string(port);
  return host.contains(':') ? "[" + host + "]:" + number : host + ":" + number;
}

std::optional<Endpoint> parse_endpoint(std::string_view text, const Endpoint* asked) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = whole_number<std::uint16_t>(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (!port || *port == 0 || host.contains(' ')) return std::nullopt;
  if (host.empty() || host == "?") {
    if (asked == nullptr) return std::nullopt;
    host = asked->host;
  }
  return Endpoint{std::string(host), *port};
}

std::optional<Redirect> parse_redirect(std::string_view text, const Endpoint& asked) {
  const std::size_t first = text.find(' ');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = text.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto slot = whole_number<std::uint16_t>(text.substr(first + 1, second - first - 1));
  std::optional<Endpoint> to = parse_endpoint(text.substr(second + 1), &asked);
  if (!slot || *slot >= slot_count || !to) return std::nullopt;
  return Redirect{*slot, *std::move(to)};
}

const Endpoint* SlotMap::owner(std::uint16_t slot) const noexcept {
  const std::uint16_t place = owner_of_slot[slot];
  return place == nobody ? nullptr : &masters[place];
}

void SlotMap::assign(std::uint16_t slot, const Endpoint& to) { owner_of_slot[slot] = place_of(masters, to); }

std::optional<SlotMap> parse_slots(const RedisReply& reply, const Endpoint& asked) {
  if (reply.kind() != RedisReply::Kind::array) return std::nullopt;
  SlotMap map;
  for (const RedisReply& range : reply.items()) {
    const std::vector<RedisReply>& parts = range.items();
    if (parts.size() < 3) return std::nullopt;
    const std::optional<std::int64_t> first = parts[0].integer();
    const std::optional<std::int64_t> last = parts[1].integer();
    if (!first || !last || *first < 0 || *last < *first || *last >= slot_count) return std::nullopt;
    const std::optional<Endpoint> master = node_of(parts[2], asked);
    if (!master) return std::nullopt;
    const std::uint16_t place = place_of(map.masters, *master);
    for (std::int64_t slot = *first; slot <= *last; ++slot) map.owner_of_slot[static_cast<std::size_t>(slot)] = place;
    for (std::size_t i = 3; i < parts.size(); ++i) {
      if (const std::optional<Endpoint> replica = node_of(parts[i], asked)) place_of(map.others, *replica);
    }
  }
  return map;
}

}  // namespace seckill::drivers::redis
