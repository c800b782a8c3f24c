#include "model/ticket.hpp"

#include <array>

#include "base/assert.hpp"

namespace seckill::model {

Ticket derive_ticket(const TicketKey& key, const ItemKey& item, const BuyerId& buyer, std::string_view request_id,
                     LaneIndex lane) noexcept {
  SECKILL_ASSERT(lane < base::limits::lanes_max, "a lane fits the ticket's six bits");
  SECKILL_ASSERT(request_id.size() <= 255, "request ids are bounded before they reach a ticket");
  // Each part is preceded by its length, so no two different inputs make the same text.
  std::array<char, 4 + 32 + 32 + 64 + 255> text{};
  std::size_t size = 0;
  for (const std::string_view part : {item.sale.view(), item.sku.view(), buyer.view(), request_id}) {
    text[size++] = static_cast<char>(part.size());
    std::memcpy(text.data() + size, part.data(), part.size());
    size += part.size();
  }
  base::Bytes16 bytes = base::siphash_128(key, {text.data(), size});
  bytes[0] = static_cast<std::uint8_t>(lane << 2 | (bytes[0] & 3U));
  return Ticket{bytes};
}

}  // namespace seckill::model
