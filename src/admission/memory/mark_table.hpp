// The marks (限购标记) of one lane, packed: a buyer's record and his tickets lie in an arena that only grows (marks are
// never removed during a sale), and two indexes find them by buyer and by ticket. About 150 bytes a winner, all
// in.
//
// Not thread-safe: the lane's mutex guards it. Records never move: pointers stay valid as long as the table.
// Keeps P3 and P4 (everything a repeat or a limit needs is here) and P9 (nothing grows with losers).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "admission/memory/packed_request_id.hpp"
#include "admission/memory/place_index.hpp"
#include "model/order_state.hpp"
#include "model/sale.hpp"
#include "model/ticket.hpp"

namespace seckill::admission::memory {

// Whether a ticket's units are frozen, sold, or gone back.
enum class Units : std::uint8_t { held, sold, ended };

// One ticket of a mark. Its request id's bytes follow it in the arena.
struct TicketRecord {
  model::Ticket ticket;
  std::uint64_t digest;
  base::UtcMs admitted_at;
  const model::ItemTerms* terms;  // those it was admitted under; null when rebuilt from the store (then published)
  Place next;                     // the buyer's next ticket, oldest first
  Place mark;                     // the buyer's
  std::uint16_t units;            // limits::limit_max fits
  std::uint8_t request_tag;
  Units units_state : 2;
  model::TicketState state : 2;
  bool published : 1;   // known durable
  bool has_fields : 1;  // unpublished, and the lane keeps its order fields aside

  [[nodiscard]] bool live() const noexcept { return units_state != Units::ended; }
  [[nodiscard]] std::string_view request_bytes() const noexcept {
    return {reinterpret_cast<const char*>(this + 1), PackedRequestId::size_of(request_tag)};
  }
  [[nodiscard]] bool is_of(const PackedRequestId& id) const noexcept {
    return request_tag == id.tag() && request_bytes() == id.bytes();
  }
};

// A buyer's record. His id's bytes follow it.
struct MarkRecord {
  Place first;
  Place last;
  std::uint16_t tickets;
  std::uint16_t buyer_size;

  [[nodiscard]] std::string_view buyer() const noexcept {
    return {reinterpret_cast<const char*>(this + 1), buyer_size};
  }
};

class MarkTable {
 public:
  // The table's hash of a buyer: seeded once a process, because outsiders choose the text.
  [[nodiscard]] static std::uint64_t hash_of(std::string_view buyer) noexcept;

  [[nodiscard]] MarkRecord* find(std::string_view buyer, std::uint64_t hash) noexcept;
  [[nodiscard]] TicketRecord* find(const model::Ticket& ticket) noexcept;

  // The buyer's tickets, oldest first: for (t = first(*mark); t != nullptr; t = next(*t)).
  [[nodiscard]] TicketRecord* first(const MarkRecord& mark) const noexcept { return ticket_at(mark.first); }
  [[nodiscard]] TicketRecord* next(const TicketRecord& ticket) const noexcept { return ticket_at(ticket.next); }
  [[nodiscard]] const MarkRecord& mark_of(const TicketRecord& ticket) const noexcept {
    return *static_cast<const MarkRecord*>(at(ticket.mark));
  }

  // Adds a ticket to the buyer's mark (`mark` null: makes the mark first). The caller sets what `ticket` says beyond
  // ticket, digest and units. Requires: neither the ticket nor, with `mark` null, the buyer is in the table.
  TicketRecord& add(MarkRecord* mark, std::string_view buyer, std::uint64_t hash, const PackedRequestId& request_id,
                    const model::Ticket& ticket, std::uint64_t digest, std::int64_t units);

  // Makes room in the indexes, so that they do not grow under the lane's lock.
  void reserve(std::size_t marks);

  // Begins to fetch what find() and add() will touch.
  void prefetch_buyer(std::uint64_t hash) const noexcept { by_buyer_.prefetch(static_cast<std::uint32_t>(hash)); }
  void prefetch_ticket(const model::Ticket& ticket) const noexcept { by_ticket_.prefetch(index_hash(ticket)); }

  [[nodiscard]] std::size_t marks() const noexcept { return by_buyer_.size(); }

 private:
  [[nodiscard]] static std::uint32_t index_hash(const model::Ticket& ticket) noexcept {
    return static_cast<std::uint32_t>(model::TicketHash{}(ticket));
  }
  [[nodiscard]] void* at(Place place) const noexcept;
  [[nodiscard]] TicketRecord* ticket_at(Place place) const noexcept {
    return place == 0 ? nullptr : static_cast<TicketRecord*>(at(place));
  }
  [[nodiscard]] Place allocate(std::size_t bytes);

  std::vector<std::unique_ptr<std::uint64_t[]>> chunks_;
  std::size_t chunk_words_ = 0;  // of the newest chunk
  std::size_t used_words_ = 0;   // in it
  PlaceIndex by_buyer_;
  PlaceIndex by_ticket_;
};

}  // namespace seckill::admission::memory
