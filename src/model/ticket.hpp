// The ticket (抢购凭证): the claim of an admitted request, and the order number.
//
// 128 bits: 6 bits of lane, then 122 bits of SipHash-2-4-128(sale's ticket key; sale, sku, buyer, request id). It is
// derived, so a retry after a lost reply is the same ticket (P4), two nodes need no coordination and no clock
// (FS-60), it names its lane, and without the sale's key nobody can guess one (FS-24).
#pragma once

#include <compare>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/base32.hpp"
#include "base/crypto.hpp"
#include "model/ids.hpp"

namespace seckill::model {

// Random per sale, made at creation, kept in the store, fixed for the sale, never logged.
using TicketKey = base::Key128;

class Ticket {
 public:
  Ticket() noexcept = default;  // the zero ticket: never derived, means "none"
  explicit Ticket(const base::Bytes16& bytes) noexcept : bytes_{bytes} {}

  // 26 characters of Crockford base 32, one spelling a ticket; nullopt otherwise.
  [[nodiscard]] static std::optional<Ticket> parse(std::string_view text) noexcept {
    const auto bytes = base::from_base32(text);
    if (!bytes) return std::nullopt;
    return Ticket{*bytes};
  }
  [[nodiscard]] std::string str() const { return base::to_base32(bytes_); }
  [[nodiscard]] LaneIndex lane() const noexcept { return bytes_[0] >> 2; }
  [[nodiscard]] const base::Bytes16& bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool is_none() const noexcept { return bytes_ == base::Bytes16{}; }
  friend bool operator==(const Ticket&, const Ticket&) noexcept = default;
  friend auto operator<=>(const Ticket&, const Ticket&) noexcept = default;

 private:
  base::Bytes16 bytes_{};
};

struct TicketHash {
  std::size_t operator()(const Ticket& ticket) const noexcept {
    std::size_t value = 0;
    std::memcpy(&value, ticket.bytes().data() + 8, sizeof value);  // already uniformly distributed
    return value;
  }
};

// The request id is passed as text because system requests ("late:…", "grant:…") carry a colon that no client's
// RequestId can hold, so their tickets can never meet a client's.
[[nodiscard]] Ticket derive_ticket(const TicketKey& key, const ItemKey& item, const BuyerId& buyer,
                                   std::string_view request_id, LaneIndex lane) noexcept;

}  // namespace seckill::model
