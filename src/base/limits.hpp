// Every bound that more than one part must agree on, with the reasons that relate them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace seckill::base::limits {

// --- names and ids (bytes) ---
inline constexpr std::size_t sale_id_bytes_max = 32;
inline constexpr std::size_t sku_bytes_max = 32;
inline constexpr std::size_t buyer_bytes_max = 64;
inline constexpr std::size_t request_id_bytes_max = 64;
inline constexpr std::size_t title_characters_max = 255;

// --- a sale ---
inline constexpr std::size_t items_per_sale_max = 200;
inline constexpr std::size_t sales_open_max = 1'000;  // sales whose lanes are in memory at one time
inline constexpr std::int64_t units_per_item_max = 100'000'000;
inline constexpr std::int64_t price_minor_max = 100'000'000'000;  // a thousand million yuan
inline constexpr std::int64_t limit_max = 1'000;                  // units a buyer
inline constexpr std::uint32_t tickets_per_buyer_max = 16;
inline constexpr std::uint32_t lanes_max = 64;         // six bits of a ticket
inline constexpr std::int64_t units_per_lane_min = 8;  // fewer would strand more than they spread
inline constexpr std::int64_t pay_window_ms_min = 1'000;
inline constexpr std::int64_t pay_window_ms_max = 30LL * 86'400'000;
inline constexpr std::int64_t sale_duration_ms_max = 366LL * 86'400'000;

// One order's amount must fit a signed 64-bit number of minor units with room for sums over any real sale.
static_assert(price_minor_max <= INT64_MAX / limit_max / 64, "price × limit × buyers of a lane fits 64 bits");

// --- declared order fields (receiver, remark) ---
inline constexpr std::size_t order_fields_max = 8;
inline constexpr std::size_t order_field_name_bytes_max = 32;
inline constexpr std::size_t order_field_characters_max = 255;

// --- HTTP ---
inline constexpr std::size_t http_header_bytes_max = 8 * 1024;
inline constexpr std::size_t http_headers_max = 64;
inline constexpr std::size_t http_target_bytes_max = 1024;
inline constexpr std::size_t http_body_bytes_max = 16 * 1024;  // buyer API
inline constexpr std::size_t http_admin_body_bytes_max = 256 * 1024;

// A purchase with every declared field at its longest (4 bytes a character, escaped) fits a buyer's body.
static_assert(order_fields_max * (order_field_characters_max * 4 + order_field_name_bytes_max + 8) <
              http_body_bytes_max - 1024);

// --- the pipeline ---
inline constexpr std::size_t landing_batch_max = 500;          // records in one landing transaction
inline constexpr std::size_t queue_records_max = 65'536;       // accepted, not yet landed; past it answers are busy
inline constexpr std::size_t store_reads_waiting_max = 4'096;  // status and list queries waiting for a reader
inline constexpr std::size_t ends_waiting_max = 16'384;        // cancels, payments and expiries waiting for the store

static_assert(landing_batch_max * 8 <= queue_records_max,
              "the queue holds several batches, so the writer never starves");

}  // namespace seckill::base::limits
