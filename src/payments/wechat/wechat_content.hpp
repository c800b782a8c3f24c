// What WeChat Pay's transactions and refunds say, whether in a notice's resource or in an answer: one reading for both.
// Pure, any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "payments/provider.hpp"
#include "payments/wire.hpp"

namespace seckill::payments::wechat {

// A paid transaction as a notice without its id; nullopt when a member that it needs is missing or malformed. Its state
// is the caller's to check.
[[nodiscard]] std::optional<Notice> paid_transaction(const Fields& transaction);

// A refund of a notice; `notice_time` is when the notice was made, for refunds that tell no time of their own.
[[nodiscard]] std::optional<Notice> refund_of_notice(const Fields& refund, NoticeEvent event, base::UtcMs notice_time);

}  // namespace seckill::payments::wechat
