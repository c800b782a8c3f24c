#include "payments/generic/standard_webhooks.hpp"

#include <algorithm>

#include "payments/signatures.hpp"
#include "payments/wire.hpp"

namespace seckill::payments::generic {
namespace {

constexpr std::string_view secret_prefix = "whsec_";
constexpr std::string_view version = "v1,";

std::string signed_text(std::string_view id, std::string_view timestamp, std::string_view body) {
  std::string text;
  text.reserve(id.size() + timestamp.size() + body.size() + 2);
  text.append(id).append(".").append(timestamp).append(".").append(body);
  return text;
}

std::string_view view_of(const base::Bytes32& bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The specification keeps dots out of ids, since a dot separates what is signed.
bool is_message_id(std::string_view id) noexcept {
  return is_id(id, notice_id_bytes_max) && id.find('.') == std::string_view::npos;
}

}  // namespace

std::optional<Secret> parse_secret(const Secret& text) {
  if (!text.bytes().starts_with(secret_prefix)) return std::nullopt;
  auto bytes = from_base64(text.bytes().substr(secret_prefix.size()));
  if (!bytes) return std::nullopt;
  Secret secret{std::move(*bytes)};
  if (secret.bytes().size() < secret_bytes_min || secret.bytes().size() > secret_bytes_max) return std::nullopt;
  return secret;
}

std::vector<Header> sign(const Secret& secret, std::string_view id, base::UtcMs signed_at, std::string_view body) {
  const std::string timestamp = std::to_string(signed_at / 1'000);
  const base::Bytes32 mac = hmac_sha_256(secret, signed_text(id, timestamp, body));
  return {{"webhook-id", std::string{id}},
          {"webhook-timestamp", timestamp},
          {"webhook-signature", std::string{version} + to_base64(view_of(mac))}};
}

std::expected<SignedMessage, NoticeFault> verify(const std::vector<Secret>& secrets, std::span<const Header> headers,
                                                 std::string_view body, base::UtcMs now) {
  const auto id = header_of(headers, "webhook-id");
  const auto timestamp = header_of(headers, "webhook-timestamp");
  const auto list = header_of(headers, "webhook-signature");
  if (!id || !timestamp || !list || !is_message_id(*id)) return std::unexpected{NoticeFault::malformed};
  const auto signed_at = parse_seconds(*timestamp);
  if (!signed_at) return std::unexpected{NoticeFault::malformed};
  if (is_stale(*signed_at, now)) return std::unexpected{NoticeFault::too_old};

  std::vector<std::string> offered;
  std::string_view left = *list;
  while (!left.empty() && offered.size() < signatures_max) {
    const std::string_view one = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
    if (!one.starts_with(version)) continue;  // v1a is a public-key signature, later versions are not ours to read
    auto bytes = from_base64(one.substr(version.size()));
    offered.push_back(bytes ? std::move(*bytes) : std::string{});
  }
  if (offered.empty()) return std::unexpected{NoticeFault::unsupported};

  const std::string text = signed_text(*id, *timestamp, body);
  bool genuine = false;
  for (const Secret& secret : secrets) {
    const base::Bytes32 mac = hmac_sha_256(secret, text);
    for (const std::string& signature : offered) {
      if (base::constant_time_equal(view_of(mac), signature)) genuine = true;
    }
  }
  if (!genuine) return std::unexpected{NoticeFault::bad_signature};
  return SignedMessage{*id, *signed_at};
}

}  // namespace seckill::payments::generic
