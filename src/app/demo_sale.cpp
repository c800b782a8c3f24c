#include "app/demo_sale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "base/json.hpp"

namespace seckill::app {
namespace {

using base::number_of;
using base::text_of;
using boost::json::object;

// `units` in the proportions of `weights`, at least one each; the sum is exact. Requires: units >= weights.size().
std::vector<std::int64_t> share_out(std::int64_t units, const std::vector<std::int64_t>& weights) {
  std::int64_t left = 0;
  for (const std::int64_t weight : weights) left += weight;
  auto open = static_cast<std::int64_t>(weights.size());
  std::vector<std::int64_t> shares;
  for (const std::int64_t weight : weights) {
    --open;
    const auto wanted = static_cast<std::int64_t>(static_cast<double>(units) * static_cast<double>(weight) /
                                                  static_cast<double>(std::max<std::int64_t>(left, 1)));
    const std::int64_t share = open == 0 ? units : std::clamp<std::int64_t>(wanted, 1, units - open);
    shares.push_back(share);
    units -= share;
    left -= weight;
  }
  return shares;
}

}  // namespace

base::Result<object> fit_sale(const object& sample, const DemoFit& fit) {
  const auto* listed = sample.if_contains("items");
  if (listed == nullptr || !listed->is_array() || listed->get_array().empty()) {
    return base::fail(base::Errc::invalid, "fitting the sample", "it has no items");
  }
  object sale = sample;
  boost::json::array& items = sale["items"].get_array();
  if (fit.units < static_cast<std::int64_t>(items.size())) {
    return base::fail(base::Errc::invalid, "fitting the sample",
                      fmt::format("{} units cannot be shared among {} items; ask for more", fit.units, items.size()));
  }
  std::vector<std::int64_t> weights;
  for (const auto& item : items) {
    if (!item.is_object()) return base::fail(base::Errc::invalid, "fitting the sample", "an item is no map");
    weights.push_back(std::max<std::int64_t>(number_of(item.get_object(), "total"), 1));
  }
  const std::vector<std::int64_t> shares = share_out(fit.units, weights);
  for (std::size_t i = 0; i < items.size(); ++i) {
    object& item = items[i].get_object();
    item["total"] = shares[i];
    item.erase("reserve");  // nobody is there to release it
    item.erase("lanes");    // chosen for the sample's own total
    if (!fit.pay_window_ms || number_of(item, "price_minor") == 0) continue;
    item.erase("pay_window");
    item["pay_window_ms"] = *fit.pay_window_ms;
  }
  sale["id"] = fit.id;
  sale["starts_at"] = fit.starts_at;
  sale["ends_at"] = fit.ends_at;
  return sale;
}

bool DemoSale::free() const noexcept {
  return std::ranges::all_of(items, [](const DemoItem& item) { return item.price_minor == 0; });
}

DemoSale describe_sale(const object& sale) {
  DemoSale out;
  out.title = text_of(sale, "title");
  out.kind = text_of(sale, "kind");
  const auto* items = sale.if_contains("items");
  if (items == nullptr || !items->is_array()) return out;
  for (const auto& entry : items->get_array()) {
    if (!entry.is_object()) continue;
    const object& item = entry.get_object();
    DemoItem one{
        text_of(item, "sku"), text_of(item, "title"), {}, number_of(item, "price_minor"), number_of(item, "total")};
    const auto* fields = item.if_contains("order_fields");
    if (fields != nullptr && fields->is_array() && !fields->get_array().empty()) {
      const auto& first = fields->get_array().front();
      if (first.is_string()) one.order_field = std::string{first.get_string().data(), first.get_string().size()};
    }
    out.items.push_back(std::move(one));
  }
  return out;
}

}  // namespace seckill::app
