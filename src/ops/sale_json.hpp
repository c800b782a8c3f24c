// Sales as the admin API reads and prints them. Input is strict and complete: one answer names every problem. Output is
// what the store and the lanes say, side by side.
#pragma once

#include <boost/json/object.hpp>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "admission/admission.hpp"
#include "base/clock.hpp"
#include "model/sale.hpp"
#include "store/store.hpp"

namespace seckill::ops {

using Complaints = std::vector<std::string>;  // one sentence each, never empty when returned as an error

// A sound draft (model::problems_of is empty) without ticket_key and created_at, or every problem. Any thread.
[[nodiscard]] std::expected<model::Sale, Complaints> read_sale(std::string_view json);

// {"version":n,"title"?,"starts_at"?,"ends_at"?,"items":[{"sku","title"?,"price_minor"?,"limit"?,"tickets_max"?,
// "pay_window"?}]?}. Whether the sale allows it is model::apply_edit's to say.
[[nodiscard]] std::expected<model::SaleEdit, Complaints> read_edit(std::string_view json);

// {"units":n,"id":"…","from":"new"|"reserve"}; `from` is read for a top-up only and then required.
struct StockChange {
  std::int64_t units = 0;
  std::string id;
  bool from_reserve = false;
};
enum class StockChangeKind : std::uint8_t { top_up, reduce };
[[nodiscard]] std::expected<StockChange, Complaints> read_stock_change(std::string_view json, StockChangeKind kind);

// One item's units: as stored, and as the lanes have them now.
struct ItemUnits {
  store::ItemStock stored;
  std::vector<admission::LaneView> live;  // empty: not installed here
};

// `units` is parallel to sale.items; empty leaves the units out (lists).
[[nodiscard]] boost::json::object sale_object(const model::Sale& sale, base::UtcMs now,
                                              const std::vector<ItemUnits>& units);
[[nodiscard]] boost::json::object stock_object(const ItemUnits& units);
[[nodiscard]] boost::json::object order_object(const store::Order& order);

}  // namespace seckill::ops
