#include "payments/match.hpp"

#include <utility>

#include "base/assert.hpp"

namespace seckill::payments {

Match match(const Notice& notice, const Expected& expected) noexcept {
  SECKILL_ASSERT(notice.event == NoticeEvent::paid, "only a payment is compared with what an order waits for (P7)");
  if (!notice.ticket || *notice.ticket != expected.ticket) return Match::other_order;
  if (notice.merchant_id != expected.merchant_id) return Match::wrong_merchant;
  if (notice.currency != expected.currency) return Match::wrong_currency;
  if (notice.amount_minor != expected.amount_minor) return Match::wrong_amount;
  return Match::exact;
}

std::string_view name(Match match) noexcept {
  switch (match) {
    case Match::exact: return "exact";
    case Match::other_order: return "other_order";
    case Match::wrong_merchant: return "wrong_merchant";
    case Match::wrong_currency: return "wrong_currency";
    case Match::wrong_amount: return "wrong_amount";
  }
  std::unreachable();
}

}  // namespace seckill::payments
