#include "payments/wechat/wechat_provider.hpp"

#include <algorithm>

#include "payments/wechat/wechat_content.hpp"
#include "payments/wire.hpp"

namespace seckill::payments::wechat {
namespace {

using base::Errc;
using base::fail;

constexpr const char* doing = "setting up the payment provider wechat";

// What an event's resource must say of itself, so that envelope and content cannot tell two stories.
struct EventRule {
  std::string_view event_type;
  NoticeEvent event;
  std::string_view state_member;
  std::string_view state;
};
constexpr EventRule event_rules[] = {
    {"TRANSACTION.SUCCESS", NoticeEvent::paid, "trade_state", "SUCCESS"},
    {"REFUND.SUCCESS", NoticeEvent::refunded, "refund_status", "SUCCESS"},
    {"REFUND.ABNORMAL", NoticeEvent::refund_failed, "refund_status", "ABNORMAL"},
    {"REFUND.CLOSED", NoticeEvent::refund_failed, "refund_status", "CLOSED"},
};

// The resource's text, opened with the merchant's key.
std::expected<std::string, NoticeFault> open_resource(const Fields& resource, const Secret& key) {
  if (resource.text("algorithm") != "AEAD_AES_256_GCM") return std::unexpected{NoticeFault::unsupported};
  const auto sealed = from_base64(resource.text("ciphertext"));
  const std::string_view nonce = resource.text("nonce");
  if (!sealed || sealed->empty() || !is_id(nonce)) return std::unexpected{NoticeFault::malformed};
  auto text = open_aes_256_gcm(key, nonce, resource.text("associated_data"), *sealed);
  if (!text) return std::unexpected{NoticeFault::undecipherable};
  return std::move(*text);
}

base::Result<std::vector<PlatformKey>> platform_keys_of(const std::vector<Config::Key>& keys) {
  if (keys.empty() || keys.size() > platform_keys_max) {
    return fail(Errc::invalid, doing, "there must be 1 to 8 platform keys");
  }
  std::vector<PlatformKey> parsed;
  for (const Config::Key& key : keys) {
    auto read = RsaPublicKey::parse(key.pem);
    if (!read) return fail(Errc::invalid, doing, "platform key " + key.serial + ": " + read.error().cause);
    const std::string& of_certificate = read->certificate_serial();
    std::string serial = key.serial.empty() ? of_certificate : key.serial;
    if (!is_id(serial))
      return fail(Errc::invalid, doing, "a platform public key needs its id as serial (PUB_KEY_ID_…)");
    if (!of_certificate.empty() && serial != of_certificate) {
      return fail(Errc::invalid, doing,
                  "platform key " + serial + ": the certificate's own serial is " + of_certificate);
    }
    if (std::ranges::find(parsed, serial, &PlatformKey::serial) != parsed.end()) {
      return fail(Errc::invalid, doing, "platform key " + serial + " is there twice");
    }
    parsed.push_back({std::move(serial), std::move(*read)});
  }
  return parsed;
}

}  // namespace

WechatProvider::WechatProvider(Config config, RsaPrivateKey key, std::vector<PlatformKey> platform_keys)
    : config_{std::move(config)}, key_{std::move(key)}, platform_keys_{std::move(platform_keys)} {
  config_.private_key = Secret{};
  config_.platform_keys.clear();
}

base::Result<std::unique_ptr<WechatProvider>> WechatProvider::make(Config config) {
  if (!is_id(config.merchant_id)) return fail(Errc::invalid, doing, "merchant_id must be the merchant's number");
  if (!is_id(config.certificate_serial)) {
    return fail(Errc::invalid, doing, "certificate_serial must be the serial number of the merchant's certificate");
  }
  if (config.api_v3_key.bytes().size() != 32) return fail(Errc::invalid, doing, "api_v3_key must have 32 bytes");
  if (!config.url.starts_with("https://") || config.url.find('/', 8) != std::string::npos) {
    return fail(Errc::invalid, doing, "url must be https:// and a host, without a path");
  }
  if (!config.refund_notify_url.empty() && !config.refund_notify_url.starts_with("https://")) {
    return fail(Errc::invalid, doing, "refund_notify_url must begin with https://");
  }
  auto key = RsaPrivateKey::parse(config.private_key);
  if (!key) return fail(Errc::invalid, doing, "private_key: " + key.error().cause);
  auto platform_keys = platform_keys_of(config.platform_keys);
  if (!platform_keys) return std::unexpected(platform_keys.error());
  return std::unique_ptr<WechatProvider>{
      new WechatProvider{std::move(config), std::move(*key), std::move(*platform_keys)}};
}

Judged WechatProvider::judge(const NoticeRequest& request, base::UtcMs now, const AppliedBefore& applied_before) const {
  if (const auto fault = beyond_bounds(request)) return std::unexpected{*fault};
  if (const auto fault = signature_fault(platform_keys_, request.headers, request.body, now)) {
    return std::unexpected{*fault};
  }
  const auto envelope = Fields::parse(request.body);
  if (!envelope) return std::unexpected{NoticeFault::malformed};
  const auto id = envelope->id("id", notice_id_bytes_max);
  const auto made_at = envelope->instant("create_time");
  const auto resource = envelope->object("resource");
  if (!id || !made_at || !resource) return std::unexpected{NoticeFault::malformed};
  const auto rule = std::ranges::find(event_rules, envelope->text("event_type"), &EventRule::event_type);
  if (rule == std::end(event_rules)) return std::unexpected{NoticeFault::nothing_to_do};
  const auto text = open_resource(*resource, config_.api_v3_key);
  if (!text) return std::unexpected{text.error()};
  const auto content = Fields::parse(*text);
  if (!content || content->text(rule->state_member) != rule->state) return std::unexpected{NoticeFault::malformed};
  auto notice =
      rule->event == NoticeEvent::paid ? paid_transaction(*content) : refund_of_notice(*content, rule->event, *made_at);
  if (!notice) return std::unexpected{NoticeFault::malformed};
  if (notice->merchant_id != config_.merchant_id) return std::unexpected{NoticeFault::wrong_merchant};
  // Refunds name no app.
  if (rule->event == NoticeEvent::paid && !config_.app_ids.empty() &&
      std::ranges::find(config_.app_ids, content->text("appid")) == config_.app_ids.end()) {
    return std::unexpected{NoticeFault::wrong_merchant};
  }
  notice->notice_id = *id;
  if (applied_before && applied_before(notice->notice_id)) return std::unexpected{NoticeFault::repeated};
  return std::move(*notice);
}

NoticeReply WechatProvider::reply(Reception reception) const {
  switch (reception) {
    case Reception::taken: return {204, {}, {}};
    case Reception::again_later: return {503, "application/json", R"({"code":"FAIL","message":"again later"})"};
    case Reception::refused: return {401, "application/json", R"({"code":"FAIL","message":"refused"})"};
  }
  std::unreachable();
}

}  // namespace seckill::payments::wechat
