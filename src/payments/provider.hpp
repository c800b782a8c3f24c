// The port to payment providers (支付渠道): what a provider's notice says, what it is answered, and the calls a shop
// makes to it. Pure: no sockets, no clock, no store and no threads of its own; the caller brings time and nonces, sends
// the calls and keeps what came of them. Serves P7: only what a provider signed counts, to the last minor unit.
//
// Unknown is not failed: whatever an answer does not say for sure is `unknown`, and only asking again decides it.
// The conventions of each provider, with the pages they come from, stand with its adapter and in docs/payments.md.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "model/money.hpp"
#include "model/ticket.hpp"

namespace seckill::payments {

// --- bounds: what is larger is refused before anything is computed over it ---
inline constexpr std::size_t notice_body_bytes_max = 64 * 1024;
inline constexpr std::size_t answer_body_bytes_max = 256 * 1024;
inline constexpr std::size_t headers_max = 64;
inline constexpr std::size_t header_value_bytes_max = 8 * 1024;
inline constexpr std::size_t provider_id_bytes_max = 64;  // order, transaction, refund and merchant numbers
inline constexpr std::size_t notice_id_bytes_max = 128;
inline constexpr std::size_t code_bytes_max = 64;
inline constexpr base::UtcMs signature_age_ms_max = 5 * 60'000;  // either way, for clocks that differ

struct Header {
  std::string name;  // compared without regard to case
  std::string value;
};

// --- notices ---

// What came in, as it came: the body before any decoding, since that is what was signed. Borrowed for the call.
struct NoticeRequest {
  std::span<const Header> headers;
  std::string_view body;
};

enum class NoticeEvent : std::uint8_t {
  paid,           // the whole amount of the order was taken from the buyer
  closed,         // the provider's order ended unpaid
  refunded,       // a refund reached the buyer or his bank
  refund_failed,  // a refund ended without the money going back; a person must look
};

// A genuine statement of the provider about one order of our merchant. Not yet compared with our order: match.hpp.
struct Notice {
  NoticeEvent event = NoticeEvent::paid;
  std::string notice_id;                // the provider's id of this notice, the same when it is sent again
  std::string out_trade_no;             // our order number as the provider has it
  std::optional<model::Ticket> ticket;  // what it spells; none: an order that is none of this shop's (an orphan)
  std::string transaction_id;           // the provider's number of the payment; empty when closed before one was made
  std::string refund_id;                // ours; refund events only, and there empty when the provider does not say
  std::int64_t amount_minor = 0;  // paid: the order's whole amount; refunds: the amount of refunds told; closed: 0
  std::int64_t total_minor = 0;   // the payment's whole amount, in every event that knows it, else 0
  model::Currency currency;
  std::string merchant_id;      // the account that the provider pays to
  base::UtcMs occurred_at = 0;  // by the provider's clock; for people, never for a decision about a deadline
};

// Why a notice is not believed, or not needed. Checked in this order where a provider's form allows it.
enum class NoticeFault : std::uint8_t {
  too_large,       // more than the bounds above
  malformed,       // a header or field is missing, twice, or not in the form that the provider documents
  unsupported,     // an algorithm or character set that we do not read
  too_old,         // signed more than five minutes ago, or as much in the future: perhaps a replay
  unknown_key,     // signed with a key that we do not have; the operator may have to add it
  bad_signature,   // not from the provider, altered on its way, or the provider's probe of our check
  undecipherable,  // signed by the provider, encrypted with a key that is not ours
  wrong_merchant,  // for another account or app than ours
  nothing_to_do,   // genuine, but tells of no end of a payment (a buyer has opened the pay page)
  repeated,        // genuine, and applied before
};

using Judged = std::expected<Notice, NoticeFault>;

// Asks whether the notice of that id was applied before. It only reads: the caller remembers an id in the transaction
// that applies its notice, so a crash between the two never loses one. Asked for genuine notices alone, so strangers
// cannot fill or probe that memory. Empty: nothing was.
using AppliedBefore = std::function<bool(std::string_view notice_id)>;

// What a provider is told about its notice.
enum class Reception : std::uint8_t {
  taken,        // stored for good, or needs no storing: do not send it again
  again_later,  // we could not store it now
  refused,      // not believed; a provider that retries anyway is judged anew each time
};

struct NoticeReply {
  int status = 0;
  std::string content_type;  // empty: no body
  std::string body;
};

// --- calls ---

// What makes one call differ from the next. `nonce`: 16 to 32 letters and digits, random, never used before.
struct CallStamp {
  base::UtcMs now = 0;
  std::string nonce;
};

struct Call {
  std::string method;
  std::string url;  // https
  std::vector<Header> headers;
  std::string body;
};

// A whole HTTP answer. A call that got none (timeout, reset) is unknown without asking us.
struct CallAnswer {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
};

enum class QueryState : std::uint8_t {
  paid,           // `notice` tells it as a notice would
  not_paid,       // the order exists and may still be paid
  closed,         // ended unpaid: it can never be paid
  refunded,       // was paid, and went back since, wholly or in part; `notice` tells the payment
  no_such_order,  // the provider has none of this number, now: see Provider::forgets_unopened_orders()
  unknown,        // anything else, an answer that we cannot verify among it
};

struct QueryAnswer {
  QueryState state = QueryState::unknown;
  std::optional<Notice> notice;
  std::string code;  // the provider's own, for people: printable, at most code_bytes_max
};

enum class CloseState : std::uint8_t {
  closed,         // it can never be paid
  paid,           // too late to close: ask the query, which tells the payment
  no_such_order,  // as in QueryState
  unknown,        // ask the query, or close again
};

struct CloseAnswer {
  CloseState state = CloseState::unknown;
  std::string code;
};

// One refund of one payment. Sent again with the same `refund_id` and content it is still one refund.
struct Refund {
  std::string out_trade_no;
  std::string transaction_id;
  std::string refund_id;  // 1 to 64 of [A-Za-z0-9_-], unique for the merchant
  std::int64_t amount_minor = 0;
  std::int64_t total_minor = 0;
  model::Currency currency;
  std::string reason;  // shown to the buyer, at most 80 bytes of UTF-8; empty: none
};

enum class RefundState : std::uint8_t {
  refunded,            // the money is on its way and will not come back
  pending,             // accepted; ask the refund query, or wait for the notice
  insufficient_funds,  // not done for want of money in our account: again with the same id once there is some
  refused,             // not done, and asking again changes nothing: a person must look at `code`
  no_such_refund,      // the query only: none of this id was done; send it again with the same id
  unknown,             // ask the refund query, or send it again with the same id
};

struct RefundAnswer {
  RefundState state = RefundState::unknown;
  std::string code;
};

// One account at one provider. Constant after construction: any thread, does not block, costs at most a few RSA
// operations a call (microseconds to a millisecond). Never throws but for want of memory. No secret ever stands in what
// it returns, in a name or in an error's text.
class Provider {
 public:
  virtual ~Provider() = default;

  // "generic", "wechat", "alipay": the provider column of the payment's row, a metric label, a part of the URL.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  // Whether a genuine notice is in `request`, and what it says. `now`: for the age of signatures.
  [[nodiscard]] virtual Judged judge(const NoticeRequest& request, base::UtcMs now,
                                     const AppliedBefore& applied_before) const = 0;

  // Status and bytes that the provider's convention wants.
  [[nodiscard]] virtual NoticeReply reply(Reception reception) const = 0;

  // True when the provider makes its order only once the buyer opens the pay page. Then `no_such_order` does not say
  // that the order cannot be paid later: what ends it is the expiry it was given, and a late payment is one (§ late
  // payments of docs/payments.md).
  [[nodiscard]] virtual bool forgets_unopened_orders() const noexcept = 0;

  // Each call, and how its answer is read. Requires: `stamp` of the answer is that of the call, `now` the time it came,
  // order numbers that a notice or ticket spelled. An answer for another order than was asked for is unknown.
  [[nodiscard]] virtual Call query(std::string_view out_trade_no, const CallStamp& stamp) const = 0;
  [[nodiscard]] virtual QueryAnswer read_query(std::string_view out_trade_no, const CallStamp& stamp,
                                               const CallAnswer& answer, base::UtcMs now) const = 0;

  // Ends the provider's order, so that the buyer cannot pay it any more. Again is harmless.
  [[nodiscard]] virtual Call close(std::string_view out_trade_no, const CallStamp& stamp) const = 0;
  [[nodiscard]] virtual CloseAnswer read_close(std::string_view out_trade_no, const CallStamp& stamp,
                                               const CallAnswer& answer, base::UtcMs now) const = 0;

  [[nodiscard]] virtual Call refund(const Refund& refund, const CallStamp& stamp) const = 0;
  [[nodiscard]] virtual RefundAnswer read_refund(const Refund& refund, const CallStamp& stamp, const CallAnswer& answer,
                                                 base::UtcMs now) const = 0;

  [[nodiscard]] virtual Call refund_query(const Refund& refund, const CallStamp& stamp) const = 0;
  [[nodiscard]] virtual RefundAnswer read_refund_query(const Refund& refund, const CallStamp& stamp,
                                                       const CallAnswer& answer, base::UtcMs now) const = 0;
};

// What a provider is told of a notice that was not judged genuine and new: taken when there is nothing (more) to do,
// else refused. Never again_later: that is for what we believe and could not store.
[[nodiscard]] Reception reception_of(NoticeFault fault) noexcept;

[[nodiscard]] std::string_view name(NoticeEvent event) noexcept;
[[nodiscard]] std::string_view name(NoticeFault fault) noexcept;
[[nodiscard]] std::string_view name(Reception reception) noexcept;
[[nodiscard]] std::string_view name(QueryState state) noexcept;
[[nodiscard]] std::string_view name(CloseState state) noexcept;
[[nodiscard]] std::string_view name(RefundState state) noexcept;

}  // namespace seckill::payments
