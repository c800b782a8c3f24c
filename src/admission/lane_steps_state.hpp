// What a remote lane keeps, as plain data: all that the steps of lane_steps.hpp read and write. It is what Redis could
// hold under the lane's hash tag (DESIGN §5), and nothing else:
//
//   stock      hash: phase, generation, leader, terms, the three counts, epoch, and how many tickets there are
//              (of a missing lane: leader and closed generation, if it was ever told to close)
//   marks      hash: one field a buyer, his tickets packed (`marks`); scanned by cursor
//   tickets    hash: ticket → buyer (`buyers`), because ends and confirmations come by ticket alone
//   intents    stream: the tickets whose intents are not known durable elsewhere, and when each was last claimed
//   transfers  hash: one field an id
//   beside     the same keys under another name: the lane that is being installed
//
// Every number is an integer. Copyable: a copy is what a replica or a file has of the lane.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "admission/lane_scripts.hpp"

namespace seckill::admission::steps {

enum class LanePhase : std::uint8_t {
  missing,     // never installed here, flushed or evicted
  installing,  // a lane beside another: begun, not all tickets are there
  open,
  closed,  // for good: only an install of a higher generation follows
};

// Whether a ticket's units are frozen, sold, or gone back.
enum class LaneUnits : std::uint8_t { held, sold, ended };

// What an intent says beyond its ticket: as it was admitted, whatever the terms are by now.
struct IntentTerms {
  std::int64_t price_minor = 0;
  model::Currency currency;
  std::int64_t limit = 0;
  std::int64_t pay_window_ms = 0;
  model::OrderFields fields;
  friend bool operator==(const IntentTerms&, const IntentTerms&) = default;
};

// One ticket of a mark.
struct LaneTicket {
  model::Ticket ticket;
  model::RequestId request_id;
  std::uint64_t digest = 0;
  std::int64_t units = 0;
  base::UtcMs admitted_at = 0;
  model::TicketState state = model::TicketState::queued;
  LaneUnits units_state = LaneUnits::held;
  bool published = false;            // its intent is known durable elsewhere; so it is once the ticket has ended
  std::uint64_t stream_entry = 0;    // its entry in `intents`; 0: none
  std::optional<IntentTerms> terms;  // none: the store is known to have its row; so it has once units moved on
  friend bool operator==(const LaneTicket&, const LaneTicket&) = default;

  [[nodiscard]] bool live() const noexcept { return units_state != LaneUnits::ended; }
};

// A buyer's record.
struct LaneMark {
  model::BuyerId buyer;
  std::vector<LaneTicket> tickets;  // oldest first
  friend bool operator==(const LaneMark&, const LaneMark&) = default;
};

// One entry of the stream. Its content is in the mark.
struct OpenIntent {
  model::Ticket ticket;
  base::UtcMs claimed_at = 0;  // entering the stream is the first claim
  friend bool operator==(const OpenIntent&, const OpenIntent&) = default;
};

struct TransferMemory {
  LaneTransferRecord record;
  base::UtcMs closed_at = 0;  // 0: the store's row is not known to be closed
};

struct LaneState {
  explicit LaneState(LaneKey lane_key) : key{std::move(lane_key)} {}

  LaneKey key;
  LanePhase phase = LanePhase::missing;
  model::Generation generation = 0;
  std::uint64_t leader = 0;                 // the latest token it was shown
  model::Generation closed_generation = 0;  // the highest that was closed: neither opened nor installed again
  model::ItemTerms terms;
  ledger::LaneStock stock;
  std::uint64_t epoch = 0;
  std::uint64_t tickets = 0;

  // In the order of their first ticket, so that a place is a cursor.
  std::vector<LaneMark> marks;
  std::map<model::BuyerId, std::size_t> places;    // of a buyer in `marks`
  std::map<model::Ticket, model::BuyerId> buyers;  // of a ticket
  std::map<std::uint64_t, OpenIntent> intents;     // by entry, oldest first
  std::uint64_t next_entry = 1;
  std::map<std::string, TransferMemory> transfers;
  std::vector<LaneState> beside;  // at most one: the lane that is being installed

  [[nodiscard]] LaneMark* mark_of(const model::BuyerId& buyer) noexcept;
  [[nodiscard]] const LaneMark* mark_of(const model::BuyerId& buyer) const noexcept;
  [[nodiscard]] LaneTicket* find(const model::Ticket& ticket) noexcept;
  // Adds a ticket to the buyer's mark, making the mark if there is none. Requires: the ticket is not known.
  LaneTicket& add(const model::BuyerId& buyer, LaneTicket ticket);
  // Gives the ticket an entry at the stream's end.
  void open_intent(LaneTicket& ticket, base::UtcMs now);
  // The ticket's intent is known durable elsewhere: out of the stream.
  void set_published(LaneTicket& ticket) noexcept;
  // Requires: ticket.terms.
  [[nodiscard]] model::OrderIntent intent_of(const model::BuyerId& buyer, const LaneTicket& ticket) const;
};

[[nodiscard]] TicketView view_of(const LaneTicket& ticket) noexcept;

}  // namespace seckill::admission::steps
