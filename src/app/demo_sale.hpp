// A sample sale fitted to a demo: its own id, its opening a few seconds away, the units asked for, and a payment window
// short enough to see units come back. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace seckill::app {

struct DemoFit {
  std::string id;
  base::UtcMs starts_at = 0;
  base::UtcMs ends_at = 0;
  std::int64_t units = 0;                     // over all items, shared out as in the sample
  std::optional<std::int64_t> pay_window_ms;  // unset: the sample's own
};

// Errc::invalid: the sample has no items, or fewer units are asked for than it has items.
[[nodiscard]] base::Result<boost::json::object> fit_sale(const boost::json::object& sample, const DemoFit& fit);

// What the crowd must know of the sale.
struct DemoItem {
  std::string sku;
  std::string title;
  std::string order_field;  // the first that an order may carry; empty: none
  std::int64_t price_minor = 0;
  std::int64_t units = 0;
};
struct DemoSale {
  std::string title;
  std::string kind;
  std::vector<DemoItem> items;
  [[nodiscard]] bool free() const noexcept;  // nothing is paid for
};
[[nodiscard]] DemoSale describe_sale(const boost::json::object& sale);

}  // namespace seckill::app
