#include "model/sale.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace seckill::model {
namespace {

namespace limits = base::limits;

bool title_fits(std::string_view title) noexcept {
  const auto length = base::utf8_length(title);
  return length && *length >= 1 && *length <= limits::title_characters_max;
}

template <typename Number>
void check_range(std::vector<std::string>& problems, std::string_view what, Number value, Number low, Number high) {
  if (value < low || value > high) problems.push_back(fmt::format("{} must be {}..{}, not {}", what, low, high, value));
}

void check_order_fields(std::vector<std::string>& problems, const std::string& at, const SaleItem& item) {
  if (item.order_fields.size() > limits::order_fields_max) {
    problems.push_back(fmt::format("{}.order_fields: at most {}", at, limits::order_fields_max));
  }
  for (std::size_t i = 0; i < item.order_fields.size(); ++i) {
    const std::string& field = item.order_fields[i];
    if (field.size() > limits::order_field_name_bytes_max || field.empty() || !SkuTag::accepts(field)) {
      problems.push_back(
          fmt::format("{}.order_fields[{}] must be 1..{} of [A-Za-z0-9_-]", at, i, limits::order_field_name_bytes_max));
    }
    if (std::count(item.order_fields.begin(), item.order_fields.end(), field) > 1) {
      problems.push_back(fmt::format("{}.order_fields names {} twice", at, base::printable(field, 40)));
    }
  }
}

void check_item(std::vector<std::string>& problems, const SaleItem& item) {
  const std::string at = "items." + item.sku.str();
  if (item.sku.empty()) problems.emplace_back("an item has no sku (1..32 of [A-Za-z0-9_-])");
  if (!title_fits(item.title)) {
    problems.push_back(
        fmt::format("{}.title must be 1..{} characters of valid UTF-8", at, limits::title_characters_max));
  }
  check_range<std::int64_t>(problems, at + ".price_minor", item.price_minor, 0, limits::price_minor_max);
  check_range<std::int64_t>(problems, at + ".list_price_minor", item.list_price_minor, 0, limits::price_minor_max);
  check_range<std::int64_t>(problems, at + ".total", item.total, 1, limits::units_per_item_max);
  check_range<std::int64_t>(problems, at + ".reserve", item.reserve, 0, std::max<std::int64_t>(item.total - 1, 0));
  check_range<std::int64_t>(problems, at + ".limit", item.limit, 1, limits::limit_max);
  check_range<std::uint32_t>(problems, at + ".tickets_max", item.tickets_max, 1, limits::tickets_per_buyer_max);
  check_range<std::int64_t>(problems, at + ".pay_window_ms", item.pay_window_ms, limits::pay_window_ms_min,
                            limits::pay_window_ms_max);
  const std::int64_t on_sale = std::max<std::int64_t>(item.total - item.reserve, 1);
  const auto lanes_most =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(on_sale / limits::units_per_lane_min, 1, limits::lanes_max));
  if (item.lanes > lanes_most) {
    problems.push_back(
        fmt::format("{}.lanes must be at most {} for {} units on sale, not {}", at, lanes_most, on_sale, item.lanes));
  }
  check_order_fields(problems, at, item);
}

}  // namespace

const SaleItem* Sale::find(const Sku& sku) const noexcept {
  const auto found = std::ranges::find(items, sku, &SaleItem::sku);
  return found == items.end() ? nullptr : &*found;
}

ItemTerms terms_of(const Sale& sale, const SaleItem& item) noexcept {
  return {.starts_at = sale.starts_at,
          .ends_at = sale.ends_at,
          .state = sale.state,
          .price_minor = item.price_minor,
          .currency = sale.currency,
          .limit = item.limit,
          .tickets_max = item.tickets_max,
          .pay_window_ms = item.pay_window_ms,
          .version = sale.version};
}

Phase phase_at(SaleState state, base::UtcMs starts_at, base::UtcMs ends_at, base::UtcMs now) noexcept {
  if (state == SaleState::closed || now >= ends_at) return Phase::ended;
  if (state == SaleState::draft || now < starts_at) return Phase::not_started;
  return state == SaleState::paused ? Phase::paused : Phase::open;
}

std::uint32_t default_lanes(std::int64_t units_on_sale) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(units_on_sale / limits::units_per_lane_min, 1, 16));
}

std::vector<std::string> problems_of(const Sale& sale) {
  std::vector<std::string> problems;
  if (sale.id.empty()) problems.emplace_back("id must be 1..32 of [A-Za-z0-9_-]");
  if (!title_fits(sale.title)) {
    problems.push_back(fmt::format("title must be 1..{} characters of valid UTF-8", limits::title_characters_max));
  }
  if (sale.starts_at <= 0) problems.emplace_back("starts_at is missing");
  if (sale.ends_at <= sale.starts_at) problems.emplace_back("ends_at must be after starts_at");
  if (sale.ends_at - sale.starts_at > limits::sale_duration_ms_max)
    problems.emplace_back("a sale lasts at most 366 days");
  check_range<std::size_t>(problems, "the number of items", sale.items.size(), 1, limits::items_per_sale_max);
  for (std::size_t i = 0; i < sale.items.size(); ++i) {
    check_item(problems, sale.items[i]);
    for (std::size_t j = 0; j < i; ++j) {
      if (sale.items[i].sku == sale.items[j].sku) {
        problems.push_back(fmt::format("sku {} appears twice", sale.items[i].sku.view()));
      }
    }
  }
  return problems;
}

base::Result<Sale> apply_edit(const Sale& sale, const SaleEdit& edit, base::UtcMs now) {
  const std::string doing = "editing sale " + sale.id.str();
  if (edit.version != sale.version) {
    return base::fail(
        base::Errc::stale, doing,
        fmt::format("the sale is at version {}, the edit was made on version {}", sale.version, edit.version));
  }
  const Phase phase = phase_at(sale.state, sale.starts_at, sale.ends_at, now);
  if (phase == Phase::ended) return base::fail(base::Errc::refused, doing, "the sale has ended");
  Sale edited = sale;
  ++edited.version;
  if (edit.title) edited.title = *edit.title;
  if (edit.starts_at && *edit.starts_at != sale.starts_at) {
    // Tickets and lanes already rest on the start; moving it would make refused buyers right afterwards.
    if (phase != Phase::not_started)
      return base::fail(base::Errc::refused, doing, "a started sale keeps its starts_at");
    if (*edit.starts_at < now) return base::fail(base::Errc::refused, doing, "starts_at must not be in the past");
    edited.starts_at = *edit.starts_at;
  }
  if (edit.ends_at) edited.ends_at = *edit.ends_at;
  for (const ItemEdit& change : edit.items) {
    const auto item = std::ranges::find(edited.items, change.sku, &SaleItem::sku);
    if (item == edited.items.end()) {
      return base::fail(base::Errc::invalid, doing, "no item " + change.sku.str() + "; items are fixed at creation");
    }
    if (change.title) item->title = *change.title;
    if (change.price_minor) {
      if ((*change.price_minor == 0) != (item->price_minor == 0)) {
        return base::fail(base::Errc::refused, doing,
                          "a price cannot become or cease to be 0: it decides how orders end");
      }
      item->price_minor = *change.price_minor;
    }
    if (change.limit) item->limit = *change.limit;
    if (change.tickets_max) item->tickets_max = *change.tickets_max;
    if (change.pay_window_ms) item->pay_window_ms = *change.pay_window_ms;
  }
  // Only what the edit brings about: a reduction may have left fewer units than a new sale of these lanes would need.
  std::vector<std::string> problems = problems_of(edited);
  const std::vector<std::string> before = problems_of(sale);
  std::erase_if(problems, [&](const std::string& one) { return std::ranges::find(before, one) != before.end(); });
  if (!problems.empty()) return base::fail(base::Errc::invalid, doing, fmt::format("{}", fmt::join(problems, "; ")));
  return edited;
}

base::Result<SaleState> apply_command(SaleState state, SaleCommand command) {
  using enum SaleState;
  const auto refuse = [&](std::string_view why) {
    return base::fail(base::Errc::refused, fmt::format("{} a sale that is {}", name(command), name(state)),
                      std::string{why});
  };
  switch (command) {
    case SaleCommand::preload:
      if (state == draft) return preloaded;
      if (state == closed) return refuse("a closed sale stays closed");
      return state;
    case SaleCommand::pause:
      if (state == preloaded || state == paused) return paused;
      return refuse(state == draft ? "it is not preloaded" : "a closed sale stays closed");
    case SaleCommand::resume:
      if (state == preloaded || state == paused) return preloaded;
      return refuse(state == draft ? "it is not preloaded" : "a closed sale stays closed");
    case SaleCommand::close: return closed;
  }
  return refuse("unknown command");
}

std::string_view name(SaleKind kind) noexcept {
  switch (kind) {
    case SaleKind::goods: return "goods";
    case SaleKind::coupon: return "coupon";
    case SaleKind::slot: return "slot";
    case SaleKind::entry: return "entry";
  }
  return "unknown";
}

std::string_view name(SaleState state) noexcept {
  switch (state) {
    case SaleState::draft: return "draft";
    case SaleState::preloaded: return "preloaded";
    case SaleState::paused: return "paused";
    case SaleState::closed: return "closed";
  }
  return "unknown";
}

std::string_view name(Phase phase) noexcept {
  switch (phase) {
    case Phase::not_started: return "not_started";
    case Phase::open: return "open";
    case Phase::paused: return "paused";
    case Phase::ended: return "ended";
  }
  return "unknown";
}

std::string_view name(SaleCommand command) noexcept {
  switch (command) {
    case SaleCommand::preload: return "preload";
    case SaleCommand::pause: return "pause";
    case SaleCommand::resume: return "resume";
    case SaleCommand::close: return "close";
  }
  return "unknown";
}

std::optional<SaleKind> sale_kind_from(std::string_view text) noexcept {
  for (const SaleKind kind : {SaleKind::goods, SaleKind::coupon, SaleKind::slot, SaleKind::entry}) {
    if (text == name(kind)) return kind;
  }
  return std::nullopt;
}

std::optional<SaleKind> sale_kind_from(std::int64_t stored) noexcept {
  if (stored < 1 || stored > 4) return std::nullopt;
  return static_cast<SaleKind>(stored);
}

std::optional<SaleState> sale_state_from(std::int64_t stored) noexcept {
  if (stored < 1 || stored > 4) return std::nullopt;
  return static_cast<SaleState>(stored);
}

}  // namespace seckill::model
