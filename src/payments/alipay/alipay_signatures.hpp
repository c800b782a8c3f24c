// Alipay's RSA2 signatures (https://opendocs.alipay.com/common/02mse7 and 02khjm): what we send and what its notices
// say is signed as "a=1&b=2", names in byte order, values decoded once and not escaped; its answers are signed over the
// exact bytes of the response node. Public-key mode: the certificate mode's alipay_cert_sn is not read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "payments/form.hpp"
#include "payments/provider.hpp"
#include "payments/signatures.hpp"

namespace seckill::payments::alipay {

inline constexpr std::size_t alipay_keys_max = 4;

// What is signed of a call: all fields but sign, those with no value left out. Any thread.
[[nodiscard]] std::string text_of_call(std::vector<FormField> fields);

// What is signed of a notice: all fields but sign and sign_type, as they came; one with no value stays. Any thread.
[[nodiscard]] std::string text_of_notice(std::vector<FormField> fields);

// Whether one of `keys` signed `text`; `signature` is base 64. Alipay names no key in this mode, so all are tried, and
// a key can be replaced while notices of both are under way. Any thread.
[[nodiscard]] bool signed_by_any(const std::vector<RsaPublicKey>& keys, std::string_view text,
                                 std::string_view signature);

// The bytes of the value of a member of the outermost object, as they stand; nullopt when there is none. Requires:
// `json` is one valid JSON object. Any thread.
[[nodiscard]] std::optional<std::string_view> raw_member(std::string_view json, std::string_view key) noexcept;

}  // namespace seckill::payments::alipay
