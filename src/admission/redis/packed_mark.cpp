#include "admission/redis/packed_mark.hpp"

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "admission/memory/packed_request_id.hpp"

namespace seckill::admission::redis {
namespace {

constexpr std::uint8_t published_flag = 16;
constexpr std::uint8_t terms_flag = 32;
constexpr std::uint8_t fields_flag = 64;
constexpr std::uint8_t wide_units_flag = 128;

// Reads bytes from the front; what is not there fails once and for all.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) noexcept : rest_{bytes} {}

  std::string_view take(std::size_t size) noexcept {
    if (size > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint64_t number(std::size_t size) noexcept {
    std::uint64_t value = 0;
    for (const char c : take(size)) value = value << 8 | static_cast<std::uint8_t>(c);
    return value;
  }
  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

bool read_terms(Bytes& bytes, std::uint8_t flags, const TermsLines& lines, steps::LaneTicket& ticket) {
  if ((flags & terms_flag) == 0) return (flags & fields_flag) == 0;
  ticket.terms = lines.at(static_cast<std::size_t>(bytes.number(2)));
  if (!ticket.terms) return false;
  if ((flags & fields_flag) == 0) return true;
  const auto size = static_cast<std::size_t>(bytes.number(2));
  ticket.terms->fields = std::make_shared<const std::string>(bytes.take(size));
  return true;
}

std::optional<steps::LaneTicket> read_record(Bytes& bytes, const TermsLines& lines) {
  const auto flags = static_cast<std::uint8_t>(bytes.number(1));
  const auto size_tag = static_cast<std::uint8_t>(bytes.number(1));
  base::Bytes16 ticket_bytes{};
  const std::string_view ticket_text = bytes.take(ticket_bytes.size());
  if (bytes.failed() || flags % 4 == 3) return std::nullopt;
  std::memcpy(ticket_bytes.data(), ticket_text.data(), ticket_bytes.size());
  steps::LaneTicket ticket;
  ticket.ticket = model::Ticket{ticket_bytes};
  ticket.units_state = static_cast<steps::LaneUnits>(flags % 4);
  ticket.state = static_cast<model::TicketState>(flags / 4 % 4);
  ticket.published = (flags & published_flag) != 0;
  ticket.digest = bytes.number(8);
  ticket.admitted_at = static_cast<base::UtcMs>(bytes.number(6));
  ticket.units = static_cast<std::int64_t>(bytes.number((flags & wide_units_flag) != 0 ? 8 : 1));
  if (size_tag != memory::PackedRequestId::uuid_tag && size_tag > base::limits::request_id_bytes_max)
    return std::nullopt;
  const std::string_view request_id = bytes.take(memory::PackedRequestId::size_of(size_tag));
  if (bytes.failed() || request_id.empty()) return std::nullopt;
  ticket.request_id = memory::PackedRequestId::unpack(size_tag, request_id);
  if (!read_terms(bytes, flags, lines, ticket) || bytes.failed()) return std::nullopt;
  return ticket;
}

bool take_number(std::string_view& text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return true;
}

std::optional<steps::IntentTerms> read_line(std::string_view line) {
  steps::IntentTerms terms;
  if (!take_number(line, terms.price_minor) || line.size() < 4) return std::nullopt;
  const auto currency = model::Currency::parse(line.substr(0, 3));
  if (!currency || line[3] != ' ') return std::nullopt;
  terms.currency = *currency;
  line.remove_prefix(4);
  if (!take_number(line, terms.limit) || !take_number(line, terms.pay_window_ms) || !line.empty()) return std::nullopt;
  return terms;
}

}  // namespace

std::optional<TermsLines> TermsLines::parse(std::string_view text) {
  TermsLines table;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    auto terms = read_line(text.substr(0, end));
    if (!terms) return std::nullopt;
    table.lines_.push_back(*std::move(terms));
    text.remove_prefix(end + 1);
  }
  return table;
}

std::optional<steps::IntentTerms> TermsLines::at(std::size_t line) const {
  if (line < 1 || line > lines_.size()) return std::nullopt;
  return lines_[line - 1];
}

std::optional<std::vector<steps::LaneTicket>> unpack_mark(std::string_view mark, const TermsLines& terms) {
  std::vector<steps::LaneTicket> tickets;
  Bytes bytes{mark};
  while (!bytes.empty()) {
    auto ticket = read_record(bytes, terms);
    if (!ticket) return std::nullopt;
    tickets.push_back(*std::move(ticket));
  }
  return tickets;
}

std::string pack_request_id(const model::RequestId& id) {
  const memory::PackedRequestId packed{id};
  std::string bytes(1, static_cast<char>(packed.tag()));
  bytes += packed.bytes();
  return bytes;
}

std::string pack_digest(std::uint64_t digest) {
  std::string bytes(8, '\0');
  for (std::size_t i = bytes.size(); i-- > 0; digest >>= 8) bytes[i] = static_cast<char>(digest & 0xFF);
  return bytes;
}

std::string pack_ticket(const model::Ticket& ticket) {
  const base::Bytes16& bytes = ticket.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string ticket_index(const model::Ticket& ticket) { return pack_ticket(ticket).substr(2); }

std::string terms_line(std::int64_t price_minor, const model::Currency& currency, std::int64_t limit,
                       std::int64_t pay_window_ms) {
  return fmt::format("{} {} {} {}", price_minor, currency.view(), limit, pay_window_ms);
}

std::uint32_t record_flags(const steps::LaneTicket& ticket) noexcept {
  return static_cast<std::uint32_t>(ticket.units_state) + 4 * static_cast<std::uint32_t>(ticket.state) +
         (ticket.published ? published_flag : 0U);
}

}  // namespace seckill::admission::redis
