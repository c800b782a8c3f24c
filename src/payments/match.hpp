// Whether a genuine notice is the payment that an order waits for (FS-14). A valid signature only says who speaks; this
// says whether he speaks of our order, to the last minor unit. Pure; serves P7.
#pragma once

#include <cstdint>
#include <string_view>

#include "payments/provider.hpp"

namespace seckill::payments {

// What the order knows.
struct Expected {
  model::Ticket ticket;
  std::int64_t amount_minor = 0;
  model::Currency currency;
  std::string_view merchant_id;  // that the payment was begun with
};

// In the order of the checks. All but exact are anomalies to be stored with the payment, which is then refund_due or
// kept for a person; none of them makes an order paid, and none hinders a later exact payment.
enum class Match : std::uint8_t { exact, other_order, wrong_merchant, wrong_currency, wrong_amount };

// Requires: `notice` is `paid`. Any thread.
[[nodiscard]] Match match(const Notice& notice, const Expected& expected) noexcept;

[[nodiscard]] std::string_view name(Match match) noexcept;

}  // namespace seckill::payments
