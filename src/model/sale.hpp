// A sale (活动/场次), its items, and the rules a sale must satisfy before anyone may buy in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "model/ids.hpp"
#include "model/money.hpp"
#include "model/ticket.hpp"

namespace seckill::model {

// Stored by number.
enum class SaleKind : std::uint8_t {
  goods = 1,   // things that are shipped
  coupon = 2,  // 优惠券
  slot = 3,    // 预约放号: an appointment
  entry = 4,   // 限量报名: a limited registration
};

// Where the operator has brought the sale; the time of day decides the rest (Phase). Stored by number.
enum class SaleState : std::uint8_t {
  draft = 1,      // editable, nothing in lanes; buyers see it as not_started
  preloaded = 2,  // stock is in the lanes; open between starts_at and ends_at
  paused = 3,     // as preloaded, but purchases are answered `paused`
  closed = 4,     // ended by the operator; purchases are answered `ended`
};

enum class Phase : std::uint8_t { not_started, open, paused, ended };

// One SKU in one sale. Units are whole pieces; money is minor units.
struct SaleItem {
  Sku sku;
  std::string title;
  std::int64_t price_minor = 0;       // 0: a landed order is paid at once
  std::int64_t list_price_minor = 0;  // the struck-out price shown beside it; 0: none
  std::int64_t total = 0;             // units of the sale, reserve included
  std::int64_t reserve = 0;           // units kept back in the pool; only a top-up releases them
  std::int64_t limit = 1;             // units a buyer may hold or own
  std::uint32_t tickets_max = 16;     // tickets a buyer may ever have here; 1 = one chance only (FS-40)
  std::int64_t pay_window_ms = 15 * 60'000;
  std::uint32_t lanes = 0;                // fixed at preload; 0 before it = chosen by default_lanes()
  std::vector<std::string> order_fields;  // names a purchase may carry ("receiver", "remark")
};

struct Sale {
  SaleId id;
  std::string title;
  SaleKind kind = SaleKind::goods;
  Currency currency;
  base::UtcMs starts_at = 0;  // the sale is open in the half-open interval [starts_at, ends_at)
  base::UtcMs ends_at = 0;
  SaleState state = SaleState::draft;
  std::int64_t version = 1;  // raised by each edit; an edit carries the version it read
  TicketKey ticket_key{};
  base::UtcMs created_at = 0;
  std::vector<SaleItem> items;

  [[nodiscard]] const SaleItem* find(const Sku& sku) const noexcept;
};

// The item's terms as a lane applies them; a copy lives in every lane and is replaced only by a higher version.
struct ItemTerms {
  base::UtcMs starts_at = 0;
  base::UtcMs ends_at = 0;
  SaleState state = SaleState::draft;
  std::int64_t price_minor = 0;
  Currency currency;
  std::int64_t limit = 1;
  std::uint32_t tickets_max = 16;
  std::int64_t pay_window_ms = 0;
  std::int64_t version = 0;
};

[[nodiscard]] ItemTerms terms_of(const Sale& sale, const SaleItem& item) noexcept;

// Decides by state first, then by time. `paused` hides neither the future nor the end of a sale.
[[nodiscard]] Phase phase_at(SaleState state, base::UtcMs starts_at, base::UtcMs ends_at, base::UtcMs now) noexcept;

// min(16, total on sale / 8), at least 1: more lanes than that strand units without spreading load.
[[nodiscard]] std::uint32_t default_lanes(std::int64_t units_on_sale) noexcept;

// Every rule a new sale breaks, one sentence each; empty when it is sound. Pure.
[[nodiscard]] std::vector<std::string> problems_of(const Sale& sale);

// What an operator asks to change; unset means unchanged. Stock is never edited, it is topped up or reduced.
struct ItemEdit {
  Sku sku;
  std::optional<std::string> title;
  std::optional<std::int64_t> price_minor;
  std::optional<std::int64_t> limit;
  std::optional<std::uint32_t> tickets_max;
  std::optional<std::int64_t> pay_window_ms;
};
struct SaleEdit {
  std::int64_t version = 0;  // the version that was read
  std::optional<std::string> title;
  std::optional<base::UtcMs> starts_at;
  std::optional<base::UtcMs> ends_at;
  std::vector<ItemEdit> items;
};

// The sale after the edit with version + 1, or stale (other version), invalid or refused: a started sale keeps its
// starts_at, and an ended or closed one is not edited. Pure.
[[nodiscard]] base::Result<Sale> apply_edit(const Sale& sale, const SaleEdit& edit, base::UtcMs now);

// The state change an operator asks for.
enum class SaleCommand : std::uint8_t { preload, pause, resume, close };
// The state after it; the same state when it was already reached (repeating is harmless); Errc::refused otherwise.
[[nodiscard]] base::Result<SaleState> apply_command(SaleState state, SaleCommand command);

[[nodiscard]] std::string_view name(SaleKind kind) noexcept;
[[nodiscard]] std::string_view name(SaleState state) noexcept;
[[nodiscard]] std::string_view name(Phase phase) noexcept;
[[nodiscard]] std::string_view name(SaleCommand command) noexcept;
[[nodiscard]] std::optional<SaleKind> sale_kind_from(std::string_view name) noexcept;
[[nodiscard]] std::optional<SaleKind> sale_kind_from(std::int64_t stored) noexcept;
[[nodiscard]] std::optional<SaleState> sale_state_from(std::int64_t stored) noexcept;

}  // namespace seckill::model
