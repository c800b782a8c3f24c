// The Standard Webhooks signature (https://www.standardwebhooks.com, specification 1.0.0): HMAC-SHA256 over
// "id.timestamp.body", in the headers webhook-id, webhook-timestamp (seconds) and webhook-signature (a list of
// "v1,<base 64>", separated by spaces). Used both ways: a provider signs its notices and answers, we sign our calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "payments/provider.hpp"
#include "payments/secret.hpp"

namespace seckill::payments::generic {

inline constexpr std::size_t secrets_max = 4;        // the one in use, and those that are coming or going
inline constexpr std::size_t signatures_max = 16;    // in one header; later ones are not looked at
inline constexpr std::size_t secret_bytes_min = 24;  // the specification's bounds
inline constexpr std::size_t secret_bytes_max = 64;

// The secret of "whsec_<base 64>"; nullopt when the text is not that or the secret outside its bounds. Any thread.
[[nodiscard]] std::optional<Secret> parse_secret(const Secret& text);

struct SignedMessage {
  std::string_view id;
  base::UtcMs signed_at = 0;  // whole seconds
};

// The three headers, for a body that is sent at `signed_at`. Any thread.
[[nodiscard]] std::vector<Header> sign(const Secret& secret, std::string_view id, base::UtcMs signed_at,
                                       std::string_view body);

// Who verifies gets the id, borrowed from `headers`. Faults: malformed (a header is missing or twice, an id outside its
// bounds or with a dot, a timestamp that is no whole number), too_old, unsupported (no signature of version v1),
// bad_signature. Every secret is tried against every signature, so both sides can change theirs one after the other;
// comparing takes the same time whatever differs. Any thread.
[[nodiscard]] std::expected<SignedMessage, NoticeFault> verify(const std::vector<Secret>& secrets,
                                                               std::span<const Header> headers, std::string_view body,
                                                               base::UtcMs now);

}  // namespace seckill::payments::generic
