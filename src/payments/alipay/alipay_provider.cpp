#include "payments/alipay/alipay_provider.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "payments/wire.hpp"
#include "payments/yuan.hpp"

namespace seckill::payments::alipay {
namespace {

using base::Errc;
using base::fail;

constexpr base::UtcMs china_offset_ms = 8 * 3'600'000;

// The fields of a notice that verified.
class Trade {
 public:
  explicit Trade(const std::vector<FormField>& fields) noexcept : fields_{fields} {}
  [[nodiscard]] std::string_view text(std::string_view name) const noexcept {
    const std::string* found = find_field(fields_, name);
    return found == nullptr ? std::string_view{} : std::string_view{*found};
  }
  [[nodiscard]] bool has(std::string_view name) const noexcept { return !text(name).empty(); }
  [[nodiscard]] std::optional<std::string> id(std::string_view name,
                                              std::size_t bytes_max = provider_id_bytes_max) const {
    if (!is_id(text(name), bytes_max)) return std::nullopt;
    return std::string{text(name)};
  }

 private:
  const std::vector<FormField>& fields_;
};

// The signature covers decoded bytes, so the character set only matters for what we read, and that is ASCII. These are
// the sets in which ASCII is ASCII.
bool is_known_charset(std::string_view text) noexcept {
  constexpr std::array<std::string_view, 4> known{"utf-8", "gbk", "gb2312", "gb18030"};
  std::string lower{text};
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; });
  return text.empty() || std::ranges::find(known, lower) != known.end();
}

std::expected<NoticeEvent, NoticeFault> event_of(const Trade& trade) noexcept {
  const std::string_view status = trade.text("trade_status");
  if (status == "WAIT_BUYER_PAY") return std::unexpected{NoticeFault::nothing_to_do};
  const bool paid = status == "TRADE_SUCCESS" || status == "TRADE_FINISHED";
  if (!paid && status != "TRADE_CLOSED") return std::unexpected{NoticeFault::unsupported};
  // A trade that was refunded in full is closed too, and one refunded in part is still a success.
  if (trade.has("refund_fee") || trade.has("gmt_refund")) {
    if (parse_yuan(trade.text("refund_fee")) != 0) return NoticeEvent::refunded;
  }
  return paid ? NoticeEvent::paid : NoticeEvent::closed;
}

std::string_view time_of(const Trade& trade, NoticeEvent event) noexcept {
  switch (event) {
    case NoticeEvent::paid: return trade.text("gmt_payment");
    case NoticeEvent::closed: return trade.text("gmt_close");
    case NoticeEvent::refunded:
    case NoticeEvent::refund_failed: return trade.text("gmt_refund");
  }
  std::unreachable();
}

std::optional<Notice> notice_of(const Trade& trade, NoticeEvent event) {
  const auto id = trade.id("notify_id", notice_id_bytes_max);
  const auto order = trade.id("out_trade_no");
  const auto number = trade.id("trade_no");
  const auto total = parse_yuan(trade.text("total_amount"));
  // Amounts are yuan unless a currency stands beside them.
  const auto currency =
      trade.has("trans_currency") ? model::Currency::parse(trade.text("trans_currency")) : model::Currency{};
  std::string_view time = time_of(trade, event);
  const auto occurred_at = parse_china_time(time.empty() ? trade.text("notify_time") : time);
  if (!id || !order || !number || !total || !currency || !occurred_at) return std::nullopt;
  Notice notice;
  notice.event = event;
  notice.notice_id = *id;
  notice.out_trade_no = *order;
  notice.ticket = model::Ticket::parse(*order);
  notice.transaction_id = *number;
  notice.total_minor = *total;
  notice.currency = *currency;
  notice.merchant_id = std::string{trade.text("seller_id")};
  notice.occurred_at = *occurred_at;
  if (event == NoticeEvent::paid) notice.amount_minor = *total;
  if (event != NoticeEvent::refunded) return notice;
  const auto refunded = parse_yuan(trade.text("refund_fee"));
  if (!refunded || *refunded > *total) return std::nullopt;
  notice.amount_minor = *refunded;
  if (trade.has("out_biz_no")) {
    const auto refund = trade.id("out_biz_no");
    if (!refund) return std::nullopt;
    notice.refund_id = *refund;
  }
  return notice;
}

}  // namespace

AlipayProvider::AlipayProvider(Config config, RsaPrivateKey key, std::vector<RsaPublicKey> alipay_keys)
    : config_{std::move(config)}, key_{std::move(key)}, alipay_keys_{std::move(alipay_keys)} {
  config_.private_key = Secret{};
  config_.alipay_keys.clear();
}

base::Result<std::unique_ptr<AlipayProvider>> AlipayProvider::make(Config config) {
  constexpr const char* doing = "setting up the payment provider alipay";
  if (!is_id(config.app_id)) return fail(Errc::invalid, doing, "app_id must be the app's number");
  if (!is_id(config.seller_id)) return fail(Errc::invalid, doing, "seller_id must be the merchant's account number");
  if (!config.gateway.starts_with("https://") || config.gateway.find('?') != std::string::npos) {
    return fail(Errc::invalid, doing, "gateway must begin with https:// and have no query");
  }
  auto key = RsaPrivateKey::parse(config.private_key);
  if (!key) return fail(Errc::invalid, doing, "private_key: " + key.error().cause);
  if (config.alipay_keys.empty() || config.alipay_keys.size() > alipay_keys_max) {
    return fail(Errc::invalid, doing, "there must be 1 to 4 alipay_keys");
  }
  std::vector<RsaPublicKey> alipay_keys;
  for (const std::string& text : config.alipay_keys) {
    auto read = RsaPublicKey::parse(text);
    if (!read) {
      return fail(Errc::invalid, doing,
                  "alipay key " + std::to_string(alipay_keys.size() + 1) + ": " + read.error().cause);
    }
    // The likeliest mistake in the console, and one that would only show as notices that never verify.
    if (read->verifies(doing, key->sign(doing))) {
      return fail(Errc::invalid, doing,
                  "alipay key " + std::to_string(alipay_keys.size() + 1) + " is the app's own public key");
    }
    alipay_keys.push_back(std::move(*read));
  }
  return std::unique_ptr<AlipayProvider>{
      new AlipayProvider{std::move(config), std::move(*key), std::move(alipay_keys)}};
}

Judged AlipayProvider::judge(const NoticeRequest& request, base::UtcMs, const AppliedBefore& applied_before) const {
  if (const auto fault = beyond_bounds(request)) return std::unexpected{*fault};
  const auto fields = parse_form(request.body);
  if (!fields) return std::unexpected{NoticeFault::malformed};
  const Trade trade{*fields};
  if (!trade.has("sign") || !trade.has("sign_type")) return std::unexpected{NoticeFault::malformed};
  if (trade.text("sign_type") != "RSA2" || !is_known_charset(trade.text("charset"))) {
    return std::unexpected{NoticeFault::unsupported};
  }
  if (!signed_by_any(alipay_keys_, text_of_notice(*fields), trade.text("sign"))) {
    return std::unexpected{NoticeFault::bad_signature};
  }
  if (trade.text("app_id") != config_.app_id) return std::unexpected{NoticeFault::wrong_merchant};
  if (trade.text("notify_type") != "trade_status_sync") return std::unexpected{NoticeFault::nothing_to_do};
  if (trade.text("seller_id") != config_.seller_id) return std::unexpected{NoticeFault::wrong_merchant};
  const auto event = event_of(trade);
  if (!event) return std::unexpected{event.error()};
  auto notice = notice_of(trade, *event);
  if (!notice) return std::unexpected{NoticeFault::malformed};
  if (applied_before && applied_before(notice->notice_id)) return std::unexpected{NoticeFault::repeated};
  return std::move(*notice);
}

NoticeReply AlipayProvider::reply(Reception reception) const {
  switch (reception) {
    case Reception::taken: return {200, "text/plain", "success"};
    case Reception::again_later:
    case Reception::refused: return {200, "text/plain", "fail"};
  }
  std::unreachable();
}

std::optional<base::UtcMs> parse_china_time(std::string_view text) {
  if (text.size() < 19 || text[10] != ' ') return std::nullopt;
  std::string instant{text};
  instant[10] = 'T';
  return base::parse_instant(instant + "+08:00");
}

std::string format_china_time(base::UtcMs at) {
  const std::string instant = base::format_instant(at + china_offset_ms);
  return instant.substr(0, 10) + " " + instant.substr(11, 8);
}

}  // namespace seckill::payments::alipay
