// Marks and terms as the scripts keep them (scripts/parts/mark.lua, terms.lua), read back; and the packed pieces that
// scripts are given to store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/lane_steps_state.hpp"

namespace seckill::admission::redis {

// The lane's table of terms. Lines are numbered from 1. Constant after construction.
class TermsLines {
 public:
  // nullopt: no script writes such a text.
  [[nodiscard]] static std::optional<TermsLines> parse(std::string_view text);
  // nullopt: there is no such line.
  [[nodiscard]] std::optional<steps::IntentTerms> at(std::size_t line) const;

 private:
  std::vector<steps::IntentTerms> lines_;  // without order fields
};

// The tickets of a mark, or of one record of it, oldest first; of each, `stream_entry` is not known and 0. nullopt: no
// script writes such bytes.
[[nodiscard]] std::optional<std::vector<steps::LaneTicket>> unpack_mark(std::string_view mark, const TermsLines& terms);

// A request id as a record keeps it: its size byte, then its bytes.
[[nodiscard]] std::string pack_request_id(const model::RequestId& id);
// Eight bytes, big-endian.
[[nodiscard]] std::string pack_digest(std::uint64_t digest);
[[nodiscard]] std::string pack_ticket(const model::Ticket& ticket);
// Ticket as a lane's index of tickets names it (scripts/parts/mark.lua).
[[nodiscard]] std::string ticket_index(const model::Ticket& ticket);
// "price currency limit pay_window_ms"
[[nodiscard]] std::string terms_line(std::int64_t price_minor, const model::Currency& currency, std::int64_t limit,
                                     std::int64_t pay_window_ms);
// The flags of a ticket's record, those that say what it is, not what follows.
[[nodiscard]] std::uint32_t record_flags(const steps::LaneTicket& ticket) noexcept;

}  // namespace seckill::admission::redis
