// The three adapters, set up against the keys and secrets of vectors/: whom the vectors' messages are to and from.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "payments/alipay/alipay_provider.hpp"
#include "payments/generic/generic_provider.hpp"
#include "payments/wechat/wechat_provider.hpp"

namespace seckill::payments::test {

inline constexpr std::string_view ticket_text = "0123456789ABCDEFGHJKMNPQRS";
inline constexpr std::string_view wechat_key_id = "PUB_KEY_ID_0000000000000024101100397200000006";
inline constexpr base::UtcMs vectors_now = 1'794'362'400'000;

// A text of vectors/keys.inc, by its name.
[[nodiscard]] std::string key_text(std::string_view name);

[[nodiscard]] generic::Config generic_config();
[[nodiscard]] wechat::Config wechat_config();
[[nodiscard]] alipay::Config alipay_config();

// "generic", "wechat" or "alipay".
[[nodiscard]] const Provider& provider_named(std::string_view name);

// The refund and the stamp that the vectors' calls are made with.
[[nodiscard]] Refund vectors_refund();
[[nodiscard]] CallStamp vectors_stamp();

}  // namespace seckill::payments::test
