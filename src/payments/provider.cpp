#include "payments/provider.hpp"

#include <utility>

namespace seckill::payments {

Reception reception_of(NoticeFault fault) noexcept {
  switch (fault) {
    case NoticeFault::nothing_to_do:
    case NoticeFault::repeated: return Reception::taken;
    case NoticeFault::too_large:
    case NoticeFault::malformed:
    case NoticeFault::unsupported:
    case NoticeFault::too_old:
    case NoticeFault::unknown_key:
    case NoticeFault::bad_signature:
    case NoticeFault::undecipherable:
    case NoticeFault::wrong_merchant: return Reception::refused;
  }
  std::unreachable();
}

std::string_view name(NoticeEvent event) noexcept {
  switch (event) {
    case NoticeEvent::paid: return "paid";
    case NoticeEvent::closed: return "closed";
    case NoticeEvent::refunded: return "refunded";
    case NoticeEvent::refund_failed: return "refund_failed";
  }
  std::unreachable();
}

std::string_view name(NoticeFault fault) noexcept {
  switch (fault) {
    case NoticeFault::too_large: return "too_large";
    case NoticeFault::malformed: return "malformed";
    case NoticeFault::unsupported: return "unsupported";
    case NoticeFault::too_old: return "too_old";
    case NoticeFault::unknown_key: return "unknown_key";
    case NoticeFault::bad_signature: return "bad_signature";
    case NoticeFault::undecipherable: return "undecipherable";
    case NoticeFault::wrong_merchant: return "wrong_merchant";
    case NoticeFault::nothing_to_do: return "nothing_to_do";
    case NoticeFault::repeated: return "repeated";
  }
  std::unreachable();
}

std::string_view name(Reception reception) noexcept {
  switch (reception) {
    case Reception::taken: return "taken";
    case Reception::again_later: return "again_later";
    case Reception::refused: return "refused";
  }
  std::unreachable();
}

std::string_view name(QueryState state) noexcept {
  switch (state) {
    case QueryState::paid: return "paid";
    case QueryState::not_paid: return "not_paid";
    case QueryState::closed: return "closed";
    case QueryState::refunded: return "refunded";
    case QueryState::no_such_order: return "no_such_order";
    case QueryState::unknown: return "unknown";
  }
  std::unreachable();
}

std::string_view name(CloseState state) noexcept {
  switch (state) {
    case CloseState::closed: return "closed";
    case CloseState::paid: return "paid";
    case CloseState::no_such_order: return "no_such_order";
    case CloseState::unknown: return "unknown";
  }
  std::unreachable();
}

std::string_view name(RefundState state) noexcept {
  switch (state) {
    case RefundState::refunded: return "refunded";
    case RefundState::pending: return "pending";
    case RefundState::insufficient_funds: return "insufficient_funds";
    case RefundState::refused: return "refused";
    case RefundState::no_such_refund: return "no_such_refund";
    case RefundState::unknown: return "unknown";
  }
  std::unreachable();
}

}  // namespace seckill::payments
