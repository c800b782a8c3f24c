#include "admission/memory/mark_table.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/assert.hpp"
#include "base/crypto.hpp"
#include "base/hash.hpp"

namespace seckill::admission::memory {
namespace {

// A place is 17 bits of chunk and 15 bits of word: chunks of at most 256 KiB, 32 GiB a lane. The first chunks are
// small, so that a thousand quiet items cost little.
constexpr std::uint32_t word_bits = 15;
constexpr std::size_t chunk_words_max = std::size_t{1} << word_bits;
constexpr std::size_t chunk_words_first = 512;
constexpr std::size_t chunks_max = std::size_t{1} << (32 - word_bits);

static_assert(alignof(TicketRecord) <= alignof(std::uint64_t) && alignof(MarkRecord) <= alignof(std::uint64_t));
static_assert(std::is_trivially_destructible_v<TicketRecord> && std::is_trivially_destructible_v<MarkRecord>);

}  // namespace

std::uint64_t MarkTable::hash_of(std::string_view buyer) noexcept {
  static const std::uint64_t seed = base::random_u64();
  return base::xxh3_64_seeded(buyer, seed);
}

void* MarkTable::at(Place place) const noexcept {
  return chunks_[place >> word_bits].get() + (place & (chunk_words_max - 1));
}

MarkRecord* MarkTable::find(std::string_view buyer, std::uint64_t hash) noexcept {
  const Place place = by_buyer_.find(static_cast<std::uint32_t>(hash), [&](Place at_place) {
    return static_cast<const MarkRecord*>(at(at_place))->buyer() == buyer;
  });
  return place == 0 ? nullptr : static_cast<MarkRecord*>(at(place));
}

TicketRecord* MarkTable::find(const model::Ticket& ticket) noexcept {
  const Place place = by_ticket_.find(index_hash(ticket), [&](Place at_place) {
    return static_cast<const TicketRecord*>(at(at_place))->ticket == ticket;
  });
  return ticket_at(place);
}

Place MarkTable::allocate(std::size_t bytes) {
  const std::size_t words = (bytes + 7) / 8;
  if (used_words_ + words > chunk_words_) {
    SECKILL_ASSERT(chunks_.size() < chunks_max, "P9: a lane's marks fit its arena");
    const std::size_t wanted = chunks_.empty() ? chunk_words_first : std::min(chunk_words_ * 2, chunk_words_max);
    chunks_.push_back(std::make_unique_for_overwrite<std::uint64_t[]>(wanted));
    chunk_words_ = wanted;
    used_words_ = chunks_.size() == 1 ? 1 : 0;  // place 0 stays "none"
  }
  const auto place = static_cast<Place>((chunks_.size() - 1) << word_bits | used_words_);
  used_words_ += words;
  return place;
}

TicketRecord& MarkTable::add(MarkRecord* mark, std::string_view buyer, std::uint64_t hash,
                             const PackedRequestId& request_id, const model::Ticket& ticket, std::uint64_t digest,
                             std::int64_t units) {
  SECKILL_ASSERT(units >= 0 && units <= base::limits::limit_max, "P3: a ticket's units are within any limit");
  // The mark's record comes before its first ticket, so that a repeat finds both in neighbouring cache lines.
  Place mark_place = 0;
  if (mark == nullptr) {
    mark_place = allocate(sizeof(MarkRecord) + buyer.size());
    mark = new (at(mark_place))
        MarkRecord{.first = 0, .last = 0, .tickets = 0, .buyer_size = static_cast<std::uint16_t>(buyer.size())};
    std::memcpy(mark + 1, buyer.data(), buyer.size());
    by_buyer_.insert(static_cast<std::uint32_t>(hash), mark_place);
  } else {
    mark_place = ticket_at(mark->first)->mark;
  }
  const std::string_view request = request_id.bytes();
  const Place place = allocate(sizeof(TicketRecord) + request.size());
  auto* record = new (at(place)) TicketRecord{.ticket = ticket,
                                              .digest = digest,
                                              .admitted_at = 0,
                                              .terms = nullptr,
                                              .next = 0,
                                              .mark = mark_place,
                                              .units = static_cast<std::uint16_t>(units),
                                              .request_tag = request_id.tag(),
                                              .units_state = Units::held,
                                              .state = model::TicketState::queued,
                                              .published = false,
                                              .has_fields = false};
  std::memcpy(record + 1, request.data(), request.size());
  by_ticket_.insert(index_hash(ticket), place);
  if (mark->last == 0) {
    mark->first = place;
  } else {
    ticket_at(mark->last)->next = place;
  }
  mark->last = place;
  ++mark->tickets;
  return *record;
}

void MarkTable::reserve(std::size_t marks) {
  by_buyer_.reserve(marks);
  by_ticket_.reserve(marks);
}

}  // namespace seckill::admission::memory
